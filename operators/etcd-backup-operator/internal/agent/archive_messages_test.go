package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// unreadable is a destination that cannot be listed or read.
type unreadable struct {
	destination
	names  []string
	failed error
}

func (u unreadable) path() string                                   { return "etcd_archive/x" }
func (u unreadable) list(context.Context, string) ([]string, error) { return u.names, u.failed }
func (u unreadable) look(context.Context, string) (found, error)    { return found{}, errUnreadable }

var errUnreadable = errors.New("<cause>")

// What the archiver tells people is in the golden file.
func TestArchiveMessages(t *testing.T) {
	m := member{endpoint: "https://example-client:2379", id: 0xc0ffee, health: health{leaderless: true}}
	a := &archiver{job: &job{task: task.Task{AuthDir: "x"}}}
	s := archive.Segment{ClusterID: 1, Timeline: math.MaxUint32, First: 2, Last: 3, Follows: 1, Ends: 2}
	_, last := nextTimeline([]archive.Segment{s}, 1)
	_, listed := segments(t.Context(), unreadable{failed: errUnreadable})
	_, _, kept := oldestKept(t.Context(), unreadable{failed: errUnreadable})
	name := snapshotname.Name("etcd_archive/x", 5, due)
	_, _, looked := oldestKept(t.Context(), unreadable{names: []string{name}})
	_, _, tooMany := oldestKept(t.Context(), unreadable{names: slices.Repeat([]string{name}, maxLooks+1)})
	withheld := m
	withheld.withheld = withheldBy("withheld from %s", m.endpoint)
	for _, err := range []error{
		interrupted(), notHealthy(m), tooLate(m, &archive.CompactedError{Revision: 3, Compacted: 9}), last, listed, kept, looked, tooMany,
		a.endedBecause(t.Context(), m, errUnreadable),
		a.endedBecause(t.Context(), m, status.Error(codes.PermissionDenied, "<cause>")),
		fmt.Errorf("%w: %w", archive.ErrDamaged, &archive.ForeignError{Want: s, Got: archive.Segment{ClusterID: 1, Timeline: 2}}),
		errAuth(errUnreadable), errAuthChanged,
	} {
		if err == nil {
			t.Error("there is no error")
			continue
		}
		messages.NoteFailure(explain(context.Background(), err))
	}
	if err := a.endedBecause(t.Context(), withheld, status.Error(codes.PermissionDenied, "")); !errors.Is(err, withheld.withheld) {
		t.Errorf("got %v", err)
	}
	stored := &storeError{errUnreadable}
	if err := a.endedBecause(t.Context(), m, stored); !errors.Is(err, errUnreadable) || stored.Error() == "" || errors.Is(err, stored) {
		t.Errorf("got %v", err)
	}
	for _, f := range []*agent.Failure{refusal("not repeated"), refusal("no interval")} {
		messages.NoteFailure(f)
	}
}

// refusal is why a task is not carried out.
func refusal(name string) *agent.Failure {
	tk := recordingOf(toPVC([]string{"http://localhost:1"}, "/", "file"))
	badTasks[name](&tk)
	content, err := json.Marshal(tk)
	if err == nil {
		_, err = read(string(content))
	}
	if err == nil {
		return nil
	}
	return explain(context.Background(), err)
}

var badTasks = map[string]func(*task.Task){
	"not repeated": func(tk *task.Task) { tk.Repeated = false },
	"no interval":  func(tk *task.Task) { tk.Archive.Interval = 0 },
}

func TestArchiveTask(t *testing.T) {
	for name := range badTasks {
		if f := refusal(name); f == nil || !f.Permanent {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
