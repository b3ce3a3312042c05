package agent

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Whoever may create EtcdBackups reads no password by one: it goes to the members of an
// EtcdCluster that names the Secret, or to whom the Secret itself names, and there by TLS. A
// listener that asks for a user hears neither the password nor a token.
func TestPasswordIsWithheld(t *testing.T) {
	etcdtest.EachVersion(t, passwordIsWithheld)
}

// passwordIsWithheld is TestPasswordIsWithheld for one version: some ask for a user before
// they tell their status, others before they send a snapshot.
func passwordIsWithheld(t *testing.T, version string) {
	c := startCluster(t, version, 1)
	c.fill(t, 3, 10)
	c.members[0].EnableAuth(t, "secret")
	endpoint := c.endpoints()[0]
	password := func(endpoints string) string {
		keys := map[string]string{"password": "secret"}
		if endpoints != "" {
			keys["etcd-endpoints"] = endpoints
		}
		return mounted(t, keys)
	}
	for name, row := range map[string]struct {
		reason string
		dir    string
		own    bool
		in     string   // the EtcdCluster
		words  []string // none: it is shown
	}{
		"endpoints without TLS": {"http://attacker hears all", password(""), false, "", []string{
			"the password is not sent there", "the password in Secret postgres is not sent without TLS, except to the members of an EtcdCluster: set spec.clusterRef, or https://",
		}},
		"endpoints without TLS, named": {"others listen", password(endpoint), false, "", []string{"without TLS"}},
		"its own":                      {"the EtcdCluster names the Secret", password(""), true, "example", nil},
		"another's": {"an EtcdBackup alone names the Secret", password(""), false, "example", []string{
			"Secret postgres does not list EtcdCluster/example as an endpoint for its password",
			`kubectl patch secret postgres -p '{"stringData":{"etcd-endpoints":"EtcdCluster/example"}}'`,
		}},
		"for another cluster":  {"it is not this one's", password("EtcdCluster/other"), false, "example", []string{"add EtcdCluster/example to its key etcd-endpoints"}},
		"for this cluster":     {"its owner says so", password("https://x:2379, EtcdCluster/example\n"), false, "example", nil},
		"nothing to withhold":  {"what is missing is said", mounted(t, nil), false, "example", []string{"does not exist"}},
		"a password of no use": {"the other mistakes are said as before", mounted(t, map[string]string{"password": "x"}), true, "example", []string{"invalid user ID or password"}},
	} {
		t.Run(name, func(t *testing.T) {
			tk := toPVC([]string{endpoint}, t.TempDir(), "file")
			tk.AuthDir, tk.AuthSecret, tk.Cluster, tk.OwnAuth = row.dir, "postgres", row.in, row.own
			if row.words == nil {
				mustSave(t, tk)
				return
			}
			l := &logs{}
			code, result := carry(t.Context(), t, tk, l)
			reason := v1beta2.BackupReasonPasswordWithheld
			if row.own || name == "nothing to withhold" {
				reason = v1beta2.BackupReasonAuthenticationRequired
			}
			for _, words := range row.words {
				checkFailure(t, code, result, reason, agent.ExitPermanent, words)
			}
			if strings.Contains(l.String(), "secret\"") || strings.Contains(result.Failure.Message, "https://x") {
				t.Errorf("what is in the Secret is told: %s", result.Failure.Message)
			}
		})
	}
}

// By TLS the password goes to the endpoints that the Secret names, and to no other, however
// good its certificate is.
func TestPasswordByTLS(t *testing.T) {
	ours := etcdtest.NewCA(t, "ours")
	c := startSecure(t, etcdtest.Newest(), ours)
	tlsDir := secret(t, ours.Issue(t, "nobody").Files(ours))
	etcdtest.EnableAuthOf(t, c.members[0].DialSecure(t, ours.Issue(t, "root").Config(t, ours)), "secret")
	host := "https://" + c.members[0].Client
	backup := func(endpoints string) task.Task {
		tk := secured(c, t.TempDir(), tlsDir)
		tk.AuthDir, tk.AuthSecret = mounted(t, map[string]string{"password": "secret", "etcd-endpoints": endpoints}), "etcd-user"
		return tk
	}
	mustSave(t, backup("https://elsewhere:2379 "+host+"/"))
	mustFail(t, backup("https://elsewhere:2379"), v1beta2.BackupReasonPasswordWithheld, agent.ExitPermanent, "does not list "+host+" as an endpoint for its password: add "+host+" to its key etcd-endpoints")
	mustFail(t, backup(""), v1beta2.BackupReasonPasswordWithheld, agent.ExitPermanent, `kubectl patch secret etcd-user -p '{"stringData":{"etcd-endpoints":"`+host+`"}}'`)
}

// attacker is an etcd that asks everybody for a user, and notes the passwords.
type attacker struct {
	pb.UnimplementedMaintenanceServer
	pb.UnimplementedAuthServer
	pb.UnimplementedKVServer

	heard atomic.Value
}

func (a *attacker) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return nil, rpctypes.ErrGRPCUserEmpty
}

func (a *attacker) Range(context.Context, *pb.RangeRequest) (*pb.RangeResponse, error) {
	return nil, rpctypes.ErrGRPCUserEmpty
}

func (a *attacker) Authenticate(_ context.Context, r *pb.AuthenticateRequest) (*pb.AuthenticateResponse, error) {
	a.heard.Store(r.Password)
	return &pb.AuthenticateResponse{Token: "token"}, nil
}

// listen serves the attacker, and returns its endpoint.
func (a *attacker) listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterMaintenanceServer(s, a)
	pb.RegisterAuthServer(s, a)
	pb.RegisterKVServer(s, a)
	go func() { _ = s.Serve(l) }() // ends with Stop
	t.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

// What a listener hears of a backup that names it, and another's Secret: nothing, whatever
// it asks for.
func TestAListenerHearsNoPassword(t *testing.T) {
	a := &attacker{}
	endpoint := a.listen(t)
	tk := toPVC([]string{endpoint}, t.TempDir(), "file")
	tk.AuthDir, tk.AuthSecret = mounted(t, map[string]string{"username": "root", "password": "hunter2", "etcd-endpoints": endpoint}), "postgres"
	mustFail(t, tk, v1beta2.BackupReasonPasswordWithheld, agent.ExitPermanent, "without TLS")
	if heard := a.heard.Load(); heard != nil {
		t.Errorf("it was told %q", heard)
	}
	// A member of an EtcdCluster that names the Secret does.
	tk.Cluster, tk.OwnAuth = "example", true
	if code, _ := carry(t.Context(), t, tk, nil); code == agent.ExitDone || a.heard.Load() != "hunter2" {
		t.Errorf("the listener of this test hears %v", a.heard.Load())
	}
}

// The members of an EtcdCluster that restricts its stores are known by etcd's cluster id, by
// whatever address they are reached, and nothing is stored elsewhere.
func TestStoreIsRestricted(t *testing.T) {
	c := startCluster(t, etcdtest.Newest(), 1)
	c.fill(t, 3, 10)
	dir := t.TempDir()
	id := mustSave(t, toPVC(c.endpoints(), dir, "first")).ClusterID
	tk := toPVC(c.endpoints(), dir, "second")
	tk.Forbidden = []string{"00000000000000aa", id}
	mustFail(t, tk, v1beta2.BackupReasonStoreNotAllowed, agent.ExitPermanent, "the EtcdCluster of etcd cluster "+id+" does not allow")
	if _, err := os.Stat(filepath.Join(dir, "second")); !os.IsNotExist(err) {
		t.Errorf("something was stored: %v", err)
	}
	tk.Forbidden = []string{"00000000000000aa"}
	tk.Pinned = []string{id}
	mustSave(t, tk)
}

// A store that is allowed is the one that the EtcdBackup names: what would lead elsewhere is
// refused for clusters that restrict theirs, and for no other.
func TestDetoursOfRestrictedClusters(t *testing.T) {
	const cluster, id = 0xc0ffee, "0000000000c0ffee"
	detour := func(config string) string { return mounted(t, map[string]string{"config": config}) }
	plain := "[default]\nregion = eu-central-1\n"
	for name, row := range map[string]struct {
		reason   string
		dir      string
		endpoint string
		env      map[string]string
		words    string // empty: it is allowed
		caDir    string
	}{
		"none":                        {"the store is AWS", detour(plain), "", nil, "", ""},
		"workload identity":           {"there is no Secret", "", "", nil, "", ""},
		"another store in the Secret": {"the SDK follows it", detour(plain + "endpoint_url = https://attacker.example.com\n"), "", nil, "endpoint_url in the Secret that s3.awsSecret names", ""},
		"s3.endpoint goes before":     {"it is what was allowed", detour(plain + "endpoint_url = https://attacker.example.com\n"), "https://minio:9000", nil, "", ""},
		"another store by variable":   {"the SDK follows it", detour(plain), "", map[string]string{"AWS_ENDPOINT_URL_S3": "https://attacker.example.com"}, "AWS_ENDPOINT_URL_S3", ""},
		"a proxy, https":              {"it sees nothing", detour(plain), "https://minio:9000", map[string]string{"HTTPS_PROXY": "http://proxy:3128"}, "", ""},
		"a proxy, http":               {"it sees all", detour(plain), "http://minio:9000", map[string]string{"HTTP_PROXY": "http://attacker:3128"}, "HTTP_PROXY", ""},
		"a proxy, and its CA":         {"it sees all", detour(plain + "ca_bundle = /x\n"), "https://minio:9000", map[string]string{"HTTPS_PROXY": "http://attacker:3128"}, "HTTPS_PROXY", ""},
		"a proxy, and s3.caSecret":    {"it sees all", detour(plain), "https://minio:9000", map[string]string{"HTTPS_PROXY": "http://attacker:3128"}, "HTTPS_PROXY", "/ca"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range slices.Concat(endpointVariables, proxyVariables, trustVariables) {
				t.Setenv(name, "") // of the machine that runs this
			}
			for key, value := range row.env {
				t.Setenv(key, value)
			}
			j := &job{task: task.Task{Store: &agent.Store{Bucket: "b", Key: "k", Endpoint: row.endpoint, SecretDir: row.dir, CADir: row.caDir}, Pinned: []string{id}}}
			err := j.checkStore(cluster)
			if err != nil {
				note(task.Result{Failure: explain(t.Context(), err)})
			}
			if (err == nil) != (row.words == "") || err != nil && !strings.Contains(err.Error(), row.words) {
				t.Errorf("%v, want %q: %s", err, row.words, row.reason)
			}
			if err := j.checkStore(cluster + 1); err != nil {
				t.Errorf("a cluster without restrictions: %v", err)
			}
		})
	}
}
