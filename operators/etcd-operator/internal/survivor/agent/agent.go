// Package agent is what runs in the init container of a survivor's seed: the program
// etcd-survivor-agent. It reads a task.Task from its environment, streams the snapshot
// of a member straight to the seed's volume, and makes the data dir of a new cluster with
// one member of it. It asks nothing of Kubernetes.
//
// All is made in a folder beside the data dir, which is renamed when it is on the disk; a
// marker beside it, written last, says that the data dir is complete (datadir.Place). The
// agent may be killed at any line: what is half-done is removed and begun again. With the
// marker, or without the Pod's permit, it does nothing at all, whenever it is started: the
// data is etcd's from then on.
//
// The member is asked for its status before its snapshot is taken: it must be the one of
// the one cluster, and know of as much as when it was chosen. What it sends is a snapshot
// only if its last 32 bytes are the sha256 of the rest. By TLS, its certificate must be for
// the host in its URL, and the agent shows the operators' own.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/survivor/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// ResultFileEnv names a file for the result in place of the kubelet's default.
const ResultFileEnv = "ETCD_SURVIVOR_RESULT_FILE"

const (
	// askTime is for how long the member may take to tell its status.
	askTime = 10 * time.Second
	// stall is for how long it may send nothing of its snapshot.
	stall = 30 * time.Second
	// copyBuffer is how much is read and written at a time.
	copyBuffer = 1 << 20
)

// Reasons of failures beside those of package shared/agent.
const (
	reasonWrongMember = "WrongMember"
	reasonSourceLost  = "SourceLost"
	reasonTLSInvalid  = "TLSInvalid"
)

// Main carries out the task in the environment, until ctx ends, and returns the exit code
// of the process: one of package shared/agent's. What fails is tried again by the kubelet.
func Main(ctx context.Context) int {
	log := runner.Prepare()
	result := task.Result{Started: time.Now().UTC()}
	result.Failure = runner.Run(ctx, func(ctx context.Context) error {
		t, err := read(os.Getenv(task.Env))
		if err != nil {
			return err
		}
		return carryOut(ctx, log.With("seed", t.Name, "survivor", t.Survivor), t, &result)
	}, explain)
	result.Finished = time.Now().UTC()
	if err := write(os.Getenv(ResultFileEnv), result); err != nil {
		log.Error("cannot report the result", "error", err)
	}
	if f := result.Failure; f != nil {
		log.Error("task failed", "reason", f.Reason, "message", f.Message)
		return f.ExitCode()
	}
	log.Info("task complete", "already", result.Already, "bytes", result.Size, "revision", result.Revision)
	return agent.ExitDone
}

func write(path string, result task.Result) error {
	var texts []*string
	if result.Failure != nil {
		failure := *result.Failure
		result.Failure = &failure
		texts = append(texts, &failure.Message)
	}
	return runner.Write(path, &result, texts...)
}

func explain(ctx context.Context, err error) *agent.Failure {
	if ctx.Err() != nil {
		err = runner.Passing(agent.ReasonInterrupted, "the seed's Pod was told to end before its data dir was made")
	}
	if errors.Is(err, snapshot.ErrCorrupt) {
		err = runner.Passing(agent.ReasonCorruptSnapshot, "%w", err)
	}
	return runner.Explain(err, "the seed's volume can't be used: make it so for the group of the Pod (fsGroup)")
}

// read reads a task and refuses one that can't be carried out.
func read(env string) (t task.Task, err error) {
	if err := json.Unmarshal([]byte(env), &t); err != nil {
		return t, runner.Refuse(agent.ReasonInvalidTask, "$%s holds no task: operator and agent must be of one version: %w", task.Env, err)
	}
	if t.URL == "" || t.ClusterID == "" || t.MemberID == "" || t.Name == "" || t.PeerURL == "" || t.Token == "" || filepath.Base(t.Token) != t.Token ||
		t.Revision <= 0 || !filepath.IsAbs(t.DataDir) || t.PermitFile == "" {
		return t, runner.Refuse(agent.ReasonInvalidTask, "the task does not say all: %+v", t)
	}
	return t, nil
}

// carryOut makes the data dir, unless that was done before, or is no longer permitted.
func carryOut(ctx context.Context, log *slog.Logger, t task.Task, result *task.Result) error {
	place := datadir.New(t.DataDir, datadir.Stamp{Restore: "survivor " + t.Survivor, UID: t.Token, Member: t.Name})
	done, err := place.Done()
	if err != nil {
		return err
	}
	if done {
		result.Already = true
		return place.Clear() // what a kill after the last step has left
	}
	allowed, err := datadir.IsPermitted(t.PermitFile, t.Token)
	if err != nil {
		return err
	}
	if !allowed {
		log.Info("nothing to do: the permit was revoked")
		result.Already = true
		return nil
	}
	renamed, err := place.Renamed()
	if err != nil {
		return err
	}
	if renamed {
		return place.Finish()
	}
	if err := errors.Join(place.CheckFree(), place.Begin()); err != nil {
		return err
	}
	if err := remake(ctx, log, t, place, result); err != nil {
		return errors.Join(err, place.Clear())
	}
	return place.Publish()
}

// remake takes the snapshot and makes what is to be the data dir of it.
func remake(ctx context.Context, log *slog.Logger, t task.Task, place *datadir.Place, result *task.Result) error {
	file, err := take(ctx, log, t, place, result)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read from now on
	if result.Revision, err = rebuild.LastRevision(ctx, file); err != nil {
		return err
	}
	log.Info("writing the data dir", "of", result.Revision, "begins", t.Revision)
	made, err := rebuild.Restore(ctx, log, file, place.Made(), rebuild.Seed{Name: t.Name, PeerURL: t.PeerURL, Token: t.Token, Revision: t.Revision})
	if len(made.ClearedAlarms) > 0 {
		log.Info("cleared alarms of the survivor's cluster", "alarms", made.ClearedAlarms)
	}
	return err
}

// take streams the survivor's snapshot to a file, which the caller closes.
func take(ctx context.Context, log *slog.Logger, t task.Task, place *datadir.Place, result *task.Result) (_ *os.File, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	config := clientv3.Config{Context: ctx, Endpoints: []string{t.URL}, Logger: zap.NewNop()}
	if t.TLSDir != "" {
		// As it is now: when the kubelet tries again, it may have been renewed.
		if config.TLS, err = etcdclient.LoadTLS(t.TLSDir); err != nil {
			return nil, runner.Passing(reasonTLSInvalid, "correct the Secret with the operators' certificate: %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, runner.Refuse(agent.ReasonInvalidTask, "survivor %s at %s can't be asked: %w", t.Survivor, t.URL, err)
	}
	defer client.Close()
	size, err := check(ctx, pb.NewMaintenanceClient(client.ActiveConnection()), t)
	if err != nil {
		return nil, err
	}
	if err := rebuild.CheckSpace(place.Work, size, rebuild.Slack); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(place.Snapshot(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, datadir.FileMode)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = file.Close() // it is of no use
		}
	}()
	log.Info("taking the snapshot", "from", t.URL, "bytes", size)
	s := &stream{cancel: cancel, from: t.Survivor}
	s.timer = time.AfterFunc(stall, func() { cancel(errSilent) })
	defer s.timer.Stop()
	if s.rpc, err = pb.NewMaintenanceClient(client.ActiveConnection()).Snapshot(ctx, &pb.SnapshotRequest{}); err != nil {
		return nil, s.lost(ctx, err)
	}
	s.ctx = ctx
	verified := snapshot.NewReader(s)
	if _, err := io.CopyBuffer(struct{ io.Writer }{file}, struct{ io.Reader }{verified}, make([]byte, copyBuffer)); err != nil {
		return nil, err
	}
	result.Size = verified.Size()
	return file, nil
}

// check asks the survivor who it is and how far it has come, and returns the size of its
// database.
func check(ctx context.Context, from pb.MaintenanceClient, t task.Task) (size int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	st, err := from.Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return 0, runner.Passing(reasonSourceLost, "survivor %s at %s does not answer: %w", t.Survivor, t.URL, err)
	}
	cluster, member := fmt.Sprintf("%016x", st.GetHeader().GetClusterId()), fmt.Sprintf("%016x", st.GetHeader().GetMemberId())
	switch {
	case cluster != t.ClusterID || member != t.MemberID:
		return 0, runner.Refuse(reasonWrongMember, "member %s of cluster %s answers at %s, and survivor %s is %s of %s", member, cluster, t.URL, t.Survivor, t.MemberID, t.ClusterID)
	case st.GetRaftIndex() < t.Committed || st.GetRaftAppliedIndex() < t.Committed:
		return 0, runner.Passing(reasonWrongMember, "survivor %s has come to index %d, and it had known of %d", t.Survivor, st.GetRaftAppliedIndex(), t.Committed)
	case st.GetLeader() != 0:
		return 0, runner.Passing(reasonWrongMember, "survivor %s has a leader: its cluster may serve again", t.Survivor)
	}
	return st.GetDbSize(), nil
}

// errSilent is the cause of a context whose member has gone silent.
var errSilent = errors.New("the member stopped sending")

// stream is the snapshot as a reader.
type stream struct {
	rpc interface {
		Recv() (*pb.SnapshotResponse, error)
	}
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	from   string
	rest   []byte
}

// Read implements io.Reader. That the stream is whole is seen by its digest.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		s.timer.Reset(stall)
		got, err := s.rpc.Recv()
		s.timer.Stop()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF
		}
		if err != nil {
			return 0, s.lost(s.ctx, err)
		}
		s.rest = got.GetBlob()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// lost is the failure of a stream that broke.
func (s *stream) lost(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return runner.Passing(agent.ReasonStalled, "survivor %s sent nothing of its snapshot for %s", s.from, stall)
	}
	return runner.Passing(reasonSourceLost, "survivor %s broke off its snapshot: %w", s.from, err)
}
