package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
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
	go func() { _ = server.Serve(l) }() // it ends with the test
	t.Cleanup(server.Stop)
	return "http://" + l.Addr().String()
}

func TestStreamsThatAreNotWholeAreRefused(t *testing.T) {
	s := startStore(t)
	good := snapshotOf(8 << 20)
	wrong := slices.Clone(good)
	wrong[len(wrong)-1] ^= 1
	damaged := slices.Clone(good)
	damaged[4<<20] ^= 1
	for name, c := range map[string]struct {
		fake   fake
		reason string
		words  string
	}{
		"a wrong digest":      {fake: fake{content: wrong}, reason: task.ReasonCorruptStream, words: "sha256"},
		"a damaged byte":      {fake: fake{content: damaged}, reason: task.ReasonCorruptStream, words: "sha256"},
		"truncated":           {fake: fake{content: good[:len(good)-4096]}, reason: task.ReasonCorruptStream, words: "corrupt"},
		"truncated to a byte": {fake: fake{content: good[:1]}, reason: task.ReasonCorruptStream, words: "corrupt"},
		"empty":               {fake: fake{}, reason: task.ReasonCorruptStream, words: "corrupt"},
		"less than announced": {fake: fake{content: good, announced: 512}, reason: task.ReasonSourceLost, words: "512 bytes early"},
		"broken off":          {fake: fake{content: good[:6<<20], end: status.Error(codes.Unavailable, "going away")}, reason: task.ReasonSourceLost, words: "going away"},
		"silent":              {fake: fake{content: good[:6<<20], silent: true}, reason: agent.ReasonStalled, words: "sent nothing"},
	} {
		for _, compression := range []string{"", zstd} {
			t.Run(name+compression, func(t *testing.T) {
				dir := t.TempDir()
				endpoint := serve(t, &c.fake)
				tk := toPVC([]string{endpoint}, dir, "file")
				tk.Compression = compression
				mustFail(t, tk, c.reason, agent.ExitRetry, c.words)
				if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
					t.Errorf("the volume holds %v (%v)", entries, err)
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
		"the highest revision":         {members: []*pb.StatusResponse{answering(1, 5, 3, false), answering(2, 9, 3, false), answering(3, 8, 3, false)}, want: 2},
		"among equals a follower":      {members: []*pb.StatusResponse{answering(1, 9, 1, false), answering(2, 9, 1, false)}, want: 2},
		"the leader if it is ahead":    {members: []*pb.StatusResponse{answering(1, 9, 1, false), answering(2, 8, 1, false)}, want: 1},
		"never a learner":              {members: []*pb.StatusResponse{answering(1, 9, 3, true), answering(2, 8, 3, false)}, want: 2},
		"among equals the first named": {members: []*pb.StatusResponse{answering(4, 9, 3, false), answering(2, 9, 3, false)}, want: 4},
		"only a learner":               {members: []*pb.StatusResponse{answering(1, 9, 3, true)}, reason: task.ReasonNoEndpoint},
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

// authority signs certificates for 127.0.0.1, for servers and clients alike.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key := newKey(t)
	a := &authority{key: key, cert: &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}}
	a.pem = sign(t, a.cert, a.cert, key, key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, cert, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue writes a certificate, its key and the CA under these names into a folder.
func (a *authority) issue(t *testing.T, cert, key, ca string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	private := newKey(t)
	content := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "root"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, private, a.key)
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{cert: content, key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), ca: a.pem} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestTLS(t *testing.T) {
	ours, others := newAuthority(t), newAuthority(t)
	legacy := ours.issue(t, "etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt")
	standard := ours.issue(t, "tls.crt", "tls.key", "ca.crt")
	foreign := others.issue(t, "tls.crt", "tls.key", "ca.crt")
	halved := ours.issue(t, "tls.crt", "tls.key", "ca.crt")
	if err := os.WriteFile(filepath.Join(halved, "tls.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m := etcdtest.NewMember(t, etcdtest.Newest(), "m0")
	argv := m.Command(t)
	for i, flag := range argv { // the client's listener with TLS
		if strings.HasPrefix(flag, "--listen-client-urls=") || strings.HasPrefix(flag, "--advertise-client-urls=") {
			argv[i] = strings.Replace(flag, "http://", "https://", 1)
		}
	}
	etcdtest.Start(t, nil, append(argv, "--initial-cluster="+etcdtest.InitialCluster(m), "--client-cert-auth",
		"--cert-file="+filepath.Join(standard, "tls.crt"), "--key-file="+filepath.Join(standard, "tls.key"), "--trusted-ca-file="+filepath.Join(standard, "ca.crt"))...)
	m.WaitReady(t)
	c := &cluster{members: []*etcdtest.Member{m}, keys: map[string]string{"a": "b"}}
	endpoint := "https://" + m.Client
	config, err := loadTLS(standard)
	if err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, TLS: config, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"the predecessor's names": legacy, "the names of kubernetes.io/tls": standard} {
		t.Run(name, func(t *testing.T) {
			volume := t.TempDir()
			tk := toPVC([]string{endpoint}, volume, "file")
			tk.TLSDir = dir
			result := mustSave(t, tk)
			f, err := os.Open(filepath.Join(volume, "file"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			checkFile(t, c, f, result)
		})
	}
	for name, row := range map[string]struct {
		dir, endpoint, words string
		exit                 int
	}{
		"another authority's":    {dir: foreign, endpoint: endpoint, words: "certificate", exit: agent.ExitRetry},
		"none":                   {endpoint: endpoint, words: "certificate", exit: agent.ExitRetry},
		"http where TLS is":      {dir: standard, endpoint: "http://" + m.Client, words: "scheme", exit: agent.ExitRetry},
		"a key that is no key":   {dir: halved, endpoint: endpoint, words: "tls.key", exit: agent.ExitPermanent},
		"a Secret without files": {dir: t.TempDir(), endpoint: endpoint, words: "tls.crt", exit: agent.ExitPermanent},
	} {
		t.Run(name, func(t *testing.T) {
			tk := toPVC([]string{row.endpoint}, t.TempDir(), "file")
			tk.TLSDir = row.dir
			mustFail(t, tk, task.ReasonTLSInvalid, row.exit, row.words)
		})
	}
}
