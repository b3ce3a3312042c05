package facts

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// refusalAge is for how long the API server's refusal of a growth stands, before it is
// asked again: a quota may have been raised.
const refusalAge = 10 * time.Minute

// NextToGrow is a member's claim that asks for less than is wanted, and may ask for more:
// of a member that is not healthy, if there is one.
func (v *View) NextToGrow() *Claim {
	var next *Claim
	for _, m := range v.Voters {
		c := v.ClaimOf[m.Name]
		if c == nil || c.Deleting || c.Lost || c.Requested >= v.Cluster.Storage || v.growthRefused(c) != "" {
			continue
		}
		if !v.Healthy[m.ID] {
			return c
		}
		if next == nil {
			next = c
		}
	}
	return next
}

// Growing is a member's claim that has not got yet what it asks for.
func (v *View) Growing() *Claim {
	for _, m := range v.List {
		if c := v.ClaimOf[m.Name]; c != nil && !c.Deleting && c.Capacity > 0 && c.Capacity < c.Requested {
			return c
		}
	}
	return nil
}

// otherStorage is what to do about volumes that cannot grow.
const otherStorage = "use a class with allowVolumeExpansion: true, or restore a backup into a cluster with larger volumes"

// growthRefused says why a claim can't grow to what is wanted; empty as long as nobody
// has said so.
func (v *Objects) growthRefused(c *Claim) string {
	switch {
	case c.Requested >= v.Cluster.Storage:
		return ""
	case c.Expansion == ExpansionRefused && c.Class == "":
		return fmt.Sprintf("cannot expand PVC %s: it has no storage class; %s", c.Name, otherStorage)
	case c.Expansion == ExpansionRefused:
		return fmt.Sprintf("cannot expand PVC %s: storage class %s has allowVolumeExpansion: false; %s", c.Name, c.Class, otherStorage)
	case c.RefusedSize == v.Cluster.Storage && v.Now.Sub(c.RefusedAt) < refusalAge:
		return fmt.Sprintf("cannot expand PVC %s: %s; if a quota or policy rejects it, correct that, and the operator retries; otherwise %s", c.Name, c.Refusal, otherStorage)
	}
	return ""
}

// RefusedGrowth is why some volume can't have the storage that is wanted, and what to do;
// empty if none is known not to.
func (v *View) RefusedGrowth() string {
	for _, m := range v.Voters {
		c := v.ClaimOf[m.Name]
		if c == nil {
			continue
		}
		if why := v.growthRefused(c); why != "" {
			return fmt.Sprintf("%s; PVC %s keeps %s, and only new PVCs get %s",
				why, c.Name, Bytes(max(c.Capacity, c.Requested)), Bytes(v.Cluster.Storage))
		}
	}
	return ""
}

// Pending are the words of Kubernetes on a volume that grows.
func Pending(c *Claim) string {
	if c.Resizing == "" {
		return ""
	}
	return ": " + c.Resizing
}

// Bytes tells a number of bytes as Kubernetes does, such as "8Gi".
func Bytes(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
