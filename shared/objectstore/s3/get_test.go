package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

func TestGet(t *testing.T) {
	_, proxy, store := setup(t)
	storetest.Read(t, storetest.Place{
		Store: store, Proxy: proxy, IsRead: s3test.IsMethod(http.MethodGet), OtherETags: []string{`"d41d8cd98f00b204e9800998ecf8427e"`},
		Busy: s3test.Answer(http.StatusServiceUnavailable, "SlowDown"),
	})
}

func TestASlowReaderIsNoStall(t *testing.T) {
	server, proxy, _ := setup(t)
	s := settings(t, server, proxy.Endpoint)
	s.Stall = 100 * time.Millisecond
	store := open(t, s)
	want := content(4 << 20) // more than lies in buffers between
	if _, err := store.Put(t.Context(), "key", plain(want), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	cut := proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodGet), Do: s3test.During(func() {})})
	r, err := store.Get(t.Context(), "key", "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	time.Sleep(3 * s.Stall)
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("got %d bytes: %v", len(got), err)
	}
	if proxy.Hits(cut) != 1 {
		t.Errorf("it was asked for %d times, want once", proxy.Hits(cut))
	}
}

func TestListAndDeleteAnyNumber(t *testing.T) {
	server, proxy, store := setup(t)
	const number = 1100 // more than one page
	var keys []string
	for i := range number {
		key := fmt.Sprintf("a%04d", i)
		keys = append(keys, key)
		if _, err := store.Put(t.Context(), key, plain([]byte("x")), objectstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Put(t.Context(), "b", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
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
	deny := proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodDelete), Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
	n, err := store.Delete(t.Context(), append(keys, "not there")...)
	if n != number || !errors.Is(err, objectstore.AccessDenied) || proxy.Hits(deny) != 1 {
		t.Errorf("deleted %d: %v; want all but one of %d, and %v", n, err, number+1, objectstore.AccessDenied)
	}
	if left := server.Keys(t, bucket); len(left) != 2 || left[1] != "b" {
		t.Errorf("%v are left, want one and b", left)
	}
	proxy.Inject(s3test.Fault{Do: s3test.Answer(http.StatusForbidden, "AccessDenied")})
	for _, err := range store.List(t.Context(), "a") {
		if !errors.Is(err, objectstore.AccessDenied) {
			t.Errorf("got %v, want %v", err, objectstore.AccessDenied)
		}
	}
}
