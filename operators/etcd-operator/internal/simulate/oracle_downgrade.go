package simulate

import (
	"slices"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// What the oracle asks of etcd's downgrade API (S6, S10).

// size is how many voters there are to be now.
func (k *check) size() int {
	c := &k.o.Cluster
	if c.Target != "" && c.UpgradeSize > 0 {
		return min(c.Size, c.UpgradeSize)
	}
	return c.Size
}

// downgrade is the minor that etcd is being downgraded to; -1 if nobody tells of one.
func (k *check) downgrade() int {
	for i := range k.o.Pods {
		if a := &k.o.Pods[i].Answer; k.ours(a) && a.Downgrade != "" {
			return minorOf(a.Downgrade)
		}
	}
	return -1
}

func (k *check) enableDowngrade(a action.EnableDowngrade) *Violation {
	but := ""
	for i := range k.o.Pods {
		if k.o.Pods[i].Role == facts.Restarting {
			but = k.o.Pods[i].Name
		}
	}
	to := minorOf(a.To)
	switch {
	case to < 5 || to != minorOf(k.o.Cluster.Target) || to >= minorOf(k.o.Cluster.Version):
		return violation("S10", "a downgrade to %s is enabled, and members are to run %s", a.To, k.o.Cluster.Target)
	case k.told() != to+1 || k.downgrade() >= 0:
		return violation("S10", "a downgrade to %s is enabled from 3.%d", a.To, k.told())
	}
	return k.wholly(but)
}

func (k *check) cancelDowngrade() *Violation {
	if k.downgrade() < 0 {
		return violation("S10", "a downgrade is cancelled, and nobody tells of one")
	}
	if k.o.Now.Sub(k.o.Since) < deadline {
		return violation("S10", "a downgrade is cancelled %s after something may have been begun", k.o.Now.Sub(k.o.Since))
	}
	for i := range k.o.Pods {
		p := &k.o.Pods[i]
		if p.From != "" && minorOf(p.Version) < minorOf(p.From) && (p.Answer.Reached || p.Trouble == "") {
			return violation("S10", "the downgrade is cancelled, and %s is about to start with etcd %s", p.Name, p.Version)
		}
	}
	return nil
}

// canLower reports whether a member may be given an earlier minor: its data is brought to
// that, and etcd's cluster version is held there.
func (k *check) canLower(p *facts.Pod, minor int) bool {
	if minorOf(p.Version) <= minor {
		return true
	}
	if data := p.Answer.StorageVersion; data == "" || minorOf(data) > minor {
		return false
	}
	return k.downgrade() == minor || slices.ContainsFunc(k.voters, func(m facts.Member) bool {
		a := k.answer(m)
		return a != nil && minorOf(a.Version) <= minor && minorOf(k.pod(m.Name).Version) <= minor
	})
}

// grows checks that a cluster does not grow between two members of an upgrade (S6), but for
// one in the place of another while an alarm stops the upgrade.
func (k *check) grows(members []facts.Member) *Violation {
	c := &k.o.Cluster
	if c.Target == "" || c.UpgradeSize == 0 || len(members) < c.UpgradeSize {
		return nil
	}
	if len(k.alarms) > 0 && len(members) == c.UpgradeSize && slices.ContainsFunc(members, k.displaced) {
		return k.wholly("")
	}
	return violation("S6", "a member is added to %d while members move to %s", len(members), k.o.Cluster.Target)
}
