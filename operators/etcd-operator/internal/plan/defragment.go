package plan

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// The rules of this file defragment members in rounds: one member at a time, followers
// first, and only while all members are healthy (S6, S8). When a round began is latched in the
// status; which members it has come to is written on their Pods.

// Maintenance is what may be done about space in the members' databases, and what was.
type Maintenance struct {
	// Schedule says when all members are defragmented; the zero Schedule is never.
	// Invalid is why the one that is wanted can't be read.
	Schedule schedule.Schedule
	Invalid  string
	// AbovePercent is the share of free space from which members are defragmented; 0 for
	// never.
	AbovePercent int
	// Compacts is true when etcd compacts the history by itself.
	Compacts bool
	// AutoRepairSpace allows to compact, defragment and disarm when there is no space.
	AutoRepairSpace bool

	// Begun is when the last round of defragmentations began; zero if there was none.
	Begun time.Time
	// Counted is the schedule that times are counted by, and Since when it was first seen.
	Counted string
	Since   time.Time
	// Repaired is when the last repair compacted, to CompactedRevision; zero if there was
	// none.
	Repaired          time.Time
	CompactedRevision int64
}

// Defragmented tells of a member's last defragmentation.
type Defragmented struct {
	// Since is when it was asked for; zero if it never was.
	Since time.Time
	// Before is the size of the database then, in bytes.
	Before int64
	// Done is true when the member has answered that it has ended.
	Done bool
}

const (
	// leastDefragmented is the size of a database below which free space in it is left
	// alone.
	leastDefragmented = 100 << 20
	// roundPause is for how long free space leads to no other round.
	roundPause = time.Hour
)

// wantsRounds reports whether members are to be defragmented at all.
func (v *view) wantsRounds() bool {
	m := &v.Cluster.Maintenance
	return m.Schedule.String() != "" || m.AbovePercent > 0 || v.isRepairingSpace()
}

// nextToDefragment is the voter that is defragmented next in the round: the one that is
// marked already, else a follower, the leader last. It is nil if there is none.
func (v *view) nextToDefragment() *Member {
	begun := v.Cluster.Maintenance.Begun
	if begun.IsZero() || !v.wantsRounds() {
		return nil
	}
	var next *Member
	for i := range v.voters {
		m := &v.voters[i]
		p := v.pods[m.Name]
		// One that was made since has nothing to win.
		if p == nil || !p.Defragmented.Since.Before(begun) || !p.Created.Before(begun) {
			continue
		}
		if p.Role == Defragmenting {
			return m
		}
		if next == nil || next.ID == v.leader {
			next = m
		}
	}
	return next
}

// isDefragmenting reports whether a member was asked to defragment, and might not have
// ended: what was asked may still arrive, or the member answers no read yet.
func (v *view) isDefragmenting(p *Pod) bool {
	d := &p.Defragmented
	if p.Role != Defragmenting || d.Since.IsZero() || d.Since.Before(p.RoleSince) {
		return false
	}
	return !p.Answer.Read || (!d.Done && v.Now.Sub(d.Since) < landing)
}

// isDefragmentingAny reports whether some member is.
func (v *view) isDefragmentingAny() bool {
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && v.isDefragmenting(p) {
			return true
		}
	}
	return false
}

// canDefragment reports whether a member that is marked stays so until its turn has come,
// because nothing else comes first.
func (v *view) canDefragment(m Member) bool {
	next := v.nextToDefragment()
	if next == nil || next.ID != m.ID || len(v.voters) < v.Cluster.Size || len(v.list) > len(v.voters) || v.isRestarting() {
		return false
	}
	moved, _ := v.toMove()
	if !v.isRepairingSpace() && (v.Cluster.isChangingVersion() || v.nextToRestart() != nil || moved != nil || len(v.voters) > v.Cluster.Size) {
		return false
	}
	for _, o := range v.voters {
		p := v.pods[o.Name]
		if p == nil || !v.healthy[o.ID] || !p.DeletingSince.IsZero() || !p.UnreadySince.IsZero() || !p.NodeLostSince.IsZero() {
			return false
		}
	}
	return true
}

// returnDefragmentedToService lets clients find a member again that was defragmented.
func returnDefragmentedToService(v *view) *step {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || p.Role != Defragmenting || p.Defragmented.Since.IsZero() || p.Defragmented.Since.Before(p.RoleSince) || v.isDefragmenting(p) || !v.healthy[m.ID] {
			continue
		}
		a := v.answer(m)
		return do(SetRoles{[]PodRole{{p.Name, p.UID, Voter}}}, v1beta2.ClusterReasonMemberDefragmented, fmt.Sprintf(
			"member %s is defragmented: its database had %s and has %s; %s", m.Name, v1beta2.ReadableSize(p.Defragmented.Before), v1beta2.ReadableSize(a.DBSize), v.defragmented())).announced()
	}
	return nil
}

// defragmented counts the voters that the round has come to: "2 of 3".
func (v *view) defragmented() string {
	n := 0
	for _, m := range v.voters {
		if p := v.pods[m.Name]; p != nil && !v.isDefragmenting(p) && (!p.Defragmented.Since.Before(v.Cluster.Maintenance.Begun) || !p.Created.Before(v.Cluster.Maintenance.Begun)) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d members done", n, len(v.voters))
}

// awaitDefragment waits for the member that is being defragmented. It may take minutes,
// and the member may not answer meanwhile: it is not lost (S9), and its liveness probe
// leaves it that time.
func awaitDefragment(v *view) *step {
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p == nil || !v.isDefragmenting(p) {
			continue
		}
		return wait(v.defragmentPollInterval(p), v1beta2.ClusterReasonDefragmenting, fmt.Sprintf("waiting for member %s to be defragmented; %s", m.Name, v.defragmented()))
	}
	return nil
}

// defragmentPollInterval is how soon to look again at a member that is being defragmented.
func (v *view) defragmentPollInterval(p *Pod) time.Duration {
	switch took := v.Now.Sub(p.Defragmented.Since); {
	case took > oldPodAge:
		return slowly
	case took > newPodAge:
		return shortly
	}
	return fastPoll
}

// defragmentMember goes on with a round, and not while members move to another image.
func defragmentMember(v *view) *step {
	if v.nextToDefragment() == nil || v.Cluster.isChangingVersion() {
		return nil
	}
	return v.defragmentNext()
}

// defragmentNext takes the next member from its clients, from its leadership, and then
// defragments it.
func (v *view) defragmentNext() *step {
	const reason = v1beta2.ClusterReasonDefragmenting
	m := v.nextToDefragment()
	p := v.pods[m.Name]
	if why := v.defragmentationBlocker(m); why != "" {
		return wait(v.blockerPollInterval(), reason, fmt.Sprintf("waiting to defragment member %s: %s; %s", m.Name, why, v.defragmented()))
	}
	before := "its defragmentation; " + v.defragmented()
	if s := cmp.Or(v.drain(m, Defragmenting, reason, before), v.awaitUnrouted(m, reason, before)); s != nil {
		return s
	}
	return do(Defragment{p.Name, p.UID, m.ID, v.list}, v1beta2.ClusterReasonDefragmentingMember, fmt.Sprintf("asked member %s to defragment its database; %s", m.Name, v.defragmented()))
}

// defragmentationBlocker says why no member may be defragmented now; empty if all members are healthy, and the one
// before has settled.
func (v *view) defragmentationBlocker(next *Member) string {
	// Where there is no space, nothing else goes on before there is.
	if len(v.voters) > v.Cluster.Size && !v.isRepairingSpace() {
		return fmt.Sprintf("there are %d voters instead of %d", len(v.voters), v.Cluster.Size)
	}
	if why := v.disruptionBlocker(next); why != "" {
		return why
	}
	for _, m := range v.voters {
		p := v.pods[m.Name]
		if p.Role == Voter && v.Now.Sub(p.RoleSince) < settleTime {
			return fmt.Sprintf("member %s: it has only just returned", m.Name)
		}
		if a := v.answer(m); a == nil || !a.Read {
			return fmt.Sprintf("member %s does not answer reads", m.Name)
		}
	}
	return ""
}

// beginDefragment begins a round, if it is time for one, or there is much to win.
func beginDefragment(v *view) *step {
	why := v.whyDefragment()
	if why == "" || v.Cluster.isChangingVersion() || v.nextToRestart() != nil {
		return nil
	}
	if not := v.defragmentationBlocker(nil); not != "" {
		return wait(v.blockerPollInterval(), v1beta2.ClusterReasonDefragmenting, "waiting to defragment: "+not)
	}
	return do(BeginDefragment{v.Now}, v1beta2.ClusterReasonDefragmentationStarted, "started to defragment one member at a time: "+why)
}

// whyDefragment says why it is time for a round; empty if it is not.
func (v *view) whyDefragment() string {
	m := &v.Cluster.Maintenance
	if at := v.due(); !at.IsZero() {
		return fmt.Sprintf("scheduled for %s", at.Format(time.RFC3339))
	}
	if m.AbovePercent == 0 || v.Now.Sub(m.Begun) < roundPause {
		return ""
	}
	for _, voter := range v.voters {
		a := v.answer(voter)
		if a != nil && a.DBSize > leastDefragmented && a.freePercent() >= int64(m.AbovePercent) {
			return fmt.Sprintf("%d %% of the database of member %s is free", a.freePercent(), voter.Name)
		}
	}
	return ""
}

// due is the last time of the schedule that has come since the last round; zero if there
// is none. It counts from when the schedule was first seen.
func (v *view) due() time.Time {
	m := &v.Cluster.Maintenance
	if m.Schedule.String() == "" || m.Counted != m.Schedule.String() {
		return time.Time{}
	}
	newest, _ := m.Schedule.Due(m.countedFrom(), v.Now)
	return newest
}

func (m *Maintenance) countedFrom() time.Time {
	if m.Begun.After(m.Since) {
		return m.Begun
	}
	return m.Since
}

// untilMaintenance is how soon to look again at a cluster that is as it should be.
func (v *view) untilMaintenance() time.Duration {
	m := &v.Cluster.Maintenance
	if m.Schedule.String() == "" {
		return idle
	}
	at := m.Schedule.Next(m.countedFrom(), v.Now)
	if at.IsZero() {
		return idle
	}
	return max(next, min(idle, at.Sub(v.Now)))
}

// refuseSchedule says what is wrong with a schedule that can't be read.
func refuseSchedule(v *view) *step {
	if why := v.Cluster.Maintenance.Invalid; why != "" {
		return wait(idle, v1beta2.ClusterReasonScheduleInvalid, fmt.Sprintf(
			"spec.maintenance.defragmentSchedule is not a cron expression: %s; use for example 0 3 * * 0, @daily, or CRON_TZ=Europe/Berlin 30 3 * * 1-5", why)).as(AwaitsUser)
	}
	return nil
}

// maintenanceStatus carries on what is latched, and latches since when the schedule counts and
// why there is little space, so that this does not come and go (see shortage).
func (v *view) maintenanceStatus() *v1beta2.MaintenanceStatus {
	st, why := v.scheduleStatus(), v.shortage()
	if why == v.lastShortage() {
		return st
	}
	if st == nil {
		st = &v1beta2.MaintenanceStatus{}
	}
	st = st.DeepCopy()
	st.Shortage = why
	if *st == (v1beta2.MaintenanceStatus{}) {
		return nil
	}
	return st
}

// scheduleStatus latches since when the schedule counts: what was due before it was written is
// not made up for.
func (v *view) scheduleStatus() *v1beta2.MaintenanceStatus {
	c := &v.Cluster
	last := c.LastStatus.Maintenance
	text := c.Maintenance.Schedule.String()
	if (last == nil && text == "") || (last != nil && last.Schedule == text) || c.Fence.By != "" || c.Paused || c.Deleting {
		return last
	}
	st := v1beta2.MaintenanceStatus{}
	if last != nil {
		st = *last.DeepCopy()
	}
	st.Schedule, st.ScheduleSince = text, nil
	if text != "" {
		since := metav1.NewTime(v.Now.Truncate(time.Second))
		st.ScheduleSince = &since
	}
	return &st
}
