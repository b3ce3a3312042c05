package act

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// changeImage gives the etcd container of a Pod another image, if all Pods of the
// cluster, read live, are as they were observed: a member that another operator
// restarts at this moment, or that this one's cache does not show as restarted, is not
// joined by a second one (S6). The image and the marks that tell of it are one patch, of
// the Pod as it was read.
func (a *Actor) changeImage(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, x action.ChangeImage) error {
	pod, err := a.asObserved(ctx, c, obs, x.Name, x.UID)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == member.ContainerEtcd })
	if i < 0 {
		return fmt.Errorf("change the image of Pod %s: it has no container %s", x.Name, member.ContainerEtcd)
	}
	if err := a.unchanged(ctx, c, BeforeImage); err != nil {
		return err
	}
	image := x.Repository + ":v" + x.Version
	seen := podNamed(obs, x.Name)
	return a.patchPod(ctx, c, x.Name, as(ImageAsRead, pod),
		op("replace", fmt.Sprintf("/spec/containers/%d/image", i), image),
		annotation(v1beta2.AnnotationImage, image),
		annotation(member.AnnotationVersion, x.Version),
		// What has not been started since the last change has not run.
		annotation(v1beta2.AnnotationChangedFrom, observe.ChangedFrom(pod, cmp.Or(seen.From, seen.Version))))
}

// asObserved returns the Pod of a name and uid, read live together with all others of the
// cluster, if they are as they were observed.
func (a *Actor) asObserved(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, name, uid string) (*corev1.Pod, error) {
	pods, err := a.allAsObserved(ctx, c, obs)
	if err != nil {
		return nil, err
	}
	if refuses(Observed, pods[name] == nil || string(pods[name].UID) != uid) {
		return nil, fmt.Errorf("%w: Pod %s no longer exists", ErrStale, name)
	}
	return pods[name], nil
}

// allAsObserved returns the Pods of the cluster by name, read live, if they are as they
// were observed and no member has another.
func (a *Actor) allAsObserved(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) (map[string]*corev1.Pod, error) {
	found, err := a.livePods(ctx, c, obs, SamePods, observe.SamePod)
	if err != nil {
		return nil, err
	}
	return found, a.noneUnseen(ctx, c, obs)
}

// livePods returns the Pods of the cluster by name, read live, which must be those that were
// observed, each the same as it was then.
func (a *Actor) livePods(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, p Precondition, same func(*corev1.Pod, *facts.Pod) bool) (map[string]*corev1.Pod, error) {
	var list corev1.PodList
	if err := a.Live.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	found := map[string]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		if !metav1.IsControlledBy(pod, c) {
			continue
		}
		seen := podNamed(obs, pod.Name)
		if refuses(p, seen == nil || !same(pod, seen)) {
			return nil, fmt.Errorf("%w: Pod %s has changed", ErrStale, pod.Name)
		}
		found[pod.Name] = pod
	}
	if refuses(AllPods, slices.ContainsFunc(obs.Pods, func(p facts.Pod) bool { return found[p.Name] == nil })) {
		return nil, fmt.Errorf("%w: there are other Pods than were observed", ErrStale)
	}
	return found, nil
}
