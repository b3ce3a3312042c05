package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// etcd's side of the model: connections, elections, replication and the membership
// that follows from the log.

// tickEtcd lets etcd do what it does by itself: connect, elect, replicate, commit,
// and tell members that they have been removed.
func (w *world) tickEtcd() {
	w.configured = false
	for _, r := range w.etcds() {
		w.apply(r) // what was committed while it was busy
		w.connect(r)
	}
	for _, r := range w.etcds() {
		if r.etcd.stopping || w.isExpelled(r) {
			w.say("%s has been removed and stops", r.name)
			w.crash(r)
		}
	}
	for _, r := range w.etcds() {
		w.follow(r)
	}
	for _, r := range w.etcds() {
		if r.etcd != nil && r.etcd.leader == 0 && (w.calm || w.random.chance(60)) {
			w.campaign(r)
		}
	}
	for _, r := range w.etcds() {
		if r.etcd != nil && r.etcd.leading {
			w.replicate(r)
		}
	}
	for _, r := range w.etcds() {
		if r.etcd != nil {
			w.publishSelf(r)
		}
	}
	for _, r := range w.etcds() {
		if r.etcd != nil && r.etcd.leading {
			w.raiseVersion(r)
			w.raiseAlarms(r)
			w.lowerVersion(r)
		}
	}
	for _, r := range w.etcds() {
		if r.etcd != nil {
			w.followVersion(r)
		}
	}
	w.checkBusy()
}

// connect keeps the times since when a member has been connected to the others.
func (w *world) connect(r *run) {
	d := r.disk.data
	var peers []peer
	for _, m := range d.view {
		if m.ID == d.id {
			continue
		}
		p := peer{id: m.ID, active: never}
		if old := r.etcd.peer(m.ID); old != nil {
			p = *old
		}
		q := w.member(d.birth, m.ID)
		switch {
		case q == nil || !w.reaches(r, q):
			p.active = never
		case p.active == never || p.active < q.etcd.since:
			p.active = w.now
		}
		peers = append(peers, p)
	}
	r.etcd.peers = peers
}

// isExpelled reports whether a member has been removed and can hear of it.
func (w *world) isExpelled(r *run) bool {
	d := r.disk.data
	if !slices.Contains(w.births[d.birth].removedIDs, d.id) {
		return false
	}
	for _, q := range w.runs {
		if q.etcd == nil || q == r || q.disk.data.birth != d.birth || !w.reaches(r, q) {
			continue
		}
		for _, e := range q.disk.data.log[:q.disk.data.applied] {
			if e.kind == remove && e.id == d.id {
				return true
			}
		}
	}
	return false
}

// follow ends a leadership without a quorum, and a following without a leader.
func (w *world) follow(r *run) {
	if r.etcd.leading {
		if !w.hasQuorum(r) && (w.calm || w.random.chance(70)) {
			r.etcd.leading, r.etcd.leader = false, 0
		}
		return
	}
	if w.leaderOf(r) == nil {
		r.etcd.leader = 0
	}
}

// campaign is an election that a member without a leader calls for. Those that
// still follow a leader don't answer (CheckQuorum), and nobody votes for a log that
// is behind its own.
func (w *world) campaign(r *run) {
	d := r.disk.data
	if !isVoter(d.view, d.id) {
		return
	}
	voters := []*run{r}
	term := d.term
	for _, m := range d.view {
		if m.Learner || m.ID == d.id {
			continue
		}
		q := w.member(d.birth, m.ID)
		if q == nil || !w.reaches(r, q) {
			continue
		}
		term = max(term, q.disk.data.term)
		if q.etcd.leader == 0 && upToDate(d.log, q.disk.data.log) {
			voters = append(voters, q)
		}
	}
	if len(voters) < quorum(countVoters(d.view)) {
		if !preVotes(r.version) && (w.calm || w.random.chance(30)) {
			d.term++
		}
		return
	}
	w.lead(r, term+1, voters)
}

// preVotes reports whether an etcd asks whether it would be elected before it raises its
// term (--pre-vote, the default from 3.5 on). The term of one that does not says nothing of
// its log.
func preVotes(version string) bool { return minorOf(version) >= 5 }

// upToDate reports whether raft lets the owner of one log vote for that of another.
func upToDate(candidate, voter []entry) bool {
	if len(voter) == 0 {
		return true
	}
	if len(candidate) == 0 {
		return false
	}
	a, b := candidate[len(candidate)-1], voter[len(voter)-1]
	if a.term != b.term {
		return a.term > b.term
	}
	return len(candidate) >= len(voter)
}

// lead makes a member the leader of a new term.
func (w *world) lead(r *run, term uint64, voters []*run) {
	w.checkLeader(r)
	for _, q := range voters {
		q.disk.data.term = term
		q.etcd.leading, q.etcd.leader = false, r.disk.data.id
	}
	r.etcd.leading = true
	for i := range r.etcd.peers {
		r.etcd.peers[i].match = 0
	}
	w.say("%s leads in term %d", r.name, term)
	w.appendEntry(r, entry{kind: noop})
}

func (w *world) appendEntry(l *run, e entry) {
	d := l.disk.data
	e.term = d.term
	d.log = append(d.log, w.entry(e, d.log))
}

// replicate brings the leader's log to all that it reaches, and commits what a
// quorum holds. By chance some followers are a step behind.
func (w *world) replicate(l *run) {
	behind := map[uint64]bool{}
	for round := 0; round < 3 && l.etcd != nil && l.etcd.leading; round++ {
		before := l.disk.data.committed
		for _, m := range l.disk.data.view {
			if m.ID == l.disk.data.id {
				continue
			}
			q := w.member(l.disk.data.birth, m.ID)
			if q == nil || !w.reaches(l, q) {
				continue
			}
			if round == 0 && !w.calm && w.random.chance(15) {
				behind[m.ID] = true
			}
			w.send(l, q, !behind[m.ID] && !w.slow(q))
			if l.etcd == nil || !l.etcd.leading {
				return
			}
		}
		w.commit(l)
		if l.etcd == nil || l.disk.data.committed == before && round > 0 {
			return
		}
	}
}

// send is a heartbeat from the leader, with entries or without.
func (w *world) send(l, q *run, entries bool) {
	if l.etcd == nil || q.etcd == nil {
		return
	}
	from, to := l.disk.data, q.disk.data
	if to.term > from.term {
		l.etcd.leading, l.etcd.leader = false, 0
		return
	}
	p := l.etcd.peer(to.id)
	if p == nil { // added just now
		l.etcd.peers = append(l.etcd.peers, peer{id: to.id, active: never})
		p = &l.etcd.peers[len(l.etcd.peers)-1]
	}
	if p.match > len(to.log) {
		// raft: "tocommit is out of range. Was the raft log corrupted, truncated, or lost?"
		w.say("%s panics: its log was lost, and leader %s knows", q.name, l.name)
		w.fault(q)
		return
	}
	to.term = from.term
	q.etcd.leading, q.etcd.leader = false, from.id
	if entries {
		common := min(len(to.log), len(from.log))
		for common > 0 && to.log[common-1].serial != from.log[common-1].serial {
			common--
		}
		if common < to.committed {
			w.checkRewrite(q, common)
			to.committed, to.applied = common, min(to.applied, common)
		}
		to.log = from.log[:len(from.log):len(from.log)]
		p.match = len(to.log)
		w.install(l, to)
	}
	to.committed = max(to.committed, min(from.committed, p.match))
	w.apply(q)
}

// commit finds what a quorum of the leader's voters holds.
func (w *world) commit(l *run) {
	d := l.disk.data
	var held []int
	for _, m := range d.view {
		if m.Learner {
			continue
		}
		if m.ID == d.id {
			held = append(held, len(d.log))
		} else if p := l.etcd.peer(m.ID); p != nil {
			held = append(held, p.match)
		} else {
			held = append(held, 0)
		}
	}
	if len(held) == 0 {
		return
	}
	slices.Sort(held)
	n := held[len(held)-quorum(len(held))]
	if n <= d.committed || d.log[n-1].term != d.term {
		return
	}
	d.committed = n
	w.checkHistory(d)
	w.apply(l)
}

// apply carries out what is committed, as this member sees it.
func (w *world) apply(r *run) {
	d := r.disk.data
	for d.applied < d.committed && !w.busy(r) {
		e := d.log[d.applied]
		d.applied++
		if e.kind < publish || w.keep(d, e) {
			w.store(d, e)
			continue
		}
		d.view = applied(d.view, e, learnerLimit(r))
		w.configured = true
	}
	if b := &w.births[d.birth]; d.applied == len(b.committed) {
		b.view = d.view
	}
	if r.etcd != nil && len(d.view) > 0 && findMember(d.view, d.id) == nil && w.wasRemoved(d) {
		r.etcd.stopping = true
	}
}

func (w *world) wasRemoved(d *data) bool {
	return slices.ContainsFunc(d.log[:d.applied], func(e entry) bool { return e.kind == remove && e.id == d.id })
}

// applied is a member list after an entry. A learner beyond the limit of the member
// that applies it is left out there, and only there.
func applied(view []facts.Member, e entry, limit int) []facts.Member {
	view = slices.Clone(view)
	switch e.kind {
	case addVoter, addLearner:
		if e.kind == addLearner && len(view)-countVoters(view) >= limit {
			return view
		}
		if slices.ContainsFunc(view, func(m facts.Member) bool { return m.ID == e.id || m.Name == e.name }) {
			return view
		}
		view = append(view, facts.Member{ID: e.id, Name: e.name, Learner: e.kind == addLearner, Foreign: e.hand, At: e.at})
		slices.SortFunc(view, func(a, b facts.Member) int {
			if a.ID < b.ID {
				return -1
			}
			return 1
		})
	case promote:
		if m := findMember(view, e.id); m != nil {
			m.Learner = false
		}
	case publish:
		if m := findMember(view, e.id); m != nil {
			m.Started = true
		}
	case update:
		if m := findMember(view, e.id); m != nil {
			m.At = e.at
		}
	case remove:
		view = slices.DeleteFunc(view, func(m facts.Member) bool { return m.ID == e.id })
	}
	return view
}

// publishSelf is a member that tells its name through the log, once after each
// start; then it serves clients. It needs a quorum for that.
func (w *world) publishSelf(r *run) {
	if r.etcd.serves {
		return
	}
	d := r.disk.data
	l := w.leaderOf(r)
	if l == nil || !w.hasQuorum(l) || d.applied < l.disk.data.committed {
		return
	}
	m := findMember(d.view, d.id)
	if m == nil {
		return
	}
	switch {
	case m.Started && r.catchUp:
		w.say("%s has caught up and is started again", r.name)
		r.catchUp = false
		w.stopEtcd(r)
		w.startEtcd(r)
		return
	case m.Started:
		r.etcd.serves, r.failures = true, 0
		return
	}
	for _, e := range l.disk.data.log[l.disk.data.committed:] {
		if e.kind == publish && e.id == d.id {
			return
		}
	}
	w.appendEntry(l, entry{kind: publish, id: d.id})
	w.replicate(l)
}
