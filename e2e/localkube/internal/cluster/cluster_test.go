package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

func TestReadySince(t *testing.T) {
	started := time.Date(2026, 1, 2, 3, 4, 5, 700_000_000, time.UTC)
	for name, c := range map[string]struct {
		reason, condition string
		ready             bool
	}{
		"said by the running kubelet":  {condition: "True 2026-01-02T03:04:06Z", ready: true},
		"said in the second of start":  {reason: "the API keeps whole seconds", condition: "True 2026-01-02T03:04:05Z", ready: true},
		"said by an earlier kubelet":   {condition: "True 2026-01-02T03:04:04Z"},
		"not ready":                    {condition: "False 2026-01-02T03:04:06Z"},
		"unknown":                      {condition: "Unknown 2026-01-02T03:04:06Z"},
		"a node without the condition": {condition: ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := readySince(c.condition, started); (err == nil) != c.ready {
				t.Errorf("%v, want ready: %t: %s", err, c.ready, c.reason)
			}
		})
	}
}

func TestNodesAreWhatTheStateFolderHolds(t *testing.T) {
	c := Cluster{Layout: topology.Layout{State: t.TempDir(), Run: t.TempDir()}}
	check := func(wanted int, want ...int) {
		t.Helper()
		nodes, err := c.wanted(wanted)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, n := range nodes {
			got = append(got, n.Number)
		}
		if len(got) != len(want) || got[len(got)-1] != want[len(want)-1] {
			t.Errorf("wanted(%d) = %v, want %v", wanted, got, want)
		}
	}
	check(1, 1)
	check(2, 1, 2)
	for _, number := range []int{1, 2, 3} {
		if err := os.MkdirAll(c.Layout.Node(topology.Node{Number: number}).State, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check(1, 1, 2, 3)
}

func TestPutLeavesAnEqualFileAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "file")
	if err := put(path, "text"); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1000, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	modified := func() time.Time {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	if err := put(path, "text"); err != nil || !modified().Equal(old) {
		t.Errorf("an equal file was rewritten (%v): kube-proxy would end", err)
	}
	if err := put(path, "other"); err != nil || modified().Equal(old) {
		t.Errorf("a changed text wasn't written: %v", err)
	}
}

func TestATarIsImportedAgainOnlyWhenItChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "image.tar")
	mark := func(content string, at int64) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Unix(at, 0), time.Unix(at, 0)); err != nil {
			t.Fatal(err)
		}
		name, err := markOf(path)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	first := mark("one", 1)
	if mark("one", 1) != first {
		t.Error("the same tar has another mark")
	}
	if mark("one", 2) == first || mark("longer", 1) == first {
		t.Error("a changed tar has the same mark")
	}
}
