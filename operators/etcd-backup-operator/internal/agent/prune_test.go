package agent

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// fullPlace is one that holds snapshots of one cluster, in memory.
type fullPlace struct {
	destination
	names map[string]bool
}

func (p *fullPlace) path() string { return "etcd" }

func (p *fullPlace) list(context.Context, string) ([]string, error) {
	return slices.Sorted(maps.Keys(p.names)), nil
}

func (p *fullPlace) clock(context.Context, string) (time.Time, error) { return due, nil }

func (p *fullPlace) look(_ context.Context, name string) (found, error) {
	return found{there: p.names[name], metadata: map[string]string{metaCluster: "c", metaRevision: "3"}}, nil
}

func (p *fullPlace) remove(_ context.Context, names []string) (int, error) {
	for _, name := range names {
		delete(p.names, name)
	}
	return len(names), nil
}

// Where there were over 10,000 snapshots before retention was asked for, each backup deletes as many of
// those as it looks at, and the next one continues.
func TestRetentionContinues(t *testing.T) {
	const old = 10_020
	p := &fullPlace{names: map[string]bool{}}
	for i := range old {
		p.names[snapshotname.Name("etcd", 3, due.Add(time.Duration(i-old)*time.Hour))] = true
	}
	var written []string
	for run, want := range []int{maxLooks - 2, maxLooks - 2, old - 2*(maxLooks-2)} {
		at := due.Add(time.Duration(run) * time.Hour)
		name := snapshotname.Name("etcd", 5, at)
		written = append(written, name)
		p.names[name] = true
		j := &job{task: task.Task{Repeated: true, MaxBackups: 3, Time: at}, result: &task.Result{ClusterID: "c", Revision: 5}, log: slog.New(slog.DiscardHandler)}
		if err := j.prune(t.Context(), p, name); err != nil || j.result.Deleted != want {
			t.Errorf("run %d: deleted %d, %v; want %d", run, j.result.Deleted, err, want)
		}
	}
	if left := slices.Sorted(maps.Keys(p.names)); !slices.Equal(left, written) {
		t.Errorf("%d are left, want the three newest: %v", len(left), left)
	}
}

// lookable is a destination for tests of lookAll. Only its method look is implemented.
type lookable struct {
	destination
	there map[string]found
}

func (l lookable) look(_ context.Context, name string) (found, error) { return l.there[name], nil }

// Retention counts each snapshot that exists, also one that these credentials cannot read.
func TestLookAll(t *testing.T) {
	to := lookable{there: map[string]found{
		"own":     {there: true, metadata: map[string]string{metaBackup: "ns/own"}},
		"another": {there: true, metadata: map[string]string{metaBackup: "ns/another"}},
		"hidden":  {hidden: true},
	}}
	var suspects []snapshotname.Snapshot
	for _, name := range []string{"own", "another", "hidden", "gone"} {
		suspects = append(suspects, snapshotname.Snapshot{Name: name})
	}
	for by, want := range map[string][]string{"": {"own", "another", "hidden"}, "ns/own": {"own"}} {
		known, err := lookAll(t.Context(), to, suspects, by)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, k := range known {
			got = append(got, k.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("by %q: got %v, want %v", by, got, want)
		}
	}
}
