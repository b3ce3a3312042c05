package admissiontest

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// User is the client of a new user, <namespace>-<name>, who has these rights in a namespace,
// and no other.
func User(t testing.TB, namespace, name string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	return UserIn(t, namespace, namespace+"-"+name, rules...)
}

// UserIn is the client of a user, who gets these rights in a namespace.
func UserIn(t testing.TB, namespace, user string, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	name := "of-" + user
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	apiservertest.Create(t, apiservertest.Client(t),
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	for _, r := range rules {
		awaitRight(t, namespace, user, r)
	}
	to := apiservertest.Config()
	to.Impersonate.UserName = user
	return ClientFor(t, to)
}

// awaitRight waits until the API server knows of a right: it learns of Roles by a watch, and
// refuses the user before.
func awaitRight(t testing.TB, namespace, user string, r rbacv1.PolicyRule) {
	t.Helper()
	asked := authorizationv1.ResourceAttributes{Namespace: namespace, Group: r.APIGroups[0], Resource: r.Resources[0], Verb: r.Verbs[0]}
	if len(r.ResourceNames) > 0 {
		asked.Name = r.ResourceNames[0]
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &asked}}
		err := apiservertest.Client(t).Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("user %s does not get the right %v: %v", user, r, err)
	}
}

// Right is a rule of RBAC: verbs on a resource, or on the objects of these names alone.
func Right(group, resource string, verbs []string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names}
}

// Enforced installs an operator's folder crd, and waits until its rules of admission refuse
// an object that they must refuse.
func Enforced(t testing.TB, repoRoot, operator string, as client.Client, refused *unstructured.Unstructured) {
	t.Helper()
	Applies(t, repoRoot, []string{"-k", path.Join("deploy", operator, "crd")})
	TakesEffect(t, as, refused, "ValidatingAdmissionPolicy")
}

// TakesEffect waits until a policy refuses an object that it must refuse, with these words.
func TakesEffect(t testing.TB, as client.Client, refused *unstructured.Unstructured, words string) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = as.Create(ctx, refused.DeepCopy(), client.DryRunAll)
		return apierrors.IsForbidden(last) && strings.Contains(last.Error(), words), nil
	})
	if err != nil {
		t.Fatalf("the policy does not refuse the object with the words %q: %v", words, last)
	}
}

// Denied wants a policy's refusal with all these words.
func Denied(t testing.TB, err error, words ...string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
		t.Fatalf("error = %v, want it refused by a policy of admission", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not said: %v", w, err)
		}
	}
}
