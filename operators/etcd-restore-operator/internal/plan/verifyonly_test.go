package plan

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// isOver is true of the phases that nothing comes after.
func isOver(p v1beta2.RestorePhase) bool {
	return p == v1beta2.RestoreComplete || p == v1beta2.RestoreFailed || p == v1beta2.RestoreVerified
}

// harmless are the kinds of the only actions that a restore may ask for that only
// verifies: it is written here a second time, by name, so that the planner's own list has
// a witness.
var harmless = []string{"StartJob", "DeleteJob", "RemoveFinalizer"}

// verifyOnly is the oracle's part for a restore that only verifies.
func (j *judge) verifyOnly() {
	if !j.Restore.Spec.VerifyOnly {
		return
	}
	if j.Action != nil && !slices.Contains(harmless, j.Action.Kind()) {
		j.complain("%s although the restore only verifies", j.Action.Kind())
	}
	last, st := &j.Restore.Status, &j.Decision.Status
	switch {
	case st.Phase != last.Phase && !slices.Contains([]v1beta2.RestorePhase{v1beta2.RestorePending, v1beta2.RestoreVerifying, v1beta2.RestoreVerified, v1beta2.RestoreFailed}, st.Phase):
		j.complain("a restore that only verifies is %s", st.Phase)
	case st.ClusterUID != last.ClusterUID, st.SeedMember != last.SeedMember, st.SeedUID != last.SeedUID, st.Revision != last.Revision:
		j.complain("a restore that only verifies notes a cluster or a seed")
	case st.Phase == v1beta2.RestoreVerified && (st.Snapshot == nil || !st.Succeeded || st.CompletionTime == nil) && !isOver(last.Phase):
		j.complain("a restore is verified without a snapshot")
	}
}

// checkVerifyOnly is the world's part.
func (w *world) checkVerifyOnly(r *v1beta2.EtcdRestore, a Action) {
	if r.Spec.VerifyOnly && !slices.Contains(harmless, a.Kind()) {
		w.fail("%s by restore %s, which only verifies", a.Kind(), r.UID)
	}
}

func verifyOnly(s *scene) { s.Restore.Spec.VerifyOnly = true }

func TestVerifyOnly(t *testing.T) {
	name := JobName(newRestore("c", "uid"))
	nowhere := func(s *scene) { s.Restore.Spec.EtcdCluster, s.Cluster = nil, nil }
	rows := map[string]struct {
		reason string
		o      Observation
		want   decided
	}{
		"begin": {
			reason: "no cluster is needed",
			o:      observe(verifyOnly, nowhere),
			want:   decided{Action: StartJob{Name: name, Source: s3()}, Reason: "Verifying", Phase: v1beta2.RestoreVerifying},
		},
		"a cluster that is not there": {
			reason: "a manifest of a restore is checked before it is used",
			o:      observe(verifyOnly, func(s *scene) { s.Cluster = nil }, after(time.Hour)),
			want:   decided{Action: StartJob{Name: name, Source: s3()}, Reason: "Verifying", Phase: v1beta2.RestoreVerifying},
		},
		"another restore of the cluster": {
			reason: "it waits for nobody's turn",
			o:      observe(verifyOnly, job(reported), func(s *scene) { s.Others = []Other{{Name: "first", UID: "other", Before: true}} }),
			want:   decided{Reason: "SnapshotVerified", Phase: v1beta2.RestoreVerifying, Events: []string{"SnapshotVerified"}},
		},
		"good": {
			reason: "that is all that was asked for",
			o:      observe(verifyOnly, nowhere, verified),
			want:   decided{Reason: "SnapshotVerified", Phase: v1beta2.RestoreVerified, Events: []string{"SnapshotVerified"}},
		},
		"over": {
			reason: "it is not done again",
			o:      observe(verifyOnly, nowhere, verified, phase(v1beta2.RestoreVerified)),
			want:   decided{Reason: "Finished", Phase: v1beta2.RestoreVerified},
		},
		"a cluster that was fenced for it": {
			reason: "whoever wrote that, it is not touched",
			o:      observe(verifyOnly, fenced, verified),
			want:   decided{Reason: "SnapshotVerified", Phase: v1beta2.RestoreVerified, Events: []string{"SnapshotVerified"}},
		},
		"a seed that was adopted": {
			reason: "nor is a status believed that says otherwise",
			o:      observe(verifyOnly, adopted),
			want:   decided{Reason: "SnapshotVerified", Phase: v1beta2.RestoreVerified, Events: []string{"SnapshotVerified"}},
		},
		"too slow": {
			reason: "nothing is to be given back, whatever finalizer there is",
			o:      observe(verifyOnly, held, after(time.Minute), phase(v1beta2.RestoreVerifying), spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = 60 })),
			want:   decided{Reason: "TimedOut", Phase: v1beta2.RestoreFailed, Events: []string{"TimedOut"}},
		},
		"its Job hangs": {
			reason: "whoever waits for it is told",
			o:      observe(verifyOnly, nowhere, phase(v1beta2.RestoreVerifying), job(hangs), after(8*time.Minute)),
			want:   decided{Reason: "NodeLost", Phase: v1beta2.RestoreFailed, Events: []string{"NodeLost"}},
		},
		"deleted": {
			reason: "its Job goes with it",
			o:      observe(verifyOnly, job(), phase(v1beta2.RestoreVerifying), deleted),
			want:   decided{Reason: "Deleting", Phase: v1beta2.RestoreVerifying},
		},
		"deleted, with a finalizer": {
			reason: "somebody else has put it on",
			o:      observe(verifyOnly, phase(v1beta2.RestoreVerifying), deleted, held),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: v1beta2.RestoreVerifying},
		},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(r.o)
			got := decided{Action: d.Action, Reason: d.Reason, Phase: d.Status.Phase, WaitingFor: d.Status.WaitingFor}
			for _, e := range d.Events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s", r.reason, diff, d.Message)
			}
			for _, broken := range oracle(r.o, d) {
				t.Error(broken)
			}
			for _, c := range d.Status.Conditions {
				if c.Type == v1beta2.ConditionFenced || c.Type == v1beta2.ConditionHandedOff {
					t.Errorf("there is a condition %s", c.Type)
				}
				if c.Type == v1beta2.ConditionComplete && (c.Status == metav1.ConditionTrue) != (d.Status.Phase == v1beta2.RestoreVerified) && !isOver(r.o.Restore.Status.Phase) {
					t.Errorf("Complete is %s in phase %s", c.Status, d.Status.Phase)
				}
			}
		})
	}
}

// TestVerifyOnlyTouchesNothing shows a restore that only verifies whatever there may be.
func TestVerifyOnlyTouchesNothing(t *testing.T) {
	jobs := 0
	for seed := range int64(20_000) {
		o := randomObservation(rand.New(rand.NewSource(seed)), "s3://mybucket/etcd.backup", "3.6.16")
		o.Restore.Spec.VerifyOnly = true
		d := Plan(o)
		if _, ok := d.Action.(StartJob); ok {
			jobs++
		}
		for _, broken := range oracle(o, d) {
			t.Errorf("seed %d: %s\n%+v\n%+v", seed, broken, o, d)
		}
		rests(t, o)
		if t.Failed() {
			return
		}
	}
	if jobs < 500 {
		t.Errorf("%d Jobs were started: the observations do not show much", jobs)
	}
}

// TestVerifyOnlyBesideARestore simulates one beside a restore of the same cluster, and
// with all that happens to that one: it touches nothing, it ends, and the other does as
// if it were alone.
func TestVerifyOnlyBesideARestore(t *testing.T) {
	runs := min(*seeds, 400)
	verified, adoptions := 0, 0
	for seed := range runs {
		w := newWorld(seed, randomConfig(rand.New(rand.NewSource(seed))), noted)
		r := newRestore("v", w.uid("restore"))
		r.CreationTimestamp = metav1.NewTime(w.now.Add(-time.Minute)) // it would be first
		r.Spec.VerifyOnly, r.Spec.Target, r.Spec.EtcdCluster.Name = true, v1beta2.TargetInPlace, "c"
		w.restores[r.Name] = r
		w.bump(&r.ObjectMeta)
		w.changed()
		w.run()
		if w.broken != "" {
			t.Fatalf("seed %d, %+v: %s\n%s", seed, w.config, w.broken, strings.Join(w.trace, "\n"))
		}
		adoptions += len(w.adoptions)
		if v := w.restores["v"]; v != nil && v.Status.Phase == v1beta2.RestoreVerified {
			verified++
		}
	}
	if int64(verified) < runs/2 || int64(adoptions) < runs/4 {
		t.Errorf("%d verified and %d adopted in %d runs: the world does not do much", verified, adoptions, runs)
	}
}

// TestVerifyOnlyPlantedBugs proves the oracle and the world: each row would let a restore
// that only verifies act on a cluster.
func TestVerifyOnlyPlantedBugs(t *testing.T) {
	for name, row := range map[string]struct {
		plan planner
		says string
	}{
		"the switch is forgotten": {says: "which only verifies", plan: func(o Observation) Decision {
			o.Restore = o.Restore.DeepCopy()
			o.Restore.Spec.VerifyOnly = false
			return Plan(o)
		}},
		"forgotten once the snapshot is verified": {says: "which only verifies", plan: func(o Observation) Decision {
			o.Restore = o.Restore.DeepCopy()
			o.Restore.Spec.VerifyOnly = o.Restore.Status.Snapshot == nil
			return Plan(o)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range int64(50) {
				// Of a cluster that is there, the operator would not even read.
				c := config{fresh: true, template: true, truthOnly: true}
				w := newWorld(seed, c, row.plan)
				for _, r := range w.restores {
					r.Spec.VerifyOnly = true
				}
				w.changed()
				w.at = [kinds]int{len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1}
				w.run()
				if strings.Contains(w.broken, row.says) {
					return
				}
			}
			t.Error("not noticed")
		})
	}
}

// TestMayBeAsked holds the executor's guard against every action there is.
func TestMayBeAsked(t *testing.T) {
	only, whole := newRestore("c", "uid"), newRestore("c", "uid")
	only.Spec.VerifyOnly = true
	for _, a := range []Action{
		AddFinalizer{}, RemoveFinalizer{}, StartJob{}, DeleteJob{}, CreateCluster{}, DeleteCluster{}, AskFence{}, WithdrawFence{}, StopPods{},
		RetireClaims{}, ReturnClaims{}, CreateSeedClaim{}, CreateSeed{}, DeleteSeed{}, DeleteSeedClaim{}, WithdrawPermit{}, HandOff{}, WithdrawSeed{}, LiftFence{}, DeleteRetired{},
	} {
		if got, want := MayBeAsked(only, a), slices.Contains(harmless, a.Kind()); got != want {
			t.Errorf("%s may be asked for: %t, want %t", a.Kind(), got, want)
		}
		if !MayBeAsked(whole, a) {
			t.Errorf("%s must not be asked for by a whole restore", a.Kind())
		}
	}
}
