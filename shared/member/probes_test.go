package member

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// The probes say of a real etcd what their comments promise.
func TestProbes(t *testing.T) {
	live, ready := livenessProbe().HTTPGet.Path, readinessProbe().HTTPGet.Path
	expect := func(t *testing.T, reason string, m *etcdtest.Member, wantLive, wantReady int) {
		t.Helper()
		etcdtest.Eventually(t, reason+": readiness", func() error { return etcdtest.CheckHTTP(m.Metrics, ready, wantReady) })
		if err := etcdtest.CheckHTTP(m.Metrics, live, wantLive); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		seed := etcdtest.NewMember(t, version, "seed")
		seed.Start(t, "new", seed)
		expect(t, "a cluster of one serves", seed, 200, 200)

		cli, err := clientv3.New(clientv3.Config{Endpoints: []string{seed.Client}, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		defer cli.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()

		other := etcdtest.NewMember(t, version, "other")
		added, err := cli.MemberAddAsLearner(ctx, []string{other.PeerURL})
		if err != nil {
			t.Fatal(err)
		}
		process := other.Start(t, "existing", seed, other)
		other.WaitServing(t)
		expect(t, "a learner lives and gets no clients", other, 200, 503)
		etcdtest.Eventually(t, "the promotion", func() error {
			_, err := cli.MemberPromote(ctx, added.Member.ID)
			return err
		})
		expect(t, "a voter serves", other, 200, 200)

		alarms := pb.NewMaintenanceClient(cli.ActiveConnection())
		for alarm, wantReady := range map[pb.AlarmType]int{pb.AlarmType_NOSPACE: 200, pb.AlarmType_CORRUPT: 503} {
			id := added.Header.MemberId
			set := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: alarm}
			if _, err := alarms.Alarm(ctx, set); err != nil {
				t.Fatal(err)
			}
			expect(t, "no restart cures "+alarm.String(), seed, 200, wantReady)
			unset := &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, MemberID: id, Alarm: alarm}
			if _, err := alarms.Alarm(ctx, unset); err != nil {
				t.Fatal(err)
			}
		}

		// Without a leader, etcd leaves the question for readiness unanswered.
		process.Kill()
		etcdtest.Eventually(t, "readiness to be lost with the quorum", func() error {
			if err := etcdtest.CheckHTTP(seed.Metrics, ready, 200); err == nil {
				return errors.New("still ready")
			}
			return nil
		})
		if err := etcdtest.CheckHTTP(seed.Metrics, live, 200); err != nil {
			t.Errorf("a lost quorum kills nobody: %v", err)
		}
	})
}
