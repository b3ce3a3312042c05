package simulate

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// TestOracleBelievesTheNewestRead: members apply a change of alarms, or of members, one after
// the other. The oracle judges a Decision by the one that has applied the most, whatever
// order their Pods come in.
func TestOracleBelievesTheNewestRead(t *testing.T) {
	list := []facts.Member{{ID: 10, Name: "a", Started: true}, {ID: 11, Name: "b", Started: true}, {ID: 12, Name: "c", Started: true}}
	two := list[:2]
	corrupt := func(id uint64) []facts.Alarm { return []facts.Alarm{{MemberID: id, Kind: facts.Corrupt}} }
	removeC := action.RemoveMember{ID: 12, Name: "c", Members: list}
	addD := action.AddLearner{Name: "d", Members: two}
	for name, tc := range map[string]struct {
		reason        string
		older, newest []facts.Alarm
		// members is what all list; earlier, if set, what the older one does.
		members, earlier []facts.Member
		action           action.Action
		want             string
	}{
		"an alarm that is raised just now": {
			reason: "who has applied it knows that c is corrupt", newest: corrupt(12), members: list, action: removeC,
		},
		"an alarm that was disarmed just now": {
			reason: "c is an honest member again, and merely does not answer", older: corrupt(12), members: list, action: removeC, want: "S9",
		},
		"one is added when the alarm is disarmed": {
			reason: "both voters are healthy", older: corrupt(11), members: two, action: addD,
		},
		"none is added when it is raised": {
			reason: "one of two voters is healthy", newest: corrupt(11), members: two, action: addD, want: "S3",
		},
		"a list that is over": {
			reason: "c is in it no more", members: two, earlier: list, action: removeC, want: "S3",
		},
	} {
		for _, order := range []string{"ab", "ba"} {
			t.Run(name+", "+order, func(t *testing.T) {
				answer := func(id, applied uint64, alarms []facts.Alarm, members []facts.Member) facts.Answer {
					return facts.Answer{
						Reached: true, Read: true, ClusterID: 1, MemberID: id, Leader: 10, Term: 2, Applied: applied,
						Version: "3.6.16", Alarms: alarms, Members: members,
					}
				}
				older := tc.members
				if tc.earlier != nil {
					older = tc.earlier
				}
				o := facts.Observation{
					Now: epoch, Cluster: facts.Cluster{ClusterID: 1, Size: 3, MemberTimeout: time.Minute},
					Pods: []facts.Pod{
						{Name: "a", Role: facts.Voter, Node: "n0", Answer: answer(10, 100, tc.older, older)},
						{Name: "b", Role: facts.Voter, Node: "n1", Answer: answer(11, 101, tc.newest, tc.members)},
						{Name: "c", Role: facts.Voter, Node: "n2"},
						{Name: "d", Role: facts.Joiner, Node: "n3", Addressed: true, Answer: facts.Answer{Waiting: true}},
					},
				}
				if order == "ba" {
					slices.SortFunc(o.Pods[:2], func(a, b facts.Pod) int { return cmp.Compare(b.Name, a.Name) })
				}
				got := ""
				if v := CheckDecision(o, plan.Decision{Action: tc.action, RequeueAfter: time.Second, Reason: "Test", Message: "test"}); v != nil {
					got = v.Invariant
				}
				if got != tc.want {
					t.Errorf("the oracle finds %q, want %q: %s", got, tc.want, tc.reason)
				}
			})
		}
	}
}

// TestAnAnswerExcusesForALimitedTime: what members told excuses an effect within the deadline of an
// action, also one that lands later.
func TestAnAnswerExcusesForALimitedTime(t *testing.T) {
	heard := &asked{at: time.Minute}
	for name, tc := range map[string]struct {
		todo    todo
		acting  *shipped
		excuses bool
		reason  string
	}{
		"at once":         {todo{asked: heard}, &shipped{calledAt: time.Minute}, true, "it was looked right before"},
		"in time":         {todo{asked: heard}, &shipped{calledAt: time.Minute + actionTime}, true, "the action may last so long"},
		"too late":        {todo{asked: heard}, &shipped{calledAt: time.Minute + actionTime + 1}, false, "no action lasts so long"},
		"nobody asked":    {todo{}, &shipped{calledAt: time.Minute}, false, "nothing was told"},
		"the model's own": {todo{asked: heard}, nil, false, "it does not ask"},
	} {
		w := &world{acting: tc.acting, now: time.Hour}
		if got := w.askedBefore(&tc.todo) != nil; got != tc.excuses {
			t.Errorf("%s: it excuses is %v: %s", name, got, tc.reason)
		}
	}
}
