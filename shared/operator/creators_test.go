package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/creator"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Creators are checked while a binding of the policy refuses, and not a moment longer.
func TestCreatorsAreChecked(t *testing.T) {
	c, creators := apiservertest.Client(t), &Creators{Policy: "checked.example.com"}
	look := func(reason, missing string) {
		t.Helper()
		got := creators.Check(apiservertest.Context(t), c)
		if got.Unknown != "" || got.Passed != (missing == "") || !strings.Contains(got.Missing, missing) {
			t.Errorf("%s: %+v, want %q", reason, got, missing)
		}
	}
	look("nothing is installed", "ValidatingAdmissionPolicyBinding checked.example.com does not exist")
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: creators.Policy},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: creators.Policy, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny, admissionregistrationv1.Audit},
		},
	}
	apiservertest.Create(t, c, binding)
	look("it refuses", "")
	if got := creators.Check(apiservertest.Context(t), c); !got.Since.Equal(binding.CreationTimestamp.Time) {
		t.Errorf("since %s, want %s", got.Since, binding.CreationTimestamp)
	}
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
	if err := c.Update(apiservertest.Context(t), binding); err != nil {
		t.Fatal(err)
	}
	look("it only warns", "does not have Deny")
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	binding.Spec.PolicyName = "other.example.com"
	apiservertest.Delete(t, c, binding)
	binding.ResourceVersion = ""
	apiservertest.Create(t, c, binding)
	look("it is of a policy that checks something else", "is of another policy, other.example.com")
	apiservertest.Delete(t, c, binding)
	look("it is removed again", "does not exist")
	creators.Trusted = true
	look("--trust-creators", "")
}

// Any account can read the one binding that its operator asks for once deploy/*/crd is
// applied, and no other. Before, forbidden means that nothing is checked.
func TestCreatorsAreCheckedByTheShippedRight(t *testing.T) {
	namespace := apiservertest.Namespace(t)
	for operator, policy := range map[string]string{"etcd-backup-operator": creator.BackupPolicy, "etcd-restore-operator": creator.RestorePolicy} {
		t.Run(operator, func(t *testing.T) {
			to := apiservertest.Config()
			to.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + operator
			account, creators := apiservertest.ClientFor(t, to), &Creators{Policy: policy}
			if got := creators.Check(apiservertest.Context(t), account); got.Passed || !got.Forbidden || !strings.Contains(got.Missing, "no permission to read ValidatingAdmissionPolicyBinding "+policy) {
				t.Errorf("before: %+v", got)
			}
			admissiontest.Applies(t, "../..", []string{"-k", "deploy/" + operator + "/crd"})
			etcdtest.Eventually(t, "the API server to know of the right", func() error {
				if got := creators.Check(apiservertest.Context(t), account); !got.Passed {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			if err := account.Get(apiservertest.Context(t), client.ObjectKey{Name: "other"}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}); err == nil || !strings.Contains(err.Error(), "forbidden") {
				t.Errorf("another binding: %v", err)
			}
		})
	}
}

// reader answers every get with an error.
type reader struct {
	client.Reader
	err error
}

func (r reader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return r.err
}

// A Kubernetes without such policies checks nobody. What cannot be found out is not known.
func TestCreatorsWithoutPolicies(t *testing.T) {
	creators := &Creators{Policy: "x.example.com"}
	none := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}}
	if got := creators.Check(t.Context(), reader{err: none}); got.Passed || !got.Unsupported || got.Missing == "" {
		t.Errorf("before Kubernetes 1.30: %+v", got)
	}
	got := creators.Check(t.Context(), reader{err: errors.New("the server is down")})
	if want := (creator.Check{Unknown: "read ValidatingAdmissionPolicyBinding x.example.com: the server is down"}); got != want {
		t.Errorf("an error: %+v, want %+v", got, want)
	}
}
