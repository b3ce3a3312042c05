package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// envTemplate is the variable of etcd that tells the world which template a Pod was made of.
const envTemplate = "ETCD_SIMULATED_TEMPLATE"

// templateOf is the template that a Pod was made of.
func templateOf(p *corev1.Pod) string { return envOf(p, envTemplate) }

// envOf is what a variable of a Pod's etcd is; empty if there is none.
func envOf(p *corev1.Pod, name string) string {
	for _, c := range p.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}

// damagedWords are the last ones of an etcd that cannot read its database.
const damagedWords = `{"level":"fatal","msg":"failed to open database","path":"/var/etcd/data/member/snap/db","error":"invalid database"}`

// ownLearners stands for the operator's own limit of learners.
const ownLearners = 7

// otherLearners is a Pod that another release of the operator would make, or somebody else
// has changed.
func (w *world) otherLearners(p *corev1.Pod) *corev1.Pod {
	limit := w.cfg.Learners
	if facts.Role(p.Labels[v1beta2.LabelRole]) == facts.Joiner {
		limit, w.learners = w.learners, limit
	}
	if limit == ownLearners {
		return p
	}
	p = p.DeepCopy()
	for i := range p.Spec.Containers {
		for j := range p.Spec.Containers[i].Env {
			if e := &p.Spec.Containers[i].Env[j]; e.Name == member.EnvMaxLearners {
				e.Value = strconv.Itoa(limit)
			}
		}
	}
	return p
}

// grace is the grace period of Pods.
const grace = 30 * time.Second

const clusterUIDs = "cluster-"

func clusterUID(number int) string { return clusterUIDs + strconv.Itoa(number) }

func resourceVersion(n int) string { return strconv.Itoa(n) }

func timeAt(d time.Duration) metav1.Time { return metav1.NewTime(epoch.Add(d)) }

// object is the EtcdCluster as the API server has it, shared by all who read it.
func (w *world) object(c *etcdCluster) *v1beta2.EtcdCluster {
	return w.shared.clusters.of(w, clusterView{*c, w.quota}, func() *v1beta2.EtcdCluster { return w.newObject(c) })
}

func (w *world) newObject(c *etcdCluster) *v1beta2.EtcdCluster {
	o := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{
			Name: clusterName, Namespace: namespace, UID: types.UID(clusterUID(c.number)), Generation: c.generation,
			ResourceVersion: resourceVersion(c.version), CreationTimestamp: timeAt(0), Annotations: map[string]string{},
		},
		Spec: v1beta2.ClusterSpec{
			Size: c.size, Version: c.wanted, Repository: c.repository, Paused: c.paused,
			PodDisruptionBudget: &w.cfg.DisruptionBudget,
			Etcd:                w.etcdPolicy(),
			Maintenance:         w.maintenancePolicy(),
			Recovery:            &v1beta2.RecoveryPolicy{MemberTimeout: &metav1.Duration{Duration: w.cfg.MemberTimeout}},
		},
		Status: *c.status.DeepCopy(),
	}
	c.askByAnnotations(o)
	o.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: envTemplate, Value: c.wantedTemplate()}}}
	if w.cfg.Persistent {
		o.Spec.Pod.PersistentVolumeClaimSpec = &corev1.PersistentVolumeClaimSpec{
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(c.storage, resource.BinarySI)}},
		}
	}
	if c.retain {
		o.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
	}
	c.markFence(o)
	if c.survive {
		o.Spec.Recovery.QuorumLoss = v1beta2.QuorumLossSurvivor
	}
	if c.recover != 0 {
		o.Annotations[v1beta2.AnnotationRecover] = fmt.Sprintf("%016x", c.recover)
	}
	if c.adopt {
		o.Annotations[v1beta2.AnnotationAdoptVolumes] = v1beta2.AdoptAny
	}
	o.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: rootSecret}
	if w.cfg.TLS {
		w.askForTLS(c, o)
	}
	if c.deleting {
		o.DeletionTimestamp, o.Finalizers = new(timeAt(0)), []string{metav1.FinalizerDeleteDependents}
	}
	return o
}

// keepStatus makes a status that of the EtcdCluster, and takes from it what the world goes by.
func (w *world) keepStatus(st *v1beta2.ClusterStatus) {
	c := &w.cluster
	target := st.TargetVersion
	if st.Bootstrap == nil {
		target = "" // it tells a restore what is wanted
	}
	if id(st.ClusterID) == c.clusterID && (st.CurrentVersion != c.current || target != c.target) {
		w.checkRecord(action.RecordVersion{Current: st.CurrentVersion, Target: target})
		if st.FencedBy == c.fence.By {
			w.touch("a version is recorded")
		}
	}
	w.keepLatched(st)
	c.status = st
	c.version++
	c.current, c.target, c.index, c.upgradeSize = st.CurrentVersion, target, uint64(st.VersionIndex), st.UpgradeSize
	w.keepMaintenance(st)
	w.checkDiffering(st)
}

// podObject is a Pod as the API server has it, shared by all who read it.
func (w *world) podObject(p *pod) *corev1.Pod {
	return sharedOf(&w.shared.pods, p.uid).of(w, *p, func() *corev1.Pod { return newPodObject(p, w.clock(p.node)) })
}

// clock returns the error of a node's kubelet's clock.
func (w *world) clock(node int) time.Duration {
	if !w.cfg.Clocks || node < 0 {
		return 0
	}
	return []time.Duration{-time.Hour, 0, 10 * time.Minute}[node%3]
}

func newPodObject(p *pod, clock time.Duration) *corev1.Pod {
	o := &corev1.Pod{TypeMeta: p.object.TypeMeta, ObjectMeta: podMeta(p), Spec: p.object.Spec, Status: corev1.PodStatus{Phase: corev1.PodPending}}
	condition := func(kind corev1.PodConditionType, is bool, message string, since time.Duration) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Message: message, LastTransitionTime: timeAt(since)}
		if is {
			c.Status = corev1.ConditionTrue
		}
		o.Status.Conditions = append(o.Status.Conditions, c)
	}
	condition(corev1.PodScheduled, p.node >= 0, p.unschedulable, p.created)
	condition(corev1.PodReady, p.ready, "", p.readyAt+clock)
	if p.node >= 0 {
		o.Spec.NodeName = nodeName(p.node)
	}
	if p.ip {
		o.Status.PodIP = address(p.uid)
	}
	etcd := corev1.ContainerStatus{Name: member.ContainerEtcd, Ready: p.ready, RestartCount: int32(p.restarts)}
	if p.container > 0 {
		etcd.ContainerID = fmt.Sprintf("containerd://%s-%d", p.uid, p.container)
	}
	switch reason, message, _ := strings.Cut(p.trouble, ": "); {
	case p.runningSince != never:
		o.Status.Phase = corev1.PodRunning
		etcd.State.Running = &corev1.ContainerStateRunning{StartedAt: timeAt(p.runningSince + clock)}
	case p.trouble != "":
		etcd.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: message}
	default:
		etcd.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	if p.exit != (facts.Exit{}) {
		said := p.exit.Words
		if p.exit.Damage != "" {
			said = damagedWords
		}
		etcd.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: int32(p.exit.Code), Reason: p.exit.Reason, Message: said}
	}
	o.Status.ContainerStatuses = []corev1.ContainerStatus{etcd}
	if p.unseeded != "" {
		seedStatus(&o.Status, p.unseeded)
	}
	showSeed(o, p)
	if p.finished {
		o.Status.Phase = corev1.PodFailed
	}
	return o
}

// podMeta is the metadata of that. As the API server does, it takes no time of deletion over from the
// manifest of a Pod that was being deleted.
func podMeta(p *pod) metav1.ObjectMeta {
	o := *p.object.ObjectMeta.DeepCopy()
	o.UID, o.ResourceVersion, o.CreationTimestamp = types.UID(p.uid), p.resourceVersion(), timeAt(p.created)
	o.DeletionTimestamp, o.DeletionGracePeriodSeconds = nil, nil
	if p.deleting != never {
		by, seconds := timeAt(p.deleting+grace), int64(grace/time.Second)
		o.DeletionTimestamp, o.DeletionGracePeriodSeconds = &by, &seconds
	}
	return o
}

// resourceVersion is that of the object.
func (p *pod) resourceVersion() string { return resourceVersion(p.revision) }

// nodeObject is a Node as the API server has it; nil if it has none of that name.
func (w *world) nodeObject(name string) client.Object {
	for i := range w.nodes {
		n := &w.nodes[i]
		if nodeName(i) != name || n.gone {
			continue
		}
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
		if n.lostSince != never {
			ready.Status, ready.LastTransitionTime = corev1.ConditionUnknown, timeAt(n.lostSince+w.clock(i))
		}
		return sharedOf(&w.shared.nodes, name).of(w, nodeView{n.cordoned, n.lostSince}, func() *corev1.Node {
			return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: n.cordoned}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{ready}}}
		})
	}
	return nil
}

// claimAsObject is a PersistentVolumeClaim as the API server has it, shared by all who read it.
func (w *world) claimAsObject(c *claimObject) *corev1.PersistentVolumeClaim {
	view := claimView{claim: *c}
	if c.deleting {
		view.readAt = w.now
	}
	return sharedOf(&w.shared.claims, c.uid).of(w, view, func() *corev1.PersistentVolumeClaim { return w.newClaimObject(c) })
}

func (w *world) newClaimObject(c *claimObject) *corev1.PersistentVolumeClaim {
	o := c.object.DeepCopy()
	o.UID, o.ResourceVersion, o.CreationTimestamp = types.UID(c.uid), resourceVersion(c.revision), timeAt(c.created)
	o.DeletionTimestamp = nil // as of a Pod
	if c.deleting {
		now := timeAt(w.now)
		o.DeletionTimestamp = &now
	}
	if c.node >= 0 {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, observe.AnnotationSelectedNode, nodeName(c.node))
	}
	if o.Spec.StorageClassName == nil {
		o.Spec.StorageClassName = new(className)
	}
	o.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(c.capacity, resource.BinarySI)}
	o.Status.Phase = corev1.ClaimBound
	return o
}
