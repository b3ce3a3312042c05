package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// fake is a member that sends what the test wants, in chunks as etcd does.
type fake struct {
	pb.UnimplementedMaintenanceServer
	content []byte
	// announced is added to the bytes that are said to remain.
	announced uint64
	// end is how the stream ends; silent: it doesn't.
	end    error
	silent bool
	status *pb.StatusResponse
	asked  int
	// read is how a linearizable read ends: nil for a revision, and isolated for never.
	read     error
	isolated bool
	pb.UnimplementedKVServer
}

// Range is a read that a quorum answers, unless the member is isolated.
func (f *fake) Range(ctx context.Context, in *pb.RangeRequest) (*pb.RangeResponse, error) {
	if in.Serializable {
		return nil, status.Error(codes.InvalidArgument, "that proves no quorum")
	}
	if f.isolated {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &pb.RangeResponse{Header: f.status.Header}, f.read
}

func (f *fake) Status(_ context.Context, _ *pb.StatusRequest) (*pb.StatusResponse, error) {
	return f.status, nil
}

func (f *fake) Snapshot(_ *pb.SnapshotRequest, to grpc.ServerStreamingServer[pb.SnapshotResponse]) error {
	f.asked++
	for rest := f.content; len(rest) > 0; {
		n := min(len(rest), 32<<10)
		if err := to.Send(&pb.SnapshotResponse{Blob: rest[:n], RemainingBytes: f.announced + uint64(len(rest)-n)}); err != nil {
			return err
		}
		rest = rest[n:]
	}
	if f.silent {
		<-to.Context().Done()
	}
	return f.end
}

// snapshotOf is a stream as etcd sends it.
func snapshotOf(size int) []byte {
	db := make([]byte, size)
	sum := sha256.Sum256(db)
	return append(db, sum[:]...)
}

// answering is a status of the cluster 7.
func answering(id uint64, revision int64, leader uint64, learner bool) *pb.StatusResponse {
	return &pb.StatusResponse{Header: &pb.ResponseHeader{ClusterId: 7, MemberId: id, Revision: revision}, Leader: leader, Version: "3.6.16", IsLearner: learner}
}

// unhealthy is the status of a member that reports an error.
func unhealthy(s *pb.StatusResponse) *pb.StatusResponse {
	s.Errors = []string{"etcdserver: something is wrong"}
	return s
}

// serve starts a fake and returns its endpoint.
func serve(t *testing.T, f *fake) string {
	t.Helper()
	if f.status == nil {
		f.status = answering(1, 5, 2, false)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterMaintenanceServer(server, f)
	pb.RegisterKVServer(server, f)
	go func() { _ = server.Serve(l) }() // it ends with the test
	t.Cleanup(server.Stop)
	return "http://" + l.Addr().String()
}

func TestStreamsThatAreNotWholeAreRefused(t *testing.T) {
	s := startStore(t)
	good := snapshotOf(8 << 20) // whose digest comes as a message of its own
	small := snapshotOf(4 << 10)
	small[len(small)-1] ^= 1
	wrong := slices.Clone(good)
	wrong[len(wrong)-1] ^= 1
	damaged := slices.Clone(good)
	damaged[4<<20] ^= 1
	for name, c := range map[string]struct {
		fake   fake
		reason string
		words  string
	}{
		"a wrong digest": {fake: fake{content: wrong}, reason: v1beta2.BackupReasonCorruptStream, words: "sha256"},
		"a wrong digest, in the message of the data": {fake: fake{content: small}, reason: v1beta2.BackupReasonCorruptStream, words: "sha256"},
		"no digest":           {fake: fake{content: good[:8<<20]}, reason: v1beta2.BackupReasonCorruptStream, words: "corrupt"},
		"a damaged byte":      {fake: fake{content: damaged}, reason: v1beta2.BackupReasonCorruptStream, words: "sha256"},
		"truncated":           {fake: fake{content: good[:len(good)-4096]}, reason: v1beta2.BackupReasonCorruptStream, words: "corrupt"},
		"truncated to a byte": {fake: fake{content: good[:1]}, reason: v1beta2.BackupReasonCorruptStream, words: "corrupt"},
		"empty":               {fake: fake{}, reason: v1beta2.BackupReasonCorruptStream, words: "corrupt"},
		"less than announced": {fake: fake{content: good, announced: 512}, reason: v1beta2.BackupReasonSourceLost, words: "512 bytes early"},
		"broken off":          {fake: fake{content: good[:6<<20], end: status.Error(codes.Unavailable, "going away")}, reason: v1beta2.BackupReasonSourceLost, words: "going away"},
		"silent":              {fake: fake{content: good[:6<<20], silent: true}, reason: agent.ReasonStalled, words: "stalled"},
	} {
		for _, compression := range []string{"", zstd} {
			t.Run(name+compression, func(t *testing.T) {
				dir := t.TempDir()
				endpoint := serve(t, &c.fake)
				tk := toPVC([]string{endpoint}, dir, "file")
				tk.Compression = compression
				mustFail(t, tk, c.reason, agent.ExitRetry, c.words)
				if entries, err := os.ReadDir(dir); err != nil || len(entries) > 1 || entries[0].Name() != ownDir {
					t.Errorf("the volume holds %v (%v), want only the operator's mark", entries, err)
				}
				if name == "silent" {
					return // one is enough of what takes seconds
				}
				tk = toS3([]string{endpoint}, s.place(t, "key"))
				tk.Compression = compression
				mustFail(t, tk, c.reason, agent.ExitRetry, c.words)
				s.checkKeys(t)
			})
		}
	}
}

func TestTheRightMemberIsTheSource(t *testing.T) {
	for name, c := range map[string]struct {
		members []*pb.StatusResponse
		want    uint64
		reason  string
	}{
		"the highest revision":           {members: []*pb.StatusResponse{answering(1, 5, 3, false), answering(2, 9, 3, false), answering(3, 8, 3, false)}, want: 2},
		"among equals a follower":        {members: []*pb.StatusResponse{answering(1, 9, 1, false), answering(2, 9, 1, false)}, want: 2},
		"a follower a few writes behind": {members: []*pb.StatusResponse{answering(1, 108, 1, false), answering(2, 8, 1, false), answering(3, 7, 1, false)}, want: 2},
		"a follower a few writes behind, beside an unhealthy member": {members: []*pb.StatusResponse{
			answering(1, 108, 1, false), answering(2, 8, 1, false), unhealthy(answering(3, 500, 1, false)),
		}, want: 2},
		"the leader if it is ahead":    {members: []*pb.StatusResponse{answering(1, 109, 1, false), answering(2, 8, 1, false)}, want: 1},
		"never a learner":              {members: []*pb.StatusResponse{answering(1, 9, 3, true), answering(2, 8, 3, false)}, want: 2},
		"among equals the first named": {members: []*pb.StatusResponse{answering(4, 9, 3, false), answering(2, 9, 3, false)}, want: 4},
		"only a learner":               {members: []*pb.StatusResponse{answering(1, 9, 3, true)}, reason: v1beta2.BackupReasonNoEndpoint},
	} {
		t.Run(name, func(t *testing.T) {
			var endpoints []string
			for _, m := range c.members {
				endpoints = append(endpoints, serve(t, &fake{content: snapshotOf(1024), status: m}))
			}
			tk := toPVC(endpoints, t.TempDir(), "file")
			if c.reason != "" {
				mustFail(t, tk, c.reason, agent.ExitRetry, "learner")
				return
			}
			if got := mustSave(t, tk); got.MemberID != hex(c.want) {
				t.Errorf("taken from %s, want %x", got.MemberID, c.want)
			}
		})
	}
}

func TestAMemberWithACorruptSnapshotIsLeftForAnother(t *testing.T) {
	bad := &fake{content: make([]byte, 4096), status: answering(1, 9, 3, false)}
	good := &fake{content: snapshotOf(4096), status: answering(2, 8, 3, false)}
	got := mustSave(t, toPVC([]string{serve(t, bad), serve(t, good)}, t.TempDir(), "file"))
	if got.MemberID != hex(2) || got.Revision != 8 || bad.asked != 1 || good.asked != 1 {
		t.Errorf("got %+v; asked %d and %d times", got, bad.asked, good.asked)
	}
}

func TestASilentEndpointHoldsNobodyUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Now()
	mustSave(t, toPVC([]string{"http://" + l.Addr().String(), serve(t, &fake{content: snapshotOf(1024)})}, t.TempDir(), "file"))
	if took := time.Since(start); took > quickLimits.ask {
		t.Errorf("it took %s", took)
	}
}

// Why an endpoint is not the source is one of the causes that failures have in brackets.
func TestWhyAnEndpointIsNotTheSource(t *testing.T) {
	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, noURL := dial("example-client:2379", nil, nil)
	_, noPassword := loadUser(t.TempDir())
	learner := (&job{}).noMember([]answer{{member: member{endpoint: "http://a:2379", learner: true}}})
	for says, err := range map[string]error{
		"no answer in time": diagnose(late, "http://a:2379", nil, errors.New("context canceled")),
		`endpoint "example-client:2379" is not a URL: set a URL such as http://host:2379 or https://host:2379`: noURL,
		"the Secret does not exist, or its key password is empty":                                              noPassword,
		"it is a learner, whose data might lag behind":                                                         learner,
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %s", err, says)
			continue
		}
		messages.NoteShape("a cause in another message", says)
	}
}
