package runbook

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// answer is that of a voter of a cluster that is well.
func answer(change func(*etcdclient.Answer)) etcdclient.Answer {
	a := etcdclient.Answer{Reached: true, Read: true, MemberID: 1, Leader: 1, RaftIndex: 9000, AppliedIndex: 9000, DBSize: 60, DBSizeInUse: 50, Quota: 100}
	if change != nil {
		change(&a)
	}
	return a
}

// asked is a cluster without any condition, whose members answer so.
func asked(answers ...etcdclient.Answer) Seen {
	s := Seen{Cluster: cluster(), Now: now, Answers: map[string]etcdclient.Answer{}}
	for i, a := range answers {
		s.Answers["example-"+string(rune('a'+i))] = a
	}
	return s
}

// allWrong is a cluster of which etcd tells all that it can.
func allWrong() Seen {
	s := asked(answer(func(a *etcdclient.Answer) {
		a.Read = false
		a.Alarms = []etcdclient.Alarm{{Kind: etcdclient.NoSpace, MemberID: 1}, {Kind: etcdclient.Corrupt}}
	}))
	s.Slow, s.Differs = map[string][]string{"example-a": {"slow"}}, "the hashes are different"
	near := asked(answer(func(a *etcdclient.Answer) { a.DBSizeInUse = 80 }), answer(func(a *etcdclient.Answer) { a.Refused, a.RefusedBecause = etcdclient.NotRoot, "no role" }))
	for name, a := range near.Answers {
		s.Answers["near-"+name] = a
	}
	return s
}

func TestToldByEtcd(t *testing.T) {
	voter := answer(nil)
	silent := etcdclient.Answer{Trouble: "connection refused"}
	with := func(change func(*etcdclient.Answer)) Seen { return asked(voter, answer(change)) }
	for name, row := range map[string]struct {
		reason string
		seen   Seen
		want   map[string]string
	}{
		"healthy":       {reason: "nothing is wrong", seen: asked(voter, voter, voter)},
		"nobody asked":  {reason: "nothing is known", seen: asked()},
		"one is silent": {reason: "the others have a quorum, and the operator looks after it", seen: asked(voter, voter, silent)},
		"all silent":    {reason: "they might just be out of reach from here", seen: asked(silent, silent)},
		"no quorum": {
			reason: "a voter answers, and a quorum does not answer it",
			seen:   asked(answer(func(a *etcdclient.Answer) { a.Read = false }), silent, silent),
			want:   map[string]string{"no-quorum": "no member serves linearizable reads: a majority of the voters is down, or cannot be reached by the others"},
		},
		"a learner alone": {reason: "it never reads by a quorum", seen: asked(answer(func(a *etcdclient.Answer) { a.Learner, a.Read = true, false }))},
		"refused": {
			reason: "a reason of its own not to read",
			seen: asked(answer(func(a *etcdclient.Answer) {
				a.Read, a.Refused, a.RefusedBecause = false, etcdclient.NotRoot, "root lacks the role root"
			})),
			want: map[string]string{"credentials": "etcd's authentication refuses the operators' user: example-a: root lacks the role root"},
		},
		"no space": {
			reason: "each member knows of the alarm; of space that is low nothing more is said",
			seen: asked(answer(func(a *etcdclient.Answer) {
				a.DBSize, a.Alarms = 100, []etcdclient.Alarm{{Kind: etcdclient.NoSpace, MemberID: 1}}
			})),
			want: map[string]string{"no-space": "etcd refuses writes: a database has reached its quota (example-a)"},
		},
		"corrupt, of nobody": {
			reason: "etcd 3.5 does not say whose data it is",
			seen:   with(func(a *etcdclient.Answer) { a.Alarms = []etcdclient.Alarm{{Kind: etcdclient.Corrupt}} }),
			want:   map[string]string{"corrupt": "etcd refuses writes: a member's data differs"},
		},
		"a member that is unknown": {
			reason: "its id is told",
			seen:   with(func(a *etcdclient.Answer) { a.Alarms = []etcdclient.Alarm{{Kind: etcdclient.Corrupt, MemberID: 255}} }),
			want:   map[string]string{"corrupt": "etcd refuses writes: a member's data differs (00000000000000ff)"},
		},
		"in use":          {reason: "80 % is the operator's own limit", seen: with(func(a *etcdclient.Answer) { a.DBSizeInUse = 80 }), want: map[string]string{"space-low": "at the quota etcd refuses all writes: example-b: 80 % of it is in use"}},
		"less is in use":  {reason: "79 %", seen: with(func(a *etcdclient.Answer) { a.DBSizeInUse, a.DBSize = 79, 94 })},
		"a big file":      {reason: "much of it is free", seen: with(func(a *etcdclient.Answer) { a.DBSize = 95 }), want: map[string]string{"space-low": "at the quota etcd refuses all writes: example-b: its file has 95 % of it, of which a defragmentation frees some"}},
		"no quota told":   {reason: "etcd before 3.6", seen: with(func(a *etcdclient.Answer) { a.Quota, a.DBSize = 0, 1<<40 })},
		"behind":          {reason: "etcd refuses requests at that", seen: with(func(a *etcdclient.Answer) { a.AppliedIndex = 3999 }), want: map[string]string{"slow-members": "example-b: it has 5001 committed entries still to apply; kubectl etcd check example measures all members"}},
		"a little behind": {reason: "it catches up", seen: with(func(a *etcdclient.Answer) { a.AppliedIndex = 4000 })},
		"a new learner":   {reason: "it gets its data first", seen: with(func(a *etcdclient.Answer) { a.Learner, a.AppliedIndex = true, 1 })},
		"slow": {
			reason: "metrics tell of it",
			seen:   Seen{Cluster: cluster(), Slow: map[string][]string{"example-b": {"a slow log", "a slow network"}, "example-a": {"a slow log"}}},
			want:   map[string]string{"slow-members": "example-a: a slow log; example-b: a slow log, a slow network; kubectl etcd check example measures all members"},
		},
		"differs": {reason: "data was compared", seen: Seen{Cluster: cluster(), Differs: "a: 1; b: 2"}, want: map[string]string{"inconsistent": "clients read different values from different members: a: 1; b: 2"}},
	} {
		row.seen.Now = now
		got := map[string]string{}
		for _, f := range Diagnose(row.seen) {
			got[f.Runbook] = f.Message
		}
		if len(got)+len(row.want) > 0 && !maps.Equal(got, row.want) {
			t.Errorf("%s: %s (-want +got):\n%s", name, row.reason, cmp.Diff(row.want, got))
		}
	}
}

// What a condition says already is told in its words, and what can lose data comes first.
func TestToldOnce(t *testing.T) {
	s := allWrong()
	s.Cluster = cluster(condition("Available", "False", "NoSpace", "the operator's words", 0))
	var got []string
	for _, f := range Diagnose(s) {
		got = append(got, f.Runbook)
		if f.Runbook == "no-space" && f.Message != "the operator's words" {
			t.Errorf("%+v", f)
		}
	}
	if want := "inconsistent corrupt no-space credentials slow-members"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Alarms are those of the status until etcd is asked.
func TestAlarms(t *testing.T) {
	s := asked(etcdclient.Answer{Trouble: "connection refused"})
	s.Cluster.Status.Alarms = []v1beta2.AlarmStatus{{Kind: "NOSPACE", Member: "example-a"}}
	if got := s.Alarms(); len(got) != 1 {
		t.Errorf("of members that do not answer: %v", got)
	}
	s.Answers["example-b"] = answer(nil)
	if got := s.Alarms(); len(got) != 0 {
		t.Errorf("etcd tells of none: %v", got)
	}
}

// The page about space has the limits that are used here.
func TestSpaceAgrees(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tasks/space.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| `QuotaNearlyUsed` | 80 % of the quota is in use |", "| `FileNearQuota` | a database's file has 95 % of the quota"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("docs/tasks/space.md does not say %q", want)
		}
	}
}
