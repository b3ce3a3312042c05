package runbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// This file reads what the members themselves tell: also while no operator runs, and what none
// looks at, such as slow disks.

// At what share of its quota there is little space, as for the condition SpaceLow (docs/tasks/space.md).
const (
	usedPercent = 80
	filePercent = 95
)

// maxUnapplied is how many committed entries a member may still have to apply: with more, etcd
// itself refuses requests (maxGapBetweenApplyAndCommitIndex in its v3_server.go).
const maxUnapplied = 5000

// Alarms are those that are raised, as etcd tells them, or else the status.
func (s Seen) Alarms() []v1beta2.AlarmStatus {
	asked := false
	var all []v1beta2.AlarmStatus
	for _, name := range slices.Sorted(maps.Keys(s.Answers)) {
		a := s.Answers[name]
		asked = asked || a.Reached
		for _, raised := range a.Alarms {
			alarm := v1beta2.AlarmStatus{Kind: string(raised.Kind), Member: s.nameOf(raised.MemberID)}
			if !slices.Contains(all, alarm) {
				all = append(all, alarm)
			}
		}
	}
	if !asked {
		return s.Cluster.Status.Alarms
	}
	return all
}

// nameOf is the member with an id; the id itself if none is known, and empty for 0.
func (s Seen) nameOf(id uint64) string {
	if id == 0 {
		return ""
	}
	for name, a := range s.Answers {
		if a.MemberID == id {
			return name
		}
	}
	text := fmt.Sprintf("%016x", id)
	for _, m := range s.Cluster.Status.MemberDetails {
		if m.ID == text {
			return m.Name
		}
	}
	return text
}

// told are the findings of what the members tell.
func (s Seen) told() []Finding {
	var found []Finding
	add := func(condition, page string, risk Risk, format string, args ...any) {
		found = append(found, Finding{
			Object: "EtcdCluster " + s.Cluster.Name, Condition: condition, Message: fmt.Sprintf(format, args...), Runbook: page, DataAtRisk: risk,
		})
	}
	if s.Differs != "" {
		add("data differs", "inconsistent", RiskYes, "clients read different values from different members: %s", s.Differs)
	}
	for kind, page := range map[etcdclient.AlarmKind]string{etcdclient.NoSpace: "no-space", etcdclient.Corrupt: "corrupt"} {
		if members, isRaised := s.alarmed(kind); isRaised {
			risk, why := RiskNo, "a database has reached its quota"
			if kind == etcdclient.Corrupt {
				risk, why = RiskYes, "a member's data differs"
			}
			add("alarm "+string(kind), page, risk, "etcd refuses writes: %s%s", why, members)
		}
	}
	if s.lacksQuorum() {
		add("no quorum", "no-quorum", RiskNotYet, "no member serves linearizable reads: a majority of the voters is down, or cannot be reached by the others")
	}
	if why := s.each(func(a etcdclient.Answer) string { return a.RefusedBecause }); why != "" {
		add("credentials refused", "credentials", RiskNo, "etcd's authentication refuses the operators' user: %s", why)
	}
	if _, isFull := s.alarmed(etcdclient.NoSpace); !isFull {
		if why := s.each(space); why != "" {
			add("quota nearly used", "space-low", RiskNo, "at the quota etcd refuses all writes: %s", why)
		}
	}
	slow := s.each(backlog)
	for _, name := range slices.Sorted(maps.Keys(s.Slow)) {
		slow = joined(slow, name+": "+strings.Join(s.Slow[name], ", "))
	}
	if slow != "" {
		add("slow", "slow-members", RiskNo, "%s; kubectl etcd check %s measures all members", slow, s.Cluster.Name)
	}
	return found
}

// each is what there is to say of members, by their names; empty if there is nothing.
func (s Seen) each(say func(etcdclient.Answer) string) string {
	all := ""
	for _, name := range slices.Sorted(maps.Keys(s.Answers)) {
		if what := say(s.Answers[name]); what != "" {
			all = joined(all, name+": "+what)
		}
	}
	return all
}

func joined(all, more string) string {
	if all == "" {
		return more
	}
	return all + "; " + more
}

// alarmed reports whether an alarm is raised, as etcd tells it, and about which members.
func (s Seen) alarmed(kind etcdclient.AlarmKind) (members string, isRaised bool) {
	if len(s.Answers) == 0 {
		return "", false
	}
	var names []string
	for _, a := range s.Alarms() {
		if a.Kind != string(kind) {
			continue
		}
		isRaised = true
		if a.Member != "" {
			names = append(names, a.Member)
		}
	}
	if len(names) > 0 {
		members = " (" + strings.Join(names, ", ") + ")"
	}
	return members, isRaised
}

// lacksQuorum reports whether voters answer, and a quorum answers none of them.
func (s Seen) lacksQuorum() bool {
	answering := false
	for _, a := range s.Answers {
		if a.Read || a.Refused != "" {
			return false
		}
		answering = answering || a.Reached && !a.Learner
	}
	return answering
}

// space says how near a member's database is to its quota, if it is near.
func space(a etcdclient.Answer) string {
	if a.Quota <= 0 {
		return ""
	}
	switch used, file := a.DBSizeInUse*100/a.Quota, a.DBSize*100/a.Quota; {
	case used >= usedPercent:
		return fmt.Sprintf("%d %% of it is in use", used)
	case file >= filePercent:
		return fmt.Sprintf("its file has %d %% of it, of which a defragmentation frees some", file)
	}
	return ""
}

// backlog says how many entries a member has still to apply, if these are too many. A learner gets
// its data first.
func backlog(a etcdclient.Answer) string {
	if a.Learner || a.RaftIndex <= a.AppliedIndex+maxUnapplied {
		return ""
	}
	return fmt.Sprintf("it has %d committed entries still to apply", a.RaftIndex-a.AppliedIndex)
}
