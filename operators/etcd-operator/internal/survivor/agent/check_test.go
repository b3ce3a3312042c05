package agent

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
)

// telling is a member that returns its status.
type telling struct {
	pb.MaintenanceClient
	status pb.StatusResponse
}

func (m *telling) Status(context.Context, *pb.StatusRequest, ...grpc.CallOption) (*pb.StatusResponse, error) {
	return &m.status, nil
}

// S13: the agent reads the data of the survivor that the operator chose, and of no other member.
func TestCheck(t *testing.T) {
	tk := task.Task{ClusterID: "00000000000000c1", MemberID: "00000000000000a1", Committed: 9}
	for name, tc := range map[string]struct {
		change func(*pb.StatusResponse)
		ok     bool
		reason string
	}{
		"the survivor":    {func(*pb.StatusResponse) {}, true, "its id matches, and it has all that it had"},
		"further":         {func(s *pb.StatusResponse) { s.RaftIndex, s.RaftAppliedIndex = 10, 10 }, true, "it has applied more"},
		"another member":  {func(s *pb.StatusResponse) { s.Header.MemberId++ }, false, "it might lack what the survivor has"},
		"another cluster": {func(s *pb.StatusResponse) { s.Header.ClusterId++ }, false, "its data is another cluster's"},
		"behind":          {func(s *pb.StatusResponse) { s.RaftIndex = 8 }, false, "it has lost what it had"},
		"not yet applied": {func(s *pb.StatusResponse) { s.RaftAppliedIndex = 8 }, false, "a snapshot contains only what is applied"},
		"with a leader":   {func(s *pb.StatusResponse) { s.Leader = 1 }, false, "its cluster might serve again"},
		"ids interchanged": {func(s *pb.StatusResponse) {
			s.Header.ClusterId, s.Header.MemberId = s.Header.MemberId, s.Header.ClusterId
		}, false, "it is neither"},
	} {
		m := telling{status: pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 0xc1, MemberId: 0xa1}, RaftIndex: 9, RaftAppliedIndex: 9, DbSize: 7}}
		tc.change(&m.status)
		size, err := check(t.Context(), &m, tk)
		if (err == nil) != tc.ok || (tc.ok && size != 7) {
			t.Errorf("%s: size %d and error %v, want success %t: %s", name, size, err, tc.ok, tc.reason)
		}
	}
}
