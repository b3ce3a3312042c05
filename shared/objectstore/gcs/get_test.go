package gcs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

func TestGet(t *testing.T) {
	p := setup(t)
	storetest.Read(t, storetest.Place{
		Store: p.store, Proxy: p.proxy, IsRead: gcstest.IsRead, OtherETags: []string{"17"},
		Busy: gcstest.Answer(http.StatusServiceUnavailable, "ServiceUnavailable", "injected"),
	})
	const noGeneration = `"0x8D4BCC2E4835CD0"`
	if _, err := p.store.Get(t.Context(), "key", noGeneration); !errors.Is(err, objectstore.Changed) {
		t.Errorf("got %v, want %v", err, objectstore.Changed)
	}
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
