package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

const (
	// streamWindow is how much etcd may send ahead of what was read. It is fixed, as
	// gRPC would let it grow to 16 MiB by itself.
	streamWindow = 1 << 20
	// keepaliveTime and keepaliveTimeout find a peer that is gone without a word. etcd
	// takes no more than one ping in 5 s.
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 20 * time.Second
	// fewWrites are those that might come while the members are asked. Of two that a quorum has
	// answered, neither lacks what was written before.
	fewWrites = 100
	// clientPort is etcd's, where an endpoint names none.
	clientPort = "2379"
)

// member is one that has answered.
type member struct {
	endpoint    string
	conn        *grpc.ClientConn
	as          *etcdclient.Session
	withheld    error // why as is nil although there is a password
	cluster, id uint64
	revision    int64
	// size is that of its database in use, in bytes.
	size    int64
	version string
	leader  bool
	learner bool
	// health is whether it is fit to be the source.
	health
}

// answer is a member, or why there is none.
type answer struct {
	member
	err error
}

// source asks all endpoints and returns the member to take the snapshot from, whose
// connection the caller closes. Endpoints in broken are taken only if there is no
// other.
//
// Without a quorum all are asked again for a while, since elections and restarts pass.
func (j *job) source(ctx context.Context, broken map[string]bool) (member, error) {
	for end := time.Now().Add(j.quorumTimeout()); ; {
		chosen, err := j.sourceNow(ctx, broken)
		if err != nil || chosen.standing() == standingGood || !time.Now().Before(end) {
			return chosen, err
		}
		j.log.Info("waiting for a healthy member with a quorum", "best", chosen.endpoint, "problem", chosen.problem())
		_ = chosen.conn.Close() // nothing is under way on it
		select {
		case <-ctx.Done():
			return member{}, ctx.Err()
		case <-time.After(j.limits.backoff):
		}
	}
}

// sourceNow asks once.
func (j *job) sourceNow(ctx context.Context, broken map[string]bool) (member, error) {
	config, err := loadTLS(j.task.TLSDir)
	if err != nil {
		return member{}, err
	}
	answers := j.ask(ctx, config)
	chosen, err := j.choose(answers, broken)
	if err == nil {
		err = j.checkStore(chosen.cluster)
	}
	for _, a := range answers {
		if a.conn != nil && (err != nil || a.conn != chosen.conn) {
			_ = a.conn.Close() // nothing is under way on it
		}
		if a.err != nil {
			j.log.Warn("skipping endpoint", "endpoint", a.endpoint, "error", a.err)
		}
	}
	return chosen, err
}

// ask asks all endpoints at the same time. After the first answer with a quorum, the
// others have only a little time left: one that is alive needs no more.
func (j *job) ask(ctx context.Context, config *tls.Config) []answer {
	ctx, cancel := context.WithTimeout(ctx, j.limits.ask)
	defer cancel()
	endpoints := slices.Compact(slices.Sorted(slices.Values(j.task.Endpoints)))
	slices.SortStableFunc(endpoints, func(a, b string) int { // as they were written
		return cmp.Compare(slices.Index(j.task.Endpoints, a), slices.Index(j.task.Endpoints, b))
	})
	as := session(j.task.AuthDir)
	type numbered struct {
		answer
		index int
	}
	incoming := make(chan numbered, len(endpoints))
	for i, endpoint := range endpoints {
		go func() { incoming <- numbered{askOne(ctx, endpoint, config, as, j.withheld(endpoint), j.dialing...), i} }()
	}
	answers := make([]answer, len(endpoints))
	for range endpoints {
		a := <-incoming // each ends with ctx
		answers[a.index] = a.answer
		if a.err == nil && a.quorum {
			time.AfterFunc(j.limits.stragglers, cancel)
		}
	}
	return answers
}

// askOne asks one endpoint. withheld is why neither the password nor what etcd gives for it
// goes there; nil if it does.
func askOne(ctx context.Context, endpoint string, config *tls.Config, as *etcdclient.Session, withheld error, more ...grpc.DialOption) answer {
	if withheld != nil {
		as = nil
	}
	a := answer{member: member{endpoint: endpoint, as: as, withheld: withheld}}
	conn, err := dial(endpoint, config, as, more...)
	if a.conn, a.err = conn, err; err != nil {
		return a
	}
	status := func() (*pb.StatusResponse, error) {
		return pb.NewMaintenanceClient(conn).Status(ctx, &pb.StatusRequest{})
	}
	proof := make(chan reading, 1)
	go func() { proof <- readIndex(ctx, conn) }() // it ends with ctx, or with the connection
	got, err := status()
	if err != nil && obstacleOf(err) == unauthorized {
		if err = as.Authenticate(ctx, conn); err == nil {
			got, err = status()
		}
	}
	if err != nil && withheld != nil && obstacleOf(err) == unauthorized {
		err = withheld
	}
	if err != nil {
		_ = conn.Close() // nobody needs what is under way on it
		a.conn, a.err = nil, diagnose(ctx, endpoint, config, err)
		return a
	}
	h := got.GetHeader()
	a.cluster, a.id, a.revision = h.GetClusterId(), h.GetMemberId(), h.GetRevision()
	a.version, a.leader, a.learner = got.GetVersion(), got.GetLeader() == h.GetMemberId(), got.GetIsLearner()
	a.size = got.GetDbSizeInUse()
	a.health = examine(got)
	if r := <-proof; r.quorum {
		// Status was answered beside the read, so its revision may be older.
		a.quorum, a.revision = true, max(a.revision, r.revision)
		if r.revision == 0 { // the read was refused
			if again, err := status(); err == nil {
				a.revision = max(a.revision, again.GetHeader().GetRevision())
			}
		}
	}
	return a
}

// diagnose is why an endpoint has not answered, as far as that can be found out.
func diagnose(ctx context.Context, endpoint string, config *tls.Config, err error) error {
	if ctx.Err() != nil {
		return errors.New("no answer in time")
	}
	u, wrong := url.Parse(endpoint)
	if wrong != nil || u.Scheme != "https" || obstacleOf(err) != noAnswer {
		return err
	}
	if alert := tlsRefusal(ctx, u.Hostname(), cmp.Or(u.Port(), clientPort), config); alert != nil {
		return &endpointError{noTLS, alert}
	}
	return err
}

// dial makes a connection, which begins with the first request and shows the session's
// token. More options are put behind its own, and win.
func dial(endpoint string, config *tls.Config, as *etcdclient.Session, more ...grpc.DialOption) (*grpc.ClientConn, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &endpointError{notURL, fmt.Errorf("endpoint %q is not a URL: set a URL such as http://host:2379 or https://host:2379", endpoint)}
	}
	secure := insecure.NewCredentials()
	if u.Scheme == "https" {
		secure = credentials.NewTLS(config)
	}
	port := cmp.Or(u.Port(), clientPort)
	return grpc.NewClient("passthrough:///"+net.JoinHostPort(u.Hostname(), port), slices.Concat(as.DialOptions(), []grpc.DialOption{
		grpc.WithTransportCredentials(secure),
		// Given, it also keeps etcd from being looked for behind an HTTP proxy.
		grpc.WithContextDialer(dialTCP),
		grpc.WithInitialWindowSize(streamWindow),
		grpc.WithInitialConnWindowSize(streamWindow),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
	}, more)...)
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

// choose picks the member to take the snapshot from: a healthy one with a quorum, else one
// that no CORRUPT alarm names, else any. A follower that is up to date is taken before the
// leader, which would hold up all writes while it hashes its data.
func (j *job) choose(answers []answer, broken map[string]bool) (member, error) {
	if err := oneCluster(answers); err != nil {
		return member{}, err
	}
	var members []member
	for _, a := range markCorrupt(answers) {
		if a.err == nil && !a.learner {
			members = append(members, a.member)
		}
	}
	if len(members) == 0 {
		return member{}, j.noMember(answers)
	}
	highest := int64(0) // of the healthy: what others count says nothing of who is up to date
	for i := range members {
		if members[i].standing() == standingGood {
			highest = max(highest, members[i].revision)
		}
	}
	isRecent := func(m *member) bool { return m.quorum && m.revision >= highest-fewWrites }
	return slices.MinFunc(members, func(a, b member) int {
		return cmp.Or(
			cmp.Compare(a.standing(), b.standing()),
			before(!broken[a.endpoint], !broken[b.endpoint]),
			before(isRecent(&a), isRecent(&b)),
			before(isRecent(&a) && !a.leader, isRecent(&b) && !b.leader),
			cmp.Compare(b.revision, a.revision),
			before(!a.leader, !b.leader))
	}), nil
}

// before orders what is true first.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// oneCluster refuses endpoints of different clusters: which of them is to be backed up
// is not ours to guess.
func oneCluster(answers []answer) error {
	var first *member
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		if first == nil {
			first = &a.member
		}
		if a.cluster != first.cluster {
			return runner.Refuse(v1beta2.BackupReasonDifferentClusters, "endpoints belong to different clusters: %s to %016x, %s to %016x; set only endpoints of one cluster", first.endpoint, first.cluster, a.endpoint, a.cluster)
		}
	}
	return nil
}

// noMember returns why nothing can be taken from any endpoint.
func (j *job) noMember(answers []answer) error {
	var words []string
	count := map[obstacle]int{}
	for _, a := range answers {
		what, why := noAnswer, "it is a learner, whose data might lag behind"
		if a.err != nil {
			what, why = obstacleOf(a.err), wordsOf(a.err)
		}
		count[what]++
		words = append(words, a.endpoint+": "+why)
	}
	all := strings.Join(words, "; ")
	switch {
	case count[notURL] == len(answers):
		return runner.Refuse(agent.ReasonInvalidTask, "no endpoint is usable (%s)", all)
	case count[passwordWithheld] > 0:
		return runner.Refuse(v1beta2.BackupReasonPasswordWithheld, "etcd requires a user, and the password is not sent there (%s)", all)
	case count[unauthorized] > 0:
		return runner.Refuse(v1beta2.BackupReasonAuthenticationRequired, "etcd's authentication rejects the backup (%s): %s", all, j.advice())
	case count[noTLS] > 0:
		// Not for good: certificates are replaced one after the other.
		return runner.Passing(v1beta2.BackupReasonTLSInvalid, "cannot connect with TLS (%s): check the endpoints' scheme, and the certificate and CA in the Secret that spec.clientTLSSecret names, or in that of the EtcdCluster's operators", all)
	}
	return runner.Passing(v1beta2.BackupReasonNoEndpoint, "no endpoint answers (%s): check spec.etcdEndpoints, and that the members run", all)
}

// wordsOf is gRPC's message without its own wrapping.
func wordsOf(err error) string {
	words := err.Error()
	if s, ok := status.FromError(err); ok {
		words = s.Message()
	}
	words = strings.TrimPrefix(words, `connection error: desc = "`)
	words = strings.TrimPrefix(words, "transport: ")
	return fmt.Sprint(strings.TrimSuffix(words, `"`))
}
