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
// certificates, with the files of a Secret of type kubernetes.io/tls at dir. So do peers, if
// its PeerURL says so; else they talk in the clear.
func (m *Member) StartSecure(t testing.TB, dir, state string, all ...*Member) *Process {
	t.Helper()
	secure := []string{"--listen-client-urls=", "--advertise-client-urls="}
	prefixes := []string{"--"}
	if strings.HasPrefix(m.PeerURL, "https://") {
		secure, prefixes = append(secure, "--listen-peer-urls="), append(prefixes, "--peer-")
	}
	argv := m.Command(t)
	for i, flag := range argv {
		for _, name := range secure {
			if strings.HasPrefix(flag, name) {
				argv[i] = strings.Replace(flag, "http://", "https://", 1)
			}
		}
	}
	for _, prefix := range prefixes {
		argv = append(argv, prefix+"client-cert-auth",
			prefix+"cert-file="+filepath.Join(dir, "tls.crt"),
			prefix+"key-file="+filepath.Join(dir, "tls.key"),
			prefix+"trusted-ca-file="+filepath.Join(dir, "ca.crt"))
	}
	return Start(t, []string{"ETCD_MAX_LEARNERS=6"}, append(argv,
		"--initial-cluster="+InitialCluster(all...),
		"--initial-cluster-state="+state,
		"--initial-cluster-token="+all[0].Name)...)
}

// DialSecure returns a client of a member that StartSecure has started.
func (m *Member) DialSecure(t testing.TB, config *tls.Config) *clientv3.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventually)
	t.Cleanup(cancel)
	c, err := clientv3.New(clientv3.Config{Context: ctx, Endpoints: []string{"https://" + m.Client}, TLS: config, DialTimeout: eventually, Logger: zap.NewNop()})
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
