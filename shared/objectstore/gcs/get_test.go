package gcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

func TestGet(t *testing.T) {
	p := setup(t)
	store, proxy := p.store, p.proxy
	want := content(1 << 20)
	if _, err := store.Put(t.Context(), "key", plain(want), objectstore.PutOptions{Metadata: map[string]string{"oldest-revision": "7"}}); err != nil {
		t.Fatal(err)
	}
	var listed []objectstore.Object
	for o, err := range store.List(t.Context(), "key") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o)
	}
	if len(listed) != 1 || listed[0].Size != int64(len(want)) || listed[0].Modified.IsZero() {
		t.Fatalf("listed %+v", listed)
	}
	for name, fault := range map[string]s3test.Fault{
		"nothing happens":   {When: never},
		"it breaks often":   {When: gcstest.IsRead, Times: 7, Do: s3test.CutDownload(100_000)},
		"it breaks at once": {When: gcstest.IsRead, Times: 2, Do: s3test.CutDownload(0)},
		"it stalls":         {When: gcstest.IsRead, Times: 2, Do: s3test.StallDownload(100_000)},
		"503":               {When: gcstest.IsRead, Times: 2, Do: gcstest.Answer(http.StatusServiceUnavailable, "ServiceUnavailable", "injected")},
	} {
		t.Run(name, func(t *testing.T) {
			f := proxy.Inject(fault)
			r, err := store.Get(t.Context(), "key", listed[0].ETag)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) || r.Size != int64(len(want)) || r.Metadata["oldest-revision"] != "7" || r.ETag != listed[0].ETag {
				t.Errorf("got %d bytes of %+v: %v; want %d", len(got), r.Object, err, len(want))
			}
			if proxy.Hits(f) != fault.Times {
				t.Errorf("the fault hit %d times, want %d", proxy.Hits(f), fault.Times)
			}
		})
	}
	t.Run("it never goes on", func(t *testing.T) {
		f := proxy.Inject(s3test.Fault{When: gcstest.IsRead, Do: s3test.CutDownload(0)})
		defer func() { f.When = never }()
		r, err := store.Get(t.Context(), "key", "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := io.ReadAll(r); !errors.Is(err, objectstore.Unavailable) {
			t.Errorf("got %v, want %v", err, objectstore.Unavailable)
		}
	})
	t.Run("nothing of that name", func(t *testing.T) {
		if _, err := store.Get(t.Context(), "other", ""); !errors.Is(err, objectstore.NotFound) {
			t.Errorf("got %v, want %v", err, objectstore.NotFound)
		}
		if _, err := store.Get(t.Context(), "other", "17"); !errors.Is(err, objectstore.NotFound) {
			t.Errorf("got %v, want %v", err, objectstore.NotFound)
		}
	})
	t.Run("another object than was asked for", func(t *testing.T) {
		for _, etag := range []string{"17", `"0x8D4BCC2E4835CD0"`} {
			if _, err := store.Get(t.Context(), "key", etag); !errors.Is(err, objectstore.Changed) {
				t.Errorf("got %v, want %v", err, objectstore.Changed)
			}
		}
	})
	t.Run("a small one", func(t *testing.T) {
		if err := store.WriteSmall(t.Context(), "small", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if got, err := store.ReadSmall(t.Context(), "small", 10); err != nil || string(got) != "x" {
			t.Errorf("got %q, %v", got, err)
		}
		if _, err := store.ReadSmall(t.Context(), "key", 10); !errors.Is(err, objectstore.TooLarge) {
			t.Errorf("got %v, want %v", err, objectstore.TooLarge)
		}
	})
	t.Run("replaced in the middle by as many bytes", func(t *testing.T) {
		proxy.Inject(s3test.Fault{When: gcstest.IsRead, Times: 1, Do: s3test.CutDownload(100_000)})
		r, err := store.Get(t.Context(), "key", "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := store.Put(t.Context(), "key", plain(make([]byte, len(want))), objectstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(r); !errors.Is(err, objectstore.Changed) {
			t.Errorf("got %v, want %v: half of one object and half of another", err, objectstore.Changed)
		}
	})
}

// fill stores a byte under each key.
func fill(t *testing.T, b *storage.BucketHandle, keys []string) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for _, key := range keys {
		group.Go(func() error {
			gcstest.Put(t, b, key, []byte("x"))
			return nil
		})
	}
	_ = group.Wait() // Put ends the test
}

func TestListAndDeleteMoreThanAPage(t *testing.T) {
	p := setup(t)
	p.settings.Stall = time.Minute
	store := open(t, p.settings)
	var keys []string
	for i := range pageSize + 100 {
		keys = append(keys, fmt.Sprintf("a%04d", i))
	}
	fill(t, p.bucket, append(keys[:len(keys):len(keys)], "b"))
	var listed []string
	for o, err := range store.List(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o.Key)
	}
	if !slices.Equal(listed, keys) {
		t.Errorf("%d are listed, want the %d that begin with a", len(listed), len(keys))
	}
	deny := p.proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodDelete), Times: 1, Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected")})
	n, err := store.Delete(t.Context(), append(keys[:20:20], "not there")...)
	if n != 20 || !errors.Is(err, objectstore.AccessDenied) || p.proxy.Hits(deny) != 1 {
		t.Errorf("deleted %d: %v; want all but one of 21, and %v", n, err, objectstore.AccessDenied)
	}
	p.proxy.Inject(s3test.Fault{Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected")})
	for _, err := range store.List(t.Context(), "a") {
		if !errors.Is(err, objectstore.AccessDenied) {
			t.Errorf("got %v, want %v", err, objectstore.AccessDenied)
		}
	}
}
