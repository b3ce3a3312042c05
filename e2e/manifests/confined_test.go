package manifests

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// golden lists, for each operator, the golden files with the objects that it builds.
var golden = map[string][]string{
	"etcd-operator":         {"shared/member/testdata/*.golden.yaml"},
	"etcd-backup-operator":  {"operators/etcd-backup-operator/internal/job/testdata/*.golden.yaml"},
	"etcd-restore-operator": {"operators/etcd-restore-operator/internal/build/testdata/*.golden.yaml"},
}

// asOperator returns the client of an operator's account. The account has the rights of the operator's Role in
// a namespace, and its policy confines it.
func asOperator(t *testing.T, operator, namespace string) client.Client {
	t.Helper()
	role := of[rbacv1.Role](t, "Role", read(t, filepath.Join(deploy, operator, "base/role.yaml")))[0]
	c := admissiontest.UserIn(t, namespace, "system:serviceaccount:"+namespace+":"+operator, role.Rules...)
	kind := "Pod"
	if operator == "etcd-backup-operator" {
		kind = "Job"
	}
	admissiontest.Enforced(t, repoRoot, operator, c, inNamespace(namespace, changed(made(t, operator, kind), nil, "metadata", "ownerReferences")))
	return c
}

// made returns the first object of a kind in the golden files of an operator.
func made(t *testing.T, operator, kind string) *unstructured.Unstructured {
	t.Helper()
	for _, u := range allMade(t, operator) {
		if u.GetKind() == kind {
			return u
		}
	}
	t.Fatalf("the golden files of %s have no %s", operator, kind)
	return nil
}

func allMade(t *testing.T, operator string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, pattern := range golden[operator] {
		for _, path := range admissiontest.Glob(t, filepath.Join(repoRoot, pattern)) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for document := range bytes.SplitSeq(data, []byte("---\n")) {
				u := &unstructured.Unstructured{Object: admissiontest.Parse(t, document)}
				if u.GetKind() != "" && !strings.HasPrefix(u.GetKind(), "Etcd") {
					all = append(all, u)
				}
			}
		}
	}
	return all
}

// changed returns a copy of an object with another value of a field.
func changed(u *unstructured.Unstructured, value any, path ...string) *unstructured.Unstructured {
	u = u.DeepCopy()
	in := u.Object
	for _, name := range path[:len(path)-1] {
		if name == "containers" {
			in = in[name].([]any)[0].(map[string]any)
			continue
		}
		inner, ok := in[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			in[name] = inner
		}
		in = inner
	}
	in[path[len(path)-1]] = value
	return u
}

func inNamespace(namespace string, u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetNamespace(namespace)
	unstructured.RemoveNestedField(u.Object, "status")
	return u
}

// TestOperatorsWriteWhatTheyBuild: an operator's policy denies none of the objects that the operator builds.
func TestOperatorsWriteWhatTheyBuild(t *testing.T) {
	for operator := range golden {
		t.Run(operator, func(t *testing.T) {
			namespace := apiservertest.Namespace(t)
			c := asOperator(t, operator, namespace)
			kinds := map[string]int{}
			for _, u := range allMade(t, operator) {
				kinds[u.GetKind()]++
				if err := c.Create(apiservertest.Context(t), inNamespace(namespace, u), client.DryRunAll); err != nil {
					t.Errorf("%s %s is refused: %v", u.GetKind(), u.GetName(), err)
				}
			}
			if len(kinds) == 0 {
				t.Error("nothing was built")
			}
			t.Log(kinds)
		})
	}
}

// TestACompromisedOperator: what an operator's account can write gives an attacker no access to a node, to a
// token of Kubernetes or to another owner's Pod.
func TestACompromisedOperator(t *testing.T) {
	const words = "ValidatingAdmissionPolicy"
	hostPath := map[string]any{"name": "x", "hostPath": map[string]any{"path": "/"}}
	token := map[string]any{"name": "x", "projected": map[string]any{"sources": []any{map[string]any{"serviceAccountToken": map[string]any{"path": "token"}}}}}
	stranger := []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "1", "controller": true}}
	for operator, kind := range map[string]string{"etcd-operator": "Pod", "etcd-backup-operator": "Job", "etcd-restore-operator": "Pod", "etcd-restore-operator ": "Job"} {
		operator = strings.TrimSpace(operator)
		t.Run(operator+" "+kind, func(t *testing.T) {
			namespace := apiservertest.Namespace(t)
			c, good := asOperator(t, operator, namespace), made(t, operator, kind)
			pod := []string{"spec"}
			if kind == "Job" {
				pod = []string{"spec", "template", "spec"}
			}
			in := func(path ...string) []string { return append(append([]string{}, pod...), path...) }
			volumes, _, err := unstructured.NestedSlice(good.Object, in("volumes")...)
			if err != nil {
				t.Fatal(err)
			}
			with := func(volume any) []any { return append(slices.Clone(volumes), volume) }
			for name, row := range map[string]struct {
				value any
				path  []string
			}{
				"hostPath":       {with(hostPath), in("volumes")},
				"token":          {with(token), in("volumes")},
				"automount":      {true, in("automountServiceAccountToken")},
				"host network":   {true, in("hostNetwork")},
				"host processes": {true, in("hostPID")},
				"host IPC":       {true, in("hostIPC")},
				"privileged":     {map[string]any{"privileged": true}, in("containers", "securityContext")},
				"capability":     {[]any{"SYS_ADMIN"}, in("containers", "securityContext", "capabilities", "add")},
				"no owner":       {nil, []string{"metadata", "ownerReferences"}},
				"another owner":  {stranger, []string{"metadata", "ownerReferences"}},
				"another app":    {"web", []string{"metadata", "labels", "app"}},
			} {
				u := changed(changed(good, row.value, row.path...), "default", in("serviceAccountName")...)
				err := c.Create(apiservertest.Context(t), inNamespace(namespace, u), client.DryRunAll)
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%s: error = %v, want it refused by the policy", name, err)
				}
			}
		})
	}
}

// TestACompromisedOperatorInKubeSystem: the policy also confines an operator with the rights of a cluster-wide
// installation.
func TestACompromisedOperatorInKubeSystem(t *testing.T) {
	for operator := range golden {
		namespace := apiservertest.Namespace(t)
		asOperator(t, operator, namespace)
		role := of[rbacv1.Role](t, "Role", read(t, filepath.Join(deploy, operator, "base/role.yaml")))[0]
		name := "wide-" + operator
		user := "system:serviceaccount:" + namespace + ":" + operator
		apiservertest.Create(t, apiservertest.Client(t),
			&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: role.Rules},
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			})
		c := admissiontest.UserIn(t, metav1.NamespaceSystem, user, role.Rules...)
		for _, u := range allMade(t, operator) {
			err := c.Create(apiservertest.Context(t), inNamespace(metav1.NamespaceSystem, u), client.DryRunAll)
			if err == nil || !strings.Contains(err.Error(), operator+" must not write to namespace kube-system") {
				t.Errorf("%s: %s %s: error = %v, want it refused by the policy", operator, u.GetKind(), u.GetName(), err)
			}
		}
	}
}

// TestACompromisedOperatorAndObjectsOfOthers: an operator's account cannot change or delete another owner's
// Pod. It cannot create a Secret that Kubernetes fills with a token, or a Service that sends other Pods'
// traffic to its own.
func TestACompromisedOperatorAndObjectsOfOthers(t *testing.T) {
	namespace, ctx := apiservertest.Namespace(t), apiservertest.Context(t)
	admin, c := apiservertest.Client(t), asOperator(t, "etcd-operator", namespace)
	good := inNamespace(namespace, made(t, "etcd-operator", "Pod"))
	theirs := changed(good, []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "1", "controller": true}}, "metadata", "ownerReferences")
	theirs.SetName("theirs")
	if err := admin.Create(ctx, theirs); err != nil {
		t.Fatal(err)
	}
	adopted := changed(theirs, good.Object["metadata"].(map[string]any)["ownerReferences"], "metadata", "ownerReferences")
	lost := changed(good, nil, "metadata", "ownerReferences")
	lost.SetName("lost")
	if err := admin.Create(ctx, lost); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(ctx, lost); err != nil {
		t.Errorf("a member that has lost its owner reference is not deleted: %v", err)
	}
	merge := client.MergeFrom(theirs)
	for name, err := range map[string]error{
		"image":    c.Patch(ctx, changed(theirs, "attacker.example.com/x", "spec", "containers", "image"), client.MergeFrom(theirs.DeepCopy())),
		"adoption": c.Patch(ctx, adopted, merge),
		"deletion": c.Delete(ctx, theirs.DeepCopy()),
	} {
		admissiontest.Denied(t, err, "must not write this Pod")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	owned := map[string]any{"namespace": namespace, "name": "x", "labels": good.Object["metadata"].(map[string]any)["labels"], "ownerReferences": good.Object["metadata"].(map[string]any)["ownerReferences"]}
	object := func(kind string, fields map[string]any) *unstructured.Unstructured {
		all := map[string]any{"apiVersion": "v1", "kind": kind, "metadata": maps.Clone(owned)}
		maps.Copy(all, fields)
		return (&unstructured.Unstructured{Object: all}).DeepCopy()
	}
	ports := []any{map[string]any{"port": int64(80)}}
	for name, row := range map[string]struct {
		object *unstructured.Unstructured
		right  bool
	}{
		"a Secret":           {object("Secret", map[string]any{"type": "kubernetes.io/tls", "data": map[string]any{"tls.crt": "", "tls.key": ""}}), true},
		"an opaque Secret":   {object("Secret", nil), true},
		"a token":            {changed(object("Secret", map[string]any{"type": "kubernetes.io/service-account-token"}), "admin", "metadata", "annotations", "kubernetes.io/service-account.name"), false},
		"a bootstrap token":  {object("Secret", map[string]any{"type": "bootstrap.kubernetes.io/token"}), false},
		"a Service":          {object("Service", map[string]any{"spec": map[string]any{"ports": ports, "selector": map[string]any{"etcd_cluster": "x"}}}), true},
		"another selector":   {object("Service", map[string]any{"spec": map[string]any{"ports": ports, "selector": map[string]any{"app": "web"}}}), false},
		"an external IP":     {object("Service", map[string]any{"spec": map[string]any{"ports": ports, "selector": map[string]any{"etcd_cluster": "x"}, "externalIPs": []any{"192.0.2.1"}}}), false},
		"an external name":   {object("Service", map[string]any{"spec": map[string]any{"type": "ExternalName", "externalName": "x.example.com", "selector": map[string]any{"etcd_cluster": "x"}}}), false},
		"a PVC of no etcd":   {changed(changed(object("PersistentVolumeClaim", map[string]any{"spec": claimSpec()}), map[string]any{"app": "web"}, "metadata", "labels"), nil, "metadata", "ownerReferences"), false},
		"a member's own PVC": {object("PersistentVolumeClaim", map[string]any{"spec": claimSpec()}), true},
	} {
		err := c.Create(ctx, row.object, client.DryRunAll)
		if denied := err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"); denied == row.right || row.right && err != nil {
			t.Errorf("%s: error = %v, want it accepted: %t", name, err, row.right)
		}
	}
}

func claimSpec() map[string]any {
	return map[string]any{"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}}}
}

// TestAListOfImages checks that an installer can restrict the images that an operator's account runs, with the
// entries image=PREFIX in the list of its policy.
func TestAListOfImages(t *testing.T) {
	for operator, kind := range map[string]string{"etcd-operator": "Pod", "etcd-backup-operator": "Job", "etcd-restore-operator": "Pod"} {
		t.Run(operator, func(t *testing.T) {
			namespace, ctx := apiservertest.Namespace(t), apiservertest.Context(t)
			c, good := asOperator(t, operator, namespace), inNamespace(namespace, made(t, operator, kind))
			restrictImages(t, operator, namespace, "registry.example.com/")
			images := []string{"spec"}
			if kind == "Job" {
				images = append(images, "template", "spec")
			}
			from := func(image string) *unstructured.Unstructured {
				u := good.DeepCopy()
				for _, list := range []string{"containers", "initContainers"} {
					containers, _, err := unstructured.NestedSlice(u.Object, append(slices.Clone(images), list)...)
					if err != nil {
						t.Fatal(err)
					}
					for i := range containers {
						containers[i].(map[string]any)["image"] = image
					}
					if len(containers) > 0 {
						u = changed(u, containers, append(slices.Clone(images), list)...)
					}
				}
				return u
			}
			admissiontest.TakesEffect(t, c, from("attacker.example.com/x"), "must not run this image")
			if err := c.Create(ctx, from("registry.example.com/etcd:v3.6.16"), client.DryRunAll); err != nil {
				t.Errorf("a listed image: error = %v, want nil", err)
			}
		})
	}
}

// restrictImages adds a copy of an operator's policy that applies in one namespace and lists one prefix of
// images.
func restrictImages(t *testing.T, operator, namespace, prefix string) {
	t.Helper()
	name := operator + "." + namespace
	for _, u := range read(t, filepath.Join(deploy, operator, "crd/admission.yaml")) {
		if !strings.HasPrefix(u.GetName(), operator+".") {
			continue
		}
		u = changed(u, name, "metadata", "name")
		if u.GetKind() == "ValidatingAdmissionPolicyBinding" {
			u = changed(u, name, "spec", "policyName")
		} else {
			u = changed(u, map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}}, "spec", "matchConstraints", "namespaceSelector")
			variables, _, _ := unstructured.NestedSlice(u.Object, "spec", "variables")
			allowed := variables[0].(map[string]any)
			allowed["expression"] = allowed["expression"].(string) + " + ['image=" + prefix + "']"
			u = changed(u, variables, "spec", "variables")
		}
		apiservertest.Create(t, apiservertest.Client(t), u)
	}
}
