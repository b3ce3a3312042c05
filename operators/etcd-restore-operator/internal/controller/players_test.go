package controller_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The others that take part in a restore are played here, by no more than the API
// server shows of them.

// tick is how often a player looks at what there is.
const tick = 20 * time.Millisecond

// play calls one until the test ends. What fails now, such as a write that conflicts,
// is done at its next turn.
func play(t *testing.T, turn func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var last error
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() && last != nil {
			t.Logf("a player's last error: %v", last)
		}
	})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := turn(ctx); err != nil && ctx.Err() == nil {
				last = err
			}
			time.Sleep(tick)
		}
	}()
}

// kubernetes is the Job controller, the scheduler, the kubelet with the agents that it
// runs, and what deletes volumes.
type kubernetes struct {
	client    client.Client
	namespace string
	// result is what the agent of a Job reports.
	result task.Result
	// seedFails is what the agent of a seed reports; nil if it restores it.
	seedFails *agent.Failure
	// evicted is what the kubelet says when it evicts a seed; empty if it does not.
	evicted string
	// fetching, while it is set, is the address at which an agent is at work.
	fetching atomic.Pointer[string]
	// launcher is the address of every seed's launcher, and launched the uid of the Pod whose
	// launcher waits there.
	launcher string
	launched atomic.Pointer[string]
	// seedless, while true, lets no seed become ready.
	seedless atomic.Bool
	// stuck, while true, lets no Pod end: its node does not answer.
	stuck atomic.Bool
}

func (k *kubernetes) tick(ctx context.Context) error {
	var jobs batchv1.JobList
	if err := k.client.List(ctx, &jobs, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	for i := range jobs.Items {
		if err := k.runJob(ctx, &jobs.Items[i]); err != nil {
			return err
		}
	}
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	for i := range pods.Items {
		if err := k.runPod(ctx, &pods.Items[i]); err != nil {
			return err
		}
	}
	return k.releaseClaims(ctx)
}

// runJob makes the Pod of a Job, which ends at once.
func (k *kubernetes) runJob(ctx context.Context, j *batchv1.Job) error {
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.InNamespace(k.namespace), client.MatchingLabels(j.Spec.Template.Labels)); err != nil || len(pods.Items) > 0 {
		return err
	}
	return k.client.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: j.Name, Namespace: j.Namespace, Labels: j.Spec.Template.Labels, Annotations: j.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: *j.Spec.Template.Spec.DeepCopy(),
	})
}

func (k *kubernetes) runPod(ctx context.Context, p *corev1.Pod) error {
	switch {
	case !p.DeletionTimestamp.IsZero():
		if k.stuck.Load() {
			return nil
		}
		return client.IgnoreNotFound(k.client.Delete(ctx, p, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID}))
	case p.Spec.NodeName == "":
		return k.client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "node"}})
	case p.Labels[v1beta2.LabelApp] == v1beta2.AppEtcdRestore:
		return k.verify(ctx, p)
	}
	return k.runMember(ctx, p)
}

// verify is the agent of a Job.
func (k *kubernetes) verify(ctx context.Context, p *corev1.Pod) error {
	if ip := k.fetching.Load(); ip != nil {
		if p.Status.Phase == corev1.PodRunning {
			return nil
		}
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, *ip, []corev1.PodIP{{IP: *ip}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: task.ContainerVerify, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return k.client.Status().Update(ctx, p)
	}
	if p.Status.Phase != corev1.PodPending && p.Status.Phase != corev1.PodRunning {
		return nil
	}
	p.Status.Phase = corev1.PodSucceeded
	if k.result.Failure != nil {
		p.Status.Phase = corev1.PodFailed
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{ended(task.ContainerVerify, k.result)}
	return k.client.Status().Update(ctx, p)
}

// runMember is the kubelet of a member.
func (k *kubernetes) runMember(ctx context.Context, p *corev1.Pod) error {
	starts := p.Annotations[v1beta2.AnnotationRestorePermit] == seedTask(p).UID
	if ready(p) || p.Labels[v1beta2.LabelRole] == v1beta2.RoleSeed && starts && k.seedless.Load() {
		return nil
	}
	if len(p.Spec.InitContainers) > 1 && p.Annotations[v1beta2.AnnotationRestorePermit] == seedTask(p).UID+task.Prepare {
		return k.prepare(ctx, p)
	}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
	}
	return k.client.Status().Update(ctx, p)
}

// prepare is the seed's init container that prepares its database, and its launcher.
func (k *kubernetes) prepare(ctx context.Context, p *corev1.Pod) error {
	if ip := k.fetching.Load(); ip != nil {
		if p.Status.PodIP != "" {
			return nil
		}
		p.Status.PodIP, p.Status.PodIPs = *ip, []corev1.PodIP{{IP: *ip}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: task.ContainerRestore, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return k.client.Status().Update(ctx, p)
	}
	if len(p.Status.InitContainerStatuses) > 0 && p.Status.InitContainerStatuses[0].State.Terminated != nil {
		return nil
	}
	if k.evicted != "" {
		if p.Status.Phase == corev1.PodFailed {
			return nil
		}
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", k.evicted
		return k.client.Status().Update(ctx, p)
	}
	m, r := seedTask(p).Member, verified()
	r.Revision = max(m.Revision, r.Snapshot.Revision+m.Bump)
	if k.seedFails != nil {
		r = task.Result{Failure: k.seedFails}
	}
	p.Status.Phase = corev1.PodPending
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{ended(task.ContainerRestore, r)}
	if r.Failure == nil { // its launcher waits
		uid := string(p.UID)
		k.launched.Store(&uid)
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, k.launcher, []corev1.PodIP{{IP: k.launcher}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: member.ContainerEtcd, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	}
	return k.client.Status().Update(ctx, p)
}

// waits is what the launcher of the last seed says: it lacks the start permit alone.
func (k *kubernetes) waits() launcher.State {
	s := launcher.State{State: launcher.Waiting, Reason: launcher.ReasonNoPermit}
	if uid := k.launched.Load(); uid != nil {
		s.PodUID = *uid
	}
	return s
}

// seedTask is the task of a seed; an empty one if the Pod is none.
func seedTask(p *corev1.Pod) (t task.Task) {
	for _, c := range p.Spec.InitContainers {
		if c.Name == task.ContainerRestore {
			if err := json.Unmarshal([]byte(c.Env[0].Value), &t); err != nil {
				panic(err) // the operator wrote it
			}
		}
	}
	return t
}

func ready(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ended is an agent's container that has ended with a result.
func ended(container string, r task.Result) corev1.ContainerStatus {
	message, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings and numbers
	}
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(r.Failure.ExitCode()), Message: string(message)},
	}}
}

// releaseClaims lets volumes go that are to be deleted.
func (k *kubernetes) releaseClaims(ctx context.Context) error {
	var claims corev1.PersistentVolumeClaimList
	if err := k.client.List(ctx, &claims, client.InNamespace(k.namespace)); err != nil {
		return err
	}
	for i := range claims.Items {
		c := &claims.Items[i]
		if c.DeletionTimestamp.IsZero() || len(c.Finalizers) == 0 {
			continue
		}
		c.Finalizers = nil
		if err := k.client.Update(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// etcdOperator plays its half of the contract.
type etcdOperator struct {
	client    client.Client
	namespace string
	// away, while true, lets it do nothing.
	away atomic.Bool
	// small, while true, lets no cluster grow.
	small atomic.Bool
	// certless, while true, has no certificates for clusters with TLS.
	certless atomic.Bool
}

func (o *etcdOperator) tick(ctx context.Context) error {
	var clusters v1beta2.EtcdClusterList
	if o.away.Load() {
		return nil
	}
	if err := o.client.List(ctx, &clusters, client.InNamespace(o.namespace)); err != nil {
		return err
	}
	for i := range clusters.Items {
		if err := o.look(ctx, &clusters.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// look takes the next step for a cluster, as the fence has it.
func (o *etcdOperator) look(ctx context.Context, c *v1beta2.EtcdCluster) error {
	s := &c.Status
	marks := c.Annotations
	adopted := ""
	if s.AdoptedSeed != nil {
		adopted = s.AdoptedSeed.Restore
	}
	if c.UsesTLS() && marks[v1beta2.AnnotationFence] != "" && o.keep(c) {
		return o.client.Status().Update(ctx, c)
	}
	switch mark := marks[v1beta2.AnnotationFence]; {
	case s.FencedBy != "" && s.FencedBy == marks[v1beta2.AnnotationFenceLifted]:
		s.FencedBy = ""
	case s.FencedBy != "":
		return o.adopt(ctx, c)
	case mark != "" && mark != marks[v1beta2.AnnotationFenceLifted] && mark != adopted:
		s.FencedBy, s.TargetVersion = mark, strings.TrimPrefix(c.Spec.Version, "v")
	case s.AdoptedSeed != nil && len(s.Members.Ready) < c.Spec.Size && !o.small.Load():
		s.Members.Ready = append(s.Members.Ready, fmt.Sprintf("%s-grown%d", c.Name, len(s.Members.Ready)))
	default:
		return nil
	}
	return o.client.Status().Update(ctx, c)
}

// keep tells of the certificates of a cluster for which a restore asks, whoever it is left
// to; true if there is news.
func (o *etcdOperator) keep(c *v1beta2.EtcdCluster) bool {
	s := &c.Status
	if s.TLS == nil && !o.certless.Load() {
		s.TLS = &v1beta2.TLSStatus{Trust: "0123abcdef"}
	}
	ready := metav1.Condition{Type: v1beta2.ConditionCertificatesReady, Status: metav1.ConditionTrue, Reason: "CertificatesReady", Message: "they are right"}
	if s.TLS == nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "CertificatesMissing", "there is no Secret x-peer-tls: write it"
	}
	return meta.SetStatusCondition(&s.Conditions, ready)
}

// adopt takes the seed that is handed over for the cluster, once it serves.
func (o *etcdOperator) adopt(ctx context.Context, c *v1beta2.EtcdCluster) error {
	parts := strings.Split(c.Annotations[v1beta2.AnnotationSeeded], "/")
	if len(parts) != 3 || parts[0] != c.Status.FencedBy {
		return nil
	}
	var p corev1.Pod
	if err := o.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: parts[1]}, &p); err != nil {
		return err
	}
	if string(p.UID) != parts[2] || !ready(&p) || !metav1.IsControlledBy(&p, c) || p.Labels[v1beta2.LabelCluster] != c.Name || p.DeletionTimestamp != nil {
		return fmt.Errorf("seed %s is not adopted", p.Name)
	}
	s := &c.Status
	s.FencedBy, s.ClusterID, s.Bootstrap = "", "00000000000000c2", &v1beta2.BootstrapStatus{Member: p.Name, Token: parts[0]}
	s.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: parts[0], Pod: parts[1], PodUID: parts[2]}
	s.CurrentVersion = p.Annotations[member.AnnotationVersion]
	s.Members.Ready = []string{p.Name}
	s.HighestRevision += 2e9 // beyond where the seed begins
	return o.client.Status().Update(ctx, c)
}

// verified is what an agent reports of a good snapshot.
func verified() task.Result {
	now := time.Now().UTC()
	return task.Result{Started: now.Add(-time.Second), Finished: now, Snapshot: &task.Snapshot{
		Location: "s3://bucket/x", Size: 20 << 10, SHA256: strings.Repeat("ab", 32), ETag: `"e"`, DatabaseSize: 20 << 10,
		Revision: 1000, TotalKeys: 10, EtcdVersion: "3.6",
	}}
}

// fails is what an agent reports that can't do its work.
func fails(reason string) task.Result {
	now := time.Now().UTC()
	return task.Result{Started: now, Finished: now, Failure: &agent.Failure{Reason: reason, Message: "the words of the agent", Permanent: true}}
}
