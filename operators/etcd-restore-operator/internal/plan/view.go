package plan

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// view is an Observation with what follows from it.
type view struct {
	Observation
	spec *v1beta2.RestoreSpec
	// last is the status as it was last written.
	last *v1beta2.RestoreStatus
	uid  string
	// deleted is true once the EtcdRestore is being deleted, held while it has the
	// finalizer.
	deleted, held bool

	// name is that of the EtcdCluster, and fresh is true if this restore makes it; made is
	// true if it says itself that this restore has.
	name        string
	fresh, made bool
	// there is true if the EtcdCluster exists and is the one that this restore may touch,
	// as far as it has made up its mind which that is.
	there bool
	// mark, by, lifted, seeded and adoptedBy are what the EtcdCluster says of fences.
	mark, by, lifted, seeded, adoptedBy string
	// fenced is true while etcd-operator has suspended its reconciliation, and offered
	// while the cluster has a seed of this restore to adopt.
	fenced, offered bool
	// adopted is true from the hand-over on, for good.
	adopted bool

	// seed is the Pod of status.seedMember; nil if there is none. strays are seeds of
	// earlier attempts, and old are all other Pods.
	seed        *Pod
	strays, old []Pod
	// seedClaim is the claim of status.seedMember; nil if there is none. members are
	// claims that may still be a member's, and retired those that were put aside.
	seedClaim        *Claim
	members, retired []Ref

	// source is where the snapshot lies, once findSource has found it.
	source Source
	// recordedVersion is the version of etcd that an EtcdBackup tells of what lies there.
	recordedVersion string
	// wake is the first moment at which time alone changes something; zero if none.
	wake time.Time
}

func newView(o Observation) *view {
	if o.Restore == nil {
		o.Restore = &v1beta2.EtcdRestore{}
	}
	r := o.Restore
	if r.Spec.VerifyOnly {
		o = hideCluster(o)
	}
	v := &view{
		Observation: o,
		spec:        &r.Spec,
		last:        &r.Status,
		uid:         string(r.UID),
		deleted:     r.DeletionTimestamp != nil,
		held:        slices.Contains(r.Finalizers, v1beta2.FinalizerRestore),
		name:        ClusterName(r),
		fresh:       makesCluster(&r.Spec),
		adopted:     r.Status.HandOffTime != nil,
	}
	v.readCluster()
	v.readPods()
	v.readClaims()
	return v
}

func (v *view) readCluster() {
	c := v.Cluster
	if c == nil || (v.last.ClusterUID != "" && v.last.ClusterUID != string(c.UID)) {
		return
	}
	v.mark, v.lifted = c.Annotations[v1beta2.AnnotationFence], c.Annotations[v1beta2.AnnotationFenceLifted]
	v.seeded, v.by = c.Annotations[v1beta2.AnnotationSeeded], c.Status.FencedBy
	if a := c.Status.AdoptedSeed; a != nil {
		v.adoptedBy = a.Restore
	}
	v.adopted = v.adopted || (v.uid != "" && v.adoptedBy == v.uid)
	v.made = v.uid != "" && c.Annotations[v1beta2.AnnotationRestoredBy] == v.uid
	v.there = c.DeletionTimestamp == nil && (!v.fresh || v.made || v.last.ClusterUID != "")
	v.fenced = v.there && v.uid != "" && v.by == v.uid && !v.adopted
	v.offered = v.fenced && strings.HasPrefix(v.seeded, v.uid+"/")
}

func (v *view) readPods() {
	for i := range v.Pods {
		p := &v.Pods[i]
		switch {
		case p.Seed && p.Name == v.last.SeedMember:
			v.seed = p
		case p.Seed:
			v.strays = append(v.strays, *p)
		default:
			v.old = append(v.old, *p)
		}
	}
}

func (v *view) readClaims() {
	for i := range v.Claims {
		c := &v.Claims[i]
		switch {
		case c.Name == v.last.SeedMember && !c.Retired:
			v.seedClaim = c
		case c.Deleting:
			// No member starts on it.
		case c.Retired:
			v.retired = append(v.retired, Ref{c.Name, c.UID})
		default:
			v.members = append(v.members, Ref{c.Name, c.UID})
		}
	}
}

// hasEnded is true for a restore that will do nothing more.
func (v *view) hasEnded() bool {
	switch v.last.Phase {
	case v1beta2.RestoreComplete, v1beta2.RestoreFailed, v1beta2.RestoreVerified:
		return true
	default:
		return v.predecessors()
	}
}

// predecessors is true for a restore that the archived operator carried out.
func (v *view) predecessors() bool {
	return v.last.Phase == v1beta2.RestoreNone && v.last.HandOffTime == nil && (v.last.Succeeded || v.last.Reason != "")
}

// serves reports whether old members may serve clients: such as are not being stopped.
func (v *view) serves() bool {
	return slices.ContainsFunc(v.old, func(p Pod) bool { return p.Deleting.IsZero() })
}

// mostServe is true while most old members are not being stopped: to give up costs nothing
// then.
func (v *view) mostServe() bool {
	stop := 0
	for _, p := range v.old {
		if !p.Deleting.IsZero() {
			stop++
		}
	}
	return 2*stop < len(v.old) && len(v.retired) == 0
}

// stopsFirst reports whether the old members are stopped before the seed is made. A seed
// that is prepared, or at work, is not given up for that.
func (v *view) stopsFirst() bool {
	if v.spec.StopMembers != v1beta2.StopMembersFirst || v.fresh {
		return false
	}
	p := v.seed
	return p == nil || !p.Deleting.IsZero() || p.Ended != nil || (p.Permit == PermitToPrepare && !p.Prepared && p.Waiting != "")
}

// preparing is the phase in which a seed is made: nothing is given up before the members
// are stopped.
func (v *view) preparing() v1beta2.RestorePhase {
	if v.serves() || v.fresh {
		return v1beta2.RestoreVerifying
	}
	return v1beta2.RestoreSeeding
}

// stopping is the phase in which the old members are stopped.
func (v *view) stopping() v1beta2.RestorePhase {
	if v.last.SeedMember == "" {
		return v1beta2.RestoreFencing
	}
	return v1beta2.RestoreSeeding
}

// persistent reports whether members have volumes.
func (v *view) persistent() bool { return v.Cluster != nil && v.Cluster.Spec.Persistent() }

// offer is the value of the annotation that hands a Pod over.
func (v *view) offer(p *Pod) string { return v.uid + "/" + p.Name + "/" + p.UID }

// wakeAt asks to look again at a time, if that is ahead.
func (v *view) wakeAt(t time.Time) {
	if t.After(v.Now) && (v.wake.IsZero() || t.Before(v.wake)) {
		v.wake = t
	}
}

// now is Now as it is written.
func (v *view) now() *metav1.Time {
	return &metav1.Time{Time: v.Now.UTC().Truncate(time.Second)}
}
