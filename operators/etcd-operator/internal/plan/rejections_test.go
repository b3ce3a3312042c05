package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const quotaWords = "exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10"

// rejected are Pods that the API server has refused just now.
func (w *world) rejected(role Role, names ...string) *world {
	for _, name := range names {
		r := RejectedPod(NewPod{Name: name, Role: role}, false)
		r.Words, r.Generation = quotaWords, w.o.Cluster.Generation
		w.o.Rejections, _ = Reject(w.o.Rejections, r, now)
	}
	return w
}

// later is the same after some time.
func (w *world) later(d time.Duration) *world {
	for i := range w.o.Rejections {
		w.o.Rejections[i].Until = w.o.Rejections[i].Until.Add(-d)
	}
	return w
}

func TestARefusalSilencesNoOtherRule(t *testing.T) {
	rows{
		"no joiner's Pod is created while the API server refuses them": {
			reason: "each try is a request, and makes a volume",
			seen:   healthy(3).size(5).rejected(Joiner, "r"), because: v1beta2.ClusterReasonPodRejected,
		},
		"it is tried again after a pause": {
			reason: "a quota may have room again", seen: healthy(3).size(4).rejected(Joiner, "r").later(firstPause),
			do: create(NewPod{Name: "r", Role: Joiner}), because: "CreatingMembers",
		},
		"it is tried again at once when the spec is edited": {
			reason: "the edit may mend it", seen: healthy(3).size(4).rejected(Joiner, "r").cluster(func(c *Cluster) { c.Generation++ }),
			do: create(NewPod{Name: "r", Role: Joiner}), because: "CreatingMembers",
		},
		"the volume of a Pod that was refused is used by the next try": {
			reason: "volumes do not multiply", seen: healthy(3).volumes().size(5).claim("r").rejected(Joiner, "r").later(firstPause),
			do: create(NewPod{Name: "r", Role: Joiner}, NewPod{Name: "n1", Role: Joiner}), because: "CreatingMembers",
		},
		"the volume of a Pod that was refused stays for the next try": {
			reason: "it is of no use to delete it and to recreate it", seen: healthy(3).volumes().size(5).claim("r").rejected(Joiner, "r"),
			because: v1beta2.ClusterReasonPodRejected,
		},
		"the volume of a Pod that was refused is deleted when none is wanted": {
			reason: "it is no member's", seen: healthy(3).volumes().claim("r").rejected(Joiner, "r"), do: discardClaim("r"), because: "DeletingVolume",
		},
		"the name of a Pod that was refused is not used when it is a member's": {
			reason: "S2: a name belongs to one member", seen: healthy(3).size(4).voter("r").gone("r").size(5).rejected(Joiner, "r").later(firstPause),
			do: create(NewPod{Name: "n1", Role: Joiner}, NewPod{Name: "n2", Role: Joiner}), because: "CreatingMembers",
		},
		"nor when it is one's in a list that is outdated": {
			reason: "S7: that member had data, or may have some", do: create(NewPod{Name: "n1", Role: Joiner}), because: "CreatingMembers",
			seen: func() *world {
				w := healthy(3).size(4).rejected(Joiner, "r").later(firstPause).answer("c", func(a *Answer) { a.Applied = 0 })
				return w.tells("c", append(slices.Clone(w.list), Member{ID: id("r"), Name: "r", Started: true}))
			}(),
		},
		"a seed is latched while joiners are refused": {
			reason: "S1: what serves is the cluster",
			seen:   begun(3).voter("a").role("a", Seed).rejected(Joiner, "r"), do: exactly(LatchClusterID{ClusterID: theCluster}), because: "Bootstrapped",
		},
		"a member gets its role while joiners are refused": {
			reason: "clients find it", seen: healthy(3).size(5).role("c", Joiner).rejected(Joiner, "r"), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a learner is promoted while other joiners are refused": {
			reason: "it is there", seen: healthy(3).size(5).learner("d").rejected(Joiner, "r"), do: promoteOf("d"), because: "MemberPromoted",
		},
		"a learner that catches up is looked at as often while other joiners are refused": {
			reason: "no watch reports it", because: "WaitingForMember",
			seen: healthy(3).size(5).learner("d").answer("d", func(a *Answer) { a.Applied = 0 }).rejected(Joiner, "r"),
		},
		"a leftover volume is deleted while joiners are refused": {
			reason: "it is no member's", seen: healthy(3).volumes().size(5).claim("x").rejected(Joiner, "r"), do: discardClaim("x"), because: "DeletingVolume",
		},
		"a lost member stays while its replacement is refused": {
			reason: "S4: a replacement that can't be created is not coming", seen: healthy(3).dead("c").rejected(Joiner, "r"), because: "ReplacingDeadMember",
		},
		"no member is restarted while joiners are refused": {
			reason: "S6", seen: healthy(3).size(5).rejected(Joiner, "r").cluster(func(c *Cluster) { c.WantedVersion = "3.6.50" }), because: v1beta2.ClusterReasonPodRejected,
		},
		"nothing is done while the seed's Pod is refused": {
			reason: "S1: there is nothing to do without it", seen: begun(3).rejected(Seed, "a"), because: v1beta2.ClusterReasonPodRejected,
		},
		"a member's Pod is created again though another one's is refused": {
			reason: "each one that returns helps", seen: healthy(5).volumes().gone("b", "c").rejected(Returning, "b"),
			do: returning("c"), because: "RestartingMember",
		},
		"a refused Pod of a member is waited for, and nothing is done to the others": {
			reason: "S6", seen: healthy(3).volumes().gone("b").rejected(Returning, "b"), because: "WaitingForMember",
		},
		"no quorum is waited for while the Pods of members are refused": {
			reason: "S7", seen: healthy(3).volumes().gone("b", "c").rejected(Returning, "b", "c").noQuorum(), because: "NoQuorum",
		},
		"the next leftover is deleted though one can't be": {
			reason: "an admission policy denies the first",
			seen: func() *world {
				w := healthy(3).volumes().claim("x").claim("y")
				r := RejectionOf(DeleteClaim{}, "x")
				return w.rejectedEffect(r)
			}(),
			do: discardClaim("y"), because: "DeletingVolume",
		},
		"one role is rejected, and the others are set": {
			reason: "clients can reach the other member", do: setRole("b", Voter), because: "SettingRoles",
			seen: healthy(3).role("b", Joiner).role("c", Joiner).rejectedEffect(RejectionOf(SetRoles{}, "c")),
		},
		"a rejected role does not hold up growth": {
			reason: "nothing needs the label", do: createJoiners2(), because: "CreatingMembers",
			seen: healthy(3).size(5).role("c", Joiner).rejectedEffect(RejectionOf(SetRoles{}, "c")),
		},
		"without other work, the next try of a rejected role is waited for": {
			reason: "the next try is due soon", because: v1beta2.ClusterReasonActionRejected,
			seen: healthy(3).role("c", Joiner).rejectedEffect(RejectionOf(SetRoles{}, "c")),
		},
		"an ended Pod that can't be deleted does not keep other members from returning": {
			reason: "the Pod of b exists, and the Pod of c is missing", do: create(NewPod{Name: "c", Role: Returning}), because: "RestartingMember",
			seen: healthy(5).volumes().finished("b").gone("c").rejectedEffect(RejectionOf(DeletePod{}, "b")),
		},
		"the owner of one PVC can't be changed": {
			reason: "members return", do: create(NewPod{Name: "c", Role: Returning}), because: "RestartingMember",
			seen: healthy(3).volumes().gone("c").cluster(func(c *Cluster) { c.Retain = true }).
				rejectedEffect(RejectionOf(KeepClaims{}, "a"), RejectionOf(KeepClaims{}, "b"), RejectionOf(KeepClaims{}, "c")),
		},
		"the status can't be written": {
			reason: "S1: no Pod is created under a name that is not recorded", because: v1beta2.ClusterReasonActionRejected,
			seen: nothing(3).rejectedEffect(Rejection{Kind: "WriteStatus"}),
		},
		"a leftover Pod that can't be deleted does not stop an upgrade": {
			reason: "the Pod is not a member", do: setRole("b", Restarting), because: "UpgradingMember",
			seen: upgrading("3.7.3").joiner("d").role("d", Leaving).rejectedEffect(RejectionOf(DeletePod{}, "d")),
		},
		"a leftover Pod that is being deleted is waited for, although its deletion was rejected before": {
			reason: "a later try was accepted", because: "DeletingPod",
			seen: upgrading("3.7.3").joiner("d").role("d", Leaving).deleting("d").rejectedEffect(RejectionOf(DeletePod{}, "d")),
		},
		"a member whose image can't be changed serves clients": {
			reason: "clients reach the member until the next try", do: setRole("b", Voter), because: "SettingRoles",
			seen: upgrading("3.7.3").aside("b").rejectedEffect(RejectionOf(ChangeImage{}, "b")),
		},
		"a member whose Pod can't be deleted for a restart serves clients": {
			reason: "clients reach the member until the next try", do: setRole("b", Voter), because: "SettingRoles",
			seen: upgrading("3.7.3").aside("b").rejectedEffect(RejectionOf(RecreatePod{}, "b")),
		},
		"a new member follows, though one for the old template can't be deleted": {
			reason: "the lost member is replaced", do: create(joiners(1)...), because: "CreatingMembers",
			seen: healthy(3).dead("c").joiner("d").template("d", "old").rejectedEffect(RejectionOf(DeletePod{}, "d")),
		},
		"four leftovers that can't be deleted are enough": {
			reason: "the retries of many would be more than six requests a minute", because: v1beta2.ClusterReasonActionRejected,
			seen: healthy(3).volumes().claim("v").claim("w").claim("x").claim("y").claim("z").
				rejectedEffect(RejectionOf(DeleteClaim{}, "v"), RejectionOf(DeleteClaim{}, "w"), RejectionOf(DeleteClaim{}, "x"), RejectionOf(DeleteClaim{}, "y")),
		},
		"no voter is removed while the status can't be written": {
			reason: "the status says who the voters are when no member answers", because: "ReplacingDeadMember",
			seen: healthy(3).dead("c").joiner("d").rejectedEffect(Rejection{Kind: "WriteStatus"}).later(longestPause),
		},
		"members return though the status can't be written": {
			reason: "a return is not recorded", do: create(NewPod{Name: "c", Role: Returning}), because: "RestartingMember",
			seen: healthy(3).volumes().gone("c").rejectedEffect(Rejection{Kind: "WriteStatus"}),
		},
	}.run(t)
}

// rejectedEffect makes the API server reject these effects now.
func (w *world) rejectedEffect(effects ...Rejection) *world {
	for _, r := range effects {
		r.Words, r.Generation = quotaWords, w.o.Cluster.Generation
		w.o.Rejections, _ = Reject(w.o.Rejections, r, now)
	}
	return w
}

// A refusal shows in Degraded with the API server's words, and in nothing that changes
// from try to try.
func TestARefusalIsSaid(t *testing.T) {
	degraded := func(o Observation) (status, reason, message string) {
		for _, c := range decided(o).Status.Conditions {
			if c.Type == v1beta2.ConditionDegraded {
				return string(c.Status), c.Reason, c.Message
			}
		}
		return "", "", ""
	}
	w := healthy(3).size(5).rejected(Joiner, "random")
	status, reason, message := degraded(w.seen())
	if status != "True" || reason != v1beta2.ClusterReasonPodRejected || !strings.Contains(message, quotaWords) || strings.Contains(message, "random") {
		t.Errorf("Degraded is %s, %s: %s", status, reason, message)
	}
	if requeueAfter := decided(w.seen()).RequeueAfter; requeueAfter > firstPause {
		t.Errorf("the cluster is looked at after %s, want the next try after %s", requeueAfter, firstPause)
	}
	if _, _, due := degraded(w.later(firstPause).seen()); due != message {
		t.Errorf("when the next try is due it says %q, want %q still", due, message)
	}
	if status, reason, _ := degraded(w.size(3).seen()); status != "False" {
		t.Errorf("Degraded is %s, %s when nobody wants the Pod any more", status, reason)
	}
}

// A member that waits for its Pod shows why the API server rejects it.
func TestARejectedReturnIsSaid(t *testing.T) {
	d := decided(healthy(3).volumes().gone("b").rejected(Returning, "b").seen())
	if want := "b: its Pod is missing and cannot be created: " + quotaWords; !strings.Contains(d.Message, want) {
		t.Errorf("got %q, want %q in it", d.Message, want)
	}
}

// Tries become rare, and what is remembered is bounded.
func TestReject(t *testing.T) {
	r := RejectedPod(NewPod{Name: "r", Role: Joiner}, false)
	r.Generation = 1
	var all []Rejection
	at := now
	var pauses []time.Duration
	for i := range 10 {
		var news bool
		all, news = Reject(all, r, at)
		if news != (i == 0) {
			t.Errorf("try %d: news is %t", i+1, news)
		}
		pauses = append(pauses, all[0].Until.Sub(at))
		at = all[0].Until
	}
	if pauses[0] != firstPause || pauses[1] != 2*firstPause || pauses[9] != longestPause {
		t.Errorf("the pauses are %v", pauses)
	}
	r.Generation++
	if _, news := Reject(all, r, at); !news {
		t.Error("a refusal of another spec is no news")
	}
	r.Generation--
	if _, news := Reject(all, r, at.Add(time.Hour)); !news {
		t.Error("a refusal of what was not tried for an hour is no news")
	}
	if left := Accept(all, CreatePods{Pods: []NewPod{{Name: "n1", Role: Joiner}}}); len(left) != 0 {
		t.Errorf("%v is still known after a Pod was accepted", left)
	}
	if left := Accept(all, CreatePods{Pods: []NewPod{{Name: "a", Role: Returning}}}); len(left) != 1 {
		t.Errorf("%v is known after another Pod was accepted, want the refusal", left)
	}
	for i := range 100 {
		all, _ = Reject(all, RejectedPod(NewPod{Name: strings.Repeat("x", i), Role: Returning}, false), at)
	}
	if len(all) != maxRejections || len(all[maxRejections-1].Name) != 99 {
		t.Errorf("%d are remembered, the last of %q; want %d, the last of the 100th", len(all), all[len(all)-1].Name, maxRejections)
	}
	unwritten := []Rejection{{Kind: "WriteStatus"}}
	if left := Accept(unwritten, RecordBootstrap{}); len(left) != 1 {
		t.Error("the status counts as written after an action, want that its rejection is still known")
	}
}

// What an event says of an action that the API server refuses.
func TestRefusedActionsAreDescribed(t *testing.T) {
	refused := map[string]Rejection{
		"create the PVC of a new member":     RejectedPod(NewPod{Name: "example-d", Role: Joiner}, true),
		"create the PVC of the first member": RejectedPod(NewPod{Name: "example-a", Role: Seed}, true),
		"create PVC example-c":               RejectedPod(NewPod{Name: "example-c", Role: Returning}, true),
	}
	for does, a := range map[string]Action{
		"annotate Pod example-c":            GrantStartPermit{Name: "example-c"},
		"annotate Pod example-b":            RevokeStartPermits{Pods: []PodRef{{Name: "example-b"}}},
		"change the image of Pod example-c": ChangeImage{Name: "example-c"},
		"change the owner of PVC example-c": KeepClaims{Claims: []ClaimRef{{Name: "example-c"}}},
		"create the Pod of a new member":    CreatePods{Pods: []NewPod{{Name: "example-d", Role: Joiner}}},
		"create Pod example-c":              CreatePods{Pods: []NewPod{{Name: "example-c", Role: Returning}}},
		"delete PVC example-c":              DeleteClaim{Name: "example-c"},
		"delete Pod example-c":              DeletePod{Name: "example-c"},
		"expand PVC example-c":              GrowClaim{Name: "example-c"},
		"label Pod example-c":               SetRoles{Roles: []PodRole{{Name: "example-c"}}},
	} {
		refused[does] = Effects(a)[0]
	}
	refused["update the status of the EtcdCluster"] = Rejection{Kind: "WriteStatus"}
	for does, r := range refused {
		r.Words = quotaWords
		reason, message := r.Describe()
		messages.Note("Event "+reason, message)
		if want := "cannot " + does + ": " + quotaWords + "; the operator retries at least every 2m0s"; message != want {
			t.Errorf("%s: it says %q, want %q", r.Kind, message, want)
		}
	}
}

// Messages never contain the name of an action's type, and name an object only if the action has one. Actions
// that only write the status are exempt, because the rejected effect is the write of the status.
func TestEveryRejectedActionIsDescribed(t *testing.T) {
	withObject := []Action{
		AddLearner{}, ChangeImage{}, Defragment{}, DeleteClaim{}, DeletePod{}, DropSeed{}, GrantStartPermit{}, GrowClaim{}, KeepClaims{}, Promote{},
		RecreatePod{}, RemoveMember{}, RevokeStartPermits{}, RevokeSurvivorPermit{}, SetRoles{},
	}
	without := []Action{
		AdoptSeed{}, AdoptSurvivor{}, AdvanceLog{}, CancelDowngrade{}, Compact{}, DisarmAlarm{}, EnableDowngrade{}, RecordBootstrap{}, RecordSurvivor{},
		TakeClaims{}, TransferLeadership{},
	}
	for i, a := range slices.Concat(withObject, without) {
		r := RejectionOf(a, "example-c")
		r.Words = quotaWords
		reason, message := r.Describe()
		messages.Note("Event "+reason, message)
		if named := strings.Contains(message, "example-c"); named != (i < len(withObject)) || strings.Contains(message, r.Kind) {
			t.Errorf("%s: got %q, want the name of an object: %t", r.Kind, message, !named)
		}
	}
}

// A status that cannot be written is not decided on again at once.
func TestNoHotLoopWithoutAStatus(t *testing.T) {
	for name, w := range map[string]*world{
		"a loss must be recorded":  lost(),
		"the CAs must be recorded": nothing(3).secure(func(t *TLS) { t.Trust = "new" }),
	} {
		if d := decided(w.rejectedEffect(Rejection{Kind: "WriteStatus"}).seen()); d.RequeueAfter < firstPause {
			t.Errorf("%s: got a next look after %s, want at least %s", name, d.RequeueAfter, firstPause)
		}
	}
}
