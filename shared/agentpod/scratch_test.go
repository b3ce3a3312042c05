package agentpod

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"

	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// Scratch space is requested and bounded, by what the user says or by default.
func TestScratch(t *testing.T) {
	disk := func(size string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse(size)}
	}
	rows := map[string]struct {
		reason         string
		users          corev1.ResourceRequirements
		request, limit string
	}{
		"by default":      {reason: "what does for most", request: "2Gi", limit: "10Gi"},
		"only memory":     {reason: "nothing is said of the disk", users: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}, request: "2Gi", limit: "10Gi"},
		"a limit":         {reason: "Kubernetes requests as much", users: corev1.ResourceRequirements{Limits: disk("50Gi")}, request: "0", limit: "50Gi"},
		"a request":       {reason: "the bound stays", users: corev1.ResourceRequirements{Requests: disk("3Gi")}, request: "3Gi", limit: "10Gi"},
		"a large request": {reason: "what is requested can be used", users: corev1.ResourceRequirements{Requests: disk("30Gi")}, request: "30Gi", limit: "30Gi"},
		"both":            {reason: "the user's", users: corev1.ResourceRequirements{Requests: disk("1Gi"), Limits: disk("5Gi")}, request: "1Gi", limit: "5Gi"},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			policy := Policy(&v1beta2.AgentPod{Resources: r.users}, corev1.ResourceRequirements{})
			var f Files
			bound := f.Scratch("scratch", "/scratch", policy)
			if got := policy.Resources.Requests[corev1.ResourceEphemeralStorage]; got.Cmp(resource.MustParse(r.request)) != 0 {
				t.Errorf("%s: the request is %s, want %s", r.reason, got.String(), r.request)
			}
			dir := f.Volumes[0].EmptyDir
			if dir == nil || dir.SizeLimit == nil || dir.SizeLimit.Cmp(resource.MustParse(r.limit)) != 0 {
				t.Errorf("%s: the volume is %+v, want a limit of %s", r.reason, dir, r.limit)
			}
			if want := resource.MustParse(r.limit); bound != want.Value() {
				t.Errorf("%s: the bound is %d, want %s", r.reason, bound, r.limit)
			}
		})
	}
}

// evicted is a Pod that the kubelet has evicted, with its words.
func evicted(made int64, words string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: metav1.Unix(made, 0)},
		Spec:       corev1.PodSpec{NodeName: "n"},
		Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: words},
	}
}

// An eviction is a failure with a reason, and the field to raise. The words are those of
// pkg/kubelet/eviction/helpers.go in Kubernetes.
func TestEvicted(t *testing.T) {
	rows := map[string]struct {
		words, reason, says string
		permanent           bool
	}{
		"volume":    {`Usage of EmptyDir volume "restore-scratch" exceeds the limit "10Gi". `, "ScratchSpaceExceeded", "raise spec.pod.resources.limits.ephemeral-storage", true},
		"Pod":       {"Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ", "ScratchSpaceExceeded", "raise spec.pod.resources.limits.ephemeral-storage", true},
		"container": {`Container verify exceeded its local ephemeral storage limit "1Gi". `, "ScratchSpaceExceeded", "raise spec.pod.resources.limits.ephemeral-storage", true},
		"disk":      {"The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 1Mi. ", "NodeOutOfDisk", "raise spec.pod.resources.requests.ephemeral-storage", false},
		"inodes":    {"The node was low on resource: inodes. ", "NodeOutOfDisk", "its node n ran short", false},
		"memory":    {"The node was low on resource: memory. Threshold quantity: 100Mi, available: 1Mi. ", "NodeOutOfMemory", "raise spec.pod.resources.requests.memory", false},
		"other":     {"The node had condition: [PIDPressure]. ", "Evicted", "PIDPressure", false},
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			got := reading.Observe(job, []corev1.Pod{evicted(1, r.words)}, &sighting.Look{Now: time.Unix(9, 0)}).Result
			if got == nil || got.Failure == nil {
				t.Fatalf("the result is %+v", got)
			}
			if f := got.Failure; f.Reason != r.reason || !strings.Contains(f.Message, r.says) || f.Permanent != r.permanent {
				t.Errorf("it failed with %+v, want %s: …%s…, permanent %t", f, r.reason, r.says, r.permanent)
			}
		})
	}
}

// A Job does not count evictions for want of a node's resources: one whose Pods are
// evicted again and again hangs.
func TestEvictedAgainAndAgain(t *testing.T) {
	const words = "The node was low on resource: ephemeral-storage. "
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	pods := []corev1.Pod{evicted(1, words), evicted(2, words), evicted(3, words)}
	if h := reading.Observe(job, pods, &sighting.Look{Now: time.Unix(9, 0)}).Hang; !h.Deadline.IsZero() {
		t.Errorf("after three it hangs: %+v", h)
	}
	pods = append(pods, evicted(4, words))
	if h := reading.Observe(job, pods, &sighting.Look{Now: time.Unix(9, 0)}).Hang; h.Deadline.Unix() != 4 || h.Reason != "NodeOutOfDisk" {
		t.Errorf("after four the hang is %+v", h)
	}
	runs := corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Unix(5, 0)}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if h := reading.Observe(job, append(pods, runs), &sighting.Look{Now: time.Unix(9, 0)}).Hang; !h.Deadline.IsZero() {
		t.Errorf("while another runs it hangs: %+v", h)
	}
}
