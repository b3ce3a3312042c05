package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// childEnv makes the test's program the agent itself, for a process of its own.
const childEnv = "AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(Main(context.Background(), nil))
	}
	os.Exit(messages.Check(m.Run()))
}

// pattern is a text of that size.
func pattern(word string, size int) string {
	return strings.Repeat(word, size/len(word)+1)[:size]
}

const bucketName = "backups"

var due = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// quickLimits are those of a test. A member that is asked may be slow on a busy machine.
var quickLimits = limits{ask: 5 * time.Second, stragglers: time.Second, quorum: time.Second, stall: 2 * time.Second, backoff: 50 * time.Millisecond, maxBackoff: time.Second, hash: 5 * time.Second, longHash: 10 * time.Second, storeBackoff: 100 * time.Millisecond, progress: 50 * time.Millisecond}

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
func carry(ctx context.Context, t *testing.T, tk task.Task, l *logs) (int, task.Result) {
	t.Helper()
	env, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	return carryRaw(ctx, t, string(env), l)
}

// longestRun is how long an agent can run before its test fails, with the reason and the log. It leaves time for
// a busy machine.
const longestRun = 3 * time.Minute

func carryRaw(ctx context.Context, t *testing.T, env string, l *logs, args ...string) (int, task.Result) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "result")
	t.Setenv(task.Env, env)
	t.Setenv(ResultFileEnv, file)
	if l == nil {
		l = &logs{}
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	code := run(ctx, slog.New(slog.NewJSONHandler(l, nil)), quickLimits, args)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > agent.MaxMessage {
		t.Errorf("the result has %d bytes", len(content))
	}
	var result task.Result
	if err := json.Unmarshal(content, &result); err != nil {
		t.Fatal(err)
	}
	if result.Started.IsZero() || result.Finished.Before(result.Started) || (result.Failure == nil) != (code == agent.ExitDone) {
		t.Errorf("exit code %d with the result %+v", code, result)
	}
	note(result)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the agent's log:\n%s", l)
		}
	})
	return code, result
}

// mustSave runs a task that must succeed.
func mustSave(t *testing.T, tk task.Task) task.Result {
	t.Helper()
	code, result := carry(t.Context(), t, tk, nil)
	if code != agent.ExitDone {
		t.Fatalf("exit code %d: %+v", code, result.Failure)
	}
	return result
}

// mustFail runs a task that must fail for that reason, with an exit code and words.
func mustFail(t *testing.T, tk task.Task, reason string, exit int, words string) task.Result {
	t.Helper()
	code, result := carry(t.Context(), t, tk, nil)
	checkFailure(t, code, result, reason, exit, words)
	return result
}

func checkFailure(t *testing.T, code int, result task.Result, reason string, exit int, words string) {
	t.Helper()
	f := result.Failure
	if f == nil || f.Reason != reason || code != exit || f.Permanent != (exit == agent.ExitPermanent) || !strings.Contains(f.Message, words) {
		t.Errorf("exit code %d, %+v; want %d, %s with words of %q", code, f, exit, reason, words)
	}
	if result.Location != "" || result.SHA256 != "" {
		t.Errorf("a failure says that something is stored: %+v", result)
	}
}

// cluster is one member, or several, with what was written to them.
type cluster struct {
	members   []*etcdtest.Member
	processes []*etcdtest.Process
	keys      map[string]string
}

func (c *cluster) endpoints() []string {
	var all []string
	for _, m := range c.members {
		all = append(all, "http://"+m.Client)
	}
	return all
}

// startCluster starts a cluster of a version.
func startCluster(t *testing.T, version string, size int) *cluster {
	t.Helper()
	c := &cluster{keys: map[string]string{}}
	for i := range size {
		c.members = append(c.members, etcdtest.NewMember(t, version, fmt.Sprintf("m%d", i)))
	}
	for _, m := range c.members {
		c.processes = append(c.processes, m.Start(t, "new", c.members...))
	}
	for _, m := range c.members {
		m.WaitReady(t)
	}
	return c
}

func (c *cluster) client(t *testing.T) *clientv3.Client {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: c.endpoints(), Logger: zap.NewNop(), DialTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// fill writes some keys: count of size bytes each, which compress well.
func (c *cluster) fill(t *testing.T, count, size int) {
	t.Helper()
	client := c.client(t)
	for i := range count {
		key, value := fmt.Sprintf("key-%d", i), pattern(fmt.Sprintf("%x.", i*7919), size)
		if _, err := client.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
		c.keys[key] = value
	}
	if _, err := client.Delete(t.Context(), "key-0"); err != nil {
		t.Fatal(err)
	}
	delete(c.keys, "key-0")
}

// checkFile opens a stored snapshot with etcdutl and compares its keys.
func checkFile(t *testing.T, c *cluster, r io.Reader, result task.Result) {
	t.Helper()
	digest := snapshot.NewDigest(r)
	plain, packed, err := snapshot.Open(digest)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	file := filepath.Join(t.TempDir(), "snapshot.db")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(f, snapshot.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if n != result.SnapshotSize || digest.Size() != result.Size || digest.SHA256() != result.SHA256 || (packed != nil) != (n != digest.Size()) {
		t.Errorf("stored are %d bytes of a snapshot of %d, sha256 %s; the result says %+v", digest.Size(), n, digest.SHA256(), result)
	}
	if result.Hash == nil || result.Hash.Revision != result.Revision {
		t.Errorf("the hash is %+v, want one of revision %d", result.Hash, result.Revision)
	}
	if keys := etcdtest.SnapshotKeys(t, c.members[0].Version, file); !maps.Equal(keys, c.keys) {
		t.Errorf("the snapshot has %d keys, want the %d that were written", len(keys), len(c.keys))
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

// place is a key in the store, behind its proxy.
func (s *store) place(t *testing.T, key string) *agent.Store {
	return &agent.Store{Bucket: bucketName, Key: key, Endpoint: s.proxy.Endpoint, ForcePathStyle: true, SecretDir: s.SecretDir(t)}
}

func (s *store) object(t *testing.T, key string) *s3.GetObjectOutput {
	t.Helper()
	b := bucketName
	out, err := s.Client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &b, Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Body.Close() })
	return out
}

// checkKeys wants just these objects in the store, and no upload under way.
func (s *store) checkKeys(t *testing.T, want ...string) {
	t.Helper()
	if keys := s.Keys(t, bucketName); !slices.Equal(keys, want) {
		t.Errorf("objects %v, want %v", keys, want)
	}
	if uploads := s.Uploads(t, bucketName); len(uploads) > 0 {
		t.Errorf("uploads of %v are left", uploads)
	}
}

// own marks a folder of a volume as the operator's.
func own(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ownDir), 0o700); err != nil {
		t.Fatal(err)
	}
}

// storeFile puts a file into a volume, as an earlier backup would have, with what it says of
// it.
func storeFile(t *testing.T, dir, name string, metadata map[string]string) {
	t.Helper()
	own(t, dir)
	j := &job{task: toPVC(nil, dir, name), log: slog.New(slog.DiscardHandler)}
	v, err := openVolume(j)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	if err := v.put(t.Context(), name, strings.NewReader("x"), metadata, true); err != nil {
		t.Fatal(err)
	}
}

func oneShot(endpoints []string) task.Task {
	return task.Task{Endpoints: endpoints, Overwrite: true, Time: due, Backup: "ns/name", UID: "0123-uid"}
}

func toS3(endpoints []string, place *agent.Store) task.Task {
	t := oneShot(endpoints)
	t.Store = place
	return t
}

func toPVC(endpoints []string, dir, path string) task.Task {
	t := oneShot(endpoints)
	t.PVC = &agent.PVC{Claim: "claim", Dir: dir, Path: path}
	return t
}
