package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// What the backup's agent is measured against needs no Kubernetes: the same etcd, the
// same S3 server and the same disk serve both, in turns.

const (
	bucket    = "bench"
	accessKey = "bench-access"
	secretKey = "bench-secret"
	// valueSize is that of one value. etcd takes 1.5 MiB at most in a request.
	valueSize = 1 << 20
	// agentMemory is the most that the agent may take at any size.
	agentMemory = 64 << 20
	// binariesVariable and storeVariable name the programs, as `localkube env` tells.
	binariesVariable = "ETCD_BINARIES"
	storeVariable    = "S3_SERVER_BINARY"
)

// backupSizes are the sizes of the database: what others are known to take for 361 MB,
// and one GiB.
var backupSizes = []struct {
	name   string
	values int
	goal   float64
}{{"361 MB", 344, 0.8}, {"1 GiB", 1024, 0.8}}

// measureBackup measures the agent of the backup operator over `etcdctl snapshot save`
// to the local disk and, for S3, the upload of that file by the SDK's own manager.
func measureBackup(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "etcd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	agent := filepath.Join(dir, "etcd-backup-agent")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", agent, "./cmd/etcd-backup-agent")
	build.Dir = filepath.Join(b.root, "operators", "etcd-backup-operator")
	build.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	for _, size := range backupSizes {
		r := &rig{dir: filepath.Join(dir, strings.ReplaceAll(size.name, " ", "-")), agent: agent}
		if err := r.measure(ctx, b, size.name, size.values, size.goal); err != nil {
			return err
		}
	}
	return nil
}

// rig is an etcd and an S3 server on this machine.
type rig struct {
	dir, agent string
	etcd       string // host:port
	store      string // URL
	etcdctl    string
	s3         *s3.Client
}

func (r *rig) measure(ctx context.Context, b *bench, name string, values int, goal float64) error {
	stop, err := r.start(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := r.fill(ctx, values); err != nil {
		return err
	}
	var saves, uploads, toS3, toVolume times
	var most int64
	for round := range b.plan.rounds + 1 { // the first finds caches cold, and does not count
		save, upload, err := r.saveAndUpload(ctx)
		if err != nil {
			return err
		}
		s3Took, s3Memory, err := r.backUp(ctx, map[string]any{"s3": map[string]any{
			"bucket": bucket, "key": "backup", "endpoint": r.store, "forcePathStyle": true, "secretDir": r.path("secret")}})
		if err != nil {
			return err
		}
		volumeTook, volumeMemory, err := r.backUp(ctx, map[string]any{"pvc": map[string]any{
			"claim": "bench", "dir": r.path("volume"), "path": "backup"}})
		if err != nil {
			return err
		}
		b.say("backup of %s: save %s s, upload %s s; agent to S3 %s s, to a volume %s s, %d MiB at most", name,
			seconds(save), seconds(upload), seconds(s3Took), seconds(volumeTook), max(s3Memory, volumeMemory)>>20)
		most = max(most, s3Memory, volumeMemory)
		if round > 0 {
			saves, uploads = append(saves, save), append(uploads, upload)
			toS3, toVolume = append(toS3, s3Took), append(toVolume, volumeTook)
		}
	}
	whole := saves.median() + uploads.median()
	ratio := toS3.median().Seconds() / whole.Seconds()
	b.table.add(fmt.Sprintf("backup of %s to S3, over etcdctl's save and an upload of the file", name),
		fmt.Sprintf("%.2fx: %s over %s and %s", ratio, toS3, saves, uploads), fmt.Sprintf("%.1fx", goal), ratio <= goal)
	b.table.note(fmt.Sprintf("backup of %s to a volume, over etcdctl's save", name),
		fmt.Sprintf("%.2fx: %s over %s", toVolume.median().Seconds()/saves.median().Seconds(), toVolume, saves))
	b.table.add(fmt.Sprintf("memory of the agent at %s", name), fmt.Sprintf("%d MiB", most>>20), fmt.Sprintf("%d MiB", agentMemory>>20), most <= agentMemory)
	return nil
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// start starts etcd and the S3 server, and returns how to end them.
func (r *rig) start(ctx context.Context) (stop func(), err error) {
	binaries, store := os.Getenv(binariesVariable), os.Getenv(storeVariable)
	if binaries == "" || store == "" {
		return nil, fmt.Errorf("%s and %s are not set: run make bench, which sets them", binariesVariable, storeVariable)
	}
	for _, name := range []string{"buckets", "metadata", "volume", "secret"} {
		if err := os.MkdirAll(r.path(name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(r.path("secret/credentials"), fmt.Appendf(nil, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", accessKey, secretKey), 0o600); err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	r.etcd, r.store = ports[0], "http://"+ports[2]
	bin := filepath.Join(binaries, "v"+version)
	r.etcdctl = filepath.Join(bin, "etcdctl")
	commands := [][]string{
		{filepath.Join(bin, "etcd"), "--data-dir=" + r.path("data"), "--quota-backend-bytes=8589934592", "--log-level=error",
			"--listen-client-urls=http://" + r.etcd, "--advertise-client-urls=http://" + r.etcd,
			"--listen-peer-urls=http://" + ports[1], "--initial-advertise-peer-urls=http://" + ports[1], "--initial-cluster=default=http://" + ports[1]},
		{store, "--port=" + ports[2], "--region=us-east-1", "--access=" + accessKey, "--secret=" + secretKey, "--health=/health", "--quiet",
			"posix", "--sidecar=" + r.path("metadata"), r.path("buckets")},
	}
	var running []*exec.Cmd
	stop = func() {
		for _, c := range running {
			_ = c.Process.Kill() // it may have ended by itself
			_ = c.Wait()
		}
	}
	for _, argv := range commands {
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("start %s: %w", argv[0], err)
		}
		running = append(running, c)
	}
	r.s3 = s3.New(s3.Options{
		BaseEndpoint: aws.String(r.store), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	})
	err = errors.Join(await(ctx, "http://"+r.etcd+"/health"), await(ctx, r.store+"/health"))
	if err == nil {
		_, err = r.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// freePorts are addresses that nothing listens on at this moment.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // together, so that none is given twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// await waits until a URL answers well.
func await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", url, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// fill writes values that can't be compressed.
func (r *rig) fill(ctx context.Context, values int) error {
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{r.etcd}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(2 * valueSize))}})
	if err != nil {
		return err
	}
	defer cli.Close()
	value := make([]byte, valueSize)
	for i := range values {
		if _, err := rand.Read(value); err != nil {
			return err
		}
		if _, err := cli.Put(ctx, fmt.Sprintf("key-%06d", i), string(value)); err != nil {
			return fmt.Errorf("fill etcd: %w", err)
		}
	}
	return nil
}

// saveAndUpload is what is done without an operator.
func (r *rig) saveAndUpload(ctx context.Context) (save, upload time.Duration, err error) {
	file := r.path("volume/saved")
	defer os.Remove(file)
	began := time.Now()
	if out, err := exec.CommandContext(ctx, r.etcdctl, "--endpoints=http://"+r.etcd, "snapshot", "save", file).CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("etcdctl snapshot save: %w\n%s", err, out)
	}
	save = time.Since(began)
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	began = time.Now()
	if _, err := transfermanager.New(r.s3).UploadObject(ctx, &transfermanager.UploadObjectInput{Bucket: aws.String(bucket), Key: aws.String("saved"), Body: f}); err != nil {
		return 0, 0, fmt.Errorf("upload: %w", err)
	}
	upload = time.Since(began)
	return save, upload, r.remove(ctx, "saved")
}

// backUp runs the agent as its Job does. It returns how long it took, and how much
// memory it had at most, in bytes.
func (r *rig) backUp(ctx context.Context, where map[string]any) (time.Duration, int64, error) {
	task := map[string]any{"endpoints": []string{"http://" + r.etcd}, "overwrite": true, "time": time.Now().UTC(), "backup": "bench/bench", "uid": "bench"}
	for k, v := range where {
		task[k] = v
	}
	text, err := json.Marshal(task)
	if err != nil {
		return 0, 0, err
	}
	report := r.path("result.json")
	cmd := exec.CommandContext(ctx, r.agent)
	cmd.Env = append(os.Environ(), "ETCD_BACKUP_TASK="+string(text), "ETCD_BACKUP_RESULT_FILE="+report, "GOMEMLIMIT=48MiB")
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	memory, err := watchMemory(cmd.Process.Pid, ended)
	took := time.Since(began)
	if err != nil {
		said, _ := os.ReadFile(report) // its own words, if it had any
		return 0, 0, fmt.Errorf("etcd-backup-agent: %w\n%s", err, said)
	}
	return took, memory, errors.Join(r.remove(ctx, "backup"), os.RemoveAll(r.path("volume/backup")))
}

// watchMemory returns the most memory that a process has had, in bytes, when it has
// ended. (The system's own figure for an ended process counts that of its parent.)
func watchMemory(pid int, ended <-chan error) (most int64, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return most, err
		case <-tick.C:
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it is just ending
		}
		for line := range strings.Lines(string(status)) {
			var kib int64
			if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
				most = max(most, kib<<10)
			}
		}
	}
}

func (r *rig) remove(ctx context.Context, key string) error {
	_, err := r.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	return err
}
