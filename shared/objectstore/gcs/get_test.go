package gcs

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
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

func TestListAndDeleteAnyNumber(t *testing.T) {
	p := setup(t)
	p.settings.Stall = time.Minute
	storetest.List(t, storetest.Place{Store: open(t, p.settings), Proxy: p.proxy, Denied: gcstest.Answer(http.StatusForbidden, "forbidden", "injected")})
}
