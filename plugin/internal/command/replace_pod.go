package command

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
)

// replacePod has a member without a volume replaced: its data goes with its Pod, and the operator
// replaces a member whose Pod ends. Since it goes before another one joins, the others must keep the
// quorum.
func (a *App) replacePod(ctx context.Context, s *scene, name string, c confirmation, w waiting) error {
	pod, plan, err := s.podToReplace(ctx, name)
	if err != nil {
		return err
	}
	if err := a.confirm(c, "%s", plan); err != nil {
		return err
	}
	// An eviction, unlike a deletion, is refused if the PodDisruptionBudget has no room for it by now.
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	}
	err = s.SubResource("eviction").Create(ctx, pod, eviction)
	switch {
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("nothing was changed: the PodDisruptionBudget of %s does not allow an eviction now, because too few members would be left: %w", s.title(), err)
	case err != nil:
		return fmt.Errorf("evict Pod %s: %w", pod.Name, err)
	}
	fmt.Fprintf(a.Out, "Evicted Pod %s: the operator replaces the member.\n", pod.Name)
	w.unseen = s.unmoved()
	if err := a.await(ctx, w, func(ctx context.Context) (string, bool, error) { return s.replaced(ctx, name) }); err != nil || !w.wait {
		return err
	}
	fmt.Fprintf(a.Out, "Member %s of %s is replaced.\n", name, s.title())
	return nil
}

// podToReplace is the Pod of a member without a volume that can be replaced, and what that means.
func (s *scene) podToReplace(ctx context.Context, name string) (*corev1.Pod, string, error) {
	pods, err := s.Pods(ctx, s.cluster)
	if err != nil {
		return nil, "", err
	}
	named := byName(pods)
	pod := named[name]
	if pod == nil || pod.DeletionTimestamp != nil {
		return nil, "", fmt.Errorf("member %s has no Pod any more, or it is terminating: the operator replaces it by itself", name)
	}
	if err := s.errOtherDown(named, name); err != nil {
		return nil, "", err
	}
	voters, left := 0, 0
	for _, m := range s.cluster.Status.MemberDetails {
		if m.Role != v1beta2.MemberVoter && m.Name != name {
			continue
		}
		voters++
		if m.Name != name {
			left++
		}
	}
	if quorum := voters/2 + 1; left < quorum {
		return nil, "", fmt.Errorf("without %s, which has no volume, %s would lose its quorum of %d of %d members: restart all with %s restart %s, which adds a new member first",
			name, s.title(), quorum, voters, Name, s.cluster.Name)
	}
	plan := fmt.Sprintf("This replaces member %s of %s: its Pod is evicted, and its data goes with it, since it has no volume. The operator then adds a new member, which gets the data from the others.\nUntil that has joined, %d of %d members serve, and %s",
		name, s.title(), left, voters, spare(left-(voters/2+1)))
	if pod.Spec.NodeName != "" {
		plan += fmt.Sprintf("\nTo have the new member join first, cordon the node of this one instead, if the operator may read Nodes. All members are moved from it: kubectl cordon %s", pod.Spec.NodeName)
	}
	return pod, plan, nil
}

func byName(pods []corev1.Pod) map[string]*corev1.Pod {
	named := map[string]*corev1.Pod{}
	for i := range pods {
		named[pods[i].Name] = &pods[i]
	}
	return named
}

// errOtherDown returns an error if a voter other than this member is not ready. A replacement would then remove
// one more copy of the data, or cost the quorum.
func (s *scene) errOtherDown(pods map[string]*corev1.Pod, name string) error {
	for _, m := range s.cluster.Status.MemberDetails {
		if m.Role != v1beta2.MemberVoter || m.Name == name {
			continue
		}
		if other := pods[m.Name]; other == nil || other.DeletionTimestamp != nil || !kube.IsReady(other) {
			return fmt.Errorf("the Pod of member %s is not ready: %s is replaced only while all other members are healthy", m.Name, name)
		}
	}
	return nil
}

// spare says how many members more can be lost.
func spare(n int) string {
	if n == 0 {
		return "IF ANOTHER ONE IS LOST, THE QUORUM IS LOST."
	}
	return fmt.Sprintf("%d more can fail.", n)
}
