// Package observe gathers all that the planner may know of one EtcdCluster into
// one plan.Observation: what Kubernetes knows, from the caches, and what each
// member says of itself, asked in parallel under one deadline.
//
// It decides nothing. A member that does not answer is data, not an error; only a
// cache that can't be read is one.
package observe

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// Asker asks members, each for itself; etcdclient.Client is one.
type Asker interface {
	Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer
	TryWrite(ctx context.Context, e etcdclient.Endpoint) error
}

// Observer makes Observations.
type Observer struct {
	// Reader reads from caches of Pods, PersistentVolumeClaims, Services,
	// PodDisruptionBudgets and EndpointSlices.
	Reader client.Reader
	// Nodes reads Nodes from a cache; nil where the operator cannot.
	Nodes client.Reader
	// Classes reads StorageClasses from a cache; nil where the operator cannot.
	Classes client.Reader
	// Live reads EtcdBackups from the API server, while a majority is lost; nil: they
	// are not looked at.
	Live client.Reader
	// Etcd asks the members.
	Etcd Asker
	// DefaultVersion is what a cluster runs whose spec names no version.
	DefaultVersion string
}

// Observe gathers the Observation of one EtcdCluster with these certificates. It returns
// an error only if a cache cannot be read.
func (o *Observer) Observe(ctx context.Context, c *v1beta2.EtcdCluster, certificates facts.TLS) (facts.Observation, error) {
	obs := facts.Observation{Cluster: o.cluster(c), FreshToken: member.Suffix(rand.Reader)}
	obs.Cluster.TLS = certificates
	for range v1beta2.MaxSize + 1 {
		obs.FreshNames = append(obs.FreshNames, member.Name(c.Name, member.Suffix(rand.Reader)))
	}
	if err := o.conflicts(ctx, c, &obs); err != nil {
		return obs, err
	}
	if err := o.claims(ctx, c, &obs); err != nil {
		return obs, err
	}
	pods, err := o.pods(ctx, c, &obs)
	if err != nil {
		return obs, err
	}
	obs.Cluster.Existed = existed(c, &obs)
	if asks(&obs.Cluster) {
		o.ask(ctx, c, pods, &obs)
	}
	obs.Now = time.Now()
	return obs, nil
}

// asks reports whether members can be asked, and what they say of themselves can matter.
// Of a cluster that is left to a restore only the seed's answer does, once it is handed
// over.
func asks(c *facts.Cluster) bool {
	_, _, offered := c.Fence.Offered()
	return !c.Paused && !c.Deleting && !c.TLS.NoClientCertificate && (c.Fence.By == "" || offered)
}

// Fence reads the marks that a restore and this operator leave for each other on an
// EtcdCluster.
func Fence(c *v1beta2.EtcdCluster) facts.Fence {
	f := facts.Fence{
		Mark:   c.Annotations[v1beta2.AnnotationFence],
		Seeded: c.Annotations[v1beta2.AnnotationSeeded],
		Lifted: c.Annotations[v1beta2.AnnotationFenceLifted],
		By:     c.Status.FencedBy,
	}
	if a := c.Status.AdoptedSeed; a != nil {
		f.Adopted = *a
	}
	return f
}

// IsMembers reports whether a volume is a member's, or may be: it is the EtcdCluster's,
// and no restore has retired it.
func IsMembers(claim *corev1.PersistentVolumeClaim, c *v1beta2.EtcdCluster) bool {
	_, retired := claim.Labels[v1beta2.LabelRetiredBy]
	return claim.Labels[v1beta2.LabelCluster] == c.Name && !retired && member.Owns(c, claim)
}

// cluster is what the planner needs of the EtcdCluster itself.
func (o *Observer) cluster(c *v1beta2.EtcdCluster) facts.Cluster {
	wanted, target := strings.TrimPrefix(c.Spec.Version, "v"), ""
	if c.Status.Bootstrap != nil {
		target = c.Status.TargetVersion
	}
	running := c.Status.CurrentVersion
	if running == "" {
		running = wanted
	}
	if running == "" {
		running = o.DefaultVersion
	}
	if wanted == "" {
		wanted = cmp.Or(target, running)
	}
	out := facts.Cluster{
		Name:             c.Name,
		Namespace:        c.Namespace,
		Generation:       c.Generation,
		Scope:            c.Annotations[v1beta2.AnnotationScope],
		Deleting:         !c.DeletionTimestamp.IsZero(),
		Finalizers:       c.Finalizers,
		Paused:           c.Spec.Paused,
		Size:             c.Spec.Size,
		Version:          running,
		Target:           target,
		UpgradeSize:      c.Status.UpgradeSize,
		VersionIndex:     uint64(max(0, c.Status.VersionIndex)),
		WantedVersion:    wanted,
		Repository:       c.Spec.ImageRepository(),
		Template:         member.TemplateHash(c),
		PeerURLFormat:    member.PeerURL(c, "%s"),
		Persistent:       c.Spec.Pod != nil && c.Spec.Pod.PersistentVolumeClaimSpec != nil,
		MemberTimeout:    v1beta2.DefaultMemberTimeout,
		DisruptionBudget: c.Spec.PodDisruptionBudget == nil || *c.Spec.PodDisruptionBudget,
		RootSecret:       c.Spec.RootSecret(),
		Maintenance:      maintenance(c),
		Consistency:      consistency(c),
		LastStatus:       c.Status,
		Fence:            Fence(c),

		Retain:       c.Spec.RetainsVolumes(),
		AdoptVolumes: c.Annotations[v1beta2.AnnotationAdoptVolumes],
		VersionGiven: c.Spec.Version != "",
	}
	if out.Persistent {
		out.Storage = c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests.Storage().Value()
	}
	if r := c.Spec.Recovery; r != nil && r.MemberTimeout != nil {
		out.MemberTimeout = r.MemberTimeout.Duration
	}
	recovery(c, &out)
	if b := c.Status.Bootstrap; b != nil {
		out.Bootstrap = &facts.Bootstrap{Member: b.Member, Token: b.Token, Adopted: b.Adopted}
	}
	if id := c.Status.ClusterID; id != "" {
		// Only this operator writes it; what is not a number latches all the same.
		out.ClusterID = parseID(id)
	}
	return out
}

// maintenance is what may be done about space, and what was.
func maintenance(c *v1beta2.EtcdCluster) facts.Maintenance {
	out := facts.Maintenance{Compacts: member.Compacts(c)}
	if m := c.Spec.Maintenance; m != nil {
		out.AbovePercent, out.AutoRepairSpace = m.DefragmentAbovePercent, m.AutoRepairSpace
		if m.DefragmentSchedule != "" {
			parsed, err := schedule.Parse(m.DefragmentSchedule)
			if err != nil {
				out.Invalid = conditiontext.Clip(err.Error())
			}
			out.Schedule = parsed
		}
	}
	if s := c.Status.Maintenance; s != nil {
		out.Begun, out.Since, out.Repaired = timeOf(s.LastDefragmentTime), timeOf(s.ScheduleSince), timeOf(s.LastRepairTime)
		out.Counted, out.CompactedRevision = s.Schedule, s.CompactedRevision
	}
	return out
}

// consistency is when the members' data is compared, and what that has shown.
func consistency(c *v1beta2.EtcdCluster) facts.Consistency {
	out := facts.Consistency{Since: c.CreationTimestamp.Time}
	expression := daily(c.UID)
	if m := c.Spec.Maintenance; m != nil && m.ConsistencyCheck != "" {
		expression = m.ConsistencyCheck
	}
	if expression != v1beta2.ConsistencyNever {
		parsed, err := schedule.Parse(expression)
		if err != nil {
			out.Invalid = conditiontext.Clip(err.Error())
		}
		out.Schedule = parsed
	}
	if s := c.Status.Consistency; s != nil {
		out.Since, out.Result, out.Revision = s.LastCheckTime.Time, s.Result, s.Revision
		for _, id := range s.DifferingMembers {
			if n, err := strconv.ParseUint(id, 16, 64); err == nil {
				out.Differing = append(out.Differing, n)
			}
		}
	}
	return out
}

// daily is a time of day that depends on who a cluster is, so that a fleet's clusters are
// not all read at once.
func daily(uid types.UID) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // it never fails
	minute := h.Sum32() % (24 * 60)
	return fmt.Sprintf("%d %d * * *", minute%60, minute/60)
}

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

// existed says why a cluster of this name is known to have existed although
// nothing of its beginning is recorded (S1).
func existed(c *v1beta2.EtcdCluster, obs *facts.Observation) string {
	if c.Status.Bootstrap != nil || c.Status.ClusterID != "" {
		return ""
	}
	st := &c.Status
	switch {
	case st.CurrentVersion != "":
		return fmt.Sprintf("its status says that it ran etcd %s", st.CurrentVersion)
	case st.Phase == v1beta2.PhaseRunning:
		return "its status says that it was running"
	case len(st.Members.Ready)+len(st.Members.Unready) > 0:
		return "its status names members"
	case len(obs.Pods) > 0:
		return fmt.Sprintf("Pod %s exists, and its status does not mention it", obs.Pods[0].Name)
	case len(obs.Claims) > 0 && obs.Cluster.Existed == "":
		return fmt.Sprintf("PVC %s exists, and its status does not mention it", obs.Claims[0].Name)
	}
	return obs.Cluster.Existed
}

// conflicts finds objects of names that the cluster needs and that are not its own. A
// cluster cannot do without its Services: its members would not find each other, or
// clients would find another's. Without its budget it can.
func (o *Observer) conflicts(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	peer, cl := member.PeerService(c), member.ClientService(c)
	needed := map[string]client.Object{"Service " + peer.Name: peer, "Service " + cl.Name: cl}
	const budget = "PodDisruptionBudget "
	if obs.Cluster.DisruptionBudget && obs.Cluster.Size >= 3 {
		pdb := member.DisruptionBudget(c, 1)
		needed[budget+pdb.Name] = pdb
	}
	for kind, obj := range needed {
		err := o.Reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", kind, err)
		}
		switch {
		case metav1.IsControlledBy(obj, c):
		case strings.HasPrefix(kind, budget):
			obs.ForeignBudget = kind + ownerOf(obj)
		default:
			conflict(obs, kind, obj)
		}
	}
	slices.Sort(obs.Conflicts)
	slices.Sort(obs.Unowned)
	return nil
}

// conflict notes an object that is not the cluster's.
func conflict(obs *facts.Observation, kind string, obj client.Object) {
	obs.Conflicts = append(obs.Conflicts, kind+ownerOf(obj))
	if metav1.GetControllerOf(obj) == nil {
		obs.Unowned = append(obs.Unowned, strings.ToLower(strings.Replace(kind, " ", "/", 1)))
	}
}

// orphan notes a Pod of the cluster's name that is not the cluster's: kubectl delete
// --cascade=orphan leaves some, whose etcd runs on. A cluster that has not begun does not
// begin beside them; one that has goes on, since its Services do not select them. Those
// that are ending are not in the way.
func orphan(c *v1beta2.EtcdCluster, obs *facts.Observation, p *corev1.Pod) {
	ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	switch {
	case p.DeletionTimestamp != nil || ended:
	case c.Status.Bootstrap == nil && c.Status.ClusterID == "":
		conflict(obs, "Pod "+p.Name, p)
		obs.OrphansInTheWay = true
	default:
		obs.Orphans = append(obs.Orphans, p.Name+ownerOf(p))
	}
}

func ownerOf(obj client.Object) string {
	if o := metav1.GetControllerOf(obj); o != nil {
		return fmt.Sprintf(" (of %s %s)", o.Kind, o.Name)
	}
	return ""
}

// claims reads the volumes; those of an earlier cluster of this name show that
// one existed.
func (o *Observer) claims(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) error {
	var list corev1.PersistentVolumeClaimList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	var others []string
	for i := range list.Items {
		p := &list.Items[i]
		switch {
		case !member.Owns(c, p):
			others = append(others, p.Name)
			if member.IsRetained(p) {
				obs.Retained = append(obs.Retained, facts.Retained{
					Name: p.Name, UID: string(p.UID), Owner: p.Labels[v1beta2.LabelOwner], Deleting: p.DeletionTimestamp != nil, Version: p.Annotations[member.AnnotationVersion],
					Reseed: p.Annotations[v1beta2.AnnotationSurvivorPermit] != "",
				})
			}
			continue
		case !IsMembers(p, c):
			continue
		}
		claim := claimOf(p)
		claim.Reseed = p.Annotations[v1beta2.AnnotationSurvivorPermit]
		if err := o.expansion(ctx, &claim); err != nil {
			return err
		}
		obs.Claims = append(obs.Claims, claim)
	}
	slices.Sort(others)
	if len(others) > 0 {
		obs.Cluster.Existed = fmt.Sprintf("PVCs of an earlier cluster of this name exist: %s", strings.Join(others, ", "))
	}
	slices.SortFunc(obs.Retained, func(a, b facts.Retained) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(obs.Claims, func(a, b facts.Claim) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// pods reads the Pods, and returns those that can be asked in the order of
// Observation.Pods.
func (o *Observer) pods(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels(member.Selector(c.Name))); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	addressed, err := o.addresses(ctx, c)
	if err != nil {
		return nil, err
	}
	routed, err := o.routed(ctx, c)
	if err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		switch {
		case !metav1.IsControlledBy(p, c):
			orphan(c, obs, p)
			continue
		case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
			obs.LegacyPods = append(obs.LegacyPods, p.Name)
			continue
		}
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(obs.LegacyPods)
	slices.Sort(obs.Conflicts)
	slices.Sort(obs.Unowned)
	slices.Sort(obs.Orphans)
	for _, p := range pods {
		out := PodOf(p)
		out.Addressed = p.Status.PodIP != "" && addressed[p.Name] == p.Status.PodIP
		out.Routed = routed[p.UID]
		if out.NodeLostSince, out.Cordoned, err = o.node(ctx, p); err != nil {
			return nil, err
		}
		obs.Pods = append(obs.Pods, out)
	}
	return pods, nil
}

// addresses are the ones that the headless Service publishes, by member name.
func (o *Observer) addresses(ctx context.Context, c *v1beta2.EtcdCluster) (map[string]string, error) {
	endpoints, err := o.endpoints(ctx, c, member.PeerServiceName(c.Name))
	out := map[string]string{}
	for _, e := range endpoints {
		if e.Hostname != nil && len(e.Addresses) > 0 {
			out[*e.Hostname] = e.Addresses[0]
		}
	}
	return out, err
}

// routed are the Pods, by uid, to which the client Service sends new clients.
func (o *Observer) routed(ctx context.Context, c *v1beta2.EtcdCluster) (map[types.UID]bool, error) {
	endpoints, err := o.endpoints(ctx, c, member.ClientServiceName(c.Name))
	out := map[types.UID]bool{}
	for _, e := range endpoints {
		if ready := e.Conditions.Ready; e.TargetRef != nil && (ready == nil || *ready) {
			out[e.TargetRef.UID] = true
		}
	}
	return out, err
}

// endpoints are those of a Service.
func (o *Observer) endpoints(ctx context.Context, c *v1beta2.EtcdCluster, service string) ([]discoveryv1.Endpoint, error) {
	var list discoveryv1.EndpointSliceList
	if err := o.Reader.List(ctx, &list, client.InNamespace(c.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
		return nil, fmt.Errorf("list EndpointSlices: %w", err)
	}
	var all []discoveryv1.Endpoint
	for i := range list.Items {
		all = append(all, list.Items[i].Endpoints...)
	}
	return all, nil
}

// node tells since when the Pod's node is not ready, and whether it is cordoned,
// as far as the operator may know.
func (o *Observer) node(ctx context.Context, p *corev1.Pod) (lostSince time.Time, cordoned bool, err error) {
	if o.Nodes == nil || p.Spec.NodeName == "" {
		return time.Time{}, false, nil
	}
	var node corev1.Node
	err = o.Nodes.Get(ctx, client.ObjectKey{Name: p.Spec.NodeName}, &node)
	switch {
	case apierrors.IsNotFound(err):
		// Since when, nobody can tell: the Pod may have been unready before. Kubernetes takes
		// the Pods of such a node away within a minute.
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, fmt.Errorf("read node %s: %w", p.Spec.NodeName, err)
	}
	for _, cond := range node.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue {
			lostSince = cond.LastTransitionTime.Time
		}
	}
	return lostSince, node.Spec.Unschedulable, nil
}

// transition is since when a Pod's condition is not true; zero if it is.
func transition(conditions []corev1.PodCondition, kind corev1.PodConditionType) time.Time {
	for _, c := range conditions {
		if c.Type == kind && c.Status != corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// ask asks every Pod that has an address what it says of itself.
func (o *Observer) ask(ctx context.Context, c *v1beta2.EtcdCluster, pods []*corev1.Pod, obs *facts.Observation) {
	var endpoints []etcdclient.Endpoint
	for _, p := range pods {
		ended := p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
		if p.Status.PodIP != "" && !ended {
			e := Endpoint(c, p.Name, p.Status.PodIP)
			e.Doubtful = p.DeletionTimestamp != nil || !transition(p.Status.Conditions, corev1.PodReady).IsZero()
			endpoints = append(endpoints, e)
		}
	}
	if len(endpoints) == 0 {
		return
	}
	asking := ctx
	if !isElectionAwaited(c, pods) {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, leaderlessDeadline)
		defer cancel()
	}
	answers := o.Etcd.Ask(asking, endpoints)
	for i := range obs.Pods {
		if a, ok := answers[obs.Pods[i].Name]; ok {
			obs.Pods[i].Answer = answerOf(c, a)
			if a.Launcher != nil {
				obs.Pods[i].Answer = launcherAnswer(a.Launcher, pods[i], string(c.UID))
			}
			if why := stranger(a, pods[i]); why != "" {
				obs.Pods[i].Answer = facts.Answer{Blocked: why}
				continue
			}
			if q := &obs.Pods[i].Answer.Quota; a.Reached && *q == 0 {
				*q = quotaOf(pods[i])
			}
		}
	}
	o.tryWrite(ctx, endpoints, obs)
}

// leaderlessDeadline bounds the questions to members when no linearizable read can succeed,
// or when nothing depends on one. What a member knows by itself takes milliseconds, or some
// hundred on a busy machine; the rest is for a quorum that is about to elect a leader.
const leaderlessDeadline = 500 * time.Millisecond

// isElectionAwaited reports whether it is worth waiting for a quorum to answer: the members
// that were last reported to vote may be one, judging by the containers that run, and no
// restore waits for the operator to stop. It decides how long to ask, and nothing else.
func isElectionAwaited(c *v1beta2.EtcdCluster, pods []*corev1.Pod) bool {
	if f := Fence(c); f.Asked() != "" {
		return false
	}
	runs := map[string]bool{}
	for _, p := range pods {
		runs[p.Name] = p.DeletionTimestamp == nil && isEtcdRunning(p)
	}
	voters, running := 0, 0
	for _, m := range c.Status.MemberDetails {
		if m.Role != v1beta2.MemberVoter {
			continue
		}
		voters++
		if runs[m.Name] {
			running++
		}
	}
	return running > voters/2 || voters == 0
}

// isEtcdRunning reports whether a Pod's etcd container runs, as far as its kubelet has said.
func isEtcdRunning(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == member.ContainerEtcd && s.State.Running != nil
	})
}
