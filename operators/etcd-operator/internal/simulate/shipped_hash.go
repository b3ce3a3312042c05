package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// This file is the comparison of data by the shipped operator. It runs in a goroutine of its
// own, beside the reconciles, and meets the world only here: it hands over a question, and the
// world answers while nothing else runs.

// question is that for a member's hash.
type question struct {
	endpoint etcdclient.Endpoint
	revision int64
	answer   chan<- hashed
}

type hashed struct {
	hash etcdclient.Hash
	err  error
}

func (m *members) HashKV(ctx context.Context, e etcdclient.Endpoint, revision int64) (etcdclient.Hash, error) {
	answer := make(chan hashed, 1)
	select {
	case m.questions <- question{e, revision, answer}:
		h := <-answer
		return h.hash, h.err
	case <-ctx.Done():
		return etcdclient.Hash{}, etcdclient.ErrOutcomeUnknown
	}
}

// answerHashes lets members answer, one after the other.
func (w *world) answerHashes() {
	for _, op := range w.operators {
		for op.shipped != nil && w.cfg.Compares && w.step >= op.stalledUntil && (w.calm || w.random.chance(90)) {
			w.sleep(0)
			select {
			case q := <-op.shipped.questions:
				h, err := op.shipped.hash(q)
				q.answer <- hashed{h, err}
				continue
			default:
			}
			break
		}
	}
}

var (
	errCompacted = errors.New("etcdserver: mvcc: required revision has been compacted")
	errFuture    = errors.New("etcdserver: mvcc: required revision is a future revision")
)

// hash is what a member answers.
func (s *shipped) hash(q question) (h etcdclient.Hash, err error) {
	r := s.runAt(q.endpoint.Addr)
	if r == nil || r.etcd == nil || !r.etcd.serves || s.w.busy(r) {
		return h, etcdclient.ErrUnreachable
	}
	if !s.w.cfg.TLS && s.w.refuses(r) != "" { // by the name in a certificate it is let in
		return h, etcdclient.ErrUnauthorized
	}
	d := r.disk.data
	h = etcdclient.Hash{ClusterID: d.cluster, MemberID: d.id}
	for _, e := range d.log[:d.applied] {
		h.Revision = s.w.births[d.birth].revision + int64(e.index)
		if e.kind == compact {
			h.CompactRevision = h.Revision
		}
	}
	up := q.revision
	switch {
	case up == 0:
		up = h.Revision
	case up < h.CompactRevision:
		return h, errCompacted
	case up > h.Revision:
		return h, errFuture
	}
	if minorOf(r.version) >= 6 { // those before do not tell
		h.HashRevision = up
	}
	h.Value = uint32(hash(strconv.Itoa(d.altered), fmt.Sprint(up, h.CompactRevision)))
	s.w.noteDiffering()
	return h, nil
}

// noteDiffering notes the voters whose data truly differs from that of a majority.
func (w *world) noteDiffering() {
	if w.main < 0 {
		return
	}
	view := w.births[w.main].view
	like := map[int][]uint64{}
	for _, m := range view {
		if q := w.member(w.main, m.ID); q != nil && !m.Learner {
			like[q.disk.data.altered] = append(like[q.disk.data.altered], m.ID)
		}
	}
	for altered, ids := range like {
		for other, same := range like {
			if altered != other && len(same) > countVoters(view)/2 {
				w.differed = append(slices.Clip(w.differed), ids...)
			}
		}
	}
}

// checkDiffering: the status names nobody whose data was as that of a majority.
func (w *world) checkDiffering(st *v1beta2.ClusterStatus) {
	if st.Consistency == nil {
		return
	}
	for _, text := range st.Consistency.DifferingMembers {
		if id, err := strconv.ParseUint(text, 16, 64); err != nil || !slices.Contains(w.differed, id) {
			w.fail("Consistency", "%s is said to differ, and does not", text)
		}
	}
}

// consistencyCheck is spec.maintenance.consistencyCheck.
func (w *world) consistencyCheck() string {
	if w.cfg.Compares {
		return everyComparison
	}
	return v1beta2.ConsistencyNever
}
