package maintenance

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/step"
)

// The rules of this file defragment members in rounds: one member at a time, followers
// first, and only while all members are healthy (S6, S8). When a round began is latched in the
// status; which members it has come to is written on their Pods.

const (
	// leastDefragmented is the size of a database below which free space in it is left
	// alone.
	leastDefragmented = 100 << 20
	// roundPause is for how long free space leads to no other round.
	roundPause = time.Hour
)

// ReturnDefragmentedToService lets clients find a member again that was defragmented.
func ReturnDefragmentedToService(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || p.Role != facts.Defragmenting || p.Defragmented.Since.IsZero() || p.Defragmented.Since.Before(p.RoleSince) || v.IsDefragmenting(p) || !v.Healthy[m.ID] {
			continue
		}
		a := v.Answer(m)
		s := step.Do(action.SetRoles{Roles: []action.PodRole{{Name: p.Name, UID: p.UID, Role: facts.Voter}}}, v1beta2.ClusterReasonMemberDefragmented, fmt.Sprintf(
			"member %s is defragmented: its database had %s and has %s; %s", m.Name, v1beta2.ReadableSize(p.Defragmented.Before), v1beta2.ReadableSize(a.DBSize), defragmented(v))).Announced()
		if s = step.Try(v, s); s != nil {
			return s
		}
	}
	return nil
}

// defragmented counts the voters that the round has come to: "2 of 3".
func defragmented(v *facts.View) string {
	n := 0
	for _, m := range v.Voters {
		if p := v.PodOf[m.Name]; p != nil && !v.IsDefragmenting(p) && (!p.Defragmented.Since.Before(v.Cluster.Maintenance.Begun) || !p.Created.Before(v.Cluster.Maintenance.Begun)) {
			n++
		}
	}
	return fmt.Sprintf("%d of %d members done", n, len(v.Voters))
}

// AwaitDefragment waits for the member that is being defragmented. It may take minutes,
// and the member may not answer meanwhile: it is not lost (S9), and its liveness probe
// leaves it that time.
func AwaitDefragment(v *facts.View) *step.Step {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil || !v.IsDefragmenting(p) {
			continue
		}
		return step.Wait(defragmentPollInterval(v, p), v1beta2.ClusterReasonDefragmenting, fmt.Sprintf("waiting for member %s to be defragmented; %s", m.Name, defragmented(v)))
	}
	return nil
}

// defragmentPollInterval is how soon to look again at a member that is being defragmented.
func defragmentPollInterval(v *facts.View, p *facts.Pod) time.Duration {
	switch took := v.Now.Sub(p.Defragmented.Since); {
	case took > facts.OldPodAge:
		return step.Slowly
	case took > facts.NewPodAge:
		return step.Shortly
	}
	return step.FastPoll
}

// DefragmentMember goes on with a round, and not while members move to another image.
func DefragmentMember(v *facts.View) *step.Step {
	if v.NextToDefragment() == nil || v.Cluster.IsChangingVersion() {
		return nil
	}
	return defragmentNext(v).Needs((*facts.Rejection).LacksBudget)
}

// defragmentNext takes the next member from its clients, from its leadership, and then
// defragments it.
func defragmentNext(v *facts.View) *step.Step {
	const reason = v1beta2.ClusterReasonDefragmenting
	m := v.NextToDefragment()
	p := v.PodOf[m.Name]
	if why := defragmentationBlocker(v, m); why != "" {
		return step.Wait(step.BlockerPollInterval(v), reason, fmt.Sprintf("waiting to defragment member %s: %s; %s", m.Name, why, defragmented(v)))
	}
	before := "its defragmentation; " + defragmented(v)
	if s := cmp.Or(step.Drain(v, m, facts.Defragmenting, reason, before), step.AwaitUnrouted(v, m, reason, before)); s != nil {
		return s
	}
	return step.Do(action.Defragment{Name: p.Name, UID: p.UID, ID: m.ID, Members: v.List}, v1beta2.ClusterReasonDefragmentingMember, fmt.Sprintf("asked member %s to defragment its database; %s", m.Name, defragmented(v)))
}

// defragmentationBlocker says why no member may be defragmented now; empty if all members are healthy, and the one
// before has settled.
func defragmentationBlocker(v *facts.View, next *facts.Member) string {
	// Where there is no space, nothing else goes on before there is.
	if len(v.Voters) > v.Cluster.Size && !v.IsRepairingSpace() {
		return fmt.Sprintf("there are %d voters instead of %d", len(v.Voters), v.Cluster.Size)
	}
	if why := v.DisruptionBlocker(next); why != "" {
		return why
	}
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p.Role == facts.Voter && v.Now.Sub(p.RoleSince) < facts.SettleTime {
			return fmt.Sprintf("member %s: it has only just returned", m.Name)
		}
		if a := v.Answer(m); a == nil || !a.Read {
			return fmt.Sprintf("member %s does not answer reads", m.Name)
		}
	}
	return ""
}

// BeginDefragment begins a round, if one is asked for, it is time for one, or there is much to win.
func BeginDefragment(v *facts.View) *step.Step {
	why := whyDefragment(v)
	if why == "" || v.Cluster.IsChangingVersion() || v.NextToRestart() != nil {
		return nil
	}
	if not := defragmentationBlocker(v, nil); not != "" {
		return step.Wait(step.BlockerPollInterval(v), v1beta2.ClusterReasonDefragmenting, "waiting to defragment: "+not)
	}
	return step.Do(action.BeginDefragment{At: v.Now, Request: v.Cluster.Maintenance.DefragmentRequest}, v1beta2.ClusterReasonDefragmentationStarted, "started to defragment one member at a time: "+why)
}

// whyDefragment says why it is time for a round; empty if it is not.
func whyDefragment(v *facts.View) string {
	m := &v.Cluster.Maintenance
	if m.AsksForRound() {
		return "the annotation " + v1beta2.AnnotationDefragment + " asks for it"
	}
	if at := due(v); !at.IsZero() {
		return fmt.Sprintf("scheduled for %s", at.Format(time.RFC3339))
	}
	if m.AbovePercent == 0 || v.Now.Sub(m.Begun) < roundPause {
		return ""
	}
	for _, voter := range v.Voters {
		a := v.Answer(voter)
		if a != nil && a.DBSize > leastDefragmented && a.FreePercent() >= int64(m.AbovePercent) {
			return fmt.Sprintf("%d %% of the database of member %s is free", a.FreePercent(), voter.Name)
		}
	}
	return ""
}

// due is the last time of the schedule that has come since the last round; zero if there
// is none. It counts from when the schedule was first seen.
func due(v *facts.View) time.Time {
	m := &v.Cluster.Maintenance
	if m.Schedule.String() == "" || m.Counted != m.Schedule.String() {
		return time.Time{}
	}
	newest, _ := m.Schedule.Due(m.CountedFrom(), v.Now)
	return newest
}

// RefuseSchedule says what is wrong with a schedule that can't be read.
func RefuseSchedule(v *facts.View) *step.Step {
	if why := v.Cluster.Maintenance.Invalid; why != "" {
		return step.Wait(step.Idle, v1beta2.ClusterReasonScheduleInvalid, fmt.Sprintf(
			"spec.maintenance.defragmentSchedule is not a cron expression: %s; set a cron expression such as 0 3 * * 0, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5", why)).As(action.AwaitsUser)
	}
	return nil
}
