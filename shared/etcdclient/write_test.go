package etcdclient

import (
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A write that is tried changes no key and no revision, and is refused as others are.
func TestTryWrite(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		m := etcdtest.NewMember(t, version, "a")
		m.Start(t, "new", m)
		m.WaitReady(t)
		cli := dial(t, m)
		e := Endpoint{Name: "a", Addr: m.Client}
		status := func() *pb.StatusResponse {
			s, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Status(t.Context(), &pb.StatusRequest{})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		before := status()
		if err := (Client{}).TryWrite(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		after := status()
		if after.Header.Revision != before.Header.Revision || after.RaftIndex < before.RaftIndex+2 {
			t.Errorf("the revision is %d after %d, raft's index %d after %d", after.Header.Revision, before.Header.Revision, after.RaftIndex, before.RaftIndex)
		}
		if leases, err := cli.Leases(t.Context()); err != nil || len(leases.Leases) > 0 {
			t.Errorf("left are %v, %v", leases, err)
		}
		for kind, words := range map[pb.AlarmType]string{pb.AlarmType_NOSPACE: "space exceeded", pb.AlarmType_CORRUPT: "corrupt"} {
			alarm := func(action pb.AlarmRequest_AlarmAction) {
				_, err := pb.NewMaintenanceClient(cli.ActiveConnection()).Alarm(t.Context(), &pb.AlarmRequest{Action: action, MemberID: before.Header.MemberId, Alarm: kind})
				if err != nil {
					t.Fatal(err)
				}
			}
			alarm(pb.AlarmRequest_ACTIVATE)
			if err := (Client{}).TryWrite(t.Context(), e); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: a write gets %v", kind, err)
			}
			alarm(pb.AlarmRequest_DEACTIVATE)
			if err := (Client{}).TryWrite(t.Context(), e); err != nil {
				t.Errorf("%s, disarmed: a write gets %v", kind, err)
			}
		}
	})
}
