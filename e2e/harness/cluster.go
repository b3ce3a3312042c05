package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Cluster is one EtcdCluster under test.
type Cluster struct {
	Namespace, Name string

	env  *Env
	view *View
	// generation is the least that the EtcdCluster must have: that of our last
	// edit, which the watch may not have reported yet.
	generation atomic.Int64
	// Certificate is the Secret whose certificate clients show; empty for the one that
	// is issued for applications, if there is one.
	Certificate string
}

// Option changes the spec of an EtcdCluster to create.
type Option func(*v1beta2.EtcdCluster)

// Size sets the number of members.
func Size(n int) Option { return func(c *v1beta2.EtcdCluster) { c.Spec.Size = n } }

// Version sets etcd's version.
func Version(v string) Option { return func(c *v1beta2.EtcdCluster) { c.Spec.Version = v } }

// Setting sets a variable of the etcd containers.
func Setting(name, value string) Option {
	return func(c *v1beta2.EtcdCluster) {
		pod(c).EtcdEnv = append(pod(c).EtcdEnv, corev1.EnvVar{Name: name, Value: value})
	}
}

// Volumes gives every member a volume.
func Volumes(c *v1beta2.EtcdCluster) {
	pod(c).PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// OfClass says of which storage class the volumes are. It comes after Volumes.
func OfClass(name string) Option {
	return func(c *v1beta2.EtcdCluster) { pod(c).PersistentVolumeClaimSpec.StorageClassName = &name }
}

// AntiAffinity puts each member on a node of its own.
func AntiAffinity(c *v1beta2.EtcdCluster) { pod(c).AntiAffinity = true }

// OnePerNode spreads members strictly evenly over the nodes that are there.
func OnePerNode(c *v1beta2.EtcdCluster) {
	pod(c).TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		TopologyKey: corev1.LabelHostname, MaxSkew: 1, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1beta2.LabelCluster: c.Name}},
	}}
}

// OffNode keeps members off a node.
func OffNode(name string) Option {
	return func(c *v1beta2.EtcdCluster) {
		pod(c).Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
				Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{name},
			}}}},
		}}}
	}
}

// Nowhere asks for a node that there is none of.
func Nowhere(c *v1beta2.EtcdCluster) {
	pod(c).NodeSelector = map[string]string{corev1.LabelHostname: "nowhere"}
}

// MemberTimeout sets after how long a member on a lost node is replaced.
func MemberTimeout(d time.Duration) Option {
	return func(c *v1beta2.EtcdCluster) {
		c.Spec.Recovery = &v1beta2.RecoveryPolicy{MemberTimeout: &metav1.Duration{Duration: d}}
	}
}

// WithSurvivor lets it begin anew with a survivor's data when a majority is lost.
func WithSurvivor(c *v1beta2.EtcdCluster) {
	c.Spec.Recovery = &v1beta2.RecoveryPolicy{QuorumLoss: v1beta2.QuorumLossSurvivor}
}

// ClusterWide leaves the cluster to an operator that looks after all namespaces.
func ClusterWide(c *v1beta2.EtcdCluster) {
	c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
}

func pod(c *v1beta2.EtcdCluster) *v1beta2.PodPolicy {
	if c.Spec.Pod == nil {
		c.Spec.Pod = &v1beta2.PodPolicy{}
	}
	return c.Spec.Pod
}

// Create creates an EtcdCluster in a namespace that the View sees.
func (e *Env) Create(ctx context.Context, v *View, namespace, name string, options ...Option) (*Cluster, error) {
	obj := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range options {
		o(obj)
	}
	if err := e.create(ctx, v, obj); err != nil {
		return nil, fmt.Errorf("create EtcdCluster %s: %w", name, err)
	}
	return e.Cluster(v, namespace, name), nil
}

// Cluster is an EtcdCluster that exists, or will.
func (e *Env) Cluster(v *View, namespace, name string) *Cluster {
	return &Cluster{Namespace: namespace, Name: name, env: e, view: v}
}

// State is all that Kubernetes has of it now.
func (c *Cluster) State() State { return c.view.State(c.Namespace, c.Name) }

// Await waits until the check holds, for the spec as we last edited it.
func (c *Cluster) Await(ctx context.Context, what string, check Check) error {
	return c.view.Await(ctx, fmt.Sprintf("%s (EtcdCluster %s)", what, c.Name), func() string {
		s := c.State()
		if s.Cluster != nil && s.Cluster.Generation < c.generation.Load() {
			return "the last edit has not been reported by the watch"
		}
		return check(s)
	})
}

// Stays fails if the check does not hold all the time for so long.
func (c *Cluster) Stays(ctx context.Context, what string, long time.Duration, check Check) error {
	return c.view.Stays(ctx, what, long, func() string { return check(c.State()) })
}

// Patch merges a JSON patch into the EtcdCluster, such as {"spec":{"size":5}}.
func (c *Cluster) Patch(ctx context.Context, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	obj := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	if err := c.env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patch EtcdCluster %s with %s: %w", c.Name, body, err)
	}
	c.generation.Store(obj.Generation)
	return nil
}

// Resize edits the size.
func (c *Cluster) Resize(ctx context.Context, n int) error {
	return c.Patch(ctx, map[string]any{"spec": map[string]any{"size": n}})
}

// Scale sets the size by the scale subresource, with kubectl scale.
func (c *Cluster) Scale(ctx context.Context, n int) error {
	if _, err := c.env.Kubectl.Run(ctx, "-n", c.Namespace, "scale", "etcd", c.Name, fmt.Sprintf("--replicas=%d", n)); err != nil {
		return err
	}
	obj := &v1beta2.EtcdCluster{}
	if err := c.env.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.Name}, obj); err != nil {
		return err
	}
	c.generation.Store(obj.Generation)
	return nil
}

// Delete deletes the EtcdCluster, as kubectl delete does.
func (c *Cluster) Delete(ctx context.Context) error {
	return c.env.Client.Delete(ctx, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// DeletePods deletes Pods of it by name, with grace, all at once.
func (c *Cluster) DeletePods(ctx context.Context, names ...string) error {
	return c.deletePods(ctx, names)
}

// KillPods deletes Pods of it by name, without grace.
func (c *Cluster) KillPods(ctx context.Context, names ...string) error {
	return c.deletePods(ctx, names, client.GracePeriodSeconds(0))
}

// Destroy takes members away without a word, with all that they have stored: their
// volumes, if they have any, and their Pods.
func (c *Cluster) Destroy(ctx context.Context, names ...string) error {
	for _, name := range names {
		// It lasts until no Pod uses it.
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}
		if err := client.IgnoreNotFound(c.env.Client.Delete(ctx, claim)); err != nil {
			return fmt.Errorf("delete the volume of %s: %w", name, err)
		}
	}
	return c.KillPods(ctx, names...)
}

func (c *Cluster) deletePods(ctx context.Context, names []string, options ...client.DeleteOption) error {
	for _, name := range names {
		if err := c.env.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name}}, options...); err != nil {
			return fmt.Errorf("delete Pod %s: %w", name, err)
		}
	}
	return nil
}

// Leader is the name of the member that leads, as the status has it.
func (c *Cluster) Leader() string {
	if s := c.State(); s.Cluster != nil {
		return s.Cluster.Status.Leader
	}
	return ""
}

// Follower is the name of a member that does not lead; empty if there is none.
func (c *Cluster) Follower() string {
	s := c.State()
	if s.Cluster == nil {
		return ""
	}
	for _, m := range s.Cluster.Status.MemberDetails {
		if m.Role == v1beta2.MemberVoter && m.Name != s.Cluster.Status.Leader {
			return m.Name
		}
	}
	return ""
}
