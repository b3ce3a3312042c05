package etcdtest

import (
	"context"
	"crypto/tls"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// StartSecure is Start for a member that serves clients by TLS, and asks them for
// certificates, with the files of a Secret of type kubernetes.io/tls at dir. Peers talk in
// the clear.
func (m *Member) StartSecure(t testing.TB, dir, state string, all ...*Member) *Process {
	t.Helper()
	argv := m.Command(t)
	for i, flag := range argv {
		if strings.HasPrefix(flag, "--listen-client-urls=") || strings.HasPrefix(flag, "--advertise-client-urls=") {
			argv[i] = strings.Replace(flag, "http://", "https://", 1)
		}
	}
	return Start(t, []string{"ETCD_MAX_LEARNERS=6"}, append(argv,
		"--initial-cluster="+InitialCluster(all...),
		"--initial-cluster-state="+state,
		"--initial-cluster-token="+all[0].Name,
		"--client-cert-auth",
		"--cert-file="+filepath.Join(dir, "tls.crt"),
		"--key-file="+filepath.Join(dir, "tls.key"),
		"--trusted-ca-file="+filepath.Join(dir, "ca.crt"))...)
}

// DialSecure returns a client of a member that StartSecure has started.
func (m *Member) DialSecure(t testing.TB, config *tls.Config) *clientv3.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	c, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"https://" + m.Client}, TLS: config, DialTimeout: patience, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// EnableAuthOf is [Member.EnableAuth] by a client.
func EnableAuthOf(t testing.TB, c *clientv3.Client, password string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"add the user root", func() error { _, err := c.UserAdd(ctx, "root", password); return err }},
		{"add the role root", func() error { _, err := c.RoleAdd(ctx, "root"); return err }},
		{"grant it", func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err }},
		{"enable authentication", func() error { _, err := c.AuthEnable(ctx); return err }},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
	}
}
