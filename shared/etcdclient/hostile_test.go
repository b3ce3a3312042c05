package etcdclient

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hugeAnswer is how much a hostile member answers to every question.
const hugeAnswer = 100 << 20

// hostile is a member whose image is a tenant's: it serves whatever it likes on the ports
// where the operator asks.
func hostile(t *testing.T, h http.HandlerFunc) Endpoint {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return Endpoint{Name: "hostile", Addr: strings.TrimPrefix(s.URL, "http://"), MetricsAddr: strings.TrimPrefix(s.URL, "http://")}
}

// writeHuge writes an answer of hugeAnswer bytes until the client has had enough: to a
// gRPC request a message of that length, whose second field is text.
func writeHuge(w http.ResponseWriter, r *http.Request) (written int) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		inner := binary.AppendUvarint([]byte{2<<3 | 2}, hugeAnswer)
		head := binary.AppendUvarint([]byte{2<<3 | 2}, uint64(len(inner)+hugeAnswer))
		prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(head)+len(inner)+hugeAnswer))
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		defer w.Header().Set("Grpc-Status", "0")
		for _, b := range [][]byte{prefix, head, inner} {
			_, _ = w.Write(b)
		}
	}
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for written < hugeAnswer {
		n, err := w.Write(chunk)
		written += n
		if err != nil {
			return written
		}
	}
	return written
}

// allocated is how many bytes f allocates, in all of the process.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAskIsBounded: what a member answers costs its asker little, however much it is.
func TestAskIsBounded(t *testing.T) {
	e := hostile(t, func(w http.ResponseWriter, r *http.Request) { writeHuge(w, r) })
	var a Answer
	got := allocated(func() { a = unhurried.Ask(within(t), []Endpoint{e})["hostile"] })
	if a.Reached || len(a.Members) > 0 || len(a.LocalMembers) > 0 {
		t.Errorf("an answer of %d bytes counts: reached %t, %d members", hugeAnswer, a.Reached, len(a.Members))
	}
	if !strings.Contains(a.Err, "larger than max") {
		t.Errorf("the answer says %.200q, want that the message is too large", a.Err)
	}
	t.Logf("%d KiB were allocated", got>>10)
	if got > 16<<20 {
		t.Errorf("%d MiB were allocated to be told so, want 16 at most", got>>20)
	}
}

// TestLauncherAnswerIsBounded: the same of who answers in a launcher's place.
func TestLauncherAnswerIsBounded(t *testing.T) {
	var mu sync.Mutex
	most := 0
	e := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		n := writeHuge(w, r)
		mu.Lock()
		defer mu.Unlock()
		most = max(most, n)
	})
	got := allocated(func() {
		if s := askLauncher(within(t), e); s != nil {
			t.Errorf("it is taken for a launcher: %+v", s)
		}
	})
	if got > 16<<20 {
		t.Errorf("%d MiB were allocated, want 16 at most", got>>20)
	}
	mu.Lock()
	defer mu.Unlock()
	if most >= hugeAnswer {
		t.Error("the answer was read to its end")
	}
}

// TestHugeHeaders: nor may the header of an answer be of any length.
func TestHugeHeaders(t *testing.T) {
	e := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Grpc-Status", "14")
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.Header().Set("Grpc-Message", strings.Repeat("a", 1<<20))
		fmt.Fprint(w, `{"state":"Waiting","etcdcluster":"3.6.0"}`)
	})
	if s := askLauncher(within(t), e); s != nil {
		t.Errorf("a launcher's answer with a header of a MiB counts: %+v", s)
	}
	if v := unhurried.clusterVersion(within(t), e); v != "" {
		t.Errorf("a version with a header of a MiB counts: %q", v)
	}
	if a := unhurried.Ask(within(t), []Endpoint{e})["hostile"]; len(a.Err) > 32<<10 {
		t.Errorf("the error has %d bytes", len(a.Err))
	}
}

// TestRedirectsAreRefused: whom a member names as the place to ask instead is not asked:
// the operator may reach what a tenant must not.
func TestRedirectsAreRefused(t *testing.T) {
	var mu sync.Mutex
	var reached []string
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		reached = append(reached, r.URL.Path)
		fmt.Fprint(w, `{"state":"Waiting","etcdcluster":"3.6.0"}`)
	}))
	t.Cleanup(inside.Close)
	for _, code := range []int{301, 302, 303, 307, 308} {
		e := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL+r.URL.Path, code)
		})
		if s := askLauncher(within(t), e); s != nil {
			t.Errorf("a redirect (%d) counts as a launcher: %+v", code, s)
		}
		if v := unhurried.clusterVersion(within(t), e); v != "" {
			t.Errorf("a redirect (%d) counts as a version: %q", code, v)
		}
		unhurried.Ask(within(t), []Endpoint{e})
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reached) > 0 {
		slices.Sort(reached)
		t.Errorf("the redirect's target was asked for %v", slices.Compact(reached))
	}
}

// TestSilentServer: who accepts a connection and begins a header and never ends it is waited
// for no longer than the others are.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Endless: ")
				_, _ = io.Copy(io.Discard, conn) // until the client hangs up
			}()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	e := Endpoint{Name: "silent", Addr: l.Addr().String(), MetricsAddr: l.Addr().String()}
	begun := time.Now()
	if s := askLauncher(ctx, e); s != nil {
		t.Errorf("it is taken for a launcher: %+v", s)
	}
	if v := unhurried.clusterVersion(ctx, e); v != "" {
		t.Errorf("it tells version %q", v)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it was waited for for %s", took)
	}
}
