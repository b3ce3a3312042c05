package suite

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// bigBackup is more than an agent and the network hold between etcd and the store,
	// in bytes: while the store takes nothing, the snapshot is not all sent.
	bigBackup = 64 << 20
	// theMiddle is how much of it is stored then: some parts of an upload.
	theMiddle = 16 << 20
)

// TestBackupInterrupted: in the middle of a big backup its operator is killed, its
// source is killed, its Job is deleted, its EtcdBackup is deleted.
func TestBackupInterrupted(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	var proxy *harness.StallProxy
	s.within(oneMinute, func(ctx context.Context) (err error) {
		proxy, err = env.StartStallProxy(ctx, s.view, s.ns)
		return err
	})
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.fills(bigBackup)
	// inTheMiddle begins a backup to a key and returns when some of it is stored.
	inTheMiddle := func(name, key string) *backup {
		t.Helper()
		s.must(proxy.Shut(s.ctx, theMiddle))
		b := s.backup(name, w.Writer, st.by(proxy.Endpoint, bucket+"/"+key), harness.OfCluster(c.Name))
		s.within(oneMinute, proxy.Holds)
		b.becomes("in the middle", oneMinute, harness.InPhase(v1beta2.BackupRunning))
		return b
	}

	b := inTheMiddle("operator-killed", "operator-killed")
	agent := b.State().Pods[0].UID
	s.must(env.KillDeployment(s.ctx, s.ns, harness.BackupOperatorName))
	s.within(oneMinute, func(ctx context.Context) error {
		return env.ScaleDeployment(ctx, s.view, s.ns, harness.BackupOperatorName, 0)
	})
	s.tell("there is no operator any more")
	s.must(proxy.Open(s.ctx))
	b.becomes("stored without an operator", oneMinute, harness.JobEnded)
	if phase := b.Status().Phase; phase != v1beta2.BackupRunning {
		t.Errorf("its phase is %s, but nobody is there to say so", phase)
	}
	s.within(oneMinute, func(ctx context.Context) error {
		return env.ScaleDeployment(ctx, s.view, s.ns, harness.BackupOperatorName, 1)
	})
	b.isStored(oneMinute)
	b.madeBy(agent)

	b = inTheMiddle("source-killed", "source-killed")
	agent = b.State().Pods[0].UID
	source := b.source()
	s.must(c.KillPods(s.ctx, source))
	s.tell("the source %s is killed", source)
	c.becomes("without it", harness.All(withoutMember(source), func(s harness.State) string {
		if s.Pod(source) != nil {
			return source + " is still there"
		}
		return ""
	}), oneMinute)
	s.must(proxy.Open(s.ctx))
	b.isStored(twoMinutes)
	b.madeBy(agent)
	if again := b.source(); again == source {
		t.Errorf("%s is the source, and was killed", again)
	}
	c.settles(3, twoMinutes)

	b = inTheMiddle("job-deleted", "job-deleted")
	s.kubectl("delete", "job", b.State().Jobs[0].Name)
	s.must(proxy.Open(s.ctx))
	b.isStored(twoMinutes)
	if first := b.Status().History; len(first) != 2 || first[1].Reason != "JobLost" {
		t.Errorf("it is not told that the first Job was lost: %+v", first)
	}

	before := st.objects()
	b = inTheMiddle("deleted", "operator-killed")
	s.must(b.Delete(s.ctx))
	b.becomes("gone without a trace", oneMinute, harness.NoTrace)
	s.must(proxy.Open(s.ctx))
	if diff := cmp.Diff(before, st.objects()); diff != "" {
		t.Errorf("in the bucket, after the deletion: -before +after\n%s", diff)
	}
	st.holdsNothingHalf()
	w.lostNothing(3)
}

// madeBy: it was that Pod that made it, and no other.
func (b *backup) madeBy(agent types.UID) {
	b.s.t.Helper()
	if pods := b.State().Pods; len(pods) != 1 || pods[0].UID != agent {
		b.s.t.Errorf("it was not made by the Pod %s alone, but by %d", agent, len(pods))
	}
}

// taking is what an agent logs when it has chosen its source.
var taking = regexp.MustCompile(`"msg":"taking the snapshot","backup":"[^"]*","endpoint":"http://([^.]+)\.`)

// source is the member whose snapshot is taken, as the agent's log has it.
func (b *backup) source() (member string) {
	b.s.t.Helper()
	b.s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a log that names the source", func(ctx context.Context) (string, error) {
			log, err := b.Log(ctx)
			all := taking.FindAllStringSubmatch(log, -1)
			if err != nil || len(all) == 0 {
				return log, err
			}
			member = all[len(all)-1][1]
			return "", nil
		})
	})
	return member
}

// TestManyBackups: fifty at once.
func TestManyBackups(t *testing.T) {
	isLong(t)
	t.Parallel()
	const many = 50
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	w := c.writes()
	began := time.Now()
	var all []*backup
	for i := range many {
		name := fmt.Sprintf("backup-%02d", i)
		all = append(all, s.backup(name, w.Writer, st.at(name), harness.OfCluster(c.Name)))
	}
	for _, b := range all {
		s.within(5*time.Minute, func(ctx context.Context) error { return b.Await(ctx, "stored", harness.Stored) })
	}
	s.tell("%d backups are stored %.1f s after the first was created", many, time.Since(began).Seconds())
	for _, b := range all {
		b.isStored(oneMinute)
		if n := len(b.State().Pods); n != 1 {
			t.Errorf("%s took %d Pods", b.Name, n)
		}
	}
	if n := len(st.objects()); n != many {
		t.Errorf("%d objects are stored, want %d", n, many)
	}
	if log := s.kubectl("logs", "-l", "app.kubernetes.io/name="+harness.BackupOperatorName, "--tail=-1"); strings.Contains(log, `"level":"error"`) {
		t.Errorf("the operator's log has errors:\n%s", log)
	}
	w.lostNothing(1)
}
