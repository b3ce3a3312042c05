package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// timeout bounds what a test does in the browser, its start included.
const timeout = 3 * time.Minute

// css is a selector of one element.
type css = chromedp.CSS

// widths are those of a desktop's window and of a phone's.
var widths = map[string]int64{"desktop": 1280, "phone": 390}

// A reader finds a page through the menu, and its code can be copied.
func TestRead(t *testing.T) {
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			b := start(t, width)
			b.run("open the site", chromedp.Navigate(b.url+"/"), chromedp.WaitVisible(css("h1")))
			b.checkWidth()
			b.openMenu()
			b.run("follow the menu to a section", chromedp.Click(css(`#menu a[href$="reference/"]`)), b.waitPath("/reference/"))
			b.openMenu()
			b.run("follow the menu to a page", chromedp.Click(css(`#menu a[href$="flags/"]`)), b.waitPath("/reference/flags/"), chromedp.WaitVisible(`//h1[text()="Flags"]`))
			b.checkWidth()
			b.run("open a page with code", chromedp.Navigate(b.url+b.pageWithCode()), chromedp.WaitVisible(css("pre")))
			b.checkWidth()
			b.run("copy the code", chromedp.Click(css(".code button")), chromedp.WaitVisible(`//button[text()="Copied"]`))
			want := evaluate[string](b, `document.querySelector("pre").textContent`)
			got := evaluate[string](b, "navigator.clipboard.readText()")
			if strings.TrimSpace(got) != strings.TrimSpace(want) || want == "" {
				t.Errorf("the clipboard has\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// The search finds pages by their titles and by their text.
func TestSearch(t *testing.T) {
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			b := start(t, width)
			b.run("open a page below the start", chromedp.Navigate(b.url+"/reference/metrics/"))
			for query, path := range map[string]string{
				"labels annot":            "/reference/labels/",
				"etcd_operator_clusters":  "/reference/metrics/",
				"etcd-restore-operator f": "/reference/",
			} {
				b.clearSearch()
				b.run("search "+query,
					chromedp.SendKeys(css("search input"), query),
					chromedp.WaitVisible(css(fmt.Sprintf(`#results a[href*="%s"]`, path))))
				b.checkWidth()
			}
			b.clearSearch()
			b.run("search for nothing",
				chromedp.SendKeys(css("search input"), "xyzzy"), chromedp.WaitVisible(css("#results .none")))
			b.clearSearch()
			b.run("go to what was found",
				chromedp.SendKeys(css("search input"), "labels annot"),
				chromedp.WaitVisible(css(`#results a[href*="labels"]`)), chromedp.Click(css(`#results a[href*="labels"]`)), b.waitPath("/reference/labels/"))
		})
	}
}

// Dark mode is the system's, until the reader chooses; the choice holds on the next page.
func TestDarkMode(t *testing.T) {
	const (
		light = "rgb(255, 255, 255)"
		dark  = "rgb(13, 17, 23)"
	)
	b := start(t, widths["desktop"])
	system := func(scheme string) {
		t.Helper()
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
	}
	system("dark")
	b.run("open in a dark system", chromedp.Navigate(b.url+"/"))
	b.checkBackground(dark)
	system("light")
	b.checkBackground(light)
	b.run("choose dark", chromedp.Click(css(".theme-button")))
	b.checkBackground(dark)
	b.run("open another page", chromedp.Navigate(b.url+"/reference/"))
	b.checkBackground(dark)
	b.run("choose light", chromedp.Click(css(".theme-button")))
	system("dark")
	b.checkBackground(light)
}

// Without scripts all of the text is there, and the menu works.
func TestWithoutScripts(t *testing.T) {
	for name, width := range widths {
		t.Run(name, func(t *testing.T) {
			b := start(t, width)
			call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			b.run("open without scripts", chromedp.Navigate(b.url+"/reference/"))
			for what, selector := range map[string]string{"title": "main h1", "text": "main p:not(.path)", "a link": "main li a"} {
				if !b.isShown(selector) {
					t.Errorf("there is no %s on the page", what)
				}
			}
			if b.isShown("search") || b.isShown(".theme-button") {
				t.Error("what needs scripts is shown")
			}
			b.openMenu()
			b.run("follow the menu", chromedp.Click(css(`#menu a[href$="metrics/"]`)), b.waitPath("/reference/metrics/"), chromedp.WaitVisible(css("main table")))
		})
	}
}

// tab is a tab of a browser that asks for the site and for nothing else.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string
	// wrong is what the browser complains of, or asks of others.
	mu    sync.Mutex
	wrong []string
}

// start serves the site and starts a browser of a width. At the end of the test, complaints of the browser fail it.
func start(t *testing.T, width int64) *tab {
	t.Helper()
	readSite(t)
	server := httptest.NewServer(slowly(http.FileServer(http.Dir(built))))
	t.Cleanup(server.Close)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // it does not start as root
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.WSURLReadTimeout(timeout))
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &tab{t: t, ctx: ctx, url: server.URL}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, wrong := range b.wrong {
			t.Error("the browser:", wrong)
		}
	})
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("start Chromium (Debian's package chromium): %v", err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 800, DeviceScaleFactor: 1, Mobile: width < 1000})
	for _, permission := range []string{"clipboard-read", "clipboard-write"} {
		params := browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: permission}, Setting: browser.PermissionSettingGranted}
		if _, err := chromedp.CallBrowser(ctx, browser.SetPermission, params); err != nil {
			t.Fatalf("permit %s: %v", permission, err)
		}
	}
	return b
}

// hear notes what the browser complains of.
func (b *tab) hear(event any) {
	wrong := ""
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.url+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			wrong = "it asks for " + e.Request.URL
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			wrong = fmt.Sprintf("%s answers %d", e.Response.URL, e.Response.Status)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			wrong = e.Entry.Text + " " + e.Entry.URL
		}
	case *runtime.EventExceptionThrown:
		wrong = fmt.Sprintf("%s at %s:%d", e.ExceptionDetails.Text, e.ExceptionDetails.URL, e.ExceptionDetails.LineNumber)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			wrong = fmt.Sprintf("console.%s is called", e.Type)
		}
	}
	if wrong == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, wrong)
}

func (b *tab) run(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// call is a command of the DevTools protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// evaluate is what an expression is on the page, or what its promise brings.
func evaluate[T any](b *tab, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
	return value
}

// openMenu opens the menu where it is not always open.
func (b *tab) openMenu() {
	b.t.Helper()
	if !b.isShown("#menu") {
		b.run("open the menu", chromedp.Click(css(".menu-button")), chromedp.WaitVisible(css("#menu")))
	}
}

// isShown says whether the first element of a selector is drawn.
func (b *tab) isShown(selector string) bool {
	b.t.Helper()
	return evaluate[bool](b, fmt.Sprintf("document.querySelector(%q)?.checkVisibility() ?? false", selector))
}

func (b *tab) clearSearch() {
	b.t.Helper()
	evaluate[string](b, `document.querySelector("search input").value = ""`)
}

// checkWidth fails the test if the page is wider than the window.
func (b *tab) checkWidth() {
	b.t.Helper()
	if over := evaluate[int](b, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		b.t.Errorf("the page is %d pixels wider than the window", over)
	}
}

func (b *tab) checkBackground(want string) {
	b.t.Helper()
	if got := evaluate[string](b, "getComputedStyle(document.body).backgroundColor"); got != want {
		b.t.Errorf("the background is %s, want %s", got, want)
	}
}

// pageWithCode is the path of a page of the site that has code.
func (b *tab) pageWithCode() string {
	b.t.Helper()
	site := readSite(b.t)
	for _, path := range slices.Sorted(maps.Keys(site)) {
		if site[path].hasCode {
			return "/" + strings.TrimSuffix(path, "index.html")
		}
	}
	b.t.Fatal("no page has code")
	return ""
}

// waitPath waits until the page of a path is there whole, with its style: the address changes
// before that. It works without scripts.
func (b *tab) waitPath(path string) chromedp.Action[chromedp.Void] {
	loaded := chromedp.Evaluate[string](`document.readyState === "complete" ? location.href : ""`)
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for {
			url, err := loaded(ctx, target)
			if url == b.url+path {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("the page is %q, not %s: %w", url, path, errors.Join(err, ctx.Err()))
			case <-time.After(50 * time.Millisecond): // also where a page has just left
			}
		}
	})
}

// pause is how long the body of a page takes longer than its head.
const pause = 300 * time.Millisecond

// slowly sends the body of a page late, so that a test which does not wait for it fails.
func slowly(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/") {
			site.ServeHTTP(w, r)
			return
		}
		whole := httptest.NewRecorder()
		site.ServeHTTP(whole, r)
		page := whole.Body.Bytes()
		head := max(0, bytes.Index(page, []byte("<body")))
		maps.Copy(w.Header(), whole.Header())
		w.WriteHeader(whole.Code)
		_, _ = w.Write(page[:head]) // the browser might have left
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(pause):
		}
		_, _ = w.Write(page[head:])
	})
}
