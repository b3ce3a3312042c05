package agentpod

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// reasonOOMKilled is the kubelet's word for a container that the kernel has stopped for
// want of memory.
const reasonOOMKilled = v1beta2.ReasonOOMKilled

// slowStart is how long a Pod may take to be made, or its volumes to be mounted,
// before that is worth telling: normally both take a second or two.
const slowStart = 5 * time.Second

// Container is the status of a container, or init container; nil if there is none yet.
func Container(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, all := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

// Result is what an agent has reported that ended so; nil if it has not.
func (r *Reading[R]) Result(t *corev1.ContainerStateTerminated) *R {
	if t == nil || t.Message == "" {
		return nil
	}
	var one R
	if err := json.Unmarshal([]byte(t.Message), &one); err != nil {
		return nil // not the agent's: it died before its report
	}
	if t.ExitCode != agent.ExitDone && r.Failure(&one) == nil {
		return nil // it died after its report, or in the middle of it
	}
	return &one
}

// Waiting says why a Pod that is pending does not start these of its containers; empty
// if it starts, or if it is too early to say. requeueAfter is after how long
// time alone makes that worth telling; 0: never.
func Waiting(pod *corev1.Pod, look *sighting.Look, containers ...string) (why string, requeueAfter time.Duration) {
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return "", 0
	}
	if c := condition(pod, corev1.PodScheduled); c == nil || c.Status != corev1.ConditionTrue {
		if c != nil && c.Message != "" {
			return c.Message, 0
		}
		return slow(look, older(look, pod.UID, "exists", pod.CreationTimestamp.Time), "it is not scheduled yet: wait if its volume is still being provisioned, else check that kube-scheduler runs")
	}
	begun := false
	for _, name := range containers {
		s := Container(pod, name)
		if s == nil {
			continue
		}
		if w := s.State.Waiting; w != nil && !starts(w.Reason) {
			return strings.TrimSuffix(w.Reason+": "+w.Message, ": "), 0
		}
		begun = begun || s.State.Running != nil || s.State.Terminated != nil
	}
	if begun {
		return "", 0
	}
	needs := needs(pod)
	if needs == "" {
		return slow(look, older(look, pod.UID, "placed", placed(pod).Time), fmt.Sprintf("its node %s is slow to start it: see kubectl describe pod %s", pod.Spec.NodeName, pod.Name))
	}
	return slow(look, older(look, pod.UID, "placed", placed(pod).Time), fmt.Sprintf("its node %s is slow to start it: it needs %s; check that this exists", pod.Spec.NodeName, needs))
}

// older returns since when a state lasts, for a message: when the operator first saw it, or earlier if another machine
// says so. A restart of the operator then does not withdraw a warning. A deadline must count from the first look only.
func older(look *sighting.Look, uid types.UID, what string, dated time.Time) time.Time {
	if seen := look.Since(uid, what, dated); seen.Before(dated) {
		return seen
	}
	return dated
}

// slow returns why a Pod does not start once that lasts for long; until then, after how long to look again.
func slow(look *sighting.Look, since time.Time, why string) (string, time.Duration) {
	if left := since.Add(slowStart).Sub(look.Now); left > 0 {
		return "", min(left, slowStart) + time.Second
	}
	return why, 0
}

// starts tells the reasons that every container has for a moment.
func starts(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// placed is when the Pod was given its node.
func placed(pod *corev1.Pod) metav1.Time {
	if c := condition(pod, corev1.PodScheduled); c != nil && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime
	}
	return pod.CreationTimestamp
}

// needs names what a Pod can't start without. Which of it is missing only the kubelet
// knows: it tells in an event alone, and the operator may read no Secret.
func needs(pod *corev1.Pod) string {
	var all []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.Secret != nil && (v.Secret.Optional == nil || !*v.Secret.Optional):
			all = append(all, "the Secret "+v.Secret.SecretName+keys(v.Secret.Items))
		case v.ConfigMap != nil && (v.ConfigMap.Optional == nil || !*v.ConfigMap.Optional):
			all = append(all, "the ConfigMap "+v.ConfigMap.Name)
		case v.PersistentVolumeClaim != nil:
			all = append(all, "the volume of PVC "+v.PersistentVolumeClaim.ClaimName)
		}
	}
	return strings.Join(all, " and ")
}

// keys names the keys that a Secret must have.
func keys(items []corev1.KeyToPath) string {
	var all []string
	for _, i := range items {
		all = append(all, i.Key)
	}
	if len(all) == 0 {
		return ""
	}
	return " with the key " + strings.Join(all, ", ")
}
