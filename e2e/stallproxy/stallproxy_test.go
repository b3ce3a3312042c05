package stallproxy

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestProxy(t *testing.T) {
	stored := make(chan string, 1)
	store := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodGet {
			_, _ = rw.Write([]byte("what is stored"))
			return
		}
		stored <- string(text)
	}))
	defer store.Close()
	p := New(strings.TrimPrefix(store.URL, "http://"))
	server := httptest.NewServer(p)
	defer server.Close()
	send := func(ctx context.Context, verb, text string) {
		req, err := http.NewRequestWithContext(ctx, verb, server.URL, strings.NewReader(text))
		if err != nil {
			t.Error(err)
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}
	arrives := func(want string) {
		t.Helper()
		select {
		case got := <-stored:
			if got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q does not arrive", want)
		}
	}
	held := func(want int) {
		t.Helper()
		for tries := 0; ask(t, p, "GET", "/state").Held != want; tries++ {
			if tries > 10_000 {
				t.Fatalf("%d uploads are held up, want %d", ask(t, p, "GET", "/state").Held, want)
			}
			time.Sleep(time.Millisecond)
		}
	}

	go send(t.Context(), "PUT", "open")
	arrives("open")
	ask(t, p, "POST", "/shut?after=6")
	go send(t.Context(), "PUT", "passes")
	arrives("passes")
	go send(t.Context(), "PUT", "waits")
	held(1)
	gone, leave := context.WithCancel(t.Context())
	go send(gone, "PUT", "leaves")
	held(2)
	go send(t.Context(), "DELETE", "")
	arrives("")
	leave()
	held(1)
	ask(t, p, "POST", "/open")
	arrives("waits")
	held(0)
	select {
	case got := <-stored:
		t.Errorf("%q arrives, and was given up", got)
	default:
	}

	ask(t, p, "POST", "/shut?after=5&down=true")
	go send(t.Context(), "PUT", "up")
	arrives("up")
	got := make(chan string, 1)
	go func() { got <- receive(t, server.URL) }()
	held(1)
	ask(t, p, "POST", "/open")
	if text := <-got; text != "what is stored" {
		t.Errorf("%q is what was stored", text)
	}
	held(0)
}

func receive(t *testing.T, url string) string {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return string(text)
}

func ask(t *testing.T, p *Proxy, verb, path string) (s State) {
	t.Helper()
	rec := httptest.NewRecorder()
	p.Handler().ServeHTTP(rec, httptest.NewRequest(verb, path, nil))
	if err := json.Unmarshal(rec.Body.Bytes(), &s); err != nil {
		t.Fatalf("%s %s: %v: %s", verb, path, err, rec.Body)
	}
	return s
}
