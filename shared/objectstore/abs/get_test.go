package abs

import (
	"net/http"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/azuretest"
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

func TestListAndDeleteAnyNumber(t *testing.T) {
	client, proxy, settings, _ := setup(t)
	azuretest.Put(t, client, "a-folder", nil, nil) // is not listed
	settings.Stall = time.Minute
	storetest.List(t, storetest.Place{Store: open(t, settings), Proxy: proxy, Denied: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")})
}
