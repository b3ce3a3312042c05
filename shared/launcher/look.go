package launcher

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// rereadInterval is how often the permit is looked for when nothing announces
// it: the node may be out of inotify instances, and a second is what a person
// takes for "at once".
const rereadInterval = time.Second

// Launcher is a launcher's judgement with what it remembers between two looks. It does no I/O
// but by a [Host].
type Launcher struct {
	o Options
	// since is when the first of the looks in a row found a log, or none, as hadWAL says.
	since  time.Time
	hadWAL bool
	turn   turn
}

// New returns a launcher that has not looked yet. It uses the options Member, ClusterUID, FormerClusterUIDs,
// NewMember, Restore and Log.
func New(o Options) Launcher { return Launcher{o: o} }

// Look looks at the disk afresh and judges. If the Decision is to wait, it is to look again when
// the start permit changes, and after next at the latest.
//
// An error means that the launcher cannot tell what is right, because something
// that it must trust cannot be read. It never starts etcd then.
func (l *Launcher) Look(ctx context.Context, h Host) (d Decision, next time.Duration, err error) {
	d, err = l.decide(h)
	if err != nil || !d.Exec {
		return d, rereadInterval, err
	}
	if missing := l.turn.missing(ctx, d, h); missing != "" {
		return wait(ReasonNotItsTurn, fmt.Sprintf("%s; after %s, which does not answer yet", d.Message, missing)), turnInterval, nil
	}
	if peer := l.startedBefore(ctx, h, d.Peers); peer != "" {
		return wait(ReasonStartedBefore, fmt.Sprintf("%s; but %s lists this member as one that has started before: its data is gone", d.Message, peer)), rereadInterval, nil
	}
	return d, 0, nil
}

// decide judges without asking anybody.
func (l *Launcher) decide(h Host) (Decision, error) {
	hasWAL, err := h.HasWAL()
	if err != nil {
		return Decision{}, err
	}
	if l.since.IsZero() || hasWAL != l.hadWAL {
		l.since, l.hadWAL = h.Now(), hasWAL
	}
	if hasWAL {
		refusal, err := l.refusal(h)
		if err != nil {
			refusal = err.Error()
		}
		if refusal != "" {
			return Decision{Refuse: true, Reason: ReasonForeignData, Message: refusal}, nil
		}
		// The used-file and the permit are not even read: nothing that may be
		// wrong with them keeps a member with data from starting.
		return Decide(l.o.Member, true, 0, nil, nil), nil
	}
	if l.o.Restore != nil {
		return l.decideRestore(h), nil
	}
	used, err := h.Used()
	if err != nil {
		return Decision{}, err
	}
	permit, permitErr := h.StartPermit()
	return Decide(l.o.Member, false, used, permit, permitErr), nil
}

// Prepare makes the decision to start etcd durable. A crash after the attempt is recorded
// burns the permit, and the operator gives another; a crash before it leaves
// everything as it was.
func (l *Launcher) Prepare(h Host, d Decision) error {
	l.since = time.Time{} // what it finds next counts from then on
	if d.Publish {
		if err := h.Publish(); err != nil {
			return err
		}
	} else if l.o.Restore != nil {
		// The marker that it writes keeps an init container from restoring again; a member with
		// data starts without it.
		if err := h.FinishPublishing(); err != nil {
			l.o.Log.Warn("cannot note that the data dir is restored", "error", err)
		}
	}
	if d.Use == 0 {
		l.mark(h)
		return nil
	}
	if err := h.RecordUse(d.Use); err != nil {
		return err
	}
	kept, err := h.SetRemnantsAside()
	if err != nil {
		return err
	}
	if kept != "" {
		l.o.Log.Warn("the data dir held a member without a write-ahead log; it was set aside", "kept", kept)
	}
	l.mark(h)
	return nil
}

// State is what the launcher says of itself after it has decided to wait.
func (l *Launcher) State(h Host, d Decision) (State, error) {
	used, err := h.Used()
	if err != nil {
		return State{}, err
	}
	state := Waiting
	if d.Refuse {
		state = Refusing
	}
	return State{State: state, Identity: l.identity(h), WaitedSeconds: h.Now().Sub(l.since).Seconds(), Attempt: used, Reason: d.Reason, Message: d.Message}, nil
}

// identity is who the launcher is; empty if that cannot be told.
func (l *Launcher) identity(h Host) Identity {
	uid := h.PodUID()
	if l.o.ClusterUID == "" || uid == "" {
		return Identity{}
	}
	return Identity{PodUID: uid, Member: l.o.Member.Name, ClusterUID: l.o.ClusterUID}
}

// refusal returns the reason why etcd must not start on the existing data; empty if it can.
//
// Unmarked data counts as the member's own: an earlier release, or a restore, left it. So does data of the same
// member of a cluster whose volumes were adopted (FormerClusterUIDs). A new member has no data before its first
// permit is used. Data that the launcher finds then was on the volume before, for example on a local volume
// that was not wiped.
func (l *Launcher) refusal(h Host) (string, error) {
	if l.o.ClusterUID == "" {
		return "", nil
	}
	found, err := h.Owner()
	if err != nil {
		return "", err
	}
	if found == nil {
		used, err := h.Used()
		if err != nil || !l.o.NewMember || used > 0 {
			return "", err
		}
		return fmt.Sprintf("the volume already has data of another member, but %s is new", l.owner()), nil
	}
	if found.Member == l.o.Member.Name && (found.ClusterUID == l.o.ClusterUID || slices.Contains(l.o.FormerClusterUIDs, found.ClusterUID)) {
		return "", nil
	}
	return fmt.Sprintf("the volume has the data of %s, not of %s", found, l.owner()), nil
}

// owner is who this launcher starts etcd for.
func (l *Launcher) owner() Owner {
	return Owner{ClusterUID: l.o.ClusterUID, Member: l.o.Member.Name}
}

// mark notes whose data it is, before etcd is started on it. A note that cannot be made, as on
// a full disk, keeps no member with data from starting: unmarked data is the member's own, the
// next start too.
func (l *Launcher) mark(h Host) {
	if l.o.ClusterUID == "" {
		return
	}
	found, err := h.Owner()
	if err == nil && found != nil && *found == l.owner() {
		return
	}
	if err := h.Mark(l.owner()); err != nil {
		l.o.Log.Warn("cannot note whose data this is; a copy of it would not be recognised", "error", err)
	}
}

// decideRestore judges without a write-ahead log.
func (l *Launcher) decideRestore(h Host) Decision {
	permitted, err := h.IsRestorePermitted()
	switch {
	case err != nil:
		return wait(ReasonPermitInvalid, fmt.Sprintf("read the start permit: %v", err))
	case !permitted:
		// While another cluster still serves, and can be left as it is.
		if err := h.CheckPrepared(); err != nil {
			return wait(ReasonNotPrepared, err.Error())
		}
		return wait(ReasonNoPermit, fmt.Sprintf("no write-ahead log in the data dir: waiting for the start permit of EtcdRestore %s", l.o.Restore.Name))
	}
	d := Decide(l.o.Member, true, 0, nil, nil)
	d.Publish, d.Reason, d.Message = true, ReasonRestored, "the start permit of EtcdRestore "+l.o.Restore.Name+" is given"
	return d
}

// startedBefore asks the other members of a permit for their list, and returns the peer URL
// of one in whose list this one has started before; "" if there is none, or if none answers: then
// etcd asks them, and does not start without an answer either.
//
// It is a second look at what the operator has seen before it gave the permit (S2 of the
// operator's design): that the member has never had data. The permit may be a copy that the
// kubelet has not renewed for long, and the record of the attempts used may have been lost
// with the data.
func (l *Launcher) startedBefore(ctx context.Context, h Host, peers []string) string {
	if len(peers) == 0 {
		return ""
	}
	lists := h.MemberLists(ctx, peers)
	for _, peer := range peers {
		if hasStarted(lists[peer], l.o.Member) {
			return peer
		}
	}
	return ""
}
