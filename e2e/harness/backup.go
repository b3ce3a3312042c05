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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Backup is one EtcdBackup under test.
type Backup struct {
	Namespace, Name string

	env  *Env
	view *View
	// generation is the least that the EtcdBackup must have: that of our last edit,
	// which the watch may not have reported yet.
	generation atomic.Int64
}

// BackupOption changes the spec of an EtcdBackup to create.
type BackupOption func(*v1beta2.EtcdBackup)

// OfEndpoints backs up the etcd at these URLs.
func OfEndpoints(urls ...string) BackupOption {
	return func(b *v1beta2.EtcdBackup) { b.Spec.EtcdEndpoints = urls }
}

// OfCluster backs up the EtcdCluster of that name.
func OfCluster(name string) BackupOption {
	return func(b *v1beta2.EtcdBackup) { b.Spec.ClusterRef = &v1beta2.ClusterReference{Name: name} }
}

// ToS3 stores at bucket/key of the store at that URL.
func ToS3(endpoint, path string) BackupOption {
	return func(b *v1beta2.EtcdBackup) {
		b.Spec.StorageType = v1beta2.StorageS3
		b.Spec.S3 = &v1beta2.S3Source{Path: path, AWSSecret: StoreSecret, Endpoint: endpoint, ForcePathStyle: true}
	}
}

// WithCredentials takes the store's credentials from that Secret.
func WithCredentials(secret string) BackupOption {
	return func(b *v1beta2.EtcdBackup) { b.Spec.S3.AWSSecret = secret }
}

// ToVolume stores in a file on the volume of a claim.
func ToVolume(claim, path string) BackupOption {
	return func(b *v1beta2.EtcdBackup) {
		b.Spec.StorageType = v1beta2.StoragePVC
		b.Spec.PVC = &v1beta2.PVCSource{ClaimName: claim, Path: path}
	}
}

// WithTLS connects to etcd with the certificates of that Secret.
func WithTLS(secret string) BackupOption {
	return func(b *v1beta2.EtcdBackup) { b.Spec.ClientTLSSecret = secret }
}

// MadeOn keeps the Pod that makes it on one node.
func MadeOn(node string) BackupOption {
	return func(b *v1beta2.EtcdBackup) {
		b.Spec.Pod = &v1beta2.AgentPod{NodeSelector: map[string]string{corev1.LabelHostname: node}}
	}
}

// Packed packs it with zstd.
func Packed(b *v1beta2.EtcdBackup) { b.Spec.Compression = v1beta2.CompressionZstd }

// IfAbsent replaces nothing.
func IfAbsent(b *v1beta2.EtcdBackup) {
	no := false
	b.Spec.Overwrite = &no
}

// Policy says when it is made and how many are kept.
func Policy(p v1beta2.BackupPolicy) BackupOption {
	return func(b *v1beta2.EtcdBackup) { b.Spec.BackupPolicy = &p }
}

// KeptFor deletes the EtcdBackup when it has ended for so long.
func KeptFor(d time.Duration) BackupOption {
	return func(b *v1beta2.EtcdBackup) {
		seconds := int32(d.Seconds())
		b.Spec.TTLSecondsAfterFinished = &seconds
	}
}

// BackupClusterWide leaves the backup to an operator that looks after all namespaces.
func BackupClusterWide(b *v1beta2.EtcdBackup) {
	b.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
}

// CreateBackup creates an EtcdBackup in a namespace whose backups the View sees.
func (e *Env) CreateBackup(ctx context.Context, v *View, namespace, name string, options ...BackupOption) (*Backup, error) {
	obj := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range options {
		o(obj)
	}
	if err := e.create(ctx, v, obj); err != nil {
		return nil, fmt.Errorf("create EtcdBackup %s: %w", name, err)
	}
	return e.Backup(v, namespace, name), nil
}

// Backup is an EtcdBackup that exists, or will.
func (e *Env) Backup(v *View, namespace, name string) *Backup {
	return &Backup{Namespace: namespace, Name: name, env: e, view: v}
}

// BackupState is all that Kubernetes has of one EtcdBackup, sorted by age.
type BackupState struct {
	// Backup is nil when there is no such EtcdBackup.
	Backup *v1beta2.EtcdBackup
	Jobs   []batchv1.Job
	Pods   []corev1.Pod
}

// State is what there is of it now, as far as the watches have reported.
func (b *Backup) State() BackupState {
	var s BackupState
	ctx := context.Background() // a synced cache answers at once
	obj := &v1beta2.EtcdBackup{}
	if b.view.Get(b.Namespace, b.Name, obj) {
		s.Backup = obj
	}
	in, of := client.InNamespace(b.Namespace), client.MatchingLabels{v1beta2.LabelBackup: b.Name}
	var jobs batchv1.JobList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&jobs, &pods} {
		if err := b.view.cache.List(ctx, list, in, of); err != nil {
			panic(fmt.Sprintf("list from a synced cache: %v", err)) // not reached
		}
	}
	s.Jobs, s.Pods = jobs.Items, pods.Items
	slices.SortFunc(s.Jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	slices.SortFunc(s.Pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return s
}

// Status is its status; empty when there is no such EtcdBackup.
func (b *Backup) Status() v1beta2.BackupStatus {
	if s := b.State(); s.Backup != nil {
		return s.Backup.Status
	}
	return v1beta2.BackupStatus{}
}

// Await waits until the check holds, for the spec as we last edited it.
func (b *Backup) Await(ctx context.Context, what string, check BackupCheck) error {
	return b.view.Await(ctx, fmt.Sprintf("%s (EtcdBackup %s)", what, b.Name), func() string {
		s := b.State()
		if s.Backup != nil && s.Backup.Generation < b.generation.Load() {
			return "the last edit has not been reported by the watch"
		}
		return check(s)
	})
}

// Stays fails if the check does not hold all the time for so long.
func (b *Backup) Stays(ctx context.Context, what string, long time.Duration, check BackupCheck) error {
	return b.view.Stays(ctx, what, long, func() string { return check(b.State()) })
}

// Patch merges a JSON patch into the EtcdBackup, such as {"spec":{"suspend":true}}.
func (b *Backup) Patch(ctx context.Context, patch map[string]any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	obj := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}}
	if err := b.env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("patch EtcdBackup %s with %s: %w", b.Name, body, err)
	}
	b.generation.Store(obj.Generation)
	return nil
}

// Delete deletes the EtcdBackup, as kubectl delete does.
func (b *Backup) Delete(ctx context.Context) error {
	return b.env.Client.Delete(ctx, &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name}},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// Log is what the Pods of its Jobs have logged.
func (b *Backup) Log(ctx context.Context) (string, error) {
	return b.env.Kubectl.Run(ctx, "-n", b.Namespace, "logs", "-l", v1beta2.LabelBackup+"="+b.Name, "--tail=-1")
}

// BackupCheck is an expectation of an EtcdBackup. It returns what it objects to, or
// nothing.
type BackupCheck func(BackupState) (objection string)

// AllOf holds when all of them do.
func AllOf(checks ...BackupCheck) BackupCheck {
	return func(s BackupState) string {
		for _, c := range checks {
			if objection := c(s); objection != "" {
				return objection
			}
		}
		return ""
	}
}

// Stored: it has succeeded, and says what is stored.
func Stored(s BackupState) string {
	if objection := AllOf(InPhase(v1beta2.BackupSucceeded), BackupCondition(v1beta2.ConditionComplete, true, "BackupSucceeded"),
		BackupCondition(v1beta2.ConditionFailed, false, ""))(s); objection != "" {
		return objection
	}
	st := &s.Backup.Status
	if !st.Succeeded || st.Reason != "" || st.Snapshot == nil || st.LastSuccessDate == nil || st.EtcdRevision != st.Snapshot.Revision || st.EtcdVersion == "" {
		return fmt.Sprintf("it has succeeded, but its status is %+v", *st)
	}
	return ""
}

// Refused: it has failed for that reason, with all of these words.
func Refused(reason string, words ...string) BackupCheck {
	return AllOf(InPhase(v1beta2.BackupFailed), BackupCondition(v1beta2.ConditionComplete, false, ""),
		BackupCondition(v1beta2.ConditionFailed, true, reason, words...), func(s BackupState) string {
			if st := &s.Backup.Status; st.Succeeded || !strings.HasPrefix(st.Reason, reason) {
				return fmt.Sprintf("succeeded is %t, and Reason %q", st.Succeeded, st.Reason)
			}
			return ""
		})
}

// Waiting: it has not ended, and says for what it waits, with all of these words.
func Waiting(reason string, words ...string) BackupCheck {
	return AllOf(InPhase(v1beta2.BackupPending), BackupCondition(v1beta2.ConditionComplete, false, reason, words...),
		BackupCondition(v1beta2.ConditionFailed, false, ""))
}

// InPhase: the status is up to date, and its phase is that.
func InPhase(phase v1beta2.BackupPhase) BackupCheck {
	return func(s BackupState) string {
		switch {
		case s.Backup == nil:
			return "there is no such EtcdBackup"
		case s.Backup.Status.ObservedGeneration != s.Backup.Generation:
			return fmt.Sprintf("the status is about generation %d of the spec, not %d", s.Backup.Status.ObservedGeneration, s.Backup.Generation)
		case s.Backup.Status.Phase != phase:
			return fmt.Sprintf("its phase is %q, not %s; %s", s.Backup.Status.Phase, phase, conditionsOf(s.Backup))
		}
		return ""
	}
}

// BackupCondition: there is a condition of that type and status with, unless it is
// empty, that reason, and a message with all of these words.
func BackupCondition(kind string, is bool, reason string, words ...string) BackupCheck {
	return func(s BackupState) string {
		if s.Backup == nil {
			return "there is no such EtcdBackup"
		}
		return conditionSays(s.Backup.Status.Conditions, kind, is, reason, words)
	}
}

func conditionsOf(b *v1beta2.EtcdBackup) string { return conditionsSay(b.Status.Conditions) }

// MadeTimes: at least so many backups of it have succeeded, by its history.
func MadeTimes(n int) BackupCheck {
	return func(s BackupState) string {
		if s.Backup == nil {
			return "there is no such EtcdBackup"
		}
		good := 0
		for _, r := range s.Backup.Status.History {
			if r.Succeeded {
				good++
			}
		}
		if good < n {
			return fmt.Sprintf("%d backups have succeeded; %s", good, conditionsOf(s.Backup))
		}
		return ""
	}
}

// NoTrace: neither the EtcdBackup is there nor a Job or Pod of it.
func NoTrace(s BackupState) string {
	switch {
	case s.Backup != nil:
		return "the EtcdBackup is still there"
	case len(s.Jobs) > 0:
		return "the Job " + s.Jobs[0].Name + " is still there"
	case len(s.Pods) > 0:
		return "Pods " + podNames(s.Pods)
	}
	return ""
}

// JobEnded: its only Job has succeeded, whatever the status says.
func JobEnded(s BackupState) string {
	if len(s.Jobs) != 1 || s.Jobs[0].Status.Succeeded != 1 {
		return fmt.Sprintf("%d Jobs, or one that has not succeeded", len(s.Jobs))
	}
	return ""
}
