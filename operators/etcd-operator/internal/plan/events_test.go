package plan

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// An action gets an event if a user would tell a colleague of it.
func TestWhatGetsAnEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		decided Decision
		told    bool
	}{
		"nothing was done":                   {Decision{Reason: "UpToDate"}, false},
		"the seed is chosen":                 {Decision{Action: RecordBootstrap{}, Reason: "Bootstrapping"}, false},
		"the cluster goes on with volumes":   {Decision{Action: RecordBootstrap{}, Reason: "VolumesAdopted", Announcement: Announced}, true},
		"Pods of members to come":            {Decision{Action: CreatePods{}, Reason: "CreatingMembers", Announcement: Unannounced}, false},
		"a Pod that returns":                 {Decision{Action: CreatePods{}, Reason: "RestartingMember"}, true},
		"a permit":                           {Decision{Action: GrantStartPermit{}, Reason: "StartingMember"}, false},
		"the end of a permit":                {Decision{Action: RevokeStartPermits{}, Reason: "MemberStarted"}, false},
		"a label":                            {Decision{Action: SetRoles{}, Reason: "SettingRoles"}, false},
		"a label of one that is to leave":    {Decision{Action: SetRoles{}, Reason: "ScalingDown"}, false},
		"a label of one that was upgraded":   {Decision{Action: SetRoles{}, Reason: "MemberUpgraded", Announcement: Announced}, true},
		"the lead moves":                     {Decision{Action: TransferLeadership{}, Reason: "TransferringLeadership"}, false},
		"the cluster has begun":              {Decision{Action: LatchClusterID{}, Reason: "Bootstrapped"}, true},
		"a member is added":                  {Decision{Action: AddLearner{}, Reason: "MemberAdded"}, true},
		"a member gets its vote":             {Decision{Action: Promote{}, Reason: "MemberPromoted"}, true},
		"a member is removed":                {Decision{Action: RemoveMember{}, Reason: "MemberRemoved"}, true},
		"the Pod of one that was removed":    {Decision{Action: DeletePod{}, Reason: "DeletingPod", Announcement: Unannounced}, false},
		"the volume of one that was removed": {Decision{Action: DeleteClaim{}, Reason: "DeletingVolume"}, true},
		"an upgrade begins":                  {Decision{Action: RecordVersion{}, Reason: "UpgradeStarted"}, true},
	} {
		got, told := EventOf(&tc.decided)
		want := Event{}
		if tc.told {
			want = Event{Reason: tc.decided.Reason, Action: KindOf(tc.decided.Action), Message: tc.decided.Message}
		}
		if told != tc.told || got != want {
			t.Errorf("%s: told %t, %+v", name, told, got)
		}
	}
}

// ongoing is a part of a message that tells of something as if it were being done.
var ongoing = regexp.MustCompile(`(^|[;:,] )[a-z]+ing `)

// isToldAsDone fails for an action that is told as if it were going on. Its event, and the status
// that has the same words, are written when it has been carried out.
func isToldAsDone(t *testing.T, d *Decision) {
	t.Helper()
	if d.Action != nil && ongoing.MatchString(strings.ReplaceAll(d.Message, "nothing", "")) {
		t.Errorf("%s is told as if it were going on: %q", KindOf(d.Action), d.Message)
	}
}

func TestAnEventNamesItsMember(t *testing.T) {
	for _, a := range []Action{AddLearner{Name: "a"}, Promote{Name: "a"}, RemoveMember{Name: "a"}} {
		if e, _ := EventOf(&Decision{Action: a}); e.Member != "a" {
			t.Errorf("%s tells of member %q, want a", KindOf(a), e.Member)
		}
	}
}

// What has stalled is told with its cause.
func TestStalledIsTold(t *testing.T) {
	const want = "reconciliation is stalled: the operator's caches and the API server have disagreed for more than 1m0s: the Pods have changed"
	got := Stalled(time.Minute, errors.New("the Pods have changed"))
	messages.Note("Event "+v1beta2.ClusterReasonObservationStale, got)
	if got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A comparison gets an event only for what it has found wrong.
func TestAComparisonIsToldIfDataDiffers(t *testing.T) {
	for a, warned := range map[*RecordConsistency]bool{
		{Result: v1beta2.ResultConsistent}:    false,
		{Result: v1beta2.ResultMemberDiffers}: true,
		{Result: v1beta2.ResultNoMajority}:    true,
	} {
		if e, told := EventOf(&Decision{Action: *a}); told != warned || e.Warning != warned {
			t.Errorf("%s: told %t, %+v", a.Result, told, e)
		}
	}
	if e, told := EventOf(&Decision{Action: CompareData{}}); told {
		t.Errorf("it begins: told %+v", e)
	}
}

func TestEventsBetweenStatuses(t *testing.T) {
	paused := func() *world { return healthy(3).silent("a", "b", "c").cluster(func(c *Cluster) { c.Paused = true }) }
	away := func() *world { return healthy(3).silent("b", "c").noQuorum() }
	lost := func() *world { return healthy(3).noQuorum().dead("b", "c") }
	dead := func() *world { return healthy(3).dead("c") }
	unpulled := func() *world {
		return upgrading("3.6.99").restarting("c", "3.6.99").silent("c").pod("c", pulled)
	}
	for name, tc := range map[string]struct {
		before, after *world
		want          []string
	}{
		"as it was":                {healthy(3), healthy(3), nil},
		"the first status":         {nil, healthy(3), nil},
		"a member is down":         {healthy(3), healthy(3).silent("c"), nil},
		"the quorum is away":       {healthy(3), away(), []string{"NoQuorum warning"}},
		"it stays away":            {away(), away(), nil},
		"it is lost":               {away(), lost(), nil},
		"it comes back":            {away(), healthy(3), []string{"QuorumRegained"}},
		"it was not lost":          {lost(), healthy(3), []string{"QuorumRegained"}},
		"the first quorum":         {begun(3), healthy(3), nil},
		"paused":                   {healthy(3), paused(), nil},
		"not paused any more":      {paused(), healthy(3), []string{"Resumed"}},
		"a Service is another's":   {healthy(3), conflicted(healthy(3)), nil},
		"a budget is another's":    {healthy(3), unbudgeted(healthy(3)), []string{"NameConflict warning"}},
		"of one that is paused":    {healthy(3), unbudgeted(paused()), []string{"NameConflict warning"}},
		"it still is":              {unbudgeted(healthy(3)), unbudgeted(healthy(3)), nil},
		"paused without a quorum":  {away(), paused(), nil},
		"the quota is nearly used": {healthy(3), healthy(3).databases(80, 80), []string{"QuotaNearlyUsed warning"}},
		"it still is used":         {healthy(3).databases(80, 80), healthy(3).databases(81, 81), nil},
		"for another reason":       {healthy(3).databases(80, 80), healthy(3).databases(95, 10), []string{"FileNearQuota warning"}},
		"there is room again":      {healthy(3).databases(80, 80), healthy(3), nil},
		"an advisory applies":      {nil, allRun("3.7.0").withSecret(), []string{"VulnerableVersion warning"}},
		"a member is lost":         {healthy(3), dead(), []string{"MemberLost warning"}},
		"it is still lost":         {dead(), dead().newJoiner("d"), nil},
		"it is replaced":           {dead(), healthy(3), nil},
		"an image is not pulled":   {upgrading("3.6.99"), unpulled(), []string{"ImageNotPulled warning"}},
		"it still is not":          {unpulled(), unpulled().pod("c", func(p *Pod) { p.Trouble = "ErrImagePull: no such image" }), nil},
		"a joiner's is not":        {healthy(3).size(4), healthy(3).size(4).newJoiner("d").pod("d", func(p *Pod) { p.Node, p.Trouble, p.ImageUnavailable = "n", "ErrImagePull", true }), []string{"ImageNotPulled warning"}},
		"an alarm is raised":       {healthy(3), full(), []string{"AlarmRaised warning", "FileNearQuota warning"}},
		"of a member unknown":      {healthy(3), healthy(3).alarm(Corrupt, ""), []string{"AlarmRaised warning"}},
		"it is cleared":            {full(), healthy(3), []string{"AlarmCleared"}},
		"the seed does not run":    {strandedSeed(0), strandedSeed(strandedAge), []string{"SeedUnhealthy warning"}},
	} {
		var before Decision
		if tc.before != nil {
			before = decided(tc.before.seen())
		}
		after := decided(tc.after.seen())
		noteEvents(tc.before, tc.after)
		var got []string
		for _, e := range EventsBetween(&before.Status, &after.Status, &after) {
			if e.Message == "" || e.Action == "" {
				t.Errorf("%s: %+v", name, e)
			}
			if e.Warning {
				e.Reason += " warning"
			}
			got = append(got, e.Reason)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
