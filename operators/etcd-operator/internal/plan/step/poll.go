package step

import (
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// RequeueSooner shortens a wait to what certificates that are waited for ask for.
func RequeueSooner(v *facts.View, requeueAfter time.Duration) time.Duration {
	if t := &v.Cluster.TLS; t.RequeueAfter > 0 {
		return min(requeueAfter, t.RequeueAfter)
	}
	return requeueAfter
}

// untilMaintenance is how soon to look again at a cluster that is as it should be.
func untilMaintenance(v *facts.View) time.Duration {
	m := &v.Cluster.Maintenance
	if m.Schedule.String() == "" {
		return Idle
	}
	at := m.Schedule.Next(m.CountedFrom(), v.Now)
	if at.IsZero() {
		return Idle
	}
	return max(AtOnce, min(Idle, at.Sub(v.Now)))
}

// PollInterval is how soon to look again at a Pod that is starting.
func PollInterval(v *facts.View, p *facts.Pod) time.Duration {
	switch age := v.Now.Sub(p.Created); {
	case p.Answer.Waiting && p.Answer.Identified && p.Answer.Waited < facts.EmptyFor && p.Role != facts.Joiner:
		return FastPoll // in some seconds it is known that its data is lost
	case age > facts.OldPodAge:
		return Slowly
	case p.Trouble != "" || age > facts.NewPodAge:
		return Shortly
	}
	return FastPoll
}

// How soon to look again. What Kubernetes changes is reported by watches; what
// etcd and the launchers change is not.
const (
	// AtOnce is after an action: what it did to etcd shows at once.
	AtOnce = 10 * time.Millisecond
	// FastPoll is for something that takes a fraction of a second and that no watch
	// reports: a launcher or an etcd that starts, a learner that catches up.
	FastPoll = 100 * time.Millisecond
	// Shortly is for the same when it has already taken long, and for what etcd
	// itself refuses for a few seconds after a change.
	Shortly = 2 * time.Second
	// Slowly is for what has not come about for minutes, and may never.
	Slowly = 15 * time.Second
	// Idle is the slow fallback of a cluster that is as it should be.
	Idle = time.Minute
)

// BlockerPollInterval is how soon to look again at what is not well: soon while a member that
// was restarted comes back or settles.
func BlockerPollInterval(v *facts.View) time.Duration {
	for _, m := range v.Voters {
		p := v.PodOf[m.Name]
		if p == nil {
			continue
		}
		comesBack := !p.UnreadySince.IsZero() && v.Now.Sub(p.UnreadySince) < facts.NewPodAge
		if settles := v.Now.Sub(p.ReadySince) < facts.SettleTime; comesBack || settles {
			return FastPoll
		}
	}
	return Shortly
}

// RestartPollInterval is how soon to look again at a Pod whose container is restarted.
func RestartPollInterval(v *facts.View, p *facts.Pod) time.Duration {
	switch down := v.Now.Sub(p.UnreadySince); {
	case p.UnreadySince.IsZero():
		return FastPoll
	case down > facts.OldPodAge:
		return Slowly
	case p.Trouble != "" || down > facts.NewPodAge:
		return Shortly
	}
	return FastPoll
}
