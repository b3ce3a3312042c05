package simulate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// FuzzPlan gives the planner arbitrary Observations, also such as no world would
// show: it never panics, and its Decision breaks no invariant for that Observation.
func FuzzPlan(f *testing.F) {
	for i := range 40 {
		r := newRandom(uint64(i), 3)
		seed := make([]byte, 40+10*i)
		for j := range seed {
			seed[j] = byte(r.next())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkObservation(t, observationFrom(&dice{bytes: b}))
	})
}

// TestArbitraryObservations is the fuzz test with a fixed number of Observations.
func TestArbitraryObservations(t *testing.T) {
	n := 300_000
	if testing.Short() {
		n = 20_000
	}
	actions := map[string]int{}
	for i := range n {
		r := newRandom(uint64(i), 4)
		d := checkObservation(t, observationFrom(&dice{random: &r}))
		if t.Failed() {
			t.Fatalf("observation %d", i)
		}
		if d.Action != nil {
			actions[action.KindOf(d.Action)]++
		}
	}
	var counts []string
	for _, kind := range actionKinds {
		counts = append(counts, fmt.Sprintf("%s %d", kind, actions[kind]))
	}
	t.Logf("%d observations; actions: %s", n, strings.Join(counts, ", "))
	for _, kind := range actionKinds {
		if actions[kind] == 0 && !testing.Short() {
			t.Errorf("no observation led to %s", kind)
		}
	}
}

func checkObservation(t *testing.T, o facts.Observation) plan.Decision {
	d := plan.Plan(o)
	if v := CheckDecision(o, d); v != nil {
		t.Errorf("%s: %s\ndecision: %s (%s: %s)\n%s", v.Invariant, v.Message, describe(d), d.Reason, d.Message, describeObservation(o))
	}
	return d
}

// dice are choices, from the bytes of a fuzz input or from a random source.
type dice struct {
	bytes  []byte
	random *random
	// odd is how odd the Observation is: 0 is what a healthy world shows.
	odd int
}

func (d *dice) below(n int) int {
	if d.random != nil {
		return d.random.below(n)
	}
	if len(d.bytes) == 0 || n <= 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

// chance is true in one of n cases.
func (d *dice) chance(n int) bool { return d.below(n) == n-1 }

// strange is true in one of n cases, more seldom or never in Observations that are
// less odd.
func (d *dice) strange(n int) bool { return d.odd > 0 && d.chance(n*(4-d.odd)) }

// observationFrom makes an Observation: mostly a plausible one, with anything
// implausible here and there.
func observationFrom(d *dice) facts.Observation {
	d.odd = d.below(4)
	o := facts.Observation{Now: epoch.Add(time.Hour), FreshToken: "fresh"}
	o.Cluster = facts.Cluster{
		Name: clusterName, Generation: 1, Size: 1 + d.below(7), Version: "3.6.16", WantedVersion: "3.6.16", Repository: goodRepository,
		Persistent: d.chance(2), MemberTimeout: 5 * time.Minute, DisruptionBudget: !d.chance(4),
		Paused: d.strange(30), Deleting: d.strange(30), TLS: facts.TLS{Wanted: d.strange(40)},
	}
	c := &o.Cluster
	if d.strange(8) {
		c.Size = d.below(12) - 2
	}
	if d.strange(6) {
		c.Version = []string{"3.5.35", "3.4.37", "3.7.3", "3.2.13", "", "latest", "3.6.16-rc.0"}[d.below(7)]
	}
	arbitraryVersions(d, c)
	c.Template = goodTemplate
	if d.strange(20) {
		o.Conflicts = []string{"Service c of somebody"}
	}
	if d.strange(20) {
		o.ForeignBudget = "PodDisruptionBudget c of somebody"
	}
	if d.strange(30) {
		o.LegacyPods = []string{"c-0000"}
	}
	if d.strange(20) {
		c.Existed = "volumes were kept"
	}
	if !d.chance(8) {
		c.Bootstrap = &facts.Bootstrap{Member: memberName(0), Token: "t"}
	}
	if !d.chance(4) {
		c.ClusterID = 77
	}
	fresh := v1beta2.MaxSize
	if d.strange(20) {
		fresh = d.below(3)
	}
	for i := range fresh {
		o.FreshNames = append(o.FreshNames, fmt.Sprintf("c-fresh%d", i))
	}

	arbitraryFence(d, &o)
	members := arbitraryMembers(d)
	list := members
	for i := range d.below(9) {
		o.Pods = append(o.Pods, arbitraryPod(d, c, i, list, o.Now))
	}
	if c.Fence.By != "" && d.chance(2) {
		o.Pods = append(o.Pods, arbitrarySeed(d, c, o.Now))
		o.Claims = append(o.Claims, facts.Claim{Name: "c-r", UID: "vr", Created: o.Now})
	}
	if d.strange(6) && len(o.Pods) > 1 {
		i := d.below(len(o.Pods))
		o.Pods = slices.Delete(o.Pods, i, i+1)
	}
	for i := range d.below(9) {
		if c.Persistent && !d.strange(5) || d.strange(12) {
			o.Claims = append(o.Claims, facts.Claim{
				Name: memberName(i), UID: fmt.Sprintf("v%d", i), Deleting: d.strange(10),
				Created: o.Now.Add(-time.Duration(d.below(600)) * time.Second),
			})
		}
	}
	arbitraryDay(d, &o, members)
	arbitraryCertificates(d, &o)
	arbitraryConsistency(d, &o, members)
	arbitraryRejections(d, &o)
	arbitraryRejectedChildren(d, &o)
	arbitraryRequests(d, &o, members)
	return o
}

// arbitraryRequests has a user ask for a round or for another leader in one of eight Observations. It
// draws last: the others are what they were before it came.
func arbitraryRequests(d *dice, o *facts.Observation, members []facts.Member) {
	m := &o.Cluster.Maintenance
	if d.below(8) > 0 {
		return
	}
	if d.chance(4) {
		m.DefragmentRequest, m.DefragmentAnswered = "2", fmt.Sprint(d.below(3))
	}
	m.LeaderRequest = nobody
	if len(members) > 0 && d.chance(2) {
		m.LeaderRequest = members[d.below(len(members))].Name
	}
}

// arbitraryRejectedChildren has the API server have refused Services, the budget or labels
// in one of eight Observations. It draws last: the others are what they were before it came.
func arbitraryRejectedChildren(d *dice, o *facts.Observation) {
	if d.below(8) > 0 {
		return
	}
	kinds := []string{facts.ApplyService, facts.ApplyBudget, facts.DeleteBudget, facts.LabelMembers}
	for range 1 + d.below(2) {
		r := facts.Rejection{Kind: kinds[d.below(len(kinds))], Name: "c", Words: "exceeded quota", Generation: o.Cluster.Generation}
		if r.Kind == facts.LabelMembers {
			r.Name = ""
		}
		if d.strange(8) {
			r.Generation--
		}
		at := o.Now.Add(-time.Duration(d.below(150)) * time.Second)
		for range 1 + d.below(9) {
			o.Rejections, _ = facts.Reject(o.Rejections, r, at)
		}
	}
}

// arbitraryRejections has the API server have refused effects, some of which are to be tried
// again by now, in one of four Observations. It draws last: the others are what they were
// before it came.
func arbitraryRejections(d *dice, o *facts.Observation) {
	if d.below(4) > 0 {
		return
	}
	pods := action.KindOf(action.CreatePods{})
	ofOne := []string{"GrantStartPermit", "RevokeSurvivorPermit", "DropSeed", "ChangeImage", "RecreatePod", "Defragment", "DeletePod", "DeleteClaim"}
	for range 1 + d.below(4) {
		r := facts.Rejection{Kind: pods, Words: "exceeded quota", Generation: o.Cluster.Generation}
		r.Name = memberName(d.below(9))
		switch d.below(6) {
		case 0, 1:
			r.Role, r.Volume = facts.Joiner, d.chance(2)
			if d.chance(2) && len(o.FreshNames) > 0 {
				r.Name = "c-refused"
				if d.chance(2) && !slices.ContainsFunc(o.Claims, func(c facts.Claim) bool { return c.Name == r.Name }) {
					o.Claims = append(o.Claims, facts.Claim{Name: r.Name, UID: "vrefused", Created: o.Now.Add(-time.Minute)})
				}
			}
		case 2:
			r.Role = facts.Returning
		case 3:
			r.Role, r.Volume = facts.Seed, d.chance(3)
		default:
			r.Kind = actionKinds[d.below(len(actionKinds))]
			if !slices.Contains(ofOne, r.Kind) {
				r.Name = ""
			}
		}
		if d.strange(8) {
			r.Generation--
		}
		at := o.Now.Add(-time.Duration(d.below(150)) * time.Second)
		for range 1 + d.below(9) {
			o.Rejections, _ = facts.Reject(o.Rejections, r, at)
		}
	}
}

// arbitraryConsistency has members' data compared, due, under way or shown in one of four
// Observations. It draws last: the others are what they were before it came.
func arbitraryConsistency(d *dice, o *facts.Observation, members []facts.Member) {
	if d.below(4) > 0 {
		return
	}
	var ids []uint64
	for _, m := range members {
		if !m.Learner && !d.strange(10) {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	results := []v1beta2.ConsistencyResult{v1beta2.ResultConsistent, v1beta2.ResultMemberDiffers, v1beta2.ResultNoMajority}
	some := func() []uint64 {
		if len(ids) == 0 {
			return nil
		}
		return ids[:d.below(len(ids))/2]
	}
	c := &o.Cluster.Consistency
	c.Schedule, c.Since = comparisons, o.Now.Add(-time.Duration(d.below(72))*time.Hour)
	if d.chance(3) {
		c.Result, c.Revision = results[d.below(3)], 50
		if c.Result == v1beta2.ResultMemberDiffers {
			c.Differing = some()
		}
	}
	if d.chance(2) {
		o.Comparison = &facts.Comparison{Members: ids, Begun: o.Now.Add(-time.Hour)}
		if d.chance(2) {
			o.Comparison.Ended, o.Comparison.Revision, o.Comparison.Result = o.Now.Add(-time.Duration(d.below(60))*time.Minute), 60, results[d.below(3)]
			if o.Comparison.Result == v1beta2.ResultMemberDiffers {
				o.Comparison.Differing = some()
			}
		}
	}
}

// arbitraryDay has one thing of day two happen at a time, nothing, or all at once.
func arbitraryDay(d *dice, o *facts.Observation, members []facts.Member) {
	things := []func(){
		func() { arbitraryDatabases(d, o, members) },
		func() { arbitraryRefusals(d, o) },
		func() { arbitraryVolumes(d, o) },
		func() { arbitraryLoss(d, o) },
	}
	if d.chance(3) {
		leaveNothingElse(o, members)
	}
	which := d.below(len(things) + 2)
	for i, happens := range things {
		if which == i || which > len(things) {
			happens()
		}
	}
}

// leaveNothingElse has no member to add, to remove or to change; some clusters that came
// from etcd 3.5 are to go to 3.7.
func leaveNothingElse(o *facts.Observation, members []facts.Member) {
	c := &o.Cluster
	c.Size, c.Target, c.WantedVersion = max(1, countVoters(members)), "", c.Version
	if minorOf(c.Version) == 6 && len(o.Pods)%3 == 0 {
		c.WantedVersion, c.VersionIndex = "3.7.3", 95_000
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		p.Version, p.Repository, p.Template, p.Cordoned = c.Version, c.Repository, c.Template, false
		if p.Role == facts.Restarting {
			p.Role = facts.Voter
		}
	}
}

// arbitraryRefusals let some members take the operator for nobody.
func arbitraryRefusals(d *dice, o *facts.Observation) {
	if !d.strange(3) {
		return
	}
	for i := range o.Pods {
		if a := &o.Pods[i].Answer; a.Reached && d.chance(2) {
			*a = arbitraryRefusal(d, *a)
		}
	}
}

// arbitraryCertificates has certificates asked for, mostly as they are to be.
func arbitraryCertificates(d *dice, o *facts.Observation) {
	if !d.chance(3) {
		return
	}
	c := &o.Cluster
	c.TLS = facts.TLS{Wanted: true, Trust: "trust1"}
	if !d.chance(4) {
		c.LastStatus.TLS = &v1beta2.TLSStatus{Trust: []string{"trust1", "trust2", ""}[d.below(3)]}
	}
	if d.chance(3) {
		c.TLS.Problem = certificateProblems[d.below(len(certificateProblems))]
		if d.chance(2) {
			c.TLS.Trust = ""
		}
	}
	if d.chance(3) {
		c.TLS.Rotation = v1beta2.CATrustingBoth
	}
	if !d.chance(3) {
		return
	}
	c.TLS.NoClientCertificate = true
	for i := range o.Pods {
		p := &o.Pods[i]
		if !d.strange(4) {
			p.Answer = facts.Answer{}
		}
		if d.chance(2) {
			p.IP, p.UnreadySince, p.ReadySince = "10.0.0.1", time.Time{}, o.Now.Add(-time.Minute)
		}
		if d.strange(4) {
			p.Role = facts.Returning
		}
	}
}

// arbitraryDatabases gives members databases and alarms.
func arbitraryDatabases(d *dice, o *facts.Observation, members []facts.Member) {
	arbitraryMaintenance(d, &o.Cluster, o.Now)
	alarms := arbitraryAlarms(d, members)
	if d.chance(4) {
		arbitraryRound(d, o, members)
	}
	for i := range o.Pods {
		p := &o.Pods[i]
		if p.Role == facts.Voter {
			arbitraryDefragmentation(d, &o.Cluster, p, o.Now)
		}
		if !p.Answer.Reached {
			continue
		}
		arbitrarySpace(d, &p.Answer)
		if !d.strange(12) {
			p.Answer.Alarms = alarms
		}
	}
}

// arbitraryRound has a round under way, and little else.
func arbitraryRound(d *dice, o *facts.Observation, members []facts.Member) {
	c := &o.Cluster
	c.Size, c.WantedVersion, c.Target, c.Maintenance.AbovePercent, c.Maintenance.Begun = len(members), c.Version, "", 20, o.Now.Add(-time.Minute)
	if i := d.below(max(1, len(o.Pods))); i < len(o.Pods) && o.Pods[i].Role == facts.Voter {
		o.Pods[i].Role = facts.Defragmenting
	}
}

// arbitraryMaintenance has a round to begin, or under way, in half of the cases.
func arbitraryMaintenance(d *dice, c *facts.Cluster, now time.Time) {
	m := &c.Maintenance
	m.AutoRepairSpace = d.chance(2)
	if d.chance(4) {
		m.AbovePercent = 20
	}
	if d.chance(4) {
		m.Schedule, m.Counted, m.Since = rounds, rounds.String(), now.Add(-time.Hour)
	}
	if d.chance(3) {
		m.Begun = now.Add(-time.Duration(d.below(5000)) * time.Second)
	}
	if d.chance(4) {
		m.Repaired, m.CompactedRevision = m.Begun, int64(d.below(12))
	}
}

// arbitraryDefragmentation has a member's database in any stage.
func arbitraryDefragmentation(d *dice, c *facts.Cluster, p *facts.Pod, now time.Time) {
	if d.chance(8) {
		p.Role = facts.Defragmenting
	}
	if d.chance(4) {
		p.Defragmented = facts.Defragmented{Since: c.Maintenance.Begun.Add(time.Duration(d.below(100)-50) * time.Second), Before: 1, Done: d.chance(2)}
	}
	if d.strange(8) {
		p.RoleSince = now.Add(-time.Duration(d.below(20)) * time.Second)
	}
}

// arbitrarySpace gives a member's database a size.
func arbitrarySpace(d *dice, a *facts.Answer) {
	a.Quota, a.DBSize = 1000<<20, []int64{1000 << 20, 200 << 20, 0}[d.below(3)]
	a.DBSizeInUse = a.DBSize / int64(1+d.below(3))
	if d.strange(12) {
		a.Quota = 0
	}
}

// arbitraryAlarms are raised in one of four cases.
func arbitraryAlarms(d *dice, members []facts.Member) []facts.Alarm {
	var alarms []facts.Alarm
	for d.chance(4) {
		alarms = append(alarms, facts.Alarm{
			MemberID: []uint64{members[d.below(len(members))].ID, 0, 998}[d.below(3)], Kind: []facts.AlarmKind{facts.NoSpace, facts.NoSpace, facts.Corrupt}[d.below(3)],
		})
	}
	return alarms
}

// arbitraryVolumes lets claims grow, or be left by an earlier EtcdCluster, and what is on
// them break.
func arbitraryVolumes(d *dice, o *facts.Observation) {
	for i := range o.Pods {
		if o.Pods[i].Role == facts.Voter && d.chance(8) {
			arbitraryExits(d, &o.Pods[i], o.Now)
		}
	}
	c := &o.Cluster
	c.Retain, c.VersionGiven = d.chance(6), d.chance(2)
	if !d.chance(4) {
		return
	}
	c.Storage = 2
	for i := range o.Claims {
		claim := &o.Claims[i]
		claim.Requested, claim.Capacity, claim.Retained = int64(1+d.below(3)), int64(d.below(3)), c.Retain != d.strange(6)
		claim.Expansion = facts.Expansion(d.below(3))
		switch {
		case d.strange(6):
			claim.RefusedSize, claim.RefusedAt = 2, o.Now.Add(-time.Duration(d.below(1200))*time.Second)
		case d.strange(10):
			claim.Lost = true
		case d.strange(6):
			claim.Version = c.Version
		}
	}
	if c.ClusterID != 0 || d.chance(3) {
		return
	}
	if c.Bootstrap != nil {
		c.Bootstrap.Adopted = d.chance(2)
	}
	if d.chance(2) {
		c.AdoptVolumes = []string{v1beta2.AdoptAny, "owner1", "owner2"}[d.below(3)]
	}
	if d.chance(2) {
		c.Bootstrap, o.Pods = nil, nil
		for i := range d.below(4) {
			o.Retained = append(o.Retained, facts.Retained{
				Name: memberName(i), UID: fmt.Sprintf("v%d", i), Owner: fmt.Sprintf("owner%d", 1+d.below(2)*d.below(2)), Deleting: d.strange(6), Version: []string{"", "3.6.16", "3.5.35"}[d.below(3)],
			})
		}
		if d.chance(2) {
			o.Claims = nil
		}
	}
	if len(o.Retained) > 0 {
		c.Existed = "volumes were kept"
	}
}

// arbitraryExits lets a member's etcd have ended, now and then.
func arbitraryExits(d *dice, p *facts.Pod, now time.Time) {
	p.Restarts, p.ProvenRestarts, p.ProvenImage = d.below(8), d.below(3), p.Repository+":v"+p.Version
	p.LastExit = []facts.Exit{{Code: 2, Reason: "Error", Damage: "d"}, {Code: 1, Reason: "Error"}, {Code: 1, Reason: "Error", Damage: "d"}, {Code: 137, Reason: "OOMKilled"}, {}}[d.below(5)]
	p.Looping, p.Creating = !d.chance(3), d.chance(6)
	p.UnreadySince = now.Add(-time.Duration(d.below(600)) * time.Second)
	if d.chance(3) {
		p.RunningSince = now.Add(-time.Duration(d.below(60)) * time.Second)
	}
	if d.strange(4) {
		p.ProvenImage = ""
	}
	if !d.strange(3) {
		p.Answer = facts.Answer{}
	}
}

// arbitraryVersions has members on their way, or to be, in one of three cases.
func arbitraryVersions(d *dice, c *facts.Cluster) {
	version := func() string {
		return []string{c.Version, "3.6.50", "3.7.3", "3.5.35", "3.8.0", "3.4.1", "latest"}[d.below(7)]
	}
	if d.chance(3) {
		c.WantedVersion = version()
	}
	if d.chance(4) {
		c.Target = version()
	}
	if c.Target != "" && d.chance(2) {
		c.UpgradeSize = 1 + d.below(7)
	}
	if d.strange(6) {
		c.VersionIndex = 95_000
	}
	if d.strange(8) {
		c.Repository = otherRepository
	}
}

// arbitraryImage gives a Pod what it may have in a change of its image.
func arbitraryImage(d *dice, c *facts.Cluster, p *facts.Pod, now time.Time) {
	p.Repository = goodRepository
	if c.Target != "" && d.chance(2) {
		p.Version = c.Target
	}
	switch {
	case d.chance(6):
		p.Role = facts.Restarting
	case d.strange(12):
		p.From = c.Version
	case d.strange(12):
		p.UnreadySince = now.Add(-time.Second)
	case d.strange(12):
		p.ReadySince = now
	case d.strange(12):
		p.Routed = true
	case d.strange(20):
		p.Version = "3.7.3"
	}
}

// arbitraryFence sets marks of restores, mostly none.
func arbitraryFence(d *dice, o *facts.Observation) {
	o.Since = o.Now.Add(-time.Duration(d.below(30)) * time.Second)
	if !d.chance(6) {
		return
	}
	f := &o.Cluster.Fence
	restore := func() string { return []string{"", "r1", "r1", "r2"}[d.below(4)] }
	f.Mark, f.By, f.Lifted = restore(), restore(), restore()
	f.Adopted.Restore = restore()
	f.Seeded = []string{"", "r1/c-r/ur", "r2/c-r/ur", "r1/c-m0/u0", "r1/c-r", "r1/c-r/", "/c-r/ur", "r1/c-r/ur/"}[d.below(8)]
	if d.chance(2) {
		f.Lifted, f.Adopted.Restore = "", ""
	}
}

// arbitraryLoss has a majority lost in some cases, and the cluster about to begin anew, or
// beginning, or grown.
func arbitraryLoss(d *dice, o *facts.Observation) {
	c := &o.Cluster
	c.Survive = d.chance(3)
	if d.chance(8) {
		c.Recover = []string{"000000000000004d", "000000000000004e", "x"}[d.below(3)]
	}
	if d.chance(4) {
		c.QuorumLostSince = o.Now.Add(-time.Duration(d.below(60)) * time.Second)
	}
	if !d.chance(4) {
		return
	}
	r := &facts.Recovery{
		Phase:     []v1beta2.RecoveryPhase{v1beta2.RecoverySeeding, v1beta2.RecoverySeeding, v1beta2.RecoveryGrowing, v1beta2.RecoveryComplete}[d.below(4)],
		ClusterID: 77, Survivor: memberName(0), SurvivorUID: "u0", MemberID: 100, Committed: 100_000, Revision: 9, BeginsAt: 1_000_000_009,
		Seed: "c-seed", Token: "anew", Version: "3.6.16", Survivors: []string{memberName(0)}, Members: []string{memberName(0), memberName(1), memberName(2), memberName(8)},
	}
	if d.chance(2) {
		c.Recovery = r
		c.Survive = !d.chance(6)
	}
	if d.strange(6) {
		r.ClusterID = 78
	}
	// Those who are left have no leader, but in odd Observations.
	left := d.below(3)
	for i := range o.Pods {
		p := &o.Pods[i]
		switch {
		case d.strange(8):
		case i >= left:
			p.Answer = arbitraryWait(d, 1)
		default:
			p.Answer.Leader, p.Answer.Read, p.Answer.Errors = 0, false, []string{"etcdserver: no leader"}
			if d.strange(10) {
				p.Answer.Committed -= uint64(d.below(20_000))
			}
			if d.strange(20) {
				p.Answer.Alarms = []facts.Alarm{{MemberID: 100, Kind: facts.Corrupt}}
			}
		}
		if c.Recovery != nil && !d.chance(3) {
			p.Role = facts.Survivor
		}
	}
	if !d.chance(3) {
		return
	}
	self := facts.Member{ID: 600, Name: "c-seed", Started: true}
	p := facts.Pod{
		Name: "c-seed", UID: "useed", Role: facts.Seed, Created: o.Now.Add(-time.Second), Node: "n1", Persistent: c.Persistent,
		Version: c.Version, Learners: 7, Reseed: "anew", SurvivorPermit: d.chance(2), Finished: d.strange(12),
	}
	if d.strange(6) {
		p.Reseed = "other"
	}
	p.Answer = arbitraryAnswer(d, c, self, []facts.Member{self})
	p.Answer.ClusterID = 99
	o.Pods = append(o.Pods, p)
	if c.Persistent {
		o.Claims = append(o.Claims, facts.Claim{Name: "c-seed", UID: "vseed", Created: o.Now, Reseed: p.Reseed})
	}
}

// arbitrarySeed is a Pod that may have been handed over.
func arbitrarySeed(d *dice, c *facts.Cluster, now time.Time) facts.Pod {
	self := facts.Member{ID: 500, Name: "c-r", Started: true}
	p := facts.Pod{
		Name: "c-r", UID: "ur", Role: facts.Seed, Created: now.Add(-time.Second), Node: "n1", Addressed: true, Persistent: c.Persistent && !d.strange(6),
		Version: c.Version, Learners: 7, Finished: d.strange(12),
	}
	p.Answer = arbitraryAnswer(d, c, self, []facts.Member{self})
	if !d.strange(6) {
		p.Answer.ClusterID = 99
	}
	if d.strange(8) {
		p.UID = "other"
	}
	if d.strange(12) {
		p.DeletingSince = now
	}
	return p
}

func memberName(i int) string { return fmt.Sprintf("c-m%d", i) }

// arbitraryMembers is a member list: some voters, perhaps learners, mostly started.
func arbitraryMembers(d *dice) []facts.Member {
	var list []facts.Member
	for i := range 1 + d.below(7) {
		m := facts.Member{ID: uint64(100 + i), Name: memberName(i), Started: !d.strange(8)}
		if i > 0 && d.chance(4) {
			m.Learner = true
			m.Started = d.chance(2)
		}
		list = append(list, m)
	}
	return list
}

func arbitraryPod(d *dice, c *facts.Cluster, i int, members []facts.Member, now time.Time) facts.Pod {
	ago := func() time.Time {
		return now.Add(-[]time.Duration{time.Second, 30 * time.Second, 4 * time.Minute, 6 * time.Minute, time.Hour}[d.below(5)])
	}
	p := facts.Pod{
		Name: memberName(i), UID: fmt.Sprintf("u%d", i), Created: ago(), Node: "n1", Addressed: !d.strange(6),
		Persistent: c.Persistent, Template: goodTemplate, Version: c.Version, Learners: 7, Role: facts.Joiner,
	}
	switch {
	case d.chance(6):
		p.Template = "t1"
	case d.chance(12):
		p.Cordoned = true
	}
	var self *facts.Member
	for j := range members {
		if members[j].Name == p.Name {
			self = &members[j]
		}
	}
	switch {
	case self == nil || !self.Started:
	case self.Learner:
		p.Role = facts.Learner
	default:
		p.Role = facts.Voter
	}
	if d.strange(3) {
		p.Role = []facts.Role{facts.Voter, facts.Learner, facts.Joiner, facts.Returning, facts.Leaving, facts.Seed}[d.below(6)]
	}
	if p.Role == facts.Voter {
		arbitraryImage(d, c, &p, now)
	}
	switch {
	case d.strange(12):
		p.DeletingSince = ago()
	case d.strange(12):
		p.Finished = true
	case d.strange(12):
		p.NodeLostSince = ago()
	case d.strange(12):
		p.Node, p.Addressed = "", false
		if d.chance(2) {
			p.Unschedulable = "no node fits"
		}
	case d.strange(20):
		p.Trouble = "CrashLoopBackOff: back-off"
	case d.strange(20):
		p.Learners = d.below(4)
	case d.strange(20):
		p.Version = "3.5.35"
	case d.strange(30):
		p.Persistent = !p.Persistent
	}
	if (self != nil && !self.Started && d.chance(3)) || d.strange(6) {
		p.StartPermit = &facts.StartPermit{Attempt: 1 + d.below(3), New: d.strange(6), Members: []string{p.Name}, Token: "t"}
	}
	switch {
	case p.Node == "" || p.Finished || d.strange(6): // nothing runs there, or nobody answers
	case self == nil || !self.Started || d.strange(9):
		p.Answer = arbitraryWait(d, d.below(1+d.odd))
	default:
		p.Answer = arbitraryAnswer(d, c, *self, members)
		if p.Answer.Reached && d.odd == 0 {
			p.Answer.Version = p.Version
		}
	}
	return p
}

// arbitraryRefusal is what a member tells whom etcd's authentication does not know.
func arbitraryRefusal(d *dice, a facts.Answer) facts.Answer {
	why := refusals[d.below(len(refusals))]
	if d.chance(2) {
		a.Refused = why
		return a
	}
	return facts.Answer{Read: a.Read && d.chance(3), Refused: why}
}

// arbitraryWait is what a launcher says that finds no data.
func arbitraryWait(d *dice, attempt int) facts.Answer {
	return facts.Answer{Waiting: true, Attempt: attempt, Identified: !d.strange(4), Waited: time.Duration(5-5*boolInt(d.strange(4))) * time.Second}
}

// arbitraryAnswer is what a member of a cluster says that is led by the first
// member, or something else.
func arbitraryAnswer(d *dice, c *facts.Cluster, self facts.Member, members []facts.Member) facts.Answer {
	a := facts.Answer{
		Reached: true, ClusterID: 77, MemberID: self.ID, Leader: members[0].ID, Term: 5, Committed: 100_000, Applied: 100_000, Revision: 9,
		Learner: self.Learner, Version: c.Version, ClusterVersion: fmt.Sprintf("3.%d.0", minorOf(c.Version)), Read: !self.Learner,
	}
	if d.strange(20) {
		a.ClusterVersion = []string{"", "3.5.0", "3.7.0"}[d.below(3)]
	}
	if minorOf(c.Target) == minorOf(c.Version)-1 && d.chance(2) {
		a.ClusterVersion = fmt.Sprintf("3.%d.0", minorOf(c.Target))
	}
	if d.chance(20) {
		a.Downgrade = []string{"3.5.0", "3.6.0", a.ClusterVersion}[d.below(3)]
	}
	if minorOf(a.Version) > 5 || d.strange(6) {
		a.StorageVersion = []string{a.ClusterVersion, a.ClusterVersion, "3.6.0", ""}[d.below(4)]
	}
	a.Write = facts.Write{Acknowledged: true}
	switch {
	case d.strange(10):
		a.Write = facts.Write{}
	case d.strange(10):
		a.Write = facts.Write{Refused: "etcdserver: corrupt cluster"}
	}
	if !a.Learner {
		a.Members = members
	}
	switch {
	case d.strange(12):
		a.Leader, a.Read, a.Errors = 0, false, []string{"etcdserver: no leader"}
	case d.strange(20):
		a.Read = false
	case d.strange(20):
		a.Term = 4 + uint64(d.below(3))
	case d.strange(20):
		a.Applied -= uint64(d.below(20_000))
	case d.strange(30):
		a.ClusterID = 78
	case d.strange(30):
		a.MemberID = 999
	case d.strange(30):
		a.Errors = []string{"something else"}
	case d.strange(20):
		a.Leader = members[d.below(len(members))].ID
	case d.strange(20):
		a.Members = arbitraryMembers(d)
	case d.strange(30):
		a.Learner = !a.Learner
	case d.strange(40):
		a.Members = nil
	}
	return a
}

// describeObservation tells an Observation a line per object.
func describeObservation(o facts.Observation) string {
	var b strings.Builder
	c := o.Cluster
	c.LastStatus = v1beta2.ClusterStatus{}
	fmt.Fprintf(&b, "cluster: %+v\n", c)
	if c.Bootstrap != nil {
		fmt.Fprintf(&b, "bootstrap: %+v\n", *c.Bootstrap)
	}
	for _, p := range o.Pods {
		a, g := p.Answer, p.StartPermit
		p.Answer, p.StartPermit = facts.Answer{}, nil
		since := func(t time.Time) string {
			if t.IsZero() {
				return "-"
			}
			return o.Now.Sub(t).String()
		}
		fmt.Fprintf(&b, "Pod %s %s: created %s, deleting %s, finished %t, node %q lost %s, unschedulable %q, trouble %q, addressed %t, persistent %t, version %s, learners %d\n",
			p.Name, p.Role, since(p.Created), since(p.DeletingSince), p.Finished, p.Node, since(p.NodeLostSince), p.Unschedulable, p.Trouble, p.Addressed, p.Persistent, p.Version, p.Learners)
		if g != nil {
			fmt.Fprintf(&b, "    start permit %+v\n", *g)
		}
		switch {
		case a.Waiting:
			fmt.Fprintf(&b, "    waits, attempt %d\n", a.Attempt)
		case a.Refused != "" && !a.Reached:
			fmt.Fprintf(&b, "    refuses, %s, read %t\n", a.Refused, a.Read)
		case a.Reached:
			members := a.Members
			a.Members = nil
			fmt.Fprintf(&b, "    says %+v %s\n", a, describeMembers(members))
		}
	}
	for _, c := range o.Claims {
		fmt.Fprintf(&b, "claim %s: deleting %t, created %s\n", c.Name, c.Deleting, o.Now.Sub(c.Created))
	}
	return b.String()
}
