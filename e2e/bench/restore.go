package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// What the restore's agent is measured against needs no Kubernetes either: etcdutl and
// the agent make a data dir from the same snapshot, and the same etcd serves it.

// seedBump is by how much the agent raises the revision; etcdutl raises nothing.
const seedBump = 1_000_000_000

// measureSeed measures the agent of the restore operator, and the start of etcd after it,
// over `etcdutl snapshot restore` of a local file and the same start.
func measureSeed(ctx context.Context, b *bench) error {
	restoring, end, err := b.newRig(ctx, "etcd-restore-operator", "etcd-restore-agent", 1)
	if err != nil {
		return err
	}
	defer end()
	r := &seedRig{rig: *restoring}
	if err := r.fill(ctx, gibValues); err != nil {
		return err
	}
	if err := errors.Join(r.save(ctx, r.path("volume/saved")), r.upload(ctx, r.path("volume/saved"), "saved")); err != nil {
		return err
	}
	r.inStore = map[string]any{"store": map[string]any{"bucket": bucket, "key": "saved", "endpoint": r.store, "forcePathStyle": true, "secretDir": r.path("secret")}}
	r.onVolume = map[string]any{"pvc": map[string]any{"claim": "bench", "dir": r.path("volume"), "path": "saved"}}
	return r.measure(ctx, b)
}

// seedRig is a rig with a snapshot, in the store and on a volume.
type seedRig struct {
	rig
	inStore, onVolume map[string]any
}

func (r *seedRig) measure(ctx context.Context, b *bench) error {
	var verified, plain, fromS3, fromVolume times
	var most int64
	for round := range b.plan.rounds + 1 { // the first finds caches cold, and does not count
		verify, verifyMemory, want, err := r.verify(ctx)
		if err != nil {
			return err
		}
		floor, _, err := r.seed(ctx, func(s *seed) (int64, error) { return 0, r.restoreByHand(ctx, s) })
		if err != nil {
			return err
		}
		inStore, storeMemory, err := r.seed(ctx, func(s *seed) (int64, error) { return r.restore(ctx, s, r.inStore, want) })
		if err != nil {
			return err
		}
		// On a volume there is no ETag to ask for.
		want["etag"], want["location"] = "", "pvc://bench/saved"
		onVolume, volumeMemory, err := r.seed(ctx, func(s *seed) (int64, error) { return r.restore(ctx, s, r.onVolume, want) })
		if err != nil {
			return err
		}
		b.say("restore of %s until the seed serves: by hand %s s; agent from S3 %s s, from a volume %s s; verification %s s; peak memory %d MiB",
			oneGiB, seconds(floor), seconds(inStore), seconds(onVolume), seconds(verify), max(verifyMemory, storeMemory, volumeMemory)>>20)
		most = max(most, verifyMemory, storeMemory, volumeMemory)
		if round > 0 {
			verified, plain = append(verified, verify), append(plain, floor)
			fromS3, fromVolume = append(fromS3, inStore), append(fromVolume, onVolume)
		}
	}
	over := func(t times) string {
		return fmt.Sprintf("%.2fx: %s over %s", t.median().Seconds()/plain.median().Seconds(), t, plain)
	}
	b.table.note(fmt.Sprintf("restore of %s from S3 until the seed serves, relative to etcdutl snapshot restore of a local file", oneGiB), over(fromS3))
	b.table.note(fmt.Sprintf("restore of %s from a volume, relative to the same", oneGiB), over(fromVolume))
	b.table.note(fmt.Sprintf("verification of %s in S3, before the cluster is changed", oneGiB), verified.String())
	b.table.add(fmt.Sprintf("memory of the restore agent, %s, without file-backed pages", oneGiB),
		fmt.Sprintf("%d MiB", most>>20), fmt.Sprintf("%d MiB", agentMemory>>20), most <= agentMemory)
	return nil
}

// verify runs the agent as its Job does, and returns what it has found.
func (r *seedRig) verify(ctx context.Context) (took time.Duration, memory int64, found map[string]any, err error) {
	task := map[string]any{"restore": "bench/bench", "uid": "bench", "scratch": r.path("scratch")}
	if err := os.MkdirAll(r.path("scratch"), 0o755); err != nil {
		return 0, 0, nil, err
	}
	defer os.RemoveAll(r.path("scratch"))
	maps.Copy(task, r.inStore)
	took, memory, said, err := r.run(ctx, "ETCD_RESTORE", ownMemory, task)
	if err != nil {
		return 0, 0, nil, err
	}
	var result struct {
		Snapshot map[string]any `json:"snapshot"`
	}
	if err := json.Unmarshal(said, &result); err != nil || result.Snapshot == nil {
		return 0, 0, nil, fmt.Errorf("etcd-restore-agent reports %s", said)
	}
	return took, memory, result.Snapshot, nil
}

// seed is a member to be.
type seed struct {
	dir, client, peer string
}

const seedName = "seed"

func (s *seed) dataDir() string { return filepath.Join(s.dir, "data") }

// seed makes a data dir, starts etcd on it, and returns how long it took until that
// served. Nothing is left of it.
func (r *seedRig) seed(ctx context.Context, restore func(*seed) (memory int64, err error)) (took time.Duration, memory int64, err error) {
	addrs, err := etcdtest.PickAddrs(2)
	if err != nil {
		return 0, 0, err
	}
	s := &seed{dir: r.path("seed"), client: "http://" + addrs[0], peer: "http://" + addrs[1]}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(s.dir)
	began := time.Now()
	if memory, err = restore(s); err != nil {
		return 0, 0, err
	}
	etcd := exec.CommandContext(ctx, filepath.Join(r.bin, "etcd"), "--name="+seedName, "--data-dir="+s.dataDir(), "--quota-backend-bytes=8589934592", "--log-level=error",
		"--listen-client-urls="+s.client, "--advertise-client-urls="+s.client, "--listen-peer-urls="+s.peer, "--initial-advertise-peer-urls="+s.peer,
		"--initial-cluster="+seedName+"="+s.peer)
	etcd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := etcd.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = etcd.Process.Kill() // it may have ended by itself
		_ = etcd.Wait()
	}()
	if err := await(ctx, s.client+"/health"); err != nil {
		return 0, 0, err
	}
	return time.Since(began), memory, nil
}

// restoreByHand is what is done without an operator.
func (r *seedRig) restoreByHand(ctx context.Context, s *seed) error {
	out, err := exec.CommandContext(ctx, filepath.Join(r.bin, "etcdutl"), "snapshot", "restore", r.path("volume/saved"), "--data-dir="+s.dataDir(),
		"--name="+seedName, "--initial-cluster="+seedName+"="+s.peer, "--initial-advertise-peer-urls="+s.peer).CombinedOutput()
	if err != nil {
		return fmt.Errorf("etcdutl snapshot restore: %w\n%s", err, out)
	}
	return nil
}

// restore runs the agent as the seed's init container does.
func (r *seedRig) restore(ctx context.Context, s *seed, from, want map[string]any) (memory int64, err error) {
	const uid = "bench"
	permit := filepath.Join(s.dir, "permit")
	if err := os.WriteFile(permit, []byte(uid), 0o600); err != nil {
		return 0, err
	}
	revision, _ := want["revision"].(float64) // as JSON has it
	task := map[string]any{"restore": "bench/bench", "uid": uid, "want": want, "member": map[string]any{
		"name": seedName, "peerURL": s.peer, "token": uid, "dataDir": s.dataDir(), "permitFile": permit, "revision": int64(revision) + seedBump,
	}}
	maps.Copy(task, from)
	_, memory, _, err = r.run(ctx, "ETCD_RESTORE", ownMemory, task)
	return memory, err
}
