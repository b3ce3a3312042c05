package abs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

func TestGet(t *testing.T) {
	_, proxy, _, store := setup(t)
	storetest.Read(t, storetest.Place{
		Store: store, Proxy: proxy, IsRead: s3test.IsMethod(http.MethodGet), OtherETags: []string{`"0x8D4BCC2E4835CD0"`},
		Busy: azuretest.Answer(http.StatusServiceUnavailable, "ServerBusy"),
	})
}

func TestListAndDeleteMoreThanAPage(t *testing.T) {
	client, proxy, settings, _ := setup(t)
	settings.Stall = time.Minute
	store := open(t, settings)
	const number = pageSize + 100
	var keys []string
	for i := range number {
		keys = append(keys, fmt.Sprintf("a%04d", i))
	}
	fill(t, client, keys)
	azuretest.Put(t, client, "b", []byte("x"), nil)
	azuretest.Put(t, client, "a-folder", nil, nil)
	var listed []string
	for o, err := range store.List(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o.Key)
	}
	if !slices.Equal(listed, keys) {
		t.Errorf("%d are listed, want the %d that begin with a and have content", len(listed), len(keys))
	}
	deny := proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodDelete), Times: 1, Do: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")})
	n, err := store.Delete(t.Context(), append(keys[:20:20], "not there")...)
	if n != 20 || !errors.Is(err, objectstore.AccessDenied) || proxy.Hits(deny) != 1 {
		t.Errorf("deleted %d: %v; want all but one of 21, and %v", n, err, objectstore.AccessDenied)
	}
	proxy.Inject(s3test.Fault{Do: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")})
	for _, err := range store.List(t.Context(), "a") {
		if !errors.Is(err, objectstore.AccessDenied) {
			t.Errorf("got %v, want %v", err, objectstore.AccessDenied)
		}
	}
}
