package observe

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

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
	out := facts.Maintenance{
		Compacts:          member.Compacts(c),
		DefragmentRequest: conditiontext.Clip(c.Annotations[v1beta2.AnnotationDefragment]),
		LeaderRequest:     conditiontext.Clip(c.Annotations[v1beta2.AnnotationMoveLeader]),
	}
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
		out.DefragmentAnswered, out.LeaderAnswered = s.DefragmentRequest, s.LeaderRequest
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

// withoutSeeds is an Observation without the seed of a restore that has fenced the EtcdCluster, and its
// PVC: they show no earlier cluster, and go when the restore fails. Who was there before the fence was
// acknowledged is in the status by then.
func withoutSeeds(c *v1beta2.EtcdCluster, obs *facts.Observation, pods []*corev1.Pod) *facts.Observation {
	if c.Status.FencedBy == "" {
		return obs
	}
	isSeed := func(name string) bool {
		return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return p.Name == name && p.Annotations[v1beta2.AnnotationRestore] != "" })
	}
	out := *obs
	out.Pods = slices.DeleteFunc(slices.Clone(obs.Pods), func(p facts.Pod) bool { return isSeed(p.Name) })
	out.Claims = slices.DeleteFunc(slices.Clone(obs.Claims), func(p facts.Claim) bool { return isSeed(p.Name) })
	return &out
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
