package manifests

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operators/etcd-operators/e2e/rights"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// granted are the Roles of all operators, with every component.
func granted(t *testing.T) map[string]rights.Role {
	t.Helper()
	roles, err := rights.Granted(rendered(t, databases, operators, components(t)))
	if err != nil {
		t.Fatal(err)
	}
	return roles
}

// TestRolesGrantExactly: each of them writes out what it grants, once.
func TestRolesGrantExactly(t *testing.T) {
	roles := granted(t)
	for _, operator := range operators {
		if len(roles[operator]) == 0 {
			t.Errorf("%s has no Role of its name", operator)
		}
	}
}

// TestNoRoleGrantsMore: whatever else they grant, by no Role can an operator be made to
// give itself more, enter a container, or read Secrets that nobody names.
func TestNoRoleGrantsMore(t *testing.T) {
	for name, role := range granted(t) {
		for right := range role {
			resource, sub, _ := strings.Cut(right.Resource, "/")
			switch {
			case right.Group == rbacv1.GroupName,
				slices.Contains([]string{"bind", "escalate", "impersonate", "deletecollection", "approve", "sign"}, right.Verb),
				resource == "serviceaccounts", resource == "namespaces", resource == "configmaps",
				resource == "pods" && slices.Contains([]string{"exec", "attach", "portforward", "ephemeralcontainers", "proxy"}, sub),
				resource == "nodes" && (sub != "" || right.Verb != "list" && right.Verb != "watch"):
				t.Errorf("%s: %s", name, right)
			case resource == "secrets" && !strings.HasPrefix(name, "etcd-operator"):
				t.Errorf("%s: %s, which only etcd-operator may", name, right)
			case resource == "secrets" && !slices.Contains([]string{"get", "create", "patch"}, right.Verb):
				t.Errorf("%s: %s, though Secrets are read one by one, by name, and are deleted with their owner", name, right)
			}
		}
	}
}

// grants is what a rendered installation gives to an operator, by where it holds, and what
// it gives to every ServiceAccount.
type grants struct{ InNamespace, Everywhere, ToAll []rbacv1.PolicyRule }

// grantsOf follows the bindings of a rendered installation to the operator in namespace.
func grantsOf(t *testing.T, objects []*unstructured.Unstructured, operator, namespace string) grants {
	t.Helper()
	roles := map[string][]rbacv1.PolicyRule{}
	for _, r := range of[rbacv1.Role](t, "Role", objects) {
		roles["Role/"+r.Name] = r.Rules
	}
	for _, r := range of[rbacv1.ClusterRole](t, "ClusterRole", objects) {
		roles["ClusterRole/"+r.Name] = r.Rules
	}
	var g grants
	take := func(to *[]rbacv1.PolicyRule, name string, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
		want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: operator, Namespace: namespace}}
		if to == &g.ToAll {
			want = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:serviceaccounts"}}
		}
		if diff := cmp.Diff(want, subjects); diff != "" {
			t.Errorf("%s binds others: -want +got\n%s", name, diff)
		}
		rules, ok := roles[ref.Kind+"/"+ref.Name]
		if !ok {
			t.Errorf("%s binds %s %s, which is not there", name, ref.Kind, ref.Name)
		}
		*to = append(*to, rules...)
		delete(roles, ref.Kind+"/"+ref.Name)
	}
	for _, b := range of[rbacv1.RoleBinding](t, "RoleBinding", objects) {
		if b.Namespace != namespace {
			t.Errorf("RoleBinding %s is in namespace %q", b.Name, b.Namespace)
		}
		take(&g.InNamespace, b.Name, b.RoleRef, b.Subjects)
	}
	for _, b := range of[rbacv1.ClusterRoleBinding](t, "ClusterRoleBinding", objects) {
		to := &g.Everywhere
		if b.Name == operator+"-admission" {
			to = &g.ToAll
		}
		take(to, b.Name, b.RoleRef, b.Subjects)
	}
	for name := range roles {
		t.Errorf("nothing binds %s", name)
	}
	return g
}

// TestEveryAccountReadsOneBinding: whether the operator's policy is enforced is all that an
// installation tells to others, and it tells it to each operator, in whichever namespaces
// there are some: a ClusterRoleBinding of their accounts would be replaced by the next one.
func TestEveryAccountReadsOneBinding(t *testing.T) {
	for operator, policy := range map[string]string{"etcd-operator": "", "etcd-backup-operator": creator.BackupPolicy, "etcd-restore-operator": creator.RestorePolicy} {
		t.Run(operator, func(t *testing.T) {
			var want []rbacv1.PolicyRule
			if policy != "" {
				want = []rbacv1.PolicyRule{{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingadmissionpolicybindings"}, ResourceNames: []string{policy}, Verbs: []string{"get"}}}
			}
			objects := overlay(t, []string{operator}, nil)
			if diff := cmp.Diff(want, grantsOf(t, objects, operator, databases).ToAll); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			isShipped := slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
				return o.GetKind() == "ValidatingAdmissionPolicyBinding" && o.GetName() == policy
			})
			if policy != "" && !isShipped {
				t.Errorf("the operator asks for the binding %q, which is not shipped", policy)
			}
		})
	}
}

// TestClusterWideGrantsTheSame: an installation for all namespaces has the rules of the one
// for a single namespace, for all of them, but for the lease, which is at home; and the
// other way round, an installation for one namespace has nothing outside of it.
func TestClusterWideGrantsTheSame(t *testing.T) {
	for _, operator := range operators {
		t.Run(operator, func(t *testing.T) {
			one := grantsOf(t, overlay(t, []string{operator}, nil), operator, databases)
			if len(one.Everywhere) > 0 {
				t.Errorf("an installation for one namespace may do something in all: %v", one.Everywhere)
			}
			one = grantsOf(t, overlay(t, []string{operator}, partOf(t, operator)), operator, databases)
			all := grantsOf(t, clusterWide(t, operator), operator, home)
			for _, rule := range all.InNamespace {
				if !slices.Equal(rule.Resources, []string{"leases"}) {
					t.Errorf("granted at home only: %v", rule)
				}
			}
			want := append(slices.Clone(one.InNamespace), one.Everywhere...)
			got := append(slices.Clone(all.InNamespace), all.Everywhere...)
			order := func(a, b rbacv1.PolicyRule) int { return strings.Compare(a.String(), b.String()) }
			slices.SortFunc(want, order)
			slices.SortFunc(got, order)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-for one namespace +for all:\n%s", diff)
			}
			if diff := cmp.Diff(one.ToAll, all.ToAll); diff != "" {
				t.Errorf("to every ServiceAccount -for one namespace +for all:\n%s", diff)
			}
		})
	}
}
