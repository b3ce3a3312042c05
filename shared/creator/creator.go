// Package creator holds what is known of the rights of those who create the objects of an
// operator. They are checked by a ValidatingAdmissionPolicy, which might not be installed:
// docs/design/security.md.
package creator

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The policies of deploy/*/crd, and their bindings, by name.
const (
	BackupPolicy  = "etcdbackups." + v1beta2.GroupName
	RestorePolicy = "etcdrestores." + v1beta2.GroupName
)

// Check is what is known of it. The zero value is that nobody has looked yet.
type Check struct {
	// Passed is true if the policy is enforced, or if creators are trusted.
	Passed bool
	// Since is when the policy was bound: what is older was not checked. It is zero if
	// creators are trusted.
	Since time.Time
	// Missing says why it is not enforced. It is empty if that is not known.
	Missing string
	// Forbidden means that Missing is about a permission: API servers learn of a new one
	// with a lag.
	Forbidden bool
	// Unsupported means that this Kubernetes has no such policies.
	Unsupported bool
	// Unknown says why that is not known.
	Unknown string
}

// Advice is what to do about a Check that is Missing, as the end of a sentence. operator is
// the name of the one to which the policy belongs.
func (c *Check) Advice(operator string) string {
	remedy := fmt.Sprintf("run kubectl apply -k deploy/%s/crd", operator)
	if c.Unsupported {
		remedy = "upgrade Kubernetes to 1.30 or later"
	}
	return remedy + ", or start the operator with --trust-creators"
}
