package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Restore is one EtcdRestore under test.
type Restore struct {
	Namespace, Name string

	env  *Env
	view *View
	// generation is the least that the EtcdRestore must have: that of our last edit,
	// which the watch may not have reported yet.
	generation atomic.Int64
}

// RestoreOption changes the spec of an EtcdRestore to create.
type RestoreOption func(*v1beta2.EtcdRestore)

// InPlace restores the EtcdCluster of that name, whose data may be lost by it.
func InPlace(name string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		r.Spec.EtcdCluster, r.Spec.Target = &v1beta2.ClusterReference{Name: name}, v1beta2.TargetInPlace
		r.Spec.AcceptDataLoss = true
	}
}

// WithoutConsent accepts the loss of no data.
func WithoutConsent(r *v1beta2.EtcdRestore) { r.Spec.AcceptDataLoss = false }

// MembersFirst stops the old members before there is a seed.
func MembersFirst(r *v1beta2.EtcdRestore) { r.Spec.StopMembers = v1beta2.StopMembersFirst }

// SeedOfMemory lets the seed's Pod ask for that much memory.
func SeedOfMemory(amount string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		requests := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
		r.Spec.Pod = &v1beta2.AgentPod{Resources: corev1.ResourceRequirements{Requests: requests}}
	}
}

// AsNew makes an EtcdCluster with the spec of the one of that name.
func AsNew(name string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		r.Spec.EtcdCluster, r.Spec.Target = &v1beta2.ClusterReference{Name: name}, v1beta2.TargetNew
	}
}

// AsTemplate makes an EtcdCluster of that spec, with those annotations.
func AsTemplate(options ...Option) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		var c v1beta2.EtcdCluster
		c.Name = r.Name
		for _, o := range options {
			o(&c)
		}
		r.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Metadata: v1beta2.TemplateMetadata{Annotations: c.Annotations}, Spec: c.Spec}
	}
}

// FromS3 restores what lies at bucket/key of the store at that URL.
func FromS3(endpoint, path string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		r.Spec.BackupStorageType = v1beta2.StorageS3
		r.Spec.S3 = &v1beta2.S3Source{Path: path, AWSSecret: StoreSecret, Endpoint: endpoint, ForcePathStyle: true}
	}
}

// FromVolume restores a file on the volume of a claim.
func FromVolume(claim, path string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) {
		r.Spec.BackupStorageType = v1beta2.StoragePVC
		r.Spec.PVC = &v1beta2.PVCSource{ClaimName: claim, Path: path}
	}
}

// FromBackup restores the newest of what an EtcdBackup has made.
func FromBackup(name string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) { r.Spec.BackupRef = &v1beta2.BackupReference{Name: name} }
}

// AsOf restores what the snapshot holds of that revision.
func AsOf(revision int64) RestoreOption {
	return func(r *v1beta2.EtcdRestore) { r.Spec.Revision = revision }
}

// AsOfTime restores what was there at that time, by the archive beside the snapshot.
func AsOfTime(at time.Time) RestoreOption {
	return func(r *v1beta2.EtcdRestore) { r.Spec.Time = &metav1.Time{Time: at} }
}

// RestoredWith takes the store's credentials from that Secret.
func RestoredWith(secret string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) { r.Spec.S3.AWSSecret = secret }
}

// OfClusterID takes a snapshot of no other cluster.
func OfClusterID(id string) RestoreOption {
	return func(r *v1beta2.EtcdRestore) { r.Spec.ClusterID = id }
}

// RestoreClusterWide leaves the restore to an operator that looks after all namespaces.
func RestoreClusterWide(r *v1beta2.EtcdRestore) {
	r.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
}

// CreateRestore creates an EtcdRestore in a namespace whose restores the View sees.
func (e *Env) CreateRestore(ctx context.Context, v *View, namespace, name string, options ...RestoreOption) (*Restore, error) {
	obj := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range options {
		o(obj)
	}
	if err := e.create(ctx, v, obj); err != nil {
		return nil, fmt.Errorf("create EtcdRestore %s: %w", name, err)
	}
	return e.Restore(v, namespace, name), nil
}

// Restore is an EtcdRestore that exists, or will.
func (e *Env) Restore(v *View, namespace, name string) *Restore {
	return &Restore{Namespace: namespace, Name: name, env: e, view: v}
}

// RestoreState is all that Kubernetes has of one EtcdRestore.
type RestoreState struct {
	// Restore is nil when there is no such EtcdRestore.
	Restore *v1beta2.EtcdRestore
	Jobs    []batchv1.Job
	// Pods are those of its Jobs.
	Pods []corev1.Pod
	// Seed is the Pod of the member that it makes; nil if there is none.
	Seed *corev1.Pod
	// Retired are the volume claims that it keeps of old members.
	Retired []corev1.PersistentVolumeClaim
}

// State is what there is of it now, as far as the watches have reported.
func (r *Restore) State() RestoreState {
	var s RestoreState
	obj := &v1beta2.EtcdRestore{}
	if r.view.Get(r.Namespace, r.Name, obj) {
		s.Restore = obj
	}
	of := client.MatchingLabels{v1beta2.LabelRestore: r.Name}
	var jobs batchv1.JobList
	r.list(&jobs, of)
	var pods corev1.PodList
	r.list(&pods, of)
	s.Jobs = jobs.Items
	s.Pods = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels[v1beta2.LabelCluster] != "" })
	if s.Restore == nil {
		return s
	}
	if seed := (&corev1.Pod{}); s.Restore.Status.SeedMember != "" && r.view.Get(r.Namespace, s.Restore.Status.SeedMember, seed) {
		s.Seed = seed
	}
	var retired corev1.PersistentVolumeClaimList
	r.list(&retired, client.MatchingLabels{v1beta2.LabelRetiredBy: string(s.Restore.UID)})
	s.Retired = retired.Items
	return s
}

func (r *Restore) list(into client.ObjectList, of client.MatchingLabels) {
	// A synced cache answers at once.
	if err := r.view.cache.List(context.Background(), into, client.InNamespace(r.Namespace), of); err != nil {
		panic(fmt.Sprintf("list from a synced cache: %v", err)) // not reached
	}
}

// Status is its status; empty when there is no such EtcdRestore.
func (r *Restore) Status() v1beta2.RestoreStatus {
	if s := r.State(); s.Restore != nil {
		return s.Restore.Status
	}
	return v1beta2.RestoreStatus{}
}

// Await waits until the check holds, for the spec as we last edited it.
func (r *Restore) Await(ctx context.Context, what string, check RestoreCheck) error {
	return r.view.Await(ctx, fmt.Sprintf("%s (EtcdRestore %s)", what, r.Name), func() string {
		s := r.State()
		if s.Restore != nil && s.Restore.Generation < r.generation.Load() {
			return "the last edit has not been reported by the watch"
		}
		return check(s)
	})
}

// Patch merges a JSON patch into the EtcdRestore, such as
// {"spec":{"acceptRunningOldMembers":true}}.
func (r *Restore) Patch(ctx context.Context, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	obj := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}}
	if err := r.env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patch EtcdRestore %s with %s: %w", r.Name, body, err)
	}
	r.generation.Store(obj.Generation)
	return nil
}

// Delete deletes the EtcdRestore, as kubectl delete --wait=false does.
func (r *Restore) Delete(ctx context.Context) error {
	return r.env.Client.Delete(ctx, &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// RestoreCheck is an expectation of an EtcdRestore. It returns what it objects to, or
// nothing.
type RestoreCheck func(RestoreState) (objection string)

// Every holds when all of them do.
func Every(checks ...RestoreCheck) RestoreCheck {
	return func(s RestoreState) string {
		for _, c := range checks {
			if objection := c(s); objection != "" {
				return objection
			}
		}
		return ""
	}
}

// RestorePhases: the status is up to date, and its phase is one of these.
func RestorePhases(phases ...v1beta2.RestorePhase) RestoreCheck {
	return func(s RestoreState) string {
		switch {
		case s.Restore == nil:
			return "there is no such EtcdRestore"
		case s.Restore.Status.ObservedGeneration != s.Restore.Generation:
			return fmt.Sprintf("the status is about generation %d of the spec, not %d", s.Restore.Status.ObservedGeneration, s.Restore.Generation)
		case !slices.Contains(phases, s.Restore.Status.Phase):
			return fmt.Sprintf("its phase is %q, not %v; %s", s.Restore.Status.Phase, phases, restoreConditions(s.Restore))
		}
		return ""
	}
}

// Restored: the cluster serves what the snapshot holds; it may still grow.
func Restored(s RestoreState) string {
	if objection := Every(RestorePhases(v1beta2.RestoreHandedOff, v1beta2.RestoreComplete),
		RestoreCondition(v1beta2.ConditionVerified, true, ""), RestoreCondition(v1beta2.ConditionHandedOff, true, ""),
		RestoreCondition(v1beta2.ConditionFailed, false, ""))(s); objection != "" {
		return objection
	}
	st := &s.Restore.Status
	if !st.Succeeded || st.Reason != "" || st.Snapshot == nil || st.HandOffTime == nil || st.SeedMember == "" || st.Revision <= st.Snapshot.Revision {
		return fmt.Sprintf("it has succeeded, but its status is %+v", *st)
	}
	return ""
}

// RestoreCompleted: the cluster is of its full size, and nothing is left of what was
// before.
func RestoreCompleted(s RestoreState) string {
	if objection := Every(RestorePhases(v1beta2.RestoreComplete), RestoreCondition(v1beta2.ConditionComplete, true, ""), Restored)(s); objection != "" {
		return objection
	}
	if st := &s.Restore.Status; st.CompletionTime == nil || len(s.Retired) > 0 || len(s.Restore.Finalizers) > 0 {
		return fmt.Sprintf("it is complete, with %d retired volume claims, finalizers %v and the status %+v", len(s.Retired), s.Restore.Finalizers, *st)
	}
	return ""
}

// RestoreVerified: the snapshot is good, and that was all.
func RestoreVerified(s RestoreState) string {
	if objection := Every(RestorePhases(v1beta2.RestoreVerified), RestoreCondition(v1beta2.ConditionVerified, true, ""),
		RestoreCondition(v1beta2.ConditionComplete, true, ""), RestoreCondition(v1beta2.ConditionFailed, false, ""))(s); objection != "" {
		return objection
	}
	if st := &s.Restore.Status; !st.Succeeded || st.Snapshot == nil || st.CompletionTime == nil || len(s.Restore.Finalizers) > 0 {
		return fmt.Sprintf("it is verified, with finalizers %v and the status %+v", s.Restore.Finalizers, *st)
	}
	return ""
}

// RestoreRefused: it has failed for that reason, with all of these words, and holds on
// to nothing.
func RestoreRefused(reason string, words ...string) RestoreCheck {
	return Every(RestorePhases(v1beta2.RestoreFailed), RestoreCondition(v1beta2.ConditionComplete, false, ""),
		RestoreCondition(v1beta2.ConditionFailed, true, reason, words...), func(s RestoreState) string {
			if st := &s.Restore.Status; st.Succeeded || st.Reason == "" || len(s.Retired) > 0 || len(s.Restore.Finalizers) > 0 {
				return fmt.Sprintf("it has failed, with %d retired volume claims, finalizers %v and the status %+v", len(s.Retired), s.Restore.Finalizers, *st)
			}
			return ""
		})
}

// WaitsFor: it has not ended, and waits for all of these.
func WaitsFor(names ...string) RestoreCheck {
	return func(s RestoreState) string {
		if s.Restore == nil {
			return "there is no such EtcdRestore"
		}
		for _, name := range names {
			if !slices.ContainsFunc(s.Restore.Status.WaitingFor, func(what string) bool { return strings.Contains(what, name) }) {
				return fmt.Sprintf("it waits for %q, not for %s; %s", s.Restore.Status.WaitingFor, name, restoreConditions(s.Restore))
			}
		}
		return ""
	}
}

// RestoreCondition: there is a condition of that type and status with, unless it is
// empty, that reason, and a message with all of these words.
func RestoreCondition(kind string, is bool, reason string, words ...string) RestoreCheck {
	return func(s RestoreState) string {
		if s.Restore == nil {
			return "there is no such EtcdRestore"
		}
		return conditionSays(s.Restore.Status.Conditions, kind, is, reason, words)
	}
}

func restoreConditions(r *v1beta2.EtcdRestore) string {
	return fmt.Sprintf("waits for %v; %s", r.Status.WaitingFor, conditionsSay(r.Status.Conditions))
}

// NoTraceOfRestore: neither the EtcdRestore is there nor a Job or Pod of it.
func NoTraceOfRestore(s RestoreState) string {
	switch {
	case s.Restore != nil:
		return "the EtcdRestore is still there: " + restoreConditions(s.Restore)
	case len(s.Jobs) > 0:
		return "the Job " + s.Jobs[0].Name + " is still there"
	case len(s.Pods) > 0:
		return "Pods " + podNames(s.Pods)
	}
	return ""
}
