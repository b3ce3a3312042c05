package agent

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// A store that is away for longer than a few attempts take costs no backup: it is tried
// again until the next one is due.
func TestAStoreThatIsAwayForLong(t *testing.T) {
	s, c := startStore(t), startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 5, 100)
	var back time.Time
	away := func(*http.Request) bool { return time.Now().Before(back) }
	s.proxy.Inject(s3test.Fault{When: away, Times: 1 << 30, Do: s3test.Answer(http.StatusServiceUnavailable, "ServiceUnavailable")})
	const reason = "StoreUnavailable"

	back = time.Now().Add(time.Hour)
	tk := toS3(c.endpoints(), s.place(t, "key"))
	begun := time.Now()
	mustFail(t, tk, reason, agent.ExitRetry, "")
	few := time.Since(begun)
	t.Logf("a few attempts take %s", few)

	t.Run("the first Pod ends soon", func(t *testing.T) {
		// Its limit is one of time since the Job was started, which is ahead here.
		tk.Started, tk.RetryUntil = time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
		mustFail(t, tk, reason, agent.ExitRetry, "")
	})
	t.Run("a later one goes on", func(t *testing.T) {
		tk.Started, tk.RetryUntil = time.Now(), time.Now().Add(time.Hour)
		back = time.Now().Add(2 * few)
		result := mustSave(t, tk)
		if took := result.Finished.Sub(result.Started); took < 2*few {
			t.Errorf("it took %s, and the store was away for %s", took, 2*few)
		}
		checkFile(t, c, s.object(t, "key").Body, result)
	})
	t.Run("until the next is due", func(t *testing.T) {
		back = time.Now().Add(time.Hour)
		tk.Started, tk.RetryUntil = time.Now(), time.Now().Add(2*few)
		until := tk.RetryUntil
		mustFail(t, tk, reason, agent.ExitPermanent, "no attempt succeeded until "+until.UTC().Format(time.RFC3339))
		if late := time.Since(until); late > few+time.Second {
			t.Errorf("it tried for %s longer", late)
		}
	})
}

// However wrong the node's clock is, a Pod tries no longer than it is meant to.
func TestTimeToRetry(t *testing.T) {
	now := time.Now()
	rows := map[string]struct {
		reason   string
		wrong    time.Duration // the node's clock against the operator's
		tried    time.Duration
		persists bool
		hasTime  bool
	}{
		"at first":         {reason: "somebody waits for a report", tried: 0, persists: false, hasTime: true},
		"later":            {reason: "the report is made", wrong: reportAfter, tried: time.Minute, persists: true, hasTime: true},
		"at last":          {reason: "the next is due", wrong: reportAfter, tried: 59 * time.Minute, persists: true, hasTime: false},
		"a year ahead":     {reason: "a few attempts, as before", wrong: 365 * 24 * time.Hour, tried: time.Second, persists: true, hasTime: false},
		"a year behind":    {reason: "a few attempts, and another Pod", wrong: -365 * 24 * time.Hour, tried: time.Minute, persists: false, hasTime: true},
		"behind, for long": {reason: "an hour is an hour", wrong: -365 * 24 * time.Hour, tried: time.Hour, persists: false, hasTime: false},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			started := now.Add(-r.wrong)
			j := &job{task: task.Task{Started: started, RetryUntil: started.Add(time.Hour)}, limits: defaultLimits, begun: now}
			if got := j.persists(); got != r.persists {
				t.Errorf("%s: persists is %t", r.reason, got)
			}
			if got := j.hasTime(now.Add(r.tried), time.Second); got != r.hasTime {
				t.Errorf("%s: hasTime is %t", r.reason, got)
			}
		})
	}
}

// absent is a place that does not answer, and notes when it was asked.
type absent struct {
	destination
	asked []time.Time
}

func (a *absent) prepare(context.Context) error {
	a.asked = append(a.asked, time.Now())
	return runner.Passing("StoreUnavailable", "the store does not answer")
}

// The pauses double up to two minutes, and go on until the next backup is due: a store that
// is back is used soon, and one that is away is not asked all the time.
func TestPausesGrowAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		next := begun.Add(6 * time.Hour)
		tk := task.Task{Started: begun.Add(-reportAfter), RetryUntil: next}
		to := &absent{}
		_, err := (&job{task: tk, log: slog.New(slog.DiscardHandler), limits: defaultLimits}).saveWithRetries(t.Context(), to)
		if f := explain(t.Context(), err); f.Reason != "StoreUnavailable" || !f.Permanent || !strings.Contains(f.Message, "no attempt succeeded until "+next.UTC().Format(time.RFC3339)) {
			t.Errorf("it ends with %+v", f)
		}
		pause := time.Second
		for i := range to.asked[1:] {
			if got := to.asked[i+1].Sub(to.asked[i]); got != pause {
				t.Fatalf("pause %d is %s, want %s", i+1, got, pause)
			}
			pause = min(2*pause, 2*time.Minute)
		}
		if last := to.asked[len(to.asked)-1]; !last.Before(next) || next.Sub(last) > 2*time.Minute || !time.Now().Equal(last) {
			t.Errorf("it is asked for the last time at %s and ends at %s, and the next backup is due at %s", last, time.Now(), next)
		}
	})
}
