package agent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/archive"
)

const (
	// segmentSize is when a segment is full, in bytes before compression: small enough to be
	// stored by one request.
	segmentSize = 4 << 20
	// idleEvery is how often the store is told that nothing was written.
	idleEvery = 5 * time.Minute
	// hashEvery is how often a member hashes its data for the archive.
	hashEvery = time.Hour
	// authEvery is how often the agent asks whether users or roles have changed. The question
	// takes an entry of etcd's log.
	authEvery = time.Minute
	// shortRecording is how long a recording lasts at least that is not tried again with a
	// growing pause when it ends.
	shortRecording = time.Minute
)

// archiver is a task that records for as long as it runs.
type archiver struct {
	*job
	progress archiveProgress
	recorder archive.Recorder
	// broken are endpoints that have failed since one has not.
	broken map[string]bool
	// cluster and at are where the last recording was to go on: a timeline of which nothing is
	// stored yet begins where it was to begin, also at another member.
	cluster uint64
	at      place
	// auth is the revision of users and roles as the newest segment has it; 0: not known.
	auth uint64
	// copies are the segments that are to be copied to the second place.
	copies copyQueue
	// pruned is when segments were deleted that no snapshot needs.
	pruned time.Time
}

// record records until ctx ends. Whatever breaks is told, and tried again: also what only a
// person can correct, so that nobody has to start it again.
func (j *job) record(ctx context.Context) error {
	a := &archiver{job: j, broken: map[string]bool{}, recorder: archive.Recorder{
		Dir: j.limits.archiveDir, Interval: j.task.Archive.Interval, Idle: idleEvery, Size: segmentSize, Now: time.Now, Log: j.log,
	}}
	j.dialing = []grpc.DialOption{grpc.WithContextDialer(dialGathering)}
	stop, err := a.progress.serve(j.limits.archiveAddress, j.log)
	if err != nil {
		return err
	}
	defer stop()
	defer a.startCopying(ctx)()
	pause := j.limits.backoff
	for ctx.Err() == nil {
		begun := time.Now()
		err := a.recordOnce(ctx)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errAuthChanged) {
			continue
		}
		if time.Since(begun) > shortRecording {
			pause = j.limits.backoff
		}
		f := explain(ctx, err)
		a.progress.failed(f)
		j.log.Warn("recording ended", "reason", f.Reason, "message", f.Message, "pause", pause.String())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, j.limits.maxBackoff)
	}
	return interrupted()
}

// recordOnce records at one member, until that breaks.
func (a *archiver) recordOnce(ctx context.Context) (err error) {
	to, err := a.openArchive(ctx)
	if err != nil {
		return err
	}
	defer to.close()
	if err := to.prepare(ctx); err != nil {
		return err
	}
	from, err := a.source(ctx, a.broken)
	if err != nil {
		return err
	}
	defer func() { _ = from.conn.Close() }() // nothing is under way on it
	if from.standing() != standingGood {
		a.broken[from.endpoint] = true
		return notHealthy(from)
	}
	if err := from.as.Authenticate(ctx, from.conn); err != nil {
		return a.endedBecause(ctx, from, err)
	}
	place, err := a.find(ctx, to, from)
	if err != nil {
		return err
	}
	if err := a.checkAuth(ctx, from); err != nil {
		return err
	}
	return a.recordAt(ctx, to, from, place)
}

// place is where the recording of a cluster goes on.
type place struct {
	timeline uint32
	position archive.Position
	times    archive.Times
	// begin is the revision behind which the timeline has begun.
	begin int64
}

// beginAt is where a timeline begins.
func beginAt(timeline uint32, revision int64) place {
	return place{timeline: timeline, position: archive.Position{Revision: revision}, begin: revision}
}

// recordAt records at a member from a place on. Where that has another history, or none of it
// any more, the next timeline begins at once.
func (a *archiver) recordAt(ctx context.Context, to destination, from member, at place) error {
	recording, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go a.watchAuth(recording, from, a.auth, cancel)
	a.cluster, a.at = from.cluster, at
	a.progress.began(from, at)
	r := &a.recorder
	r.Conn, r.ClusterID, r.Timeline, r.Times, r.HashEvery = from.conn, from.cluster, at.timeline, at.times, a.hashDistance(from)
	r.Try = func(ctx context.Context, request func() error) error { return from.as.Try(ctx, from.conn, request) }
	r.Marked = func(m archive.Mark, _ int64) { a.progress.marked(m) }
	r.Store = func(ctx context.Context, s archive.Segment, content *os.File) error {
		if err := a.store(ctx, to, s, content); err != nil {
			return &storeError{err}
		}
		a.broken = map[string]bool{}
		a.progress.stored(s)
		return nil
	}
	a.log.Info("recording", "endpoint", from.endpoint, "member", hex(from.id), "cluster", hex(from.cluster), "timeline", at.timeline, "revision", at.position.Revision)
	_, err := r.Record(recording, at.position)
	var compacted *archive.CompactedError
	var diverged *archive.DivergedError
	if errors.As(err, &compacted) || errors.As(err, &diverged) {
		cancel(nil)
		return a.beginAnew(ctx, to, from, at, err)
	}
	a.broken[from.endpoint] = true
	return a.endedBecause(recording, from, err)
}

// beginAnew begins the next timeline at the revision that the member had when it was asked: a
// quorum had answered it, so it lacks nothing that was acknowledged before.
func (a *archiver) beginAnew(ctx context.Context, to destination, from member, was place, why error) error {
	if was.position.At == 0 { // nothing was stored of it: whoever asks is told of the new begin
		a.at = place{}
		return tooLate(from, why)
	}
	a.progress.gap(&task.Gap{From: was.position.Revision + 1, To: from.revision, Message: why.Error(), Time: time.Now().UTC()})
	a.log.Warn("the archive has a gap", "after", was.position.Revision, "until", from.revision, "why", why.Error())
	return a.recordAt(ctx, to, from, beginAt(was.timeline+1, from.revision))
}

func notHealthy(m member) error {
	return runner.Passing(v1beta2.BackupReasonNoEndpoint, "no healthy member with a quorum can be recorded: %s", m.problem())
}

func tooLate(m member, why error) error {
	return runner.Passing(v1beta2.BackupReasonSourceLost, "recording at member %s at %s began too late: %w", hex(m.id), m.endpoint, why)
}

func (a *archiver) rejected(m member, why error) error {
	if m.withheld != nil {
		return m.withheld
	}
	return runner.Refuse(v1beta2.BackupReasonAuthenticationRequired, "etcd's authentication rejects the archiver at %s (%s): %s", m.endpoint, wordsOf(why), a.advice())
}

// interrupted is the failure of an archiver that is to end. What was whole is stored. To
// Kubernetes it has not succeeded: another Pod is to go on.
func interrupted() error {
	return runner.Passing(agent.ReasonInterrupted, "the archiver's Pod was terminated; another one resumes where it has ended")
}

// endedBecause is the failure of a recording.
func (a *archiver) endedBecause(ctx context.Context, from member, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		return cause
	}
	var refused *storeError
	if errors.As(err, &refused) {
		return refused.err
	}
	if obstacleOf(err) == unauthorized {
		return a.rejected(from, err)
	}
	return runner.Passing(v1beta2.BackupReasonSourceLost, "recording at member %s at %s ended: %w", hex(from.id), from.endpoint, err)
}

// storeError is what the store refused, and no fault of the member.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// hashDistance is how often a member may be asked for its hash.
func (a *archiver) hashDistance(from member) time.Duration {
	if a.task.RecordHash == v1beta2.RecordHashNever || from.size > maxHashed && a.task.RecordHash != v1beta2.RecordHashAlways {
		return 0
	}
	return hashEvery
}

// authRevision is that of users and roles.
func authRevision(ctx context.Context, from member) (revision uint64, err error) {
	err = from.as.Try(ctx, from.conn, func() error {
		got, err := pb.NewAuthClient(from.conn).AuthStatus(ctx, &pb.AuthStatusRequest{}, grpc.WaitForReady(false))
		revision = got.GetAuthRevision()
		return err
	})
	return revision, err
}

// checkAuth asks for the revision of users and roles, and tells if it is not the one of the
// newest segment: only a new snapshot has what has changed.
func (a *archiver) checkAuth(ctx context.Context, from member) error {
	ctx, cancel := context.WithTimeout(ctx, a.limits.ask)
	defer cancel()
	now, err := authRevision(ctx, from)
	if err != nil {
		return errAuth(err)
	}
	if a.auth != 0 && a.auth != now {
		a.progress.authChanged()
		a.log.Info("users or roles have changed", "authRevision", now)
	}
	a.auth = now
	return nil
}

func errAuth(err error) error { return fmt.Errorf("ask for the revision of users and roles: %w", err) }

// errAuthChanged ends a recording, to go on with the revision of users and roles in its
// segments, and with a session that etcd takes.
var errAuthChanged = errors.New("users or roles have changed")

// watchAuth ends the recording when users or roles have changed.
func (a *archiver) watchAuth(ctx context.Context, from member, was uint64, end context.CancelCauseFunc) {
	tick := time.NewTicker(a.limits.auth)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		in, cancel := context.WithTimeout(ctx, a.limits.ask)
		now, err := authRevision(in, from)
		cancel()
		if err == nil && now != was { // a member that does not answer ends the recording otherwise
			end(errAuthChanged)
			return
		}
	}
}

// nextTimeline follows on all that segments of a cluster name.
func nextTimeline(all []archive.Segment, cluster uint64) (uint32, error) {
	newest, _ := archive.Newest(all, cluster)
	if newest.Timeline == math.MaxUint32 {
		return 0, fmt.Errorf("segment %s has the last timeline that there can be", newest.Name())
	}
	return newest.Timeline + 1, nil
}
