package etcdtest

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// Dial returns a client of the member, a stranger's if user is empty.
func (m *Member) Dial(t testing.TB, user, password string) *clientv3.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c, err := clientv3.New(clientv3.Config{
		Context: ctx, Endpoints: []string{m.Client}, Username: user, Password: password, DialTimeout: patience, Logger: zap.NewNop(),
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := m.Dial(t, "", "")
	for what, do := range map[string]func() error{
		"add the user": func() error { _, err := c.UserAdd(ctx, "root", password); return err },
		"add the role": func() error { _, err := c.RoleAdd(ctx, "root"); return err },
	} {
		if err := do(); err != nil {
			t.Fatalf("%s root: %v", what, err)
		}
	}
	if _, err := c.UserGrantRole(ctx, "root", "root"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AuthEnable(ctx); err != nil {
		t.Fatal(err)
	}
}
