package agent

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// ResultFileEnv names a file for the result in place of the kubelet's default.
const ResultFileEnv = "ETCD_BACKUP_RESULT_FILE"

// Main carries out the task in the environment, until ctx ends, and returns the exit
// code of the process: one of package agent's. It takes no arguments.
func Main(ctx context.Context, args []string) int {
	return run(ctx, runner.Prepare(), defaultLimits, args)
}

func run(ctx context.Context, log *slog.Logger, limits limits, args []string) int {
	result := task.Result{Started: time.Now().UTC()}
	result.Failure = runner.Run(ctx, func(ctx context.Context) error { return carryOut(ctx, log, limits, args, &result) }, explain)
	result.Finished = time.Now().UTC()
	result.Duration = result.Finished.Sub(result.Started).Seconds()
	if err := write(result); err != nil {
		log.Error("cannot report the result", "error", err)
	}
	f := result.Failure
	if f == nil {
		log.Info("backup stored", "location", result.Location, "size", result.Size, "sha256", result.SHA256,
			"revision", result.Revision, "member", result.MemberID, "cluster", result.ClusterID, "seconds", result.Duration)
		return agent.ExitDone
	}
	log.Error("backup failed", "reason", f.Reason, "message", f.Message, "permanent", f.Permanent)
	return f.ExitCode()
}

func carryOut(ctx context.Context, log *slog.Logger, limits limits, args []string, result *task.Result) error {
	if len(args) > 0 {
		return runner.Refuse(agent.ReasonInvalidTask, "the agent takes no arguments: its task is in $%s", task.Env)
	}
	t, err := read(os.Getenv(task.Env))
	if err != nil {
		return err
	}
	j := &job{task: t, log: log.With("backup", t.Backup), limits: limits, result: result}
	switch {
	case t.Archive != nil:
		return j.record(ctx)
	case t.Copy != nil:
		return j.copyStored(ctx)
	}
	return save(ctx, j)
}

// read reads a task and refuses one that can't be carried out. Whether what users wrote
// makes sense is the operator's to say.
func read(env string) (t task.Task, err error) {
	if err := json.Unmarshal([]byte(env), &t); err != nil {
		return t, runner.Refuse(agent.ReasonInvalidTask, "cannot read the task in $%s: operator and agent must have the same version: %w", task.Env, err)
	}
	switch {
	case len(t.Endpoints) == 0 && (t.Copy == nil || t.Copy.Of == nil):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task has no endpoint")
	case (t.Store == nil) == (t.PVC == nil):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task must name either an object store or a volume")
	case t.Copy != nil && (t.Copy.Store == nil) == (t.Copy.PVC == nil):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task must name either an object store or a volume for copies")
	case t.Copy != nil && (t.Copy.Of == nil) == (t.Archive == nil):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task names a second place, and must either copy a snapshot or record an archive")
	case t.Archive != nil && (!t.Repeated || t.Archive.Interval < time.Second):
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task asks for an archive without repeated snapshots, or with an interval of %s", t.Archive.Interval)
	case t.Compression != "" && t.Compression != zstd:
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task asks for compression %q, which this agent does not support", t.Compression)
	}
	return t, nil
}

// write reports the result.
func write(result task.Result) error {
	texts := []*string{&result.RetentionError, &result.Location}
	if result.Failure != nil {
		failure := *result.Failure
		result.Failure = &failure
		texts = append([]*string{&failure.Message}, texts...)
	}
	return runner.Write(os.Getenv(ResultFileEnv), &result, texts...)
}
