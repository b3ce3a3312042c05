package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/archive"
)

// maxCopies is how many segments wait to be copied. If there are more, the places are compared
// instead, as after a failure.
const maxCopies = 1024

// copyQueue has the segments that were stored and not copied yet. Whoever adds one never waits.
type copyQueue struct {
	mu      sync.Mutex
	waiting []archive.Segment
	// incomplete says that some that are to be copied might not be among them.
	incomplete bool
	// woken has a value once something was added; nil if nothing is copied.
	woken chan struct{}
}

func (q *copyQueue) add(s archive.Segment) {
	if q.woken == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == maxCopies {
		q.waiting, q.incomplete = nil, true
	}
	q.waiting = append(q.waiting, s)
	select {
	case q.woken <- struct{}{}:
	default:
	}
}

// take takes all.
func (q *copyQueue) take() (all []archive.Segment, complete bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all, complete = q.waiting, !q.incomplete
	q.waiting, q.incomplete = nil, false
	return all, complete
}

// copyArchive copies the segments that the second place lacks.
func (j *job) copyArchive(ctx context.Context) error {
	own := *j
	first, second := &archiver{job: &own}, &archiver{job: j.second()}
	return (&archiver{job: j}).copyTo(ctx, first, second, nil, true)
}

// startCopying copies segments beside the recording until ctx ends, and never in its way. The
// returned function waits for the end.
func (a *archiver) startCopying(ctx context.Context) (wait func()) {
	if a.task.Copy == nil {
		return func() {}
	}
	a.copies.woken = make(chan struct{}, 1)
	// Its own jobs: what the recording changes is the recording's.
	own := *a.job
	first, second := &archiver{job: &own}, &archiver{job: a.second()}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.copySegments(ctx, first, second)
	}()
	return func() { <-ended }
}

// copySegments copies what is missing at first and after each failure, and else what is stored.
func (a *archiver) copySegments(ctx context.Context, first, second *archiver) {
	compare, pause := true, a.limits.backoff
	for {
		waiting, complete := a.copies.take()
		err := a.copyTo(ctx, first, second, waiting, compare || !complete)
		compare = err != nil
		var retry <-chan time.Time
		next := a.copies.woken
		if err == nil {
			a.progress.copyEnded(nil)
			pause = a.limits.backoff
		} else {
			f := explain(ctx, err)
			a.progress.copyEnded(f)
			a.log.Warn("copying the archive failed", "reason", f.Reason, "message", f.Message, "pause", pause.String())
			retry, next = time.After(pause), nil
			pause = min(2*pause, a.limits.maxBackoff)
		}
		select {
		case <-ctx.Done():
			return
		case <-retry:
		case <-next:
		}
	}
}

// copyTo copies segments, or all that are missing.
func (a *archiver) copyTo(ctx context.Context, first, second *archiver, waiting []archive.Segment, compare bool) (failed error) {
	from, err := first.openArchive(ctx)
	if err != nil {
		return err
	}
	defer from.close()
	to, err := second.openArchive(ctx)
	if err != nil {
		return err
	}
	defer to.close()
	if compare {
		if err := to.prepare(ctx); err != nil {
			return err
		}
		stored, err := segments(ctx, from)
		if err != nil {
			return err
		}
		if waiting, err = second.missingSegments(ctx, to, stored); err != nil {
			return err
		}
		defer func() {
			for _, s := range stored {
				if failed == nil {
					a.progress.copied(s)
				}
			}
		}()
	}
	for _, s := range waiting {
		if err := second.checkStore(s.ClusterID); err != nil {
			return err
		}
		if err := copySegment(ctx, from, to, s); err != nil {
			return errSegment(s, err)
		}
		a.progress.copied(s)
	}
	if n := len(waiting); n > 0 && time.Since(second.pruned) >= a.limits.prune {
		second.pruned = time.Now()
		return second.pruneSegments(ctx, to, waiting[n-1].ClusterID)
	}
	return nil
}

func errSegment(s archive.Segment, err error) error {
	return fmt.Errorf("copy segment %s: %w", s.Name(), err)
}

// missingSegments are those of the stored ones that the second place lacks, oldest first. Those
// that end before the oldest snapshot there are of no use in it.
func (a *archiver) missingSegments(ctx context.Context, to destination, stored []archive.Segment) (missing []archive.Segment, err error) {
	copied, err := segments(ctx, to)
	if err != nil {
		return nil, err
	}
	place, err := a.destination(ctx)
	if err != nil {
		return nil, err
	}
	defer place.close()
	oldest, _, err := oldestKept(ctx, place)
	if err != nil {
		return nil, err
	}
	there := map[archive.Segment]bool{}
	for _, s := range copied {
		there[s] = true
	}
	for _, s := range stored {
		needed, known := oldest[hex(s.ClusterID)]
		if !there[s] && (!known || s.Last >= needed) {
			missing = append(missing, s)
		}
	}
	slices.SortFunc(missing, func(a, b archive.Segment) int {
		return cmp.Or(cmp.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Timeline, b.Timeline), cmp.Compare(a.First, b.First), cmp.Compare(a.Last, b.Last))
	})
	return missing, nil
}

// copySegment copies one with its metadata. That it is gone is for the next comparison to find.
func copySegment(ctx context.Context, from, to destination, s archive.Segment) error {
	is, err := from.look(ctx, nameOf(from, s))
	if err != nil {
		return err
	}
	stored, err := from.read(ctx, nameOf(from, s))
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }() // it was only read
	return to.put(ctx, nameOf(to, s), stored, is.metadata, true)
}
