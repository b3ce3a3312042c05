package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/launchertest"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// Members are stopped only for a launcher that says itself that it lacks the permit alone.
func TestAskLauncher(t *testing.T) {
	t.Parallel()
	waits := launcher.State{State: launcher.Waiting, Identity: launcher.Identity{PodUID: "1"}, Reason: launcher.ReasonNoPermit, Message: "waiting"}
	for name, tc := range map[string]struct {
		reason  string
		change  func(*launcher.State)
		want    bool
		waiting string
	}{
		"it waits":           {"it lacks the permit alone", func(*launcher.State) {}, true, ""},
		"another Pod's":      {"an address that is stale", func(s *launcher.State) { s.PodUID = "2" }, false, ""},
		"nothing to publish": {"etcd could not start", func(s *launcher.State) { s.Reason, s.Message = launcher.ReasonNotPrepared, "permission denied" }, false, "permission denied"},
		"of others' data":    {"it would refuse", func(s *launcher.State) { s.State, s.Reason = launcher.Refusing, launcher.ReasonForeignData }, false, "waiting"},
		"no launcher":        {"something else answers", func(s *launcher.State) { s.State = "" }, false, "its launcher is of another version than the operator"},
	} {
		t.Run(name, func(t *testing.T) {
			said := waits
			tc.change(&said)
			ip := launchertest.ServeState(t, func() launcher.State { return said })
			seen := plan.Pod{Seed: true, Prepared: true, Launched: true, Permit: plan.PermitToPrepare}
			AskLauncher(t.Context(), nil, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Status: corev1.PodStatus{PodIP: ip}}, &seen)
			if seen.Launched != tc.want || seen.Waiting != tc.waiting {
				t.Errorf("%s: launched %t, waiting %q; want %t, %q", tc.reason, seen.Launched, seen.Waiting, tc.want, tc.waiting)
			}
		})
	}
	// A seed that has served has no permit, and needs none unless its data is gone.
	for name, tc := range map[string]struct {
		reason    string
		change    func(*launcher.State)
		ready     bool
		want      bool
		unstarted bool
	}{
		"its data is gone":          {"with data it would start etcd", func(*launcher.State) {}, false, true, false},
		"its permit cannot be read": {"with data it would need none", func(s *launcher.State) { s.Reason = launcher.ReasonPermitInvalid }, false, true, false},
		"it has never started":      {"what was prepared is still beside the data dir", func(s *launcher.State) { s.Reason = launcher.ReasonNoPermit }, false, false, true},
		"of another Pod":            {"an address that is stale", func(s *launcher.State) { s.PodUID = "2" }, false, false, false},
		"etcd runs":                 {"no launcher answers", func(s *launcher.State) { s.State = "" }, false, false, false},
		"others' data":              {"there is some", func(s *launcher.State) { s.State = launcher.Refusing }, false, false, false},
		"it serves already":         {"nobody is asked", func(*launcher.State) {}, true, false, false},
	} {
		t.Run("served: "+name, func(t *testing.T) {
			said := waits
			said.Reason = launcher.ReasonNotPrepared
			tc.change(&said)
			ip := launchertest.ServeState(t, func() launcher.State { return said })
			seen := plan.Pod{Seed: true, Prepared: true, Launched: true, Ready: tc.ready, Permit: plan.PermitNone}
			AskLauncher(t.Context(), nil, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "1"}, Status: corev1.PodStatus{PodIP: ip}}, &seen)
			if seen.Emptied != tc.want || seen.Unstarted != tc.unstarted || !seen.Launched {
				t.Errorf("%s: emptied %t, unstarted %t, launched %t; want %t, %t, true", tc.reason, seen.Emptied, seen.Unstarted, seen.Launched, tc.want, tc.unstarted)
			}
		})
	}
	t.Run("nobody answers", func(t *testing.T) {
		seen := plan.Pod{Seed: true, Prepared: true, Launched: true, Permit: plan.PermitToPrepare}
		AskLauncher(t.Context(), nil, &corev1.Pod{Status: corev1.PodStatus{PodIP: "127.0.0.1"}}, &seen)
		if seen.Launched {
			t.Error("it counts as launched")
		}
	})
}
