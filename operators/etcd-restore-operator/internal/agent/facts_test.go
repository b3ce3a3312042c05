package agent

import (
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// A data dir that was prepared is used only for a task with the same target.
func TestFactsAreOfTheTask(t *testing.T) {
	at := time.Unix(1000, 0)
	found := &task.Snapshot{Revision: 9}
	whole := facts{Snapshot: found}
	cut := facts{Snapshot: found, Cut: &task.Cut{Revision: 7}}
	timed := facts{Snapshot: found, Cut: &task.Cut{Revision: 7, Time: at}}
	for name, row := range map[string]struct {
		noted facts
		of    task.Task
		want  bool
	}{
		"the whole snapshot":                 {whole, task.Task{}, true},
		"the whole snapshot, for a revision": {whole, task.Task{Revision: 7}, false},
		"the whole snapshot, for a time":     {whole, task.Task{Time: at}, false},
		"all keys, for a prefix":             {whole, task.Task{Prefixes: []string{"a"}}, false},
		"no cut, for a prefix":               {facts{Snapshot: found, Prefixes: []string{"a"}}, task.Task{Prefixes: []string{"a"}}, false},
		"a revision":                         {cut, task.Task{Revision: 7}, true},
		"another revision":                   {cut, task.Task{Revision: 8}, false},
		"a revision, for a time":             {cut, task.Task{Time: at}, false},
		"a time":                             {timed, task.Task{Time: at}, true},
		"another snapshot than was verified": {whole, task.Task{Want: &task.Snapshot{Revision: 8}}, false},
		"no snapshot":                        {facts{}, task.Task{}, false},
	} {
		if got := row.noted.isOf(row.of); got != row.want {
			t.Errorf("%s: isOf is %t, want %t", name, got, row.want)
		}
	}
}

// Of two snapshots with the same time, the name decides, so that each look chooses the same one.
func TestListingOfOneTime(t *testing.T) {
	at := time.Unix(1000, 0)
	names := []string{"etcd_v1", "etcd_v3", "etcd_v2"}
	var l listing
	for _, name := range names {
		l.add(lying{objectstore.Object{Key: name}, snapshotname.Snapshot{Name: name, Time: at}, "etcd"})
	}
	l.trim()
	if got := l.newest[0].Name; got != "etcd_v3" {
		t.Errorf("the newest is %s, want etcd_v3", got)
	}
}
