package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/archive"
)

// The recovery time is when the agent asked, not when the cluster answered: a write in between might be missing.
// It moves only once everything up to the mark's revision is stored.
func TestArchiveProgress(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0).UTC() }
	mark := func(revision int64, asked int) archive.Mark {
		return archive.Mark{Revision: revision, Asked: at(asked), Answered: at(asked + 5)}
	}
	from := func(cluster uint64) member { return member{cluster: cluster, id: 1, revision: 20} }
	goesOn := place{timeline: 2, position: archive.Position{Revision: 7}, begin: 3}
	told := task.ArchiveProgress{ClusterID: hex(1), MemberID: hex(1), Timeline: 2, Begin: 3, Revision: 7, Newest: 20}
	with := func(change func(*task.ArchiveProgress)) task.ArchiveProgress {
		p := told
		change(&p)
		return p
	}
	for name, row := range map[string]struct {
		reason string
		do     func(*archiveProgress)
		want   task.ArchiveProgress
	}{
		"it begins": {"the rest is not stored yet", func(*archiveProgress) {}, told},
		"nothing new": {
			"everything until the question is stored", func(p *archiveProgress) { p.marked(mark(7, 10)) },
			with(func(p *task.ArchiveProgress) { p.RecoveryTime, p.Newest = at(10), 7 }),
		},
		"a write": {
			"the segment is not stored yet", func(p *archiveProgress) { p.marked(mark(8, 10)) },
			with(func(p *task.ArchiveProgress) { p.Newest = 8 }),
		},
		"a write that is stored": {
			"the second mark has the later time, and the third is about a later write", func(p *archiveProgress) {
				p.marked(mark(8, 10))
				p.marked(mark(8, 20))
				p.marked(mark(9, 30))
				p.stored(archive.Segment{Last: 8})
			},
			with(func(p *task.ArchiveProgress) { p.Revision, p.RecoveryTime, p.Newest = 8, at(20), 9 }),
		},
		"another member of the cluster": {
			"the timeline goes on, and so does the recovery time", func(p *archiveProgress) {
				p.marked(mark(7, 10))
				p.began(from(1), goesOn)
			},
			with(func(p *task.ArchiveProgress) { p.RecoveryTime = at(10) }),
		},
		"another cluster": {
			"nothing of it is stored", func(p *archiveProgress) {
				p.marked(mark(7, 10))
				p.began(from(2), goesOn)
			},
			with(func(p *task.ArchiveProgress) { p.ClusterID = hex(2) }),
		},
		"another timeline": {
			"nothing of it is stored", func(p *archiveProgress) {
				p.marked(mark(7, 10))
				p.began(from(1), place{timeline: 3, position: archive.Position{Revision: 9}, begin: 9})
			},
			with(func(p *task.ArchiveProgress) { p.Timeline, p.Begin, p.Revision = 3, 9, 9 }),
		},
	} {
		var p archiveProgress
		p.began(from(1), goesOn)
		row.do(&p)
		if diff := cmp.Diff(row.want, p.told); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, row.reason, diff)
		}
	}

	var p archiveProgress
	for i := range 4 * maxPending { // two marks of each revision
		p.marked(mark(int64(i/2+1), i))
	}
	if n := len(p.pending); n != maxPending || p.pending[0].Revision != 1 || p.pending[1].Revision != 2 || p.pending[n-1].Revision != 2*maxPending {
		t.Errorf("%d marks wait, of revisions %d, %d to %d; want %d, one of each revision, with the first and the last",
			n, p.pending[0].Revision, p.pending[1].Revision, p.pending[n-1].Revision, maxPending)
	}
}
