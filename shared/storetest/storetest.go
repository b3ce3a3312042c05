// Package storetest tests what objectstore.Store promises to who reads, alike for every store: against a
// real server, behind a proxy that does to requests what networks and stores do on bad days.
package storetest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// Place is a store to be tested.
type Place struct {
	Store objectstore.Store
	// Proxy is before its server.
	Proxy *s3test.Proxy
	// IsRead chooses the requests that read an object.
	IsRead func(*http.Request) bool
	// Busy is how the server says that it has too much to do, and Denied that it is not allowed.
	Busy, Denied s3test.Trouble
	// OtherETags are of objects that are not there.
	OtherETags []string
}

// Content is always the same for the same size.
func Content(size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// Plain hides that a reader can do more than read.
func Plain(b []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(b)} }

// Never chooses no request.
func Never(*http.Request) bool { return false }

// Read tests that an object is read whole, whatever happens on the way, or not at all.
func Read(t *testing.T, p Place) {
	want := Content(1 << 20)
	put(t, p, "key", want)
	var listed []objectstore.Object
	for o, err := range p.Store.List(t.Context(), "key") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o)
	}
	if len(listed) != 1 || listed[0].Size != int64(len(want)) || listed[0].Modified.IsZero() {
		t.Fatalf("listed %+v", listed)
	}
	etag := listed[0].ETag
	for name, fault := range map[string]s3test.Fault{
		"nothing happens":   {When: Never},
		"it breaks often":   {When: p.IsRead, Times: 7, Do: s3test.CutDownload(100_000)},
		"it breaks at once": {When: p.IsRead, Times: 2, Do: s3test.CutDownload(0)},
		"it stalls":         {When: p.IsRead, Times: 2, Do: s3test.StallDownload(100_000)},
		"503":               {When: p.IsRead, Times: 2, Do: p.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			f := p.Proxy.Inject(fault)
			r := get(t, p, "key", etag)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) || r.Size != int64(len(want)) || r.Metadata["oldest-revision"] != "7" || r.ETag != etag {
				t.Errorf("got %d bytes of %+v: %v; want %d", len(got), r.Object, err, len(want))
			}
			if p.Proxy.Hits(f) != fault.Times {
				t.Errorf("the fault hit %d times, want %d", p.Proxy.Hits(f), fault.Times)
			}
		})
	}
	t.Run("it never goes on", func(t *testing.T) {
		f := p.Proxy.Inject(s3test.Fault{When: p.IsRead, Do: s3test.CutDownload(0)})
		defer func() { f.When = Never }()
		fails(t, get(t, p, "key", ""), objectstore.Unavailable)
	})
	t.Run("nothing of that name", func(t *testing.T) {
		for _, etag := range append([]string{""}, p.OtherETags...) {
			if _, err := p.Store.Get(t.Context(), "other", etag); !errors.Is(err, objectstore.NotFound) {
				t.Errorf("got %v, want %v", err, objectstore.NotFound)
			}
		}
	})
	t.Run("another object than was asked for", func(t *testing.T) {
		for _, etag := range p.OtherETags {
			if _, err := p.Store.Get(t.Context(), "key", etag); !errors.Is(err, objectstore.Changed) {
				t.Errorf("got %v, want %v", err, objectstore.Changed)
			}
		}
	})
	t.Run("a small one", func(t *testing.T) {
		if err := p.Store.WriteSmall(t.Context(), "small", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Store.ReadSmall(t.Context(), "small", 10); err != nil || string(got) != "x" {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := p.Store.ReadSmall(t.Context(), "key", 10); !errors.Is(err, objectstore.TooLarge) {
			t.Errorf("got %v, want %v", err, objectstore.TooLarge)
		}
	})
	for name, size := range map[string]int{"replaced in the middle by as many bytes": len(want), "replaced in the middle by fewer": 999} {
		t.Run(name, func(t *testing.T) {
			put(t, p, "twin", want)
			p.Proxy.Inject(s3test.Fault{When: p.IsRead, Times: 1, Do: s3test.CutDownload(100_000)})
			r := get(t, p, "twin", "")
			put(t, p, "twin", make([]byte, size))
			fails(t, r, objectstore.Changed) // and is not half of one object and half of another
		})
	}
}

// objects is how many List has: by default more than a page of each store.
var objects = flag.Int("objects", 1100, "how many objects tests of lists store")

// List tests that all objects under a prefix are listed, in order, and deleted, however many there are.
func List(t *testing.T, p Place) {
	keys := make([]string, *objects)
	var group errgroup.Group
	group.SetLimit(8)
	for i := range keys {
		keys[i] = fmt.Sprintf("a%05d", i)
		group.Go(func() error { return p.Store.WriteSmall(t.Context(), keys[i], []byte("x")) })
	}
	group.Go(func() error { return p.Store.WriteSmall(t.Context(), "b", []byte("x")) })
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	listed := func() (listed []string) {
		for o, err := range p.Store.List(t.Context(), "a") {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, o.Key)
		}
		return listed
	}
	if got := listed(); !slices.Equal(got, keys) {
		t.Fatalf("%d are listed, want the %d that begin with a", len(got), len(keys))
	}
	deny := p.Proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodDelete), Times: 1, Do: p.Denied})
	some := len(keys) / 2
	n, err := p.Store.Delete(t.Context(), append(keys[:some:some], "not there")...)
	if n != some || !errors.Is(err, objectstore.AccessDenied) || p.Proxy.Hits(deny) != 1 {
		t.Errorf("deleted %d: %v; want all but one of %d, and %v", n, err, some+1, objectstore.AccessDenied)
	}
	if left := len(listed()); left != len(keys)-some && left != len(keys)-some+1 {
		t.Errorf("%d are left", left)
	}
	p.Proxy.Inject(s3test.Fault{Do: p.Denied})
	for _, err := range p.Store.List(t.Context(), "a") {
		if !errors.Is(err, objectstore.AccessDenied) {
			t.Errorf("got %v, want %v", err, objectstore.AccessDenied)
		}
	}
}

func put(t *testing.T, p Place, key string, content []byte) {
	t.Helper()
	if _, err := p.Store.Put(t.Context(), key, Plain(content), objectstore.PutOptions{Metadata: map[string]string{"oldest-revision": "7"}}); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, p Place, key, etag string) *objectstore.Reader {
	t.Helper()
	r, err := p.Store.Get(t.Context(), key, etag)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func fails(t *testing.T, r io.Reader, want error) {
	t.Helper()
	if _, err := io.ReadAll(r); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
