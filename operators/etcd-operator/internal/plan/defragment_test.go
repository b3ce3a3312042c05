package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// The worlds of these tests are a healthy cluster in a round of defragmentations:
//
//	inRound().done("b").defragmenting("c", 5*time.Second)

// hourly is a schedule that was seen an hour and a half ago.
func hourly(t *testing.T) func(*Cluster) {
	t.Helper()
	s, err := schedule.Parse("0 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Cluster) {
		c.Maintenance.Schedule, c.Maintenance.Counted, c.Maintenance.Since = s, s.String(), now.Add(-90*time.Minute)
		since := metav1.NewTime(c.Maintenance.Since)
		c.LastStatus.Maintenance = &v1beta2.MaintenanceStatus{Schedule: s.String(), ScheduleSince: &since}
	}
}

// inRound is a healthy cluster in a round that began a minute ago.
func inRound() *world {
	return healthy(3).cluster(func(c *Cluster) { c.Maintenance.AbovePercent, c.Maintenance.Begun = 50, now.Add(-time.Minute) })
}

// done are members that the round has come to.
func (w *world) done(names ...string) *world {
	for _, name := range names {
		w.pod(name, func(p *Pod) { p.Defragmented = Defragmented{Since: now.Add(-50 * time.Second), Before: 7, Done: true} })
	}
	return w
}

// setAside is a member that gets no new clients since it is to be defragmented.
func (w *world) setAside(name string) *world {
	return w.pod(name, func(p *Pod) { p.Role, p.RoleSince = Defragmenting, now.Add(-20*time.Second) })
}

// toldTo is a member that was asked to defragment a while ago, and has not answered that.
func (w *world) toldTo(name string, ago time.Duration) *world {
	return w.setAside(name).pod(name, func(p *Pod) {
		p.RoleSince, p.Defragmented = now.Add(-ago-5*time.Second), Defragmented{Since: now.Add(-ago), Before: 300 << 20}
	})
}

func answered(p *Pod) { p.Defragmented.Done = true }

// unread is a member that answers no linearizable read.
func unread(a *Answer) { a.Read, a.Members = false, nil }

func defragment(name string) wanted {
	return func(o Observation) Action {
		return Defragment{Name: name, UID: "uid-" + name, ID: id(name), Members: listOf(o)}
	}
}

func begin() wanted { return beginFor("") }

func beginFor(request string) wanted { return exactly(BeginDefragment{At: now, Request: request}) }

func TestRoundsBegin(t *testing.T) {
	percent := func(n int) func(*Cluster) { return func(c *Cluster) { c.Maintenance.AbovePercent = n } }
	large := func(w *world, inUse int64) *world {
		return w.answer("b", func(a *Answer) { a.DBSize, a.DBSizeInUse = 200<<20, inUse<<20 })
	}
	unknown := func(c *Cluster) { c.Maintenance.Counted = "cron 1 * * * *" }
	rows{
		"when a time has come":               {reason: "it was wanted so", seen: healthy(3).cluster(hourly(t)), do: begin(), because: "DefragmentationStarted"},
		"once for all times":                 {reason: "missed ones are made up for once", seen: healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Maintenance.Since = old.Add(-999 * time.Hour) }), do: begin(), because: "DefragmentationStarted"},
		"not before a time":                  {reason: "the last round was after it", seen: healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Maintenance.Begun = now }).done("a", "b", "c").pod("a", func(p *Pod) { p.Defragmented.Since = now }).pod("b", func(p *Pod) { p.Defragmented.Since = now }).pod("c", func(p *Pod) { p.Defragmented.Since = now }), because: "UpToDate"},
		"not by another schedule":            {reason: "its times are counted from when it was seen", seen: healthy(3).cluster(hourly(t)).cluster(unknown), because: "UpToDate"},
		"when enough is free":                {reason: "it was wanted so", seen: large(healthy(3), 90).cluster(percent(50)), do: begin(), because: "DefragmentationStarted"},
		"not when less is free":              {reason: "it was wanted so", seen: large(healthy(3), 110).cluster(percent(50)), because: "UpToDate"},
		"not of a small database":            {reason: "there is not much to win", seen: healthy(3).answer("b", func(a *Answer) { a.DBSize, a.DBSizeInUse = 90<<20, 1 }).cluster(percent(50)), because: "UpToDate"},
		"when somebody asks for one":         {reason: "it was wanted so", seen: healthy(3).cluster(asksForRound("1", "")), do: beginFor("1"), because: "DefragmentationStarted"},
		"when somebody asks for another one": {reason: "the value is another one", seen: inRound().done("a", "b", "c").cluster(asksForRound("2", "1")), do: beginFor("2"), because: "DefragmentationStarted"},
		"once for each request":              {reason: "it was answered", seen: inRound().done("a", "b", "c").cluster(asksForRound("1", "1")), because: "UpToDate"},
		"not again within an hour": {
			reason: "it would not end where space can't be won", seen: large(inRound(), 90).done("a", "b", "c"), because: "UpToDate",
		},
		"not while a member is away":      {reason: "S6", seen: healthy(3).silent("c").cluster(hourly(t)), because: "WaitingForMember"},
		"not while one has just come":     {reason: "S6", seen: healthy(3).pod("c", func(p *Pod) { p.ReadySince = now }).cluster(hourly(t)), because: "Defragmenting"},
		"not while there are too many":    {reason: "S6", seen: healthy(4).size(3).cluster(hourly(t)), do: setRole("b", Leaving), because: "ScalingDown"},
		"not before another version":      {reason: "S10", seen: healthy(3).wants("3.7.3").cluster(hourly(t)), do: record(theVersion, "3.7.3"), because: "UpgradeStarted"},
		"though a version is refused":     {reason: "that may stay so", seen: healthy(3).wants("3.4.37").cluster(hourly(t)), do: begin(), because: "DefragmentationStarted"},
		"not while paused":                {reason: "S12", seen: healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Paused = true }), because: "Paused"},
		"a schedule that can't be read":   {reason: "a person has to mend it", seen: healthy(3).cluster(func(c *Cluster) { c.Maintenance.Invalid = "expected 5 fields" }), because: "ScheduleInvalid"},
		"not while somebody is corrupt":   {reason: "S6", seen: healthy(3).alarm(Corrupt, "").cluster(hourly(t)), because: "Corrupt"},
		"not while a restore asks for it": {reason: "S12", seen: healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Fence.By = "r1" }), because: "Fenced"},
	}.run(t)
}

// asksForRound is a request for a round, and the one that was answered last; nothing else has
// members defragmented.
func asksForRound(request, answered string) func(*Cluster) {
	return func(c *Cluster) {
		c.Maintenance.AbovePercent, c.Maintenance.DefragmentRequest, c.Maintenance.DefragmentAnswered = 0, request, answered
	}
}

func TestRounds(t *testing.T) {
	rows{
		"one that was asked for goes on":  {reason: "it was wanted so", seen: inRound().cluster(asksForRound("1", "1")), do: setRole("b", Defragmenting), because: "Defragmenting"},
		"another one asked for meanwhile": {reason: "the value is another one", seen: inRound().done("a", "b", "c").setAside("c").cluster(asksForRound("2", "1")), do: setRole("c", Voter), because: "SettingRoles"},
		"until the request is withdrawn":  {reason: "it is not wanted any more", seen: inRound().done("b").setAside("c").cluster(asksForRound("", "1")), do: setRole("c", Voter), because: "SettingRoles"},
		"it gives way to a restart": {
			reason: "two marks would wait for each other", seen: func() *world {
				w := inRound().alarm(NoSpace, "a").databases(101, 20).setAside("b").role("c", Restarting).pod("c", func(p *Pod) { p.Template = "before" })
				return w.volumes().cluster(func(c *Cluster) { c.Maintenance.AutoRepairSpace = true })
			}(), do: setRole("b", Voter), because: "SettingRoles",
		},
		"what is to leave gives way": {
			reason: "two marks would wait for each other", seen: func() *world {
				w := inRound().size(2).alarm(NoSpace, "a").databases(101, 20).done("b").setAside("a").role("c", Leaving)
				return w.cluster(func(c *Cluster) { c.Maintenance.AutoRepairSpace = true })
			}(), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a follower is marked first":         {reason: "S8", seen: inRound(), do: setRole("b", Defragmenting), because: "Defragmenting"},
		"then the next":                      {reason: "one after the other", seen: inRound().done("b"), do: setRole("c", Defragmenting), because: "Defragmenting"},
		"the leader is last":                 {reason: "S8", seen: inRound().done("b", "c"), do: setRole("a", Defragmenting), because: "Defragmenting"},
		"it transfers leadership first":      {reason: "S8", seen: inRound().done("b", "c").setAside("a"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership"},
		"one alone has nobody to":            {reason: "the user wants it", seen: healthy(1).cluster(asRound(inRound().seen().Cluster)).setAside("a"), do: defragment("a"), because: "DefragmentingMember"},
		"not while clients are sent to it":   {reason: "they would wait", seen: inRound().setAside("b").pod("b", func(p *Pod) { p.Routed = true }), because: "Defragmenting"},
		"not before every node has heard":    {reason: "they would wait", seen: inRound().setAside("b").pod("b", func(p *Pod) { p.RoleSince = now.Add(-time.Second / 2) }), because: "Defragmenting"},
		"then it is defragmented":            {reason: "all is well", seen: inRound().setAside("b"), do: defragment("b"), because: "DefragmentingMember"},
		"it is waited for":                   {reason: "S6", seen: inRound().toldTo("b", 5*time.Second), because: "Defragmenting"},
		"until it answers reads":             {reason: "it may take minutes", seen: inRound().toldTo("b", 55*time.Second).answer("b", unread), because: "Defragmenting"},
		"even if it says nothing":            {reason: "S9: unknown is not dead", seen: inRound().toldTo("b", 55*time.Second).silent("b"), because: "Defragmenting"},
		"even if it answered that it is":     {reason: "it was asked anew by nobody, and may have started again", seen: inRound().toldTo("b", 5*time.Second).pod("b", answered).answer("b", unread), because: "Defragmenting"},
		"then clients are sent to it":        {reason: "it is done", seen: inRound().toldTo("b", 5*time.Second).pod("b", answered), do: setRole("b", Voter), because: "MemberDefragmented"},
		"also if nobody heard that it is":    {reason: "whatever was under way has arrived", seen: inRound().toldTo("b", 15*time.Second), do: setRole("b", Voter), because: "MemberDefragmented"},
		"one that has just come back":        {reason: "S6: clients are to find it", seen: inRound().done("b").pod("b", func(p *Pod) { p.RoleSince = now.Add(-time.Second) }), because: "Defragmenting"},
		"one that was made meanwhile":        {reason: "there is nothing to win", seen: inRound().done("b").pod("c", func(p *Pod) { p.Created = now.Add(-30 * time.Second) }), do: setRole("a", Defragmenting), because: "Defragmenting"},
		"all are done":                       {reason: "the round is over", seen: inRound().done("a", "b", "c"), because: "UpToDate"},
		"a mark without a round":             {reason: "it is not wanted any more", seen: healthy(3).setAside("b"), do: setRole("b", Voter), because: "SettingRoles"},
		"a mark, and another version":        {reason: "S10: that comes first", seen: inRound().setAside("b").wants("3.7.3"), do: setRole("b", Voter), because: "SettingRoles"},
		"a mark, and another size":           {reason: "S6: that comes first", seen: inRound().setAside("b").size(2), do: setRole("b", Voter), because: "SettingRoles"},
		"a mark, and a member that is away":  {reason: "S6", seen: inRound().setAside("b").silent("c"), do: setRole("b", Voter), because: "SettingRoles"},
		"growth waits for its end":           {reason: "S6", seen: inRound().toldTo("b", 5*time.Second).size(5), because: "Defragmenting"},
		"shrinking waits for its end":        {reason: "S6", seen: inRound().toldTo("b", 5*time.Second).size(1), because: "Defragmenting"},
		"another version waits for its end":  {reason: "S6", seen: inRound().toldTo("b", 5*time.Second).wants("3.7.3"), because: "Defragmenting"},
		"one that is lost meanwhile goes on": {reason: "S6: it heals", seen: inRound().toldTo("b", 5*time.Second).dead("c"), do: create(joiners(1)...), because: "CreatingMembers"},
	}.run(t)
}

// asRound makes a cluster one in this round.
func asRound(c Cluster) func(*Cluster) {
	return func(to *Cluster) { to.Maintenance = c.Maintenance }
}

// The next look is at the time of the schedule, if that is near; and it is latched since
// when a schedule counts.
func TestScheduleIsCounted(t *testing.T) {
	soonDue := healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Maintenance.Begun = now }).done("a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		soonDue.pod(name, func(p *Pod) { p.Defragmented.Since = now })
	}
	o := soonDue.seen()
	o.Now = now.Add(59*time.Minute + 50*time.Second)
	if d := decided(o); d.RequeueAfter != 10*time.Second {
		t.Errorf("it looks again in %s: %s", d.RequeueAfter, d.Message)
	}

	fresh := healthy(3).cluster(hourly(t)).cluster(func(c *Cluster) { c.Maintenance.Counted, c.LastStatus.Maintenance = "", nil }).seen()
	st := decided(fresh).Status.Maintenance
	if st == nil || st.Schedule != "cron 0 * * * *" || !st.ScheduleSince.Time.Equal(now) {
		t.Fatalf("it is latched: %+v", st)
	}
	fresh.Cluster.LastStatus.Maintenance, fresh.Now = st, now.Add(time.Second)
	if requeueAfter := decided(fresh).Status.Maintenance; requeueAfter != st {
		t.Errorf("it is latched again: %+v", requeueAfter)
	}
	fresh.Cluster.Maintenance.Schedule = schedule.Schedule{}
	if st := decided(fresh).Status.Maintenance; st.Schedule != "" || st.ScheduleSince != nil {
		t.Errorf("without a schedule there is %+v", st)
	}
}

func conditionOf(st v1beta2.ClusterStatus, kind string) metav1.Condition {
	i := slices.IndexFunc(st.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	if i < 0 {
		return metav1.Condition{}
	}
	return st.Conditions[i]
}

func contains(s, part string) bool { return strings.Contains(s, part) }
