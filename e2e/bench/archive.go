package main

import (
	"cmp"
	"context"
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
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// archiveRounds is how often each rate is measured at most, and archiveWindow how long a
	// measurement takes: a few of the intervals at which the archiver stores what it has.
	archiveRounds = 3
	archiveWindow = 40 * time.Second
	// archiveMembers is how many the cluster has: as many as an EtcdCluster by default.
	archiveMembers = 3
	// archiveInterval is that of the archiver: the default.
	archiveInterval = 10 * time.Second
	// archiveURL is where an archiver tells its progress, and archiveScratch its folder, as in its
	// Pod.
	archiveURL     = "http://127.0.0.1:8090/archive"
	archiveScratch = "/scratch"
	// askEvery is how often it is asked.
	askEvery = 50 * time.Millisecond
	// archiveGoal is what of their latency and throughput writes keep with the archive at goalRate,
	// in writes a second.
	archiveGoal = 0.97
	goalRate    = 1000
	// rebuildGoal is for how long a restore with the archive takes, relative to `etcdutl snapshot
	// restore` of what comes out of it; archivedEvents and eventsPerWrite are what is archived.
	rebuildGoal    = 1.5
	archivedEvents = 1_000_000
	eventsPerWrite = 100
)

// measureArchive measures what it costs etcd that all its changes are recorded into a store, and how
// far the record lies behind.
func measureArchive(ctx context.Context, b *bench) error {
	r, end, err := b.newRig(ctx, "etcd-backup-operator", "etcd-backup-agent", archiveMembers)
	if err != nil {
		return err
	}
	defer end()
	for _, rate := range []int{100, goalRate, 5000} {
		if err := r.measureArchive(ctx, b, rate); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) measureArchive(ctx context.Context, b *bench, rate int) error {
	var plain, archived, lag latencies
	var acked, ackedArchived int
	var used time.Duration
	var memory int64
	rounds := min(b.plan.rounds, archiveRounds)
	for round := range rounds {
		without, err := r.write(ctx, rate)
		if err != nil {
			return err
		}
		a, err := r.archive(ctx, map[string]any{"store": map[string]any{"bucket": bucket, "key": fmt.Sprintf("archive-%d-%d", rate, round),
			"endpoint": r.store, "forcePathStyle": true, "secretDir": r.path("secret")}})
		if err != nil {
			return err
		}
		with, err := r.write(ctx, rate)
		if err != nil {
			return errors.Join(err, a.stop())
		}
		behind, err := a.await(ctx, with)
		if err = errors.Join(err, a.stop()); err != nil {
			return err
		}
		b.say("archive at %d writes/s: p50 %s ms and %s ms with it, %d and %d acknowledged, recovery point p50 %s s and p99 %s s, %d MiB, %.0f %% of a core", rate,
			ms(without.latencies().at(50)), ms(with.latencies().at(50)), len(without), len(with), seconds(behind.at(50)), seconds(behind.at(99)),
			a.memory>>20, 100*a.used.Seconds()/archiveWindow.Seconds())
		plain, archived, lag = append(plain, without.latencies()...), append(archived, with.latencies()...), append(lag, behind...)
		acked, ackedArchived = acked+len(without), ackedArchived+len(with)
		used, memory = used+a.used, max(memory, a.memory)
	}
	what := fmt.Sprintf("archive at %d writes/s, ", rate)
	throughput, latency := float64(ackedArchived)/float64(acked), plain.at(50).Seconds()/archived.at(50).Seconds()
	measured := fmt.Sprintf("%.2fx: %d over %d writes", throughput, ackedArchived, acked)
	slower := fmt.Sprintf("%.2fx: p50 %s ms over %s ms; p99 %s ms over %s ms", latency, ms(plain.at(50)), ms(archived.at(50)), ms(plain.at(99)), ms(archived.at(99)))
	if rate == goalRate {
		b.table.add(what+"throughput with it over without", measured, fmt.Sprintf("%.2fx", archiveGoal), throughput >= archiveGoal)
		b.table.add(what+"latency of writes without it over with it", slower, fmt.Sprintf("%.2fx", archiveGoal), latency >= archiveGoal)
	} else {
		b.table.note(what+"throughput with it over without", measured)
		b.table.note(what+"latency of writes without it over with it", slower)
	}
	b.table.note(what+"from acknowledged to stored", fmt.Sprintf("p50 %s s, p99 %s s (interval %s s)", seconds(lag.at(50)), seconds(lag.at(99)), seconds(archiveInterval)))
	b.table.note(what+"processor time of the archiver", fmt.Sprintf("%.1f %% of a core", 100*used.Seconds()/(archiveWindow.Seconds()*float64(rounds))))
	b.table.add(what+"memory of the archiver", fmt.Sprintf("%d MiB", memory>>20), fmt.Sprintf("%d MiB", agentMemory>>20), memory <= agentMemory)
	return nil
}

// measureRebuild measures a restore of a snapshot and of a million archived changes over
// `etcdutl snapshot restore` of a snapshot that holds the same; and what verifies it by starting etcd.
func measureRebuild(ctx context.Context, b *bench) error {
	saving, end, err := b.newRig(ctx, "etcd-backup-operator", "etcd-backup-agent", 1)
	if err != nil {
		return err
	}
	defer end()
	restorer, err := b.buildAgent(ctx, saving.dir, "etcd-restore-operator", "etcd-restore-agent")
	if err != nil {
		return err
	}
	r := &seedRig{rig: *saving}
	name, revision, err := r.record(ctx)
	if err != nil {
		return err
	}
	if err := r.save(ctx, r.path("volume/saved")); err != nil {
		return err
	}
	r.agent = restorer
	r.onVolume = map[string]any{"pvc": map[string]any{"claim": "bench", "dir": r.path("volume"), "path": name}, "revision": revision}
	return r.measureRebuild(ctx, b, revision)
}

// record stores a snapshot of oneGiB on the volume, and then an archive of what is written after it. It
// returns the name of the snapshot, and the newest revision.
func (r *seedRig) record(ctx context.Context) (name string, revision int64, err error) {
	if err := r.fill(ctx, gibValues); err != nil {
		return "", 0, err
	}
	where := map[string]any{"pvc": map[string]any{"claim": "bench", "dir": r.path("volume"), "path": "backup"}}
	a, err := r.archive(ctx, where)
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, a.stop()) }()
	task := r.task(where)
	task["repeated"] = true
	_, _, said, err := r.run(ctx, "ETCD_BACKUP", allMemory, task)
	if err != nil {
		return "", 0, err
	}
	var result struct {
		Location string `json:"location"`
	}
	if err := json.Unmarshal(said, &result); err != nil {
		return "", 0, fmt.Errorf("etcd-backup-agent reports %s", said)
	}
	cli, err := r.dial()
	if err != nil {
		return "", 0, err
	}
	defer cli.Close()
	for i := range archivedEvents / eventsPerWrite {
		var puts []clientv3.Op
		for j := range eventsPerWrite {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("event-%05d", (i*eventsPerWrite+j)%50_000), fmt.Sprintf("%0100d", i)))
		}
		got, err := cli.Txn(ctx).Then(puts...).Commit()
		if err != nil {
			return "", 0, fmt.Errorf("write events: %w", err)
		}
		revision = got.Header.Revision
	}
	_, err = a.await(ctx, writes{{revision: revision, acked: time.Now()}})
	return filepath.Base(result.Location), revision, err
}

func (r *seedRig) measureRebuild(ctx context.Context, b *bench, revision int64) error {
	var rebuilt, plain, tried times
	for round := range b.plan.rounds + 1 { // the first finds caches cold, and does not count
		var own, floor time.Duration
		_, _, err := r.seed(ctx, func(s *seed) (int64, error) {
			began := time.Now()
			memory, err := r.restore(ctx, s, r.onVolume, nil)
			own = time.Since(began)
			return memory, err
		})
		if err != nil {
			return err
		}
		if _, _, err := r.seed(ctx, func(s *seed) (int64, error) {
			began := time.Now()
			err := r.restoreByHand(ctx, s)
			floor = time.Since(began)
			return 0, err
		}); err != nil {
			return err
		}
		trial, err := r.tryOut(ctx)
		if err != nil {
			return err
		}
		b.say("restore of %s and %d archived changes: %s s, etcdutl of the same %s s; verification with etcd started %s s", oneGiB, archivedEvents, seconds(own), seconds(floor), seconds(trial))
		if round > 0 {
			rebuilt, plain, tried = append(rebuilt, own), append(plain, floor), append(tried, trial)
		}
	}
	ratio := func(t times) float64 { return t.median().Seconds() / plain.median().Seconds() }
	b.table.add(fmt.Sprintf("restore of %s and %d archived changes (revision %d), relative to etcdutl snapshot restore of a snapshot with all of it", oneGiB, archivedEvents, revision),
		fmt.Sprintf("%.2fx: %s over %s", ratio(rebuilt), rebuilt, plain), fmt.Sprintf("%.1fx", rebuildGoal), ratio(rebuilt) <= rebuildGoal)
	b.table.note("verification of the same by starting etcd on it, relative to the same", fmt.Sprintf("%.2fx: %s over %s", ratio(tried), tried, plain))
	return nil
}

// tryOut runs the agent as the Job of a verification does that starts etcd.
func (r *seedRig) tryOut(ctx context.Context) (time.Duration, error) {
	if err := os.MkdirAll(r.path("scratch"), 0o755); err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.path("scratch"))
	task := map[string]any{"restore": "bench/bench", "uid": "bench", "scratch": r.path("scratch"), "startEtcd": version}
	maps.Copy(task, r.onVolume)
	took, _, said, err := r.run(ctx, "ETCD_RESTORE", ownMemory, task, "PATH="+r.bin+":"+os.Getenv("PATH"))
	var result struct {
		Served any `json:"served"`
	}
	if err == nil && (json.Unmarshal(said, &result) != nil || result.Served == nil) {
		err = fmt.Errorf("etcd-restore-agent reports %s", said)
	}
	return took, err
}

// archiver is an agent that records.
type archiver struct {
	cmd *exec.Cmd
	// used is its processor time, and memory the most that it has had, in bytes, once it has ended.
	used   time.Duration
	memory int64
	ended  chan error
	// watching is cancelled to end its being asked for its progress, after which asked is closed.
	watching context.CancelFunc
	asked    chan struct{}
	mu       sync.Mutex
	stored   []storedAt
}

// storedAt is up to which revision all was stored at a time.
type storedAt struct {
	revision int64
	at       time.Time
}

// archive starts an archiver as its Job does, and waits until it records.
func (r *rig) archive(ctx context.Context, where map[string]any) (*archiver, error) {
	if err := os.MkdirAll(archiveScratch, 0o755); err != nil {
		return nil, err
	}
	task := r.task(where)
	task["repeated"], task["archive"] = true, map[string]any{"interval": archiveInterval}
	text, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	watching, cancel := context.WithCancel(ctx)
	a := &archiver{cmd: exec.CommandContext(ctx, r.agent), ended: make(chan error, 1), watching: cancel, asked: make(chan struct{})}
	a.cmd.Env = append(os.Environ(), "ETCD_BACKUP_TASK="+string(text), "ETCD_BACKUP_RESULT_FILE="+r.path("archiver.json"), "GOMEMLIMIT=48MiB")
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := a.cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go a.watch(watching)
	exited := make(chan error, 1)
	go func() { exited <- a.cmd.Wait() }()
	go func() {
		var err error
		a.memory, err = watchMemory(a.cmd.Process.Pid, allMemory, exited)
		a.ended <- err
	}()
	err = harness.Poll(ctx, "the archiver to record", func(ctx context.Context) (string, error) {
		p, err := progressOf(ctx)
		if err != nil || p.RecoveryTime.IsZero() {
			return "it does not yet", err
		}
		return "", nil
	})
	if err != nil {
		return nil, errors.Join(err, a.stop())
	}
	return a, nil
}

// watch notes what it has stored, and when.
func (a *archiver) watch(ctx context.Context) {
	defer close(a.asked)
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if p, err := progressOf(ctx); err == nil {
			a.mu.Lock()
			if n := len(a.stored); n == 0 || a.stored[n-1].revision < p.Revision {
				a.stored = append(a.stored, storedAt{p.Revision, time.Now()})
			}
			a.mu.Unlock()
		}
	}
}

// await waits until all of some writes are stored, and returns how long that took each.
func (a *archiver) await(ctx context.Context, all writes) (behind latencies, err error) {
	newest := int64(0)
	for _, w := range all {
		newest = max(newest, w.revision)
	}
	err = harness.Poll(ctx, fmt.Sprintf("revision %d to be archived", newest), func(context.Context) (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if n := len(a.stored); n == 0 || a.stored[n-1].revision < newest {
			return "it is not", nil
		}
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, w := range all {
		i, _ := slices.BinarySearchFunc(a.stored, w.revision, func(s storedAt, revision int64) int { return cmp.Compare(s.revision, revision) })
		behind = append(behind, max(0, a.stored[i].at.Sub(w.acked)))
	}
	return behind, nil
}

// stop ends it, as Kubernetes does, and notes what it has used.
func (a *archiver) stop() error {
	a.watching()
	<-a.asked
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	err := <-a.ended
	var exit *exec.ExitError
	if !errors.As(err, &exit) { // an archiver that is to end has not succeeded
		return fmt.Errorf("the archiver ended: %w", err)
	}
	a.used = a.cmd.ProcessState.UserTime() + a.cmd.ProcessState.SystemTime()
	return nil
}

// archiveProgress is what an archiver tells.
type archiveProgress struct {
	Revision     int64     `json:"revision"`
	RecoveryTime time.Time `json:"recoveryTime"`
}

func progressOf(ctx context.Context) (p archiveProgress, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, archiveURL, nil)
	if err != nil {
		return p, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &p)
	}
	return p, err
}
