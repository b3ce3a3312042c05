package harness

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Check is an expectation of a cluster. It returns what it objects to, or nothing.
type Check func(State) (objection string)

// All holds when all of them do.
func All(checks ...Check) Check {
	return func(s State) string {
		for _, c := range checks {
			if objection := c(s); objection != "" {
				return objection
			}
		}
		return ""
	}
}

// Serving: by the status, there are n members, all of them voters that serve.
func Serving(n int) Check {
	return All(Condition(v1beta2.ConditionAvailable, true, ""), voters(n))
}

// Healthy: there are n members, all of them voters that serve, each with a Pod
// that is ready and serves clients, and nothing is wrong. Pods of former members
// may still be ending.
func Healthy(n int) Check {
	return All(
		Condition(v1beta2.ConditionAvailable, true, ""),
		Condition(v1beta2.ConditionDegraded, false, ""),
		Condition(v1beta2.ConditionScaling, false, ""),
		voters(n),
		servingPods(n),
	)
}

// Settled: healthy, nothing is left to do, and nothing is left over.
func Settled(n int) Check {
	return All(Healthy(n), Condition(v1beta2.ConditionProgressing, false, "UpToDate"), func(s State) string {
		if len(s.Pods) != n {
			return fmt.Sprintf("%d Pods, want %d: %s", len(s.Pods), n, podNames(s.Pods))
		}
		if len(s.Claims) != 0 && len(s.Claims) != n {
			return fmt.Sprintf("%d volume claims for %d members", len(s.Claims), n)
		}
		return ""
	})
}

// AtVersion: all members run that version of etcd, and are on the way to no other.
func AtVersion(version string) Check {
	return func(s State) string {
		st := s.Cluster.Status
		if st.CurrentVersion != version || st.TargetVersion != "" {
			return fmt.Sprintf("it runs %s, on the way to %q", st.CurrentVersion, st.TargetVersion)
		}
		for _, m := range st.MemberDetails {
			if m.Version != version {
				return fmt.Sprintf("member %s runs %s", m.Name, m.Version)
			}
		}
		return ""
	}
}

// Condition: the status is up to date and has a condition of that type, status
// and, unless it is empty, reason.
func Condition(kind string, is bool, reason string) Check {
	return func(s State) string {
		if s.Cluster == nil {
			return "there is no such EtcdCluster"
		}
		if s.Cluster.Status.ObservedGeneration != s.Cluster.Generation {
			return fmt.Sprintf("the status is about generation %d of the spec, not %d", s.Cluster.Status.ObservedGeneration, s.Cluster.Generation)
		}
		return conditionSays(s.Cluster.Status.Conditions, kind, is, reason, nil)
	}
}

// ConditionSays is Condition with words that its message has.
func ConditionSays(kind string, is bool, reason string, words ...string) Check {
	return func(s State) string {
		if objection := Condition(kind, is, reason)(s); objection != "" {
			return objection
		}
		return conditionSays(s.Cluster.Status.Conditions, kind, is, reason, words)
	}
}

// voters: the status names exactly n members, and all of them vote and serve.
func voters(n int) Check {
	return func(s State) string {
		st := &s.Cluster.Status
		if len(st.MemberDetails) != n || len(st.Members.Ready) != n || len(st.Members.Unready) != 0 {
			return fmt.Sprintf("%d members, serving %v, not serving %v; want %d", len(st.MemberDetails), st.Members.Ready, st.Members.Unready, n)
		}
		for _, m := range st.MemberDetails {
			if m.Role != v1beta2.MemberVoter {
				return fmt.Sprintf("member %s is a %s", m.Name, m.Role)
			}
		}
		return ""
	}
}

// servingPods: the Pods of exactly the serving members are ready and get clients.
func servingPods(n int) Check {
	return func(s State) string {
		serving := 0
		for i := range s.Pods {
			p := &s.Pods[i]
			if p.DeletionTimestamp != nil {
				continue
			}
			switch {
			case !slices.Contains(s.Cluster.Status.Members.Ready, p.Name):
				return fmt.Sprintf("Pod %s belongs to no member", p.Name)
			case p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter:
				return fmt.Sprintf("Pod %s is marked %s", p.Name, p.Labels[v1beta2.LabelRole])
			case !podReady(p):
				return fmt.Sprintf("Pod %s is not ready (%s)", p.Name, podState(p))
			}
			serving++
		}
		if serving != n {
			return fmt.Sprintf("%d Pods serve, want %d", serving, n)
		}
		return ""
	}
}

// Without: these Pods are gone.
func Without(uids ...types.UID) Check {
	return func(s State) string {
		for i := range s.Pods {
			if slices.Contains(uids, s.Pods[i].UID) {
				return fmt.Sprintf("Pod %s is still there", s.Pods[i].Name)
			}
		}
		return ""
	}
}

// Restarted: the etcd of that Pod has been started again at least so many times.
func Restarted(name string, times int32) Check {
	return func(s State) string {
		p := s.Pod(name)
		if p == nil {
			return "Pod " + name + " is gone"
		}
		for _, c := range p.Status.ContainerStatuses {
			if c.Name == "etcd" && c.RestartCount >= times {
				return ""
			}
		}
		return fmt.Sprintf("etcd of %s has not been restarted %d times", name, times)
	}
}

// Nothing: neither the EtcdCluster is there nor anything of it.
func Nothing(s State) string {
	switch {
	case s.Cluster != nil:
		return "the EtcdCluster is still there"
	case len(s.Pods) > 0:
		return "Pods " + podNames(s.Pods)
	case len(s.Claims) > 0:
		return fmt.Sprintf("%d volume claims", len(s.Claims))
	case len(s.Services) > 0:
		return fmt.Sprintf("%d Services", len(s.Services))
	case len(s.Budgets) > 0:
		return "a PodDisruptionBudget"
	}
	return ""
}

// Pod returns the Pod of that name, or nil.
func (s State) Pod(name string) *corev1.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

// UIDs are those of all Pods.
func (s State) UIDs() []types.UID {
	var all []types.UID
	for i := range s.Pods {
		all = append(all, s.Pods[i].UID)
	}
	return all
}

// MinAvailable is what the PodDisruptionBudget keeps; 0 if there is none.
func (s State) MinAvailable() int {
	if len(s.Budgets) != 1 || s.Budgets[0].Spec.MinAvailable == nil {
		return 0
	}
	return s.Budgets[0].Spec.MinAvailable.IntValue()
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// podState is what `kubectl get pods` would say.
func podState(p *corev1.Pod) string {
	if p.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.State.Waiting.Reason != "" {
			return c.State.Waiting.Reason
		}
	}
	return string(p.Status.Phase)
}

func podNames(pods []corev1.Pod) string {
	var all []string
	for i := range pods {
		all = append(all, pods[i].Name)
	}
	return strings.Join(all, ", ")
}

// PodsReady: there are n Pods, all of them ready.
func PodsReady(n int) Check {
	return func(s State) string {
		ready := 0
		for i := range s.Pods {
			if podReady(&s.Pods[i]) {
				ready++
			}
		}
		if ready != n {
			return fmt.Sprintf("%d Pods are ready, want %d", ready, n)
		}
		return ""
	}
}
