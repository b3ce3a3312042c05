package rebuild

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
)

// The buckets and keys of etcd's schema (server/storage/schema).
const (
	bucketKey     = "key"
	bucketMeta    = "meta"
	bucketCluster = "cluster"

	keyStorageVersion   = "storageVersion"
	keyClusterVersion   = "clusterVersion"
	keyFinishedCompact  = "finishedCompactRev"
	keyScheduledCompact = "scheduledCompactRev"
)

// Info is what a snapshot holds.
type Info struct {
	// DatabaseSize is in bytes, without the digest.
	DatabaseSize int64
	// Revision is where a cluster with this data goes on.
	Revision int64
	// CompactedRevision is the oldest revision that all keys can still be read at, so that
	// the snapshot holds each revision from here to Revision; 0 if nothing was ever
	// compacted. A compaction that was scheduled and not finished counts: it might have
	// removed some records already, and etcd finishes it when it starts.
	CompactedRevision int64
	// TotalKeys is how many keys a cluster with this data has.
	TotalKeys int64
	// EtcdVersion is the minor version of etcd whose data it is, such as 3.6.
	EtcdVersion string
	// Alarms are the kinds of the alarms that were raised when it was taken, each once.
	Alarms []string
	// AuthEnabled tells that etcd's authentication was enabled.
	AuthEnabled bool
}

// Inspect checks a database file, with or without a digest at its end, which it does not
// look at, and says what the file holds. Any content ends in an Info or in an error that
// says what is wrong with it.
func Inspect(ctx context.Context, f *os.File) (info Info, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return info, err
	}
	defer d.close()
	w := d.newWalk()
	buckets, err := d.buckets(ctx, w)
	if err != nil {
		return info, err
	}
	for _, name := range []string{bucketKey, bucketMeta} {
		if buckets[name] == nil {
			return info, damaged("it has no bucket %q, so that it is not etcd's", name)
		}
	}
	in := &inspection{settings: map[string][]byte{}}
	for name, value := range buckets {
		if err := w.bucket(ctx, value, in.visitor(name)); err != nil {
			return info, err
		}
	}
	if err := w.freePages(); err != nil {
		return info, err
	}
	info.DatabaseSize, info.Alarms, info.AuthEnabled = d.size(), in.alarms, in.authEnabled
	if info.CompactedRevision, err = in.compacted(); err != nil {
		return info, err
	}
	info.Revision = max(in.last, info.CompactedRevision, firstRevision)
	if info.EtcdVersion, err = in.version(); err != nil {
		return info, err
	}
	info.TotalKeys, _, err = d.countKeys(ctx, buckets[bucketKey], in.entries, info.Revision, nil)
	return info, err
}

// faults makes an error of the page faults of a file that is cut short while it is mapped,
// or whose disk fails. What it returns is to be deferred.
func faults(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		p := recover()
		if p == nil {
			return
		}
		fault, ok := p.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(p)
		}
		*err = damaged("a part of it can't be read (%v)", fault)
	}
}

// inspection is what was seen so far.
type inspection struct {
	// entries is how many revisions there are, last the newest of them.
	entries, last int64
	alarms        []string
	authEnabled   bool
	// settings are the keys of the buckets meta and cluster.
	settings map[string][]byte
}

func (in *inspection) visitor(bucket string) func(element) error {
	return func(e element) error {
		if e.bucket {
			return damaged("it has a bucket in a bucket, which etcd's has not")
		}
		switch bucket {
		case bucketKey:
			return in.event(e)
		case bucketMeta, bucketCluster:
			in.settings[string(e.key)] = e.value
		case bucketAlarm:
			return in.alarm(e.key)
		case bucketAuth:
			in.authEnabled = in.authEnabled || enables(e)
		}
		return nil
	}
}

func (in *inspection) alarm(key []byte) error {
	kind, err := alarmOf(key)
	if err == nil && !slices.Contains(in.alarms, kind) {
		in.alarms = append(in.alarms, kind)
	}
	return err
}

func (in *inspection) event(e element) error {
	ev, err := parseEvent(e)
	if err != nil {
		return err
	}
	in.entries++
	in.last = ev.revision
	return nil
}

// firstRevision is that of an etcd that nothing was ever written to.
const firstRevision = 1

// compacted is the revision of the newest compaction, be it finished or only scheduled; 0 if
// there was none. It can be newer than all records: a compaction removes deletions, too.
func (in *inspection) compacted() (revision int64, err error) {
	for _, name := range []string{keyFinishedCompact, keyScheduledCompact} {
		value, ok := in.settings[name]
		if !ok {
			continue
		}
		main, _, err := parseRevision(value)
		if err != nil {
			return 0, err
		}
		revision = max(revision, main)
	}
	return revision, nil
}

// LastRevision is the newest in the history of a database file that was inspected before;
// 0 if nothing is left of that, or nothing was ever written.
func LastRevision(ctx context.Context, f *os.File) (revision int64, err error) {
	defer faults(&err)()
	d, err := open(f)
	if err != nil {
		return 0, err
	}
	defer d.close()
	buckets, err := d.buckets(ctx, d.newWalk())
	if err != nil {
		return 0, err
	}
	return d.lastRevision(ctx, buckets[bucketKey])
}

// lastRevision is the newest in a bucket of keys, given its value.
func (d *database) lastRevision(ctx context.Context, bucket []byte) (revision int64, err error) {
	w := d.newWalk()
	w.backwards = true
	err = w.bucket(ctx, bucket, func(e element) error {
		ev, err := parseEvent(e)
		revision = ev.revision
		return errors.Join(err, errEnough)
	})
	if errors.Is(err, errEnough) && revision > 0 {
		return revision, nil
	}
	return 0, err
}

// errEnough ends a walk early.
var errEnough = errors.New("enough was seen")
