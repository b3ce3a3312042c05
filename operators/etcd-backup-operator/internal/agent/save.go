package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

// zstd is the name of the only compression.
const zstd = "zstd"

// limits are how long things may take; tests have less time.
type limits struct {
	// ask bounds the question to all endpoints, stragglers how long others are waited
	// for after the first answer.
	ask, stragglers time.Duration
	// quorum is how long a quorum is waited for before the snapshot is taken without one.
	quorum time.Duration
	// stall is how long a member or a store may make no progress.
	stall time.Duration
	// backoff is the pause after the first attempt; it doubles with each, up to
	// maxBackoff.
	backoff, maxBackoff time.Duration
	// report is how long after its Job a Pod begins that tries for long; see reportAfter.
	report time.Duration
	// hash is how long a member may take to hash its data, longHash how long if the database
	// may be of any size.
	hash, longHash time.Duration
	// storeBackoff is the longest pause before a request to the store is tried again;
	// 0: objectstore's default.
	storeBackoff time.Duration
	// progress is how often the log reports how far it is.
	progress time.Duration
	// auth is how often an archiver asks whether users or roles have changed, and prune how
	// often it deletes segments that no snapshot needs.
	auth, prune time.Duration
	// archiveAddress is where an archiver tells its progress, and archiveDir its folder for
	// a segment.
	archiveAddress, archiveDir string
}

var defaultLimits = limits{
	ask: 5 * time.Second, stragglers: time.Second, quorum: 30 * time.Second, stall: objectstore.DefaultStall,
	backoff: time.Second, maxBackoff: maxBackoff, report: reportAfter, hash: 20 * time.Second, longHash: 2 * time.Minute, progress: 10 * time.Second,
	auth: authEvery, prune: pruneEvery, archiveAddress: ":" + strconv.Itoa(task.ArchivePort), archiveDir: task.ArchiveDir,
}

// attempts is how often the whole is tried at least: enough for a member that restarts,
// or one after the other of them. After that it is up to another Pod, or to RetryUntil.
const attempts = 5

// job is a task that is being carried out.
type job struct {
	task   task.Task
	log    *slog.Logger
	limits limits
	result *task.Result
	// failed is why the last attempt failed; nil if none has.
	failed *agent.Failure
	// begun is when the first attempt began.
	begun time.Time
	// isCopy is true for the job at a second place, and of is the snapshot that it is to have; nil
	// for none.
	isCopy bool
	of     *task.Stored
	// dialing are options of the connections to etcd beside those of every task.
	dialing []grpc.DialOption
	// hashes counts how often a member was asked to hash its data.
	hashes int
}

// destination is where snapshots are stored: a bucket or a volume. Names are whole
// keys, and paths below the mount.
type destination interface {
	// prepare finds out early what is wrong with the destination, and removes what
	// killed attempts at the same backup have left.
	prepare(ctx context.Context) error
	// path is what users wrote: the name of a one-shot backup, and what the names of
	// repeated ones begin with.
	path() string
	// location is how users write where a name lies.
	location(name string) string
	// look returns what lies under a name.
	look(ctx context.Context, name string) (found, error)
	// put stores all that r holds, or nothing. Only if replace is true may it take the
	// place of something else.
	put(ctx context.Context, name string, r io.Reader, metadata map[string]string, replace bool) error
	// describe adds what is known only when all is stored, where that is possible.
	describe(ctx context.Context, name string, tags map[string]string)
	// clock is when what lies under a name was stored, by a clock that is not this
	// machine's; zero if there is none.
	clock(ctx context.Context, name string) (time.Time, error)
	// read opens what lies under a name.
	read(ctx context.Context, name string) (io.ReadCloser, error)
	// list returns the names that begin with prefix.
	list(ctx context.Context, prefix string) ([]string, error)
	// remove deletes what is stored under these names and returns how many were.
	remove(ctx context.Context, names []string) (int, error)
	close()
}

// save carries the task out and fills in the result.
func save(ctx context.Context, j *job) (err error) {
	if j.task.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, j.task.Timeout, errTimedOut)
		defer cancel()
		// The caller sees only its own context.
		defer func() {
			if err != nil && errors.Is(context.Cause(ctx), errTimedOut) {
				err = j.timedOut()
			}
		}()
	}
	to, err := j.destination(ctx)
	if err != nil {
		return err
	}
	defer to.close()
	name, err := j.saveWithRetries(ctx, to)
	if err != nil {
		return err
	}
	j.result.Location = to.location(name)
	to.describe(ctx, name, map[string]string{"sha256": j.result.SHA256, "size": strconv.FormatInt(j.result.Size, 10)})
	if err := j.prune(ctx, to, name); err != nil {
		j.log.Warn("cannot delete older backups", "error", err)
		j.result.RetentionError = err.Error()
	}
	return nil
}

func (j *job) destination(ctx context.Context) (destination, error) {
	if j.task.PVC != nil {
		return openVolume(j)
	}
	return openBucket(ctx, j)
}

// saveWithRetries tries until the snapshot is stored, and returns its name.
func (j *job) saveWithRetries(ctx context.Context, to destination) (name string, err error) {
	broken := map[string]bool{}
	j.begun = time.Now()
	pause := j.limits.backoff
	for attempt := 1; ; attempt++ {
		name, err = j.try(ctx, to, broken)
		if err == nil || ctx.Err() != nil {
			return name, err
		}
		f := explain(ctx, err)
		if f.Permanent {
			return "", err
		}
		if attempt >= attempts && (!j.persists() || !j.hasTime(time.Now(), pause)) {
			return "", j.giveUp(f, err)
		}
		j.failed = f
		j.log.Warn("backup attempt failed", "attempt", attempt, "reason", f.Reason, "message", f.Message, "pause", pause.String())
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(pause):
		}
		pause = min(2*pause, j.limits.maxBackoff)
	}
}

// timedOut is the failure of a backup whose time is up. It begins with what kept it from being
// stored sooner: only a backup that never failed was too slow.
func (j *job) timedOut() error {
	if j.failed == nil {
		return ended(errTimedOut)
	}
	return runner.Refuse(agent.ReasonTimedOut, "%s; retried until spec.backupPolicy.timeoutInSecond had passed", j.failed.Message)
}

// try does the whole once. An endpoint that breaks is added to broken.
func (j *job) try(ctx context.Context, to destination, broken map[string]bool) (name string, err error) {
	if err := to.prepare(ctx); err != nil {
		return "", err
	}
	from, err := j.source(ctx, broken)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil && isSourceFailure(err) {
			broken[from.endpoint] = true
		}
	}()
	name = j.nameFor(to.path(), from)
	replace, err := j.permitted(ctx, to, name, from)
	if err != nil {
		return "", errors.Join(err, from.conn.Close())
	}
	j.log.Info("taking the snapshot", "endpoint", from.endpoint, "member", hex(from.id), "cluster", hex(from.cluster), "revision", from.revision, "version", from.version, "leader", from.leader, "quorum", from.quorum, "problem", from.problem())
	oldest := j.oldestRevision(ctx, from)
	s, err := open(ctx, from, j.limits.stall, j.advice())
	if err != nil {
		return "", errors.Join(err, from.conn.Close())
	}
	defer s.close()
	oldest = j.confirmOldest(ctx, from, oldest) // etcd has settled what it sends
	hash := j.hash(ctx, from, oldest)
	defer runner.Narrate(j.limits.progress, func() { j.log.Info("snapshot in progress", "bytes", s.received.Load()) })()
	verified := snapshot.NewReader(s)
	stored := measured(verified)
	if j.task.Compression == zstd {
		packed, err := snapshot.Compress(verified)
		if err != nil {
			return "", err
		}
		stored = snapshot.NewDigest(packed)
	}
	// What lies there may be another when all has passed.
	checked := &guarded{Reader: stored, check: func() error { _, err := j.permitted(ctx, to, name, from); return err }}
	if err := to.put(ctx, name, checked, j.metadata(from, oldest, hash), replace); err != nil {
		return "", err
	}
	r := j.result
	r.Size, r.SHA256, r.SnapshotSize = stored.Size(), stored.SHA256(), verified.Size()
	r.OldestRevision, r.Hash = oldest, hash
	r.Revision, r.EtcdVersion, r.ClusterID, r.MemberID = from.revision, from.version, hex(from.cluster), hex(from.id)
	r.Quorum, r.Unhealthy, r.Notes = new(from.quorum && !from.leaderless), from.unhealthyReason(), notes(&from)
	return name, nil
}

// measured is a stream that knows its size and its digest when it has passed.
type measured interface {
	io.Reader
	Size() int64
	SHA256() string
}

// metadata is what is known before the snapshot is stored. oldest is the oldest revision that
// it holds; 0: not known. hash is nil if there is none.
func (j *job) metadata(from member, oldest int64, hash *snapshot.Hash) map[string]string {
	compression := j.task.Compression
	if compression == "" {
		compression = "none"
	}
	m := map[string]string{
		metaCluster:    hex(from.cluster),
		"member-id":    hex(from.id),
		"etcd-version": from.version,
		metaRevision:   strconv.FormatInt(from.revision, 10),
		"compression":  compression,
		metaBackup:     j.task.Backup,
		metaUID:        j.task.UID,
		metaMark:       from.mark(),
	}
	hash.AddTo(m)
	if oldest > 0 {
		m[snapshot.MetaOldestRevision] = strconv.FormatInt(oldest, 10)
	}
	return m
}

// hex is how etcdctl writes ids, but always with 16 digits.
func hex(id uint64) string { return fmt.Sprintf("%016x", id) }
