package observe_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// An election takes one or two seconds, and members are given that time to answer for a
// quorum. Where no quorum can answer, and where nobody asks for one, what needs no answer is
// not held up by it.
func TestTimeForMembersToAnswer(t *testing.T) {
	rows := map[string]struct {
		reason string
		// running are the members whose etcd container runs, of those of x-a, x-b and x-c
		// that have a Pod; deleted are those whose Pod is being deleted.
		pods, running, deleted []string
		voters                 []string
		fence                  string
		patient                bool
	}{
		"all run":           {reason: "they may elect a leader", pods: []string{"x-a", "x-b", "x-c"}, running: []string{"x-a", "x-b", "x-c"}, patient: true},
		"one is gone":       {reason: "the others are a quorum", pods: []string{"x-a", "x-b"}, running: []string{"x-a", "x-b"}, patient: true},
		"two are gone":      {reason: "one is no quorum", pods: []string{"x-a"}, running: []string{"x-a"}},
		"two do not run":    {reason: "they have an address and cannot answer", pods: []string{"x-a", "x-b", "x-c"}, running: []string{"x-a"}},
		"two are deleted":   {reason: "they end", pods: []string{"x-a", "x-b", "x-c"}, running: []string{"x-a", "x-b", "x-c"}, deleted: []string{"x-b", "x-c"}},
		"nobody reported":   {reason: "who votes is not known", pods: []string{"x-a"}, voters: []string{}, patient: true},
		"a restore waits":   {reason: "its fence needs no answer", pods: []string{"x-a", "x-b", "x-c"}, running: []string{"x-a", "x-b", "x-c"}, fence: "uid-1"},
		"one member alone":  {reason: "it is its own quorum", pods: []string{"x-a"}, running: []string{"x-a"}, voters: []string{"x-a"}, patient: true},
		"a restarted alone": {reason: "it is its own quorum, and does not run", pods: []string{"x-a"}, voters: []string{"x-a"}},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *v1beta2.EtcdCluster) {
				if r.fence != "" {
					c.Annotations = map[string]string{v1beta2.AnnotationFence: r.fence}
				}
			})
			if r.voters == nil {
				r.voters = []string{"x-a", "x-b", "x-c"}
			}
			b.status(func(s *v1beta2.ClusterStatus) {
				s.ClusterID = "00000000000000c1"
				for _, v := range r.voters {
					s.MemberDetails = append(s.MemberDetails, v1beta2.MemberDetail{Name: v, Role: v1beta2.MemberVoter})
				}
			})
			for i, name := range r.pods {
				p := b.pod(name, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/still-here"} })
				b.runs(p, "127.0.0."+string(rune('2'+i)), func(s *corev1.PodStatus) {
					state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
					if slices.Contains(r.running, name) {
						state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
					}
					s.ContainerStatuses = []corev1.ContainerStatus{{Name: member.ContainerEtcd, State: state}}
				})
				if slices.Contains(r.deleted, name) {
					if err := b.client.Delete(apiservertest.Context(t), p, client.GracePeriodSeconds(30)); err != nil {
						t.Fatal(err)
					}
				}
			}
			b.observe()
			if len(b.asked.endpoints) != len(r.pods) {
				t.Errorf("%v were asked, want %v", b.asked.endpoints, r.pods)
			}
			if patient := b.asked.within > time.Second; patient != r.patient {
				t.Errorf("they have %s to answer, want patience %t: %s", b.asked.within, r.patient, r.reason)
			}
		})
	}
}
