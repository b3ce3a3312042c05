package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// ResultFileEnv names a file for the result in place of the kubelet's default.
const ResultFileEnv = "ETCD_RESTORE_RESULT_FILE"

// settings are how long things may take, and where the progress is told; tests have less
// time, and no port of their own.
type settings struct {
	// listen is the address of the progress.
	listen string
	// stall is how long a store may make no progress.
	stall time.Duration
	// backoff is the pause after the first attempt; it doubles with each.
	backoff time.Duration
	// storeBackoff is the longest pause before a request to the store is tried again;
	// 0: objectstore's default.
	storeBackoff time.Duration
	// progress is how often a line of log says how far it is.
	progress time.Duration
	// etcd is the program that a trial starts, trialClient and trialPeer are the URLs that it
	// listens at, and trial is how long it may take to read and compare its database.
	etcd, trialClient, trialPeer string
	trial                        time.Duration
}

var defaultSettings = settings{
	listen: fmt.Sprintf(":%d", task.ProgressPort),
	stall:  objectstore.DefaultStall, backoff: time.Second, progress: 10 * time.Second,
	etcd: "etcd", trialClient: "http://127.0.0.1:2379", trialPeer: "http://127.0.0.1:2380", trial: 15 * time.Minute,
}

// attempts is how often the whole is tried, for a store that restarts. After that it is up
// to another container.
const attempts = 4

// job is a task that is being carried out.
type job struct {
	task     task.Task
	log      *slog.Logger
	settings settings
	result   *task.Result
	progress *progress
	// chosen is the object that was found under the task's prefix; nil before that.
	chosen *objectstore.Object
}

// Main carries out the task in the environment, until ctx ends, and returns the exit
// code of the process: one of package agent's.
func Main(ctx context.Context) int {
	return run(ctx, runner.Prepare(), defaultSettings, os.Getenv)
}

func run(ctx context.Context, log *slog.Logger, settings settings, getenv func(string) string) int {
	result := task.Result{Started: time.Now().UTC()}
	result.Failure = runner.Run(ctx, func(ctx context.Context) error { return carryOut(ctx, log, settings, getenv(task.Env), &result) }, explain)
	result.Finished = time.Now().UTC()
	if err := write(getenv(ResultFileEnv), result); err != nil {
		log.Error("cannot report the result", "error", err)
	}
	if f := result.Failure; f != nil {
		log.Error("the task failed", "reason", f.Reason, "message", f.Message, "permanent", f.Permanent)
		return f.ExitCode()
	}
	log.Info("the task is done", "already", result.Already, "snapshot", result.Snapshot, "seconds", result.Finished.Sub(result.Started).Seconds())
	return agent.ExitDone
}

func write(path string, result task.Result) error {
	var texts []*string
	if result.Failure != nil {
		failure := *result.Failure
		result.Failure = &failure
		texts = append(texts, &failure.Message)
	}
	if result.Snapshot != nil {
		snapshot := *result.Snapshot
		result.Snapshot = &snapshot
		texts = append(texts, &snapshot.Location)
	}
	if result.Catalogue != nil {
		result.Catalogue = fitted(result.Catalogue)
	}
	return runner.Write(path, &result, texts...)
}

func carryOut(ctx context.Context, log *slog.Logger, settings settings, env string, result *task.Result) (err error) {
	t, err := read(env)
	if err != nil {
		return err
	}
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errTimedOut)
		defer cancel()
		// The caller sees only its own context.
		defer func() {
			if err != nil && errors.Is(context.Cause(ctx), errTimedOut) {
				err = ended(errTimedOut)
			}
		}()
	}
	j := &job{task: t, log: log.With("restore", t.Restore), settings: settings, result: result, progress: &progress{}}
	if t.Member == nil {
		defer j.progress.serve(j.settings.listen, j.log)()
		return j.insist(ctx, j.verify)
	}
	return j.restore(ctx)
}

// insist tries until it is done, or is known to fail.
func (j *job) insist(ctx context.Context, try func(context.Context) error) error {
	pause := j.settings.backoff
	for attempt := 1; ; attempt++ {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || attempt == attempts {
			return err
		}
		f := explain(ctx, err)
		if f.Permanent {
			return err
		}
		j.log.Warn("an attempt failed", "attempt", attempt, "of", attempts, "reason", f.Reason, "message", f.Message, "pause", pause.String())
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// read reads a task and refuses one that cannot be carried out. Whether what users wrote
// makes sense is the operator's to say.
func read(env string) (t task.Task, err error) {
	if err := json.Unmarshal([]byte(env), &t); err != nil {
		return t, runner.Refuse(agent.ReasonInvalidTask, "$%s holds no task: run operator and agent in the same version: %w", task.Env, err)
	}
	switch m := t.Member; {
	case (t.Store == nil) == (t.PVC == nil):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task must name either an object store or a volume")
	case t.UID == "" || filepath.Base(t.UID) != t.UID:
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task has no usable uid: %q", t.UID)
	case t.Store != nil && (t.Store.Key == "") != t.Store.Newest:
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task must name either a key or a prefix of the store")
	case m != nil && t.Store != nil && t.Store.Newest:
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task must name the snapshot to restore, and not only a prefix")
	case t.Revision < 0:
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task's revision is negative: %d", t.Revision)
	case t.Revision > 0 && !t.Time.IsZero():
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task has both a revision and a time")
	case m != nil && t.StartEtcd != "":
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task has a member, and an etcd to start for a verification")
	case m == nil && t.Scratch == "":
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task names no folder to work in")
	case m != nil && (m.Name == "" || m.PeerURL == "" || m.Token == "" || m.Revision <= 0 || !filepath.IsAbs(m.DataDir) || m.PermitFile == ""):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task's member is incomplete: %+v", *m)
	}
	return t, nil
}
