package s3

import (
	"bytes"
	"io"
	"net/http"
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
	_, proxy, store := setup(t)
	storetest.List(t, storetest.Place{Store: store, Proxy: proxy, Denied: s3test.Answer(http.StatusForbidden, "AccessDenied")})
}
