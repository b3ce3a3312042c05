package member

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A volume is its EtcdCluster's in either form, and nobody else's.
func TestOwns(t *testing.T) {
	owned := func() *v1beta2.EtcdCluster { return cluster(t, "volumes.cluster.yaml") }
	retaining := func() *v1beta2.EtcdCluster {
		c := owned()
		c.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
		return c
	}
	another := retaining()
	another.UID = "another"
	for name, tc := range map[string]struct {
		by             *v1beta2.EtcdCluster
		change         func(*corev1.PersistentVolumeClaim)
		owns, retained bool
	}{
		"deleted with it": {by: owned(), owns: true},
		"kept":            {by: retaining(), owns: true, retained: true},
		"of another":      {by: another, retained: true},
		"of nobody":       {by: owned(), change: func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = nil }},
		"kept, and owned by other": {by: retaining(), change: func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = NewClaim(otherUID(owned()), "x").OwnerReferences
		}},
	} {
		t.Run(name, func(t *testing.T) {
			claim := NewClaim(tc.by, "x")
			if tc.change != nil {
				tc.change(claim)
			}
			if got := Owns(owned(), claim); got != tc.owns {
				t.Errorf("Owns is %t, want %t", got, tc.owns)
			}
			if got := IsRetained(claim); got != tc.retained {
				t.Errorf("IsRetained is %t, want %t", got, tc.retained)
			}
		})
	}
}

func otherUID(c *v1beta2.EtcdCluster) *v1beta2.EtcdCluster {
	c.UID = "another"
	return c
}
