package mirror

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	etcdutl "go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// bump is by how much a restore raises the revision.
const bump = 1_000_000

// TestMirrorOfARestoredCluster: a mirror notices whether a restore lets time run
// backwards.
func TestMirrorOfARestoredCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		bump   int64
		want   State
	}{
		"Bumped":  {reason: "it is told to list again", bump: bump, want: State{Lists: 2, Compacted: 1, Keys: 21}},
		"AsItWas": {reason: "it is told nothing, and believes in keys that are gone", want: State{Lists: 1, Keys: 31}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			member := etcdtest.NewMember(t, etcdtest.Newest(), "etcd")
			first := member.Start(t, "new", member)
			member.WaitReady(t)
			m, err := New(member.Client, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { m.Run(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			c, err := clientv3.New(clientv3.Config{Endpoints: []string{member.Client}, Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			put(t, c, 0, 20)
			snapshot := save(t, c, filepath.Join(dir, "snapshot"))
			put(t, c, 20, 30)
			await(t, m, func(s State) bool { return s.Keys == 30 })
			first.Kill()

			member.Dir = filepath.Join(dir, "restored")
			restore(t, snapshot, member, tc.bump)
			member.Start(t, "new", member)
			member.WaitReady(t)
			if tc.bump == 0 { // it must come as far as the first was to be heard of at all
				for range 10 {
					put(t, c, 0, 1)
				}
			}
			put(t, c, 99, 100)
			await(t, m, func(State) bool { _, there := m.Copy().Keys[key(99)]; return there })
			got := m.State()
			tc.want.Revision = got.Revision
			if got != tc.want {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, tc.want)
			}
			now, err := m.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := m.Copy().Diff(now); (diff == "") != (tc.bump > 0) {
				t.Errorf("%s: its copy and the cluster: %s", tc.reason, diff)
			}
		})
	}
}

func key(n int) string { return fmt.Sprintf("key-%02d", n) }

func put(t *testing.T, c *clientv3.Client, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if _, err := c.Put(t.Context(), key(n), "value"); err != nil {
			t.Fatal(err)
		}
	}
}

func save(t *testing.T, c *clientv3.Client, file string) string {
	t.Helper()
	r, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return file
}

func restore(t *testing.T, snapshot string, m *etcdtest.Member, bump int64) {
	t.Helper()
	if err := etcdutl.NewV3(zap.NewNop()).Restore(etcdutl.RestoreConfig{
		SnapshotPath: snapshot, OutputDataDir: m.Dir, Name: m.Name, PeerURLs: []string{m.PeerURL}, InitialCluster: etcdtest.InitialCluster(m),
		InitialClusterToken: "another", RevisionBump: uint64(bump), MarkCompacted: bump > 0,
	}); err != nil {
		t.Fatal(err)
	}
}

func await(t *testing.T, m *Mirror, done func(State) bool) {
	t.Helper()
	etcdtest.Eventually(t, "the mirror", func() error {
		if s := m.State(); !done(s) {
			return fmt.Errorf("it is %+v", s)
		}
		return nil
	})
}
