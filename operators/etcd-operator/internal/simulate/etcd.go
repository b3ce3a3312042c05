package simulate

import (
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// data is a member's data dir: its identity, raft's durable state, and what it has
// applied.
type data struct {
	birth       int
	cluster, id uint64
	name        string
	term        uint64
	log         []entry // shared with others up to its length, never changed in place
	// committed and applied count entries of log.
	committed, applied int
	// view is this member's own member list, never changed in place.
	view []facts.Member
	// alarms are those that it knows to be raised, never changed in place.
	alarms []facts.Alarm
	// size is what the database takes, inUse what of it is in use; in units.
	size, inUse int
	// told is the minor of the cluster version as this member has it, stored that of its
	// data: no etcd of an earlier minor starts on either.
	told, stored int
	// altered tells its data from that of others: 0 is as it should be.
	altered int
	// snap counts the entries that its last snapshot holds, and snapView is its member list
	// after these: from there on it replays the log when it starts. (Those that are made
	// as the log grows are let go: who writes little has none.)
	snap     int
	snapView []facts.Member
	// base counts the entries of the snapshot that it was started on: whoever lacks entries before
	// gets a snapshot from it, since its log begins there.
	base int
}

// entry is an entry of raft's log. An entry has the same serial wherever it is,
// and no other has it.
type entry struct {
	kind   entryKind
	term   uint64
	serial int
	// index is raft's index: a write stands for Config.Weight entries.
	index uint64
	id    uint64
	name  string
	alarm facts.AlarmKind
	// hand is true of a member that a person adds; at are its peer URLs, if they are not the
	// operator's.
	hand bool
	at   string
	// units is what it takes in the database.
	units int
}

type entryKind int

const (
	noop entryKind = iota
	write
	publish // a member tells its name: it has started
	raise   // an alarm
	disarm
	compact
	addVoter
	addLearner
	promote
	remove
	update
)

// process is what an etcd process knows and its disk does not.
type process struct {
	since time.Duration
	// leader is the id of the leader that it follows, 0 for none; leading is true
	// if that is itself.
	leader  uint64
	leading bool
	// serves is true once it has published itself and answers clients.
	serves bool
	// stopping is true once it has applied its own removal: it stops a moment later,
	// so that its followers hear of it (etcd waits a second).
	stopping bool
	// busyUntil is until when it is defragmented: it applies nothing and serves nothing.
	busyUntil time.Duration
	peers     []peer
}

// peer is what a process knows of another member.
type peer struct {
	id uint64
	// match is how much of the leader's log the peer is known to hold.
	match int
	// active is since when it has been connected; never if it is not.
	active time.Duration
}

func (p *process) peer(id uint64) *peer {
	for i := range p.peers {
		if p.peers[i].id == id {
			return &p.peers[i]
		}
	}
	return nil
}

// entry gives an entry its serial and its index in the log that it is to extend.
func (w *world) entry(e entry, log []entry) entry {
	w.serial++
	e.serial = w.serial
	e.index = 1
	if e.kind == write {
		e.index = uint64(w.cfg.Weight)
	}
	if len(log) > 0 {
		e.index += log[len(log)-1].index
	}
	return e
}

func quorum(n int) int { return n/2 + 1 }

func findMember(view []facts.Member, id uint64) *facts.Member {
	for i := range view {
		if view[i].ID == id {
			return &view[i]
		}
	}
	return nil
}

// nameOf is the name of a member with an id; empty if there is none.
func nameOf(view []facts.Member, id uint64) string {
	if m := findMember(view, id); m != nil {
		return m.Name
	}
	return ""
}

func isVoter(view []facts.Member, id uint64) bool {
	m := findMember(view, id)
	return m != nil && !m.Learner
}

func countVoters(view []facts.Member) int {
	n := 0
	for _, m := range view {
		if !m.Learner {
			n++
		}
	}
	return n
}

// learnerLimit is how many learners a member's etcd lets into its own list.
func learnerLimit(r *run) int {
	if r.version < "3.6" || r.learners < 1 {
		return 1
	}
	return r.learners
}

// member returns the running etcd with an id; nil if there is none.
func (w *world) member(birth int, id uint64) *run {
	for _, r := range w.runs {
		if r.etcd != nil && r.disk.data.id == id && r.disk.data.birth == birth {
			return r
		}
	}
	return nil
}

func (w *world) addressed(r *run) bool { return r.address != never && w.now >= r.address }

// reaches reports whether two members' etcd can talk with each other.
func (w *world) reaches(a, b *run) bool {
	return w.connected(a.node, b.node) && w.addressed(a) && w.addressed(b) && w.trustEachOther(a, b)
}

// leaderOf returns the leader that a member follows and that it can reach.
func (w *world) leaderOf(r *run) *run {
	if r.etcd.leader == 0 {
		return nil
	}
	l := w.member(r.disk.data.birth, r.etcd.leader)
	if l == nil || !l.etcd.leading || l.disk.data.term != r.disk.data.term || (l != r && !w.reaches(l, r)) {
		return nil
	}
	return l
}

// hasQuorum reports whether a leader reaches a quorum of its voters now.
func (w *world) hasQuorum(l *run) bool {
	n, reached := 0, 0
	for _, m := range l.disk.data.view {
		if m.Learner {
			continue
		}
		n++
		if m.ID == l.disk.data.id {
			reached++
		} else if q := w.member(l.disk.data.birth, m.ID); q != nil && w.reaches(l, q) && q.disk.data.term <= l.disk.data.term {
			reached++
		}
	}
	return n > 0 && reached >= quorum(n)
}

// slow reports whether the fault SlowMember holds a member's log back.
func (w *world) slow(r *run) bool {
	return w.during(SlowMember) && hash(r.name)%4 == uint64(w.until[SlowMember])%4
}

// etcds are the running etcd processes, in order, beginning anywhere.
func (w *world) etcds() []*run {
	all := make([]*run, 0, 2*len(w.runs))
	for _, r := range w.runs {
		if r.etcd != nil {
			all = append(all, r)
		}
	}
	n, k := len(all), 0
	if n > 1 && !w.calm {
		k = w.random.below(n)
	}
	return append(all, all[:k]...)[k:]
}

// readable reports whether a linearizable read by a member succeeds now. It brings
// the member up to date.
func (w *world) readable(r *run) bool {
	if r.etcd == nil || !r.etcd.serves || w.busy(r) {
		return false
	}
	d := r.disk.data
	l := w.leaderOf(r)
	if l == nil || !isVoter(d.view, d.id) || !w.hasQuorum(l) {
		return false
	}
	ld := l.disk.data
	if ld.committed == 0 || ld.log[ld.committed-1].term != ld.term {
		return false
	}
	if l != r && d.applied < ld.committed && !w.slow(r) {
		w.send(l, r, true)
	}
	return r.etcd != nil && r.etcd.serves && d.applied >= ld.committed
}

// wipe loses a data dir; what ran on it ends.
func (w *world) wipe(d *disk) {
	for _, r := range w.runs {
		if r.disk == d && r.etcd != nil {
			w.crash(r)
		}
	}
	d.data, d.corrupt, d.owner = nil, false, nil
	w.diskLost()
}
