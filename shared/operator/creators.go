package operator

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// creatorsDeadline bounds the request of [Creators.Check]: the others of a reconcile still
// have time after it.
const creatorsDeadline = 5 * time.Second

// Creators are those who create the objects of an operator.
type Creators struct {
	// Policy is the name of the ValidatingAdmissionPolicy that checks their rights, and of
	// its binding.
	Policy string
	// Trusted means that they need no check.
	Trusted bool
}

// bind registers the flag --trust-creators. can says what whoever can create the objects can
// do with it.
func (c *Creators) bind(fs *flag.FlagSet, can string) {
	fs.BoolVar(&c.Trusted, "trust-creators", false, fmt.Sprintf("do not require the ValidatingAdmissionPolicy %s: %s", c.Policy, can))
}

// Check looks whether the policy is enforced. Nothing is remembered: it might be removed.
func (c *Creators) Check(ctx context.Context, live client.Reader) creator.Check {
	if c.Trusted {
		return creator.Check{Passed: true}
	}
	ctx, cancel := context.WithTimeout(ctx, creatorsDeadline)
	defer cancel()
	var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	err := live.Get(ctx, client.ObjectKey{Name: c.Policy}, &binding)
	name := "ValidatingAdmissionPolicyBinding " + c.Policy
	switch {
	case apierrors.IsNotFound(err):
		return creator.Check{Missing: name + " does not exist"}
	case meta.IsNoMatchError(err):
		return creator.Check{Missing: "this Kubernetes has no ValidatingAdmissionPolicies", Unsupported: true}
	case apierrors.IsForbidden(err):
		return creator.Check{Missing: "the operator has no permission to read " + name, Forbidden: true}
	case err != nil:
		return creator.Check{Unknown: fmt.Sprintf("read %s: %s", name, err)}
	case binding.Spec.PolicyName != c.Policy:
		return creator.Check{Missing: fmt.Sprintf("%s is of another policy, %s", name, binding.Spec.PolicyName)}
	case !slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny):
		return creator.Check{Missing: name + " does not have Deny in its validationActions"}
	}
	return creator.Check{Passed: true, Since: binding.CreationTimestamp.Time}
}
