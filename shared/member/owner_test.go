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

// A member that a user added by hand is the user's, and so are its Pod and PVC (S9).
func TestIsListed(t *testing.T) {
	c := &v1beta2.EtcdCluster{}
	c.Name = "x"
	c.Status.MemberDetails = []v1beta2.MemberDetail{{Name: "x-a"}, {Name: "theirs", Unmanaged: true}, {Name: "x-0123456789", Unmanaged: true}}
	for name, want := range map[string]bool{
		"x-a":          true,
		"x-b":          false, // no member
		"theirs":       false, // added by hand
		"x-0123456789": true,  // added by hand with the name of a member of ours, which might be its data
	} {
		if got := IsListed(c, name); got != want {
			t.Errorf("IsListed(%q) = %t, want %t", name, got, want)
		}
	}
}
