package etcdtest

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Dial returns a client of the member, a stranger's if user is empty.
func (m *Member) Dial(t testing.TB, user, password string) *clientv3.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	t.Cleanup(cancel)
	c, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{m.Client}, Username: user, Password: password, DialTimeout: eventually, Logger: zap.NewNop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// EnableAuth enables authentication on the member's cluster, as a user does, with the
// user root of this password.
func (m *Member) EnableAuth(t testing.TB, password string) {
	t.Helper()
	EnableAuthOf(t, m.Dial(t, "", ""), password)
}
