package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

const (
	// ResultFileEnv names a file for the result in place of resultFile.
	ResultFileEnv = "ETCD_BACKUP_RESULT_FILE"
	// resultFile is the kubelet's default.
	resultFile = "/dev/termination-log"
	// gcPercent keeps the heap close to what is in use, most of which is buffers that
	// cost no time to collect.
	gcPercent = 10
)

// Main carries out the task in the environment, until ctx ends, and returns the exit
// code of the process: one of task's. It takes no arguments.
func Main(ctx context.Context, args []string) int {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	return run(ctx, log, defaultLimits, args)
}

func run(ctx context.Context, log *slog.Logger, limits limits, args []string) int {
	result := task.Result{Started: time.Now().UTC()}
	if err := guarded(func() error { return carryOut(ctx, log, limits, args, &result) }); err != nil {
		result.Failure = explain(ctx, err)
	}
	result.Finished = time.Now().UTC()
	result.Duration = result.Finished.Sub(result.Started).Seconds()
	if err := write(result); err != nil {
		log.Error("the result could not be reported", "error", err)
	}
	f := result.Failure
	if f == nil {
		log.Info("the backup is stored", "location", result.Location, "size", result.Size, "sha256", result.SHA256,
			"revision", result.Revision, "member", result.MemberID, "cluster", result.ClusterID, "seconds", result.Duration)
		return task.ExitDone
	}
	log.Error("the backup failed", "reason", f.Reason, "message", f.Message, "permanent", f.Permanent)
	if f.Permanent {
		return task.ExitPermanent
	}
	return task.ExitRetry
}

// guarded makes an error of a panic, so that it is reported as one.
func guarded(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

func carryOut(ctx context.Context, log *slog.Logger, limits limits, args []string, result *task.Result) error {
	if len(args) > 0 {
		return refuse(task.ReasonInvalidTask, "the agent takes no arguments: its task is in $%s", task.Env)
	}
	t, err := read(os.Getenv(task.Env))
	if err != nil {
		return err
	}
	return save(ctx, &job{task: t, log: log.With("backup", t.Backup), limits: limits, result: result})
}

// read reads a task and refuses one that can't be carried out. Whether what users wrote
// makes sense is the operator's to say.
func read(env string) (t task.Task, err error) {
	if err := json.Unmarshal([]byte(env), &t); err != nil {
		return t, refuse(task.ReasonInvalidTask, "$%s holds no task: operator and agent must be of one version: %w", task.Env, err)
	}
	switch {
	case len(t.Endpoints) == 0:
		return t, refuse(task.ReasonInvalidTask, "the task names no endpoint")
	case (t.S3 == nil) == (t.PVC == nil):
		return t, refuse(task.ReasonInvalidTask, "the task must name either an S3 store or a volume")
	case t.Compression != "" && t.Compression != zstd:
		return t, refuse(task.ReasonInvalidTask, "the task asks for compression %q, which this agent does not know", t.Compression)
	}
	return t, nil
}

// write reports the result.
func write(result task.Result) error {
	path := os.Getenv(ResultFileEnv)
	if path == "" {
		path = resultFile
	}
	content, err := encode(result)
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// encode makes the JSON of a result, with words left out if there are too many.
func encode(result task.Result) ([]byte, error) {
	texts := []*string{&result.RetentionError, &result.Location}
	if result.Failure != nil {
		failure := *result.Failure
		result.Failure = &failure
		texts = append([]*string{&failure.Message}, texts...)
	}
	for {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(result); err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		if out.Len() <= task.MaxMessage || !shorten(texts) {
			return out.Bytes(), nil
		}
	}
}

// ellipsis stands for the words that were left out.
const ellipsis = " …"

// shorten takes an eighth off the end of the first text that is still of some length.
func shorten(texts []*string) bool {
	for _, text := range texts {
		runes := []rune(*text)
		if len(runes) <= 100 {
			continue
		}
		*text = string(runes[:len(runes)*7/8-len(ellipsis)]) + ellipsis
		return true
	}
	return false
}
