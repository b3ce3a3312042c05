package plan

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The rules of this file let volumes grow, and keep them in the form that the policy of
// their deletion asks for. etcd is not touched by either.

// refusalAge is for how long the API server's refusal of a growth stands, before it is
// asked again: a quota may have been raised.
const refusalAge = 10 * time.Minute

// keepVolumes brings the members' claims to the form of storage.deletionPolicy, all at
// once. It needs no quorum, and it comes early: the EtcdCluster may be deleted next.
func keepVolumes(v *view) *step {
	var other []ClaimRef
	version := ""
	if v.Cluster.Retain && v.Cluster.ClusterID != 0 {
		version = v.Cluster.neededVersion()
	}
	for i := range v.Claims {
		if c := &v.Claims[i]; !c.Deleting && (c.Retained != v.Cluster.Retain || (version != "" && c.Version != version)) {
			other = append(other, ClaimRef{c.Name, c.UID})
		}
	}
	if len(other) == 0 {
		return nil
	}
	if v.Cluster.Retain {
		return do(KeepClaims{other, true, version}, v1beta2.ClusterReasonRetentionEnabled, fmt.Sprintf("set %d PVC(s) to be kept when the EtcdCluster is deleted", len(other)))
	}
	return do(KeepClaims{Claims: other}, v1beta2.ClusterReasonRetentionDisabled, fmt.Sprintf("set %d PVC(s) to be deleted when the EtcdCluster is deleted; nothing is deleted now", len(other)))
}

// neededVersion is the version of an etcd that starts on what members have: the one that
// runs, or the later of the two while they move. All may run that at once (S10).
func (c *Cluster) neededVersion() string {
	if c.Target != "" && etcdversion.Parse(c.Target).Compare(etcdversion.Parse(c.Version)) > 0 {
		return c.Target
	}
	return c.Version
}

// growVolume lets the next volume ask for the storage that is wanted. It is done while
// all members are healthy, or to the volume of the one member that is not: a disk that is full may be
// what ails it (S6).
func growVolume(v *view) *step {
	next := v.nextToGrow()
	if next == nil || v.growing() != nil || v.expansionBlocker(next) != "" {
		return nil
	}
	return do(GrowClaim{Name: next.Name, UID: next.UID, From: next.Requested, Size: v.Cluster.Storage}, v1beta2.ClusterReasonExpandingVolume,
		fmt.Sprintf("started to expand PVC %s from %s to %s", next.Name, bytes(next.Requested), bytes(v.Cluster.Storage)))
}

// nextToGrow is a member's claim that asks for less than is wanted, and may ask for more:
// of a member that is not healthy, if there is one.
func (v *view) nextToGrow() *Claim {
	var next *Claim
	for _, m := range v.voters {
		c := v.claims[m.Name]
		if c == nil || c.Deleting || c.Lost || c.Requested >= v.Cluster.Storage || v.growthRefused(c) != "" {
			continue
		}
		if !v.healthy[m.ID] {
			return c
		}
		if next == nil {
			next = c
		}
	}
	return next
}

// growing is a member's claim that has not got yet what it asks for.
func (v *view) growing() *Claim {
	for _, m := range v.list {
		if c := v.claims[m.Name]; c != nil && !c.Deleting && c.Capacity > 0 && c.Capacity < c.Requested {
			return c
		}
	}
	return nil
}

// expansionBlocker says why a volume does not grow now; empty if it may.
func (v *view) expansionBlocker(next *Claim) string {
	why := v.disruptionBlocker(nil)
	if why == "" || !v.settled || len(v.healthy) < len(v.voters)-1 {
		return why
	}
	for _, m := range v.voters {
		if m.Name == next.Name && !v.healthy[m.ID] && v.loss(m) == "" {
			return ""
		}
	}
	return why
}

// otherStorage is what to do about volumes that cannot grow.
const otherStorage = "use a class with allowVolumeExpansion: true, or restore a backup into a cluster with larger volumes"

// growthRefused says why a claim can't grow to what is wanted; empty as long as nobody
// has said so.
func (v *view) growthRefused(c *Claim) string {
	switch {
	case c.Requested >= v.Cluster.Storage:
		return ""
	case c.Expansion == ExpansionRefused && c.Class == "":
		return fmt.Sprintf("cannot expand PVC %s: it has no storage class; %s", c.Name, otherStorage)
	case c.Expansion == ExpansionRefused:
		return fmt.Sprintf("cannot expand PVC %s: storage class %s has allowVolumeExpansion: false; %s", c.Name, c.Class, otherStorage)
	case c.RefusedSize == v.Cluster.Storage && v.Now.Sub(c.RefusedAt) < refusalAge:
		return fmt.Sprintf("cannot expand PVC %s: %s; if a quota or policy refuses it, lift that, and the operator tries again; else %s", c.Name, c.Refusal, otherStorage)
	}
	return ""
}

// refusedGrowth is why some volume can't have the storage that is wanted, and what to do;
// empty if none is known not to.
func (v *view) refusedGrowth() string {
	for _, m := range v.voters {
		c := v.claims[m.Name]
		if c == nil {
			continue
		}
		if why := v.growthRefused(c); why != "" {
			return fmt.Sprintf("%s; PVC %s keeps %s, and only new PVCs get %s",
				why, c.Name, bytes(max(c.Capacity, c.Requested)), bytes(v.Cluster.Storage))
		}
	}
	return ""
}

// awaitGrowth waits for the volume that grows, of which Kubernetes tells, or until the next
// one may; or it says why volumes do not grow although they are to.
func awaitGrowth(v *view) *step {
	if c := v.growing(); c != nil {
		return wait(idle, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("expanding PVC %s to %s%s", c.Name, bytes(c.Requested), pending(c)))
	}
	if next := v.nextToGrow(); next != nil {
		return wait(v.blockerPollInterval(), v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("waiting to expand PVC %s: %s", next.Name, v.expansionBlocker(next)))
	}
	if why := v.refusedGrowth(); why != "" {
		return wait(idle, v1beta2.ClusterReasonExpansionRefused, why).as(AwaitsUser)
	}
	return nil
}

// resizing is the condition of volumes that grow, or cannot; nil if there is none to
// tell of.
func (v *view) resizing() *metav1.Condition {
	const kind = v1beta2.ConditionStorageResizing
	var c metav1.Condition
	next, growing := v.nextToGrow(), v.growing()
	switch {
	case v.Cluster.Paused || v.Cluster.Deleting || v.Cluster.Fence.By != "":
		return nil
	case growing != nil:
		c = v.condition(kind, true, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("%s PVCs have %s; expanding PVC %s from %s%s",
			v.grown(), bytes(v.Cluster.Storage), growing.Name, bytes(growing.Capacity), pending(growing)))
	case next != nil:
		c = v.condition(kind, true, v1beta2.ClusterReasonExpandingVolume, fmt.Sprintf("%s PVCs have %s", v.grown(), bytes(v.Cluster.Storage)))
		if why := v.expansionBlocker(next); why != "" {
			c.Message += "; waiting to expand the next one: " + why
		}
	case v.refusedGrowth() != "":
		c = v.condition(kind, false, v1beta2.ClusterReasonExpansionRefused, v.refusedGrowth())
	default:
		return nil
	}
	return &c
}

// pending are the words of Kubernetes on a volume that grows.
func pending(c *Claim) string {
	if c.Resizing == "" {
		return ""
	}
	return ": " + c.Resizing
}

// grown counts the volumes that have the storage that is wanted: "2 of 3".
func (v *view) grown() string {
	n, all := 0, 0
	for _, m := range v.list {
		if c := v.claims[m.Name]; c != nil {
			all++
			if c.Capacity >= v.Cluster.Storage {
				n++
			}
		}
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// bytes tells a number of bytes as Kubernetes does, such as "8Gi".
func bytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
