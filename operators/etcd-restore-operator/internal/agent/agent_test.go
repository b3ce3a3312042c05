package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// childEnv makes the test's program the agent itself, for a process of its own.
const childEnv = "AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		code := Main(ctx)
		stop()
		os.Exit(code)
	}
	os.Exit(messages.Check(m.Run()))
}

const (
	bucketName = "backups"
	uid        = "0b5e9dd8-9a2c-4b4f-8a3d-1f1f7b3c2d10"
	clusterID  = "00000000deadbeef"
)

// quickSettings are those of a test.
var quickSettings = settings{listen: "127.0.0.1:0", stall: 2 * time.Second, backoff: 50 * time.Millisecond, storeBackoff: 100 * time.Millisecond, progress: 50 * time.Millisecond}

// logs is what an agent has logged so far.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// carry runs the agent with a task and returns its exit code and its result.
func carry(ctx context.Context, t *testing.T, tk task.Task) (int, task.Result) {
	t.Helper()
	return carryRaw(ctx, t, quickSettings, encode(t, tk))
}

func encode(t *testing.T, tk task.Task) string {
	t.Helper()
	env, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	return string(env)
}

// longestRun is how long an agent can run before its test fails, with the reason and the log. It leaves time for
// a busy machine.
const longestRun = 3 * time.Minute

func carryRaw(ctx context.Context, t *testing.T, s settings, env string) (int, task.Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result")
	environment := map[string]string{task.Env: env, ResultFileEnv: file}
	l := &logs{}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	code := run(ctx, slog.New(slog.NewJSONHandler(l, nil)), s, func(name string) string { return environment[name] })
	result := readResult(t, file)
	if (result.Failure == nil) != (code == agent.ExitDone) {
		t.Errorf("exit code %d with the result %+v", code, result)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the agent's log:\n%s", l)
		}
	})
	return code, result
}

func readResult(t *testing.T, file string) (result task.Result) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > agent.MaxMessage {
		t.Errorf("the result has %d bytes", len(content))
	}
	if err := json.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	if result.Started.IsZero() || result.Finished.Before(result.Started) {
		t.Errorf("started %s, finished %s", result.Started, result.Finished)
	}
	messages.NoteFailure(result.Failure)
	return result
}

// must carries out a task that must succeed.
func must(t *testing.T, tk task.Task) task.Result {
	t.Helper()
	code, result := carry(t.Context(), t, tk)
	if code != agent.ExitDone {
		t.Fatalf("exit code %d: %+v", code, result.Failure)
	}
	return result
}

// mustFail carries out a task that must fail for good for that reason, with words.
func mustFail(t *testing.T, tk task.Task, reason, words string) {
	t.Helper()
	code, result := carry(t.Context(), t, tk)
	checkFailure(t, code, result, agent.ExitPermanent, reason, words)
}

func checkFailure(t *testing.T, code int, result task.Result, exit int, reason, words string) {
	t.Helper()
	f := result.Failure
	if f == nil || f.Reason != reason || code != exit || f.Permanent != (exit == agent.ExitPermanent) || !strings.Contains(f.Message, words) {
		t.Errorf("exit code %d, %+v; want %d, %s with words of %q", code, f, exit, reason, words)
	}
	if result.Snapshot != nil {
		t.Errorf("a failure says that a snapshot is good: %+v", result.Snapshot)
	}
}

// store is an S3 server with a bucket, and a proxy before it.
type store struct {
	*s3test.Server
	proxy *s3test.Proxy
}

func startStore(t *testing.T) *store {
	t.Helper()
	s := &store{Server: s3test.Start(t)}
	s.Bucket(t, bucketName)
	s.proxy = s3test.NewProxy(t, s.Server)
	return s
}

// put stores an object as the backup's agent does.
func (s *store) put(t *testing.T, key string, content []byte) {
	t.Helper()
	b := bucketName
	_, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: bytes.NewReader(content), Metadata: map[string]string{clusterIDKey: clusterID}})
	if err != nil {
		t.Fatal(err)
	}
}

// task verifies an object of the store, behind its proxy.
func (s *store) task(t *testing.T, key string) task.Task {
	return task.Task{
		Store:   &agent.Store{Bucket: bucketName, Key: key, Endpoint: s.proxy.Endpoint, ForcePathStyle: true, SecretDir: s.SecretDir(t)},
		Scratch: t.TempDir(), Restore: "ns/name", UID: uid,
	}
}

// onVolume is a task that verifies a file of that content on a volume.
func onVolume(t *testing.T, content []byte) task.Task {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return task.Task{PVC: &agent.PVC{Claim: "claim", Dir: dir, Path: "file"}, Scratch: t.TempDir(), Restore: "ns/name", UID: uid}
}

// restoring makes a task that restores what a verification has found, as that member and
// from that revision on.
func restoring(t *testing.T, tk task.Task, found *task.Snapshot, m *etcdtest.Member, revision int64) task.Task {
	t.Helper()
	permit := filepath.Join(t.TempDir(), "permit")
	if err := os.WriteFile(permit, []byte(uid), 0o600); err != nil {
		t.Fatal(err)
	}
	tk.Scratch = ""
	tk.Want = found
	tk.Member = &task.Member{Name: m.Name, PeerURL: m.PeerURL, Token: "token", DataDir: m.Dir, PermitFile: permit, Revision: revision}
	return tk
}

func connect(t *testing.T, members ...*etcdtest.Member) *clientv3.Client {
	t.Helper()
	var endpoints []string
	for _, m := range members {
		endpoints = append(endpoints, "http://"+m.Client)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop(), DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// origin is an etcd that a snapshot was taken of.
type origin struct {
	member  *etcdtest.Member
	process *etcdtest.Process
	client  *clientv3.Client
	// state is what it held, and revision was its revision, when content, the stream of
	// its snapshot, was taken.
	state    map[string]version
	revision int64
	content  []byte
}

// version is a key's value and its revisions.
type version struct {
	value                      string
	created, modified, version int64
}

func stateOf(t *testing.T, client *clientv3.Client) (map[string]version, int64) {
	t.Helper()
	got, err := client.Get(t.Context(), "", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]version{}
	for _, kv := range got.Kvs {
		state[string(kv.Key)] = version{string(kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version}
	}
	return state, got.Header.Revision
}

// startOrigin starts an etcd with keys that were written, written again, deleted and
// compacted, and takes a snapshot.
func startOrigin(t *testing.T, etcdVersion string) *origin {
	t.Helper()
	o := &origin{member: etcdtest.NewMember(t, etcdVersion, "origin")}
	o.process = o.member.Start(t, "new", o.member)
	o.member.WaitReady(t)
	o.client = connect(t, o.member)
	for i := range 200 {
		key := fmt.Sprintf("key-%d", i%120)
		if _, err := o.client.Put(t.Context(), key, fmt.Sprintf("value-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		if _, err := o.client.Delete(t.Context(), fmt.Sprintf("key-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.client.Compact(t.Context(), 150, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	o.take(t)
	return o
}

// take takes a snapshot.
func (o *origin) take(t *testing.T) {
	t.Helper()
	o.state, o.revision = stateOf(t, o.client)
	stream, err := o.client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(snapshot.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	o.content = content.Bytes()
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	r, err := snapshot.Compress(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
