package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// refused is what members tell an operator whom etcd's authentication does not know:
// that they serve, and no more.
func (w *world) refused(why Refusal, names ...string) *world {
	w.reported()
	for _, name := range names {
		w.answer(name, func(a *Answer) { *a = Answer{Read: true, Refused: why, RefusedBecause: theRefusal} })
	}
	return w
}

// powerless is what members tell a user without the role root: all, and they do nothing.
func (w *world) powerless() *world {
	w.reported()
	for i := range w.o.Pods {
		if a := &w.o.Pods[i].Answer; a.Reached {
			a.Refused = NotRoot
		}
	}
	return w
}

// reported has the members in the last status.
func (w *world) reported() {
	var details []v1beta2.MemberDetail
	for _, m := range w.list {
		if !m.Learner {
			details = append(details, v1beta2.MemberDetail{Name: m.Name, Role: v1beta2.MemberVoter})
		}
	}
	w.o.Cluster.LastStatus.MemberDetails, w.o.Cluster.LastStatus.Size = details, len(details)
}

func (w *world) secret(name string) *world {
	return w.cluster(func(c *Cluster) { c.RootSecret = name })
}

func TestAuthentication(t *testing.T) {
	all := []string{"a", "b", "c"}
	missing, invalid := v1beta2.ConditionCredentialsMissing, v1beta2.ConditionCredentialsInvalid
	rows{
		"a cluster that etcd hides serves on": {
			reason: "nothing is known, and nothing is done",
			seen:   healthy(3).refused(NoCredentials, all...), because: missing,
		},
		"wrong credentials are told apart": {
			reason: "there are some, and others are to be written",
			seen:   healthy(3).secret("s").refused(WrongCredentials, all...), because: invalid,
		},
		"nothing is added without credentials": {
			reason: "etcd would refuse it",
			seen:   healthy(3).size(5).refused(NoCredentials, all...).joiner("d"), because: missing,
		},
		"nothing is added by who is not root": {
			reason: "etcd tells who the members are, and would refuse the change",
			seen:   healthy(3).size(5).powerless().joiner("d"), because: invalid,
		},
		"a member that is lost is not given up meanwhile": {
			reason: "nobody knows who leads, and its Pod may be what was never a member",
			seen:   healthy(3).dead("c").refused(NoCredentials, "a", "b").joiner("d"), because: missing,
		},
		"a member whose node seems gone, and that refuses, is alive": {
			reason: "who refuses lives, as who answers does (S9)",
			seen:   healthy(3).refused(WrongCredentials, "c").pod("c", func(p *Pod) { p.NodeLostSince = old }).joiner("d"),
			do:     discard("d"), because: "DeletingPod",
		},
		"one that refuses for a moment holds nobody up": {
			reason: "its token is new; a quorum of the others knows the operator",
			seen:   healthy(3).refused(WrongCredentials, "c").dead("d"), because: "WaitingForMember",
		},
		"a Pod is recreated on its volume": {
			reason: "it needs no word of etcd's",
			seen:   healthy(3).volumes().gone("c").refused(NoCredentials, "a", "b"),
			do:     returning("c"), because: "RestartingMember",
		},
		"clients find a voter again that has come back": {
			reason: "the cluster serves on, also when all Pods were recreated",
			seen:   healthy(3).volumes().refused(NoCredentials, all...).role("b", Returning),
			do:     setRole("b", Voter), because: "SettingRoles",
		},
		"clients find a voter again that was about to be restarted": {
			reason: "it will not be, for now",
			seen:   healthy(3).refused(NoCredentials, all...).role("b", Restarting),
			do:     setRole("b", Voter), because: "SettingRoles",
		},
		"not one that does not serve": {
			reason: "it may be without a quorum, or a learner",
			seen: healthy(3).volumes().refused(NoCredentials, all...).role("b", Returning).
				answer("b", func(a *Answer) { a.Read = false }), because: missing,
		},
		"not one that was no voter when that could be told last": {
			reason: "whose it is is not known",
			seen:   healthy(3).volumes().refused(NoCredentials, all...).role("b", Returning).lastStatus(v1beta2.ClusterStatus{MemberDetails: []v1beta2.MemberDetail{{Name: "a", Role: v1beta2.MemberVoter}}}), because: missing,
		},
		"without a quorum that comes first": {
			reason: "nobody serves: credentials would not help",
			seen: healthy(3).silent("b", "c").refused(NoCredentials, "a").
				answer("a", func(a *Answer) { a.Read = false }), because: "NoQuorum",
		},
		"room is made for a voter without a quorum": {
			reason: "healing on volumes needs no credentials",
			seen: healthy(3).volumes().silent("c").refused(NoCredentials, "a").answer("a", func(a *Answer) { a.Read = false }).
				pod("b", unschedulable).pod("b", func(p *Pod) { p.Created = now.Add(-time.Second) }).joiner("d"),
			do: restart("d"), because: "MakingRoom",
		},
		"with credentials all goes on": {
			reason: "as if nothing were",
			seen:   healthy(3).secret("s"), because: "UpToDate",
		},
	}.run(t)
}

// Available tells of clients, who are served; of members nothing is made up.
func TestStatusWithoutCredentials(t *testing.T) {
	d := decided(healthy(3).refused(NoCredentials, "a", "b", "c").role("c", Returning).role("c", Voter).seen())
	want := []string{
		"Available=True Serving", "Progressing=False CredentialsMissing", "Degraded=Unknown CredentialsMissing", "Scaling=False AtSize",
		"Recovering=False NothingToRecover", "Upgrading=False AtVersion", "Paused=False NotPaused", "CredentialsMissing=True CredentialsMissing",
	}
	if diff := cmp.Diff(want, said(d.Status)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if s := d.Status; s.Size != 3 || len(s.MemberDetails) != 3 || !slices.Equal(s.Members.Ready, []string{"a", "b", "c"}) || len(s.Members.Unready) > 0 || s.Phase != v1beta2.PhaseRunning {
		t.Errorf("the status is %+v, want who was there last, all of them ready", s)
	}
	if d.SkipChildren || d.Budget != KeepBudget || !d.Outcome.AwaitsUser() {
		t.Errorf("%+v: Services are looked after, and the budget is left", d)
	}

	d = decided(healthy(3).powerless().seen())
	if s := d.Status; len(s.Members.Ready) != 3 || s.Leader != "a" || !slices.Contains(said(s), "CredentialsInvalid=True CredentialsInvalid") {
		t.Errorf("a user that is not root: %+v", s)
	}
}

// Each message names what to write, and where.
func TestWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		seen *world
		want []string
	}{
		"no Secret is named":      {healthy(1).refused(NoCredentials, "a"), []string{"kubernetes.io/basic-auth", "keys username and password", "role root", "set spec.auth.rootSecret"}},
		"the Secret has nothing":  {healthy(1).secret("s").refused(NoCredentials, "a"), []string{"Secret s", "password", theRefusal}},
		"the password is wrong":   {healthy(1).secret("s").refused(WrongCredentials, "a"), []string{"Secret s", "right username", theRefusal}},
		"the user is not root":    {healthy(1).secret("s").powerless(), []string{"lacks the role root: grant it", "Secret s"}},
		"a seed that is restored": {offered().refused(NoCredentials, "s"), []string{"seed s", "set spec.auth.rootSecret"}},
	} {
		d := decided(tc.seen.seen())
		for _, words := range tc.want {
			if !strings.Contains(d.Message, words) {
				t.Errorf("%s: %s: %s; want %q in it", name, d.Reason, d.Message, words)
			}
		}
	}
}

// A restore's seed has the snapshot's users: it is adopted when it may be asked.
func TestASeedThatRefusesIsNotAdopted(t *testing.T) {
	d := decided(offered().refused(WrongCredentials, "s").secret("s").seen())
	if d.Action != nil || d.Reason != "Fenced" || !d.SkipChildren {
		t.Errorf("it is %v, %s: %s; want a wait", d.Action, d.Reason, d.Message)
	}
	if _, adopted := decided(offered().seen()).Action.(AdoptSeed); !adopted {
		t.Error("with credentials it is not adopted either")
	}
}

const theRefusal = "etcdserver: authentication failed, invalid user ID or password"
