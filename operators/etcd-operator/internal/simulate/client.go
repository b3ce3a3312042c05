package simulate

import "github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"

// tickClient is a client of the cluster's Service that writes all the time. It
// reaches some Pod that is marked as a voter and ready, and remembers each write
// that was acknowledged.
func (w *world) tickClient() {
	if w.cfg.Idle && w.settling || (w.cfg.Idle || w.during(FillSlowly)) && w.step%10 > 0 {
		return
	}
	var serving []*pod
	for _, p := range w.pods {
		if p.role == facts.Voter && p.deleting == never && w.ready(p) {
			serving = append(serving, p)
		}
	}
	if len(serving) == 0 {
		return
	}
	r := w.runOf(serving[w.random.below(len(serving))].uid)
	w.writeThrough(r)
}

// writeThrough is one write to one member.
func (w *world) writeThrough(r *run) {
	l := w.leaderOf(r)
	if l == nil || len(l.disk.data.alarms) > 0 {
		return
	}
	w.lastWrite++
	w.appendEntry(l, entry{kind: write, id: uint64(w.lastWrite), units: 1})
	n := len(l.disk.data.log)
	w.replicate(l)
	if l.etcd == nil || !l.etcd.leading || l.disk.data.committed < n {
		return // no answer: the client does not know
	}
	b := &w.births[l.disk.data.birth]
	b.acked = n
	b.writes++
	w.stats.Writes++
	w.checkWrite(l.disk.data.birth)
}
