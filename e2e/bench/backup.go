package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
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

// backupSizes are the sizes of the database: 361 MB, for which there is a goal since it
// is known what others take, and one GiB, for which there is none.
var backupSizes = []struct {
	name   string
	values int
	goal   float64
}{{"361 MB", 344, 0.8}, {oneGiB, gibValues, 0}}

// oneGiB is the name of a database of gibValues values.
const (
	oneGiB    = "1 GiB"
	gibValues = 1024
)

// measureBackup measures the agent of the backup operator over `etcdctl snapshot save`
// to the local disk and, for S3, the upload of that file by the SDK's own manager.
func measureBackup(ctx context.Context, b *bench) error {
	dir, err := os.MkdirTemp("", "etcd-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	agent, err := b.buildAgent(ctx, dir, "etcd-backup-operator", "etcd-backup-agent")
	if err != nil {
		return err
	}
	for _, size := range backupSizes {
		r := &rig{dir: filepath.Join(dir, strings.ReplaceAll(size.name, " ", "-")), agent: agent, members: 1}
		if err := r.measure(ctx, b, size.name, size.values, size.goal); err != nil {
			return err
		}
	}
	return nil
}

// buildAgent builds the agent of an operator in a folder, and returns its path.
func (b *bench) buildAgent(ctx context.Context, dir, operator, agent string) (string, error) {
	program := filepath.Join(dir, agent)
	err := gobuild.Build{
		What: "building " + agent, Dir: filepath.Join(b.root, "operators", operator), Packages: []string{"./cmd/" + agent}, Output: program,
		Env: append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0"), Flags: []string{"-tags=" + images.Tags},
	}.Run(ctx)
	return program, err
}

// newRig starts a rig of so many members in a folder of its own, with the agent of an operator. End
// ends it, and removes the folder.
func (b *bench) newRig(ctx context.Context, operator, agent string, members int) (r *rig, end func(), err error) {
	dir, err := os.MkdirTemp("", "etcd-bench-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { os.RemoveAll(dir) }
	program, err := b.buildAgent(ctx, dir, operator, agent)
	if err != nil {
		remove()
		return nil, nil, err
	}
	r = &rig{dir: dir, agent: program, members: members}
	stop, err := r.start(ctx)
	if err != nil {
		remove()
		return nil, nil, err
	}
	return r, func() { stop(); remove() }, nil
}

// rig is a cluster of etcd and an S3 server on this machine.
type rig struct {
	dir, agent string
	bin        string // folder of etcd's programs
	// members is how many etcd has, and endpoints are their URLs.
	members   int
	endpoints []string
	store     string // URL
	s3        *s3.Client
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
		s3Took, s3Memory, err := r.backUp(ctx, map[string]any{"store": map[string]any{
			"bucket": bucket, "key": "backup", "endpoint": r.store, "forcePathStyle": true, "secretDir": r.path("secret")}})
		if err != nil {
			return err
		}
		volumeTook, volumeMemory, err := r.backUp(ctx, map[string]any{"pvc": map[string]any{
			"claim": "bench", "dir": r.path("volume"), "path": "backup"}})
		if err != nil {
			return err
		}
		b.say("backup of %s: save %s s, upload %s s; agent to S3 %s s, to a volume %s s; peak memory %d MiB", name,
			seconds(save), seconds(upload), seconds(s3Took), seconds(volumeTook), max(s3Memory, volumeMemory)>>20)
		most = max(most, s3Memory, volumeMemory)
		if round > 0 {
			saves, uploads = append(saves, save), append(uploads, upload)
			toS3, toVolume = append(toS3, s3Took), append(toVolume, volumeTook)
		}
	}
	whole := saves.median() + uploads.median()
	ratio := toS3.median().Seconds() / whole.Seconds()
	figure := fmt.Sprintf("backup of %s to S3, relative to etcdctl snapshot save and an upload", name)
	measured := fmt.Sprintf("%.2fx: %s over %s and %s", ratio, toS3, saves, uploads)
	if goal > 0 {
		b.table.add(figure, measured, fmt.Sprintf("%.1fx", goal), ratio <= goal)
	} else {
		b.table.note(figure, measured)
	}
	b.table.note(fmt.Sprintf("backup of %s to a volume, relative to etcdctl snapshot save", name),
		fmt.Sprintf("%.2fx: %s over %s", toVolume.median().Seconds()/saves.median().Seconds(), toVolume, saves))
	b.table.add(fmt.Sprintf("memory of the backup agent, %s", name), fmt.Sprintf("%d MiB", most>>20), fmt.Sprintf("%d MiB", agentMemory>>20), most <= agentMemory)
	return nil
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

// start starts etcd and the S3 server, and returns how to end them.
func (r *rig) start(ctx context.Context) (stop func(), err error) {
	binaries, server := os.Getenv(binariesVariable), os.Getenv(storeVariable)
	if binaries == "" || server == "" {
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
	n := r.members
	ports, err := etcdtest.PickAddrs(2*n + 1)
	if err != nil {
		return nil, err
	}
	port, clients, peers := ports[2*n], ports[:n], ports[n:2*n]
	r.bin, r.store, r.endpoints = filepath.Join(binaries, "v"+version), "http://"+port, nil
	var all []string
	for i := range n {
		r.endpoints = append(r.endpoints, "http://"+clients[i])
		all = append(all, fmt.Sprintf("%d=http://%s", i, peers[i]))
	}
	commands := [][]string{{server, "--port=" + port, "--region=us-east-1", "--access=" + accessKey, "--secret=" + secretKey, "--health=/health", "--quiet",
		"posix", "--sidecar=" + r.path("metadata"), r.path("buckets")}}
	for i := range n {
		commands = append(commands, []string{filepath.Join(r.bin, "etcd"), fmt.Sprintf("--name=%d", i), "--data-dir=" + r.path(fmt.Sprintf("data-%d", i)),
			"--quota-backend-bytes=8589934592", "--log-level=error", "--listen-client-urls=" + r.endpoints[i], "--advertise-client-urls=" + r.endpoints[i],
			"--listen-peer-urls=http://" + peers[i], "--initial-advertise-peer-urls=http://" + peers[i], "--initial-cluster=" + strings.Join(all, ",")})
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
	r.s3 = storeClient(r.store)
	for _, url := range append(slices.Clone(r.endpoints), r.store) {
		err = errors.Join(err, await(ctx, url+"/health"))
	}
	if err == nil {
		_, err = r.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)})
	}
	if err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

func storeClient(url string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(url), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	})
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
	cli, err := r.dial()
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
	if err := r.save(ctx, file); err != nil {
		return 0, 0, err
	}
	save = time.Since(began)
	began = time.Now()
	if err := r.upload(ctx, file, "saved"); err != nil {
		return 0, 0, err
	}
	upload = time.Since(began)
	return save, upload, r.remove(ctx, "saved")
}

// save saves a snapshot to a file.
func (r *rig) save(ctx context.Context, file string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(r.bin, "etcdctl"), "--endpoints="+r.endpoints[0], "snapshot", "save", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcdctl snapshot save: %w\n%s", err, out)
	}
	return nil
}

// upload stores a file under a key.
func (r *rig) upload(ctx context.Context, file, key string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := transfermanager.New(r.s3).UploadObject(ctx, &transfermanager.UploadObjectInput{Bucket: aws.String(bucket), Key: aws.String(key), Body: f}); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	return nil
}

// backUp runs the agent as its Job does. It returns how long it took, and how much
// memory it had at most, in bytes.
func (r *rig) backUp(ctx context.Context, where map[string]any) (time.Duration, int64, error) {
	task := r.task(where)
	task["overwrite"] = true
	took, memory, _, err := r.run(ctx, "ETCD_BACKUP", allMemory, task)
	return took, memory, errors.Join(err, r.remove(ctx, "backup"), os.RemoveAll(r.path("volume/backup")))
}

// task is one of the backup's agent, for etcd and a place.
func (r *rig) task(where map[string]any) map[string]any {
	task := map[string]any{"endpoints": r.endpoints, "time": time.Now().UTC(), "backup": "bench/bench", "uid": "bench"}
	maps.Copy(task, where)
	return task
}

// run runs the agent with a task, and returns how long it took, how much memory of a kind
// it had at most, in bytes, and what it reports. Its variables begin with a prefix; env are others.
func (r *rig) run(ctx context.Context, variables, kind string, task map[string]any, env ...string) (took time.Duration, memory int64, result []byte, err error) {
	text, err := json.Marshal(task)
	if err != nil {
		return 0, 0, nil, err
	}
	report := r.path("result.json")
	cmd := exec.CommandContext(ctx, r.agent)
	cmd.Env = slices.Concat(os.Environ(), env, []string{variables + "_TASK=" + string(text), variables + "_RESULT_FILE=" + report, "GOMEMLIMIT=48MiB"})
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	memory, err = watchMemory(cmd.Process.Pid, kind, ended)
	took = time.Since(began)
	said, readErr := os.ReadFile(report) // its own words, if it had any
	if err != nil {
		return 0, 0, nil, fmt.Errorf("%s: %w\n%s", filepath.Base(r.agent), err, said)
	}
	return took, memory, said, readErr
}

// The kinds of a process's memory, by proc_pid_status(5).
const (
	// allMemory is all that it has had at most, pages of files that it maps included.
	allMemory = "VmHWM"
	// ownMemory is what the system can't take away from it: without such pages.
	ownMemory = "RssAnon"
)

// watchMemory returns the most memory that a process has had, in bytes, when it has
// ended. (The system's own figure for an ended process counts that of its parent.)
func watchMemory(pid int, kind string, ended <-chan error) (most int64, err error) {
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
			if _, err := fmt.Sscanf(line, kind+": %d kB", &kib); err == nil {
				most = max(most, kib<<10)
			}
		}
	}
}

func (r *rig) remove(ctx context.Context, key string) error {
	_, err := r.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	return err
}
