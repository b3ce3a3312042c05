package crdtest

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

var (
	mayCreateClusters = admissiontest.Right(v1beta2.GroupName, "etcdclusters", []string{"get", "create", "update"})
	mayScale          = admissiontest.Right(v1beta2.GroupName, "etcdclusters/scale", []string{"update"})
	mayCreatePods     = admissiontest.Right("", "pods", []string{"create"})
	mayCreateJobs     = admissiontest.Right("batch", "jobs", []string{"create"})
	mayCreateServices = admissiontest.Right("", "services", []string{"create"})
)

const byImage = `{repository: attacker.example.com/etcd}`

// enforced installs the admission policy, and returns a namespace.
func enforced(t *testing.T) (namespace string) {
	t.Helper()
	namespace = apiservertest.Namespace(t)
	c := admissiontest.User(t, namespace, "creator", mayCreateClusters)
	admissiontest.Enforced(t, repoRoot, "etcd-operator", c, admissiontest.Object(t, "EtcdCluster", namespace, "refused", byImage))
	return namespace
}

// These settings of an EtcdCluster need the right to create Pods or Services.
func TestNobodyReachesMoreByAnEtcdCluster(t *testing.T) {
	namespace := enforced(t)
	for name, row := range map[string]struct {
		reason string
		spec   string
		field  string
		needs  rbacv1.PolicyRule
	}{
		"image":         {"etcd's container runs it", byImage, "repository", mayCreatePods},
		"image-by-jobs": {"whoever creates Jobs creates Pods", byImage, "repository", mayCreateJobs},
		"secret": {"a variable contains the value of a Secret", `{pod: {etcdEnv: [{name: X, valueFrom: {secretKeyRef: {name: postgres, key: password}}}]}}`,
			"pod.etcdEnv.valueFrom", mayCreatePods},
		"istio": {"Istio runs an image with a Secret", `{pod: {annotations: {sidecar.istio.io/proxyImage: attacker.example.com/x}}}`,
			"pod.annotations/sidecar.istio.io/proxyImage", mayCreatePods},
		"unknown":  {"a later injector may read it", `{pod: {annotations: {example.com/later: x}}}`, "pod.annotations/example.com/later", mayCreatePods},
		"label":    {"a Service selects it", `{pod: {labels: {web: front}}}`, "pod.labels/web", mayCreatePods},
		"root":     {"Pod Security admission may allow it", `{pod: {securityContext: {runAsUser: 0}}}`, "pod.securityContext", mayCreatePods},
		"account":  {"a cloud gives it an identity", `{pod: {serviceAccountName: admin}}`, "pod.serviceAccountName", mayCreatePods},
		"node":     {"a node has an identity", `{pod: {nodeSelector: {a: b}}}`, "pod.nodeSelector", mayCreatePods},
		"taint":    {"a node has an identity", `{pod: {tolerations: [{operator: Exists}]}}`, "pod.tolerations", mayCreatePods},
		"affinity": {"a node has an identity", `{pod: {affinity: {nodeAffinity: {}}}}`, "pod.affinity", mayCreatePods},
		"priority": {"it preempts Pods of others", `{pod: {priorityClassName: high}}`, "pod.priorityClassName", mayCreatePods},
		"password": {"it is sent to the members", `{auth: {rootSecret: postgres}}`, "auth.rootSecret", mayCreatePods},
		"certificate": {"members mount it", `{TLS: {static: {operatorSecret: a, member: {serverSecret: b}}}}`,
			"TLS.static", mayCreatePods},
		"balancer": {"the cloud gives it an address", `{service: {type: LoadBalancer}}`, "service.type", mayCreateServices},
		"nodeport": {"every node listens", `{service: {type: NodePort}}`, "service.type", mayCreateServices},
		"dns":      {"a DNS controller reads it", `{service: {annotations: {external-dns.alpha.kubernetes.io/hostname: login.example.com}}}`, "service.annotations/external-dns.alpha.kubernetes.io/hostname", mayCreateServices},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, name, mayCreateClusters)
			admissiontest.Denied(t, create(t, c, namespace, name, row.spec),
				"spec."+row.field+": "+namespace+"-"+name+" cannot set this field without the right to create ", "allow the field in policy etcdclusters.etcd.database.coreos.com")
			c = admissiontest.User(t, namespace, "may-"+name, mayCreateClusters, row.needs)
			if err := create(t, c, namespace, name, row.spec); err != nil {
				t.Errorf("%s, but whoever has the right was refused: %v", row.reason, err)
			}
		})
	}
}

// These specs need no other right than to create EtcdClusters.
func TestCreatorsMay(t *testing.T) {
	namespace := enforced(t)
	c := admissiontest.User(t, namespace, "plain", mayCreateClusters)
	for name, row := range map[string]struct{ reason, spec string }{
		"default":   {"an etcd with the defaults", `{}`},
		"official":  {"an image of etcd's maintainers", `{repository: gcr.io/etcd-development/etcd, version: 3.6.16}`},
		"defaults":  {"a Pod and a Service have these values by default", `{pod: {serviceAccountName: default}, service: {type: ClusterIP}}`},
		"empty":     {"old clients send empty values", `{repository: "", pod: {labels: {}, annotations: {}, nodeSelector: {}, tolerations: [], serviceAccountName: ""}, service: {annotations: {}}}`},
		"setting":   {"a plain value is etcd's own setting", `{pod: {etcdEnv: [{name: ETCD_LOG_LEVEL, value: info}]}, etcd: {snapshotCount: 5}}`},
		"resources": {"a ResourceQuota limits them", `{pod: {resources: {requests: {cpu: "1"}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			if err := create(t, c, namespace, "may-"+name, row.spec); err != nil {
				t.Errorf("%s, but it was refused: %v", row.reason, err)
			}
		})
	}
}

// Accounts that can create Pods can apply the predecessor's manifests.
func TestCreatorsOfPodsApplyThePredecessorsManifests(t *testing.T) {
	namespace := enforced(t)
	c := admissiontest.User(t, namespace, "user", mayCreateClusters, mayCreatePods)
	for _, path := range admissiontest.Glob(t, predecessors) {
		u := admissiontest.Manifest(t, path)
		u.SetNamespace(namespace)
		unstructured.RemoveNestedField(u.Object, "status")
		if err := c.Create(apiservertest.Context(t), u, client.DryRunAll); err != nil {
			t.Errorf("%s is refused: %v", path, err)
		}
	}
}

// A user can change an EtcdCluster without the right to the settings that another user set and that stay
// unchanged.
func TestOnlyWhatChangesIsChecked(t *testing.T) {
	namespace := enforced(t)
	const theirs = `{size: 3, repository: registry.example.com/etcd, pod: {labels: {a: b}, annotations: {c: d}, securityContext: {runAsUser: 0},
 etcdEnv: [{name: X, valueFrom: {secretKeyRef: {name: postgres, key: z}}}]}, service: {type: LoadBalancer, annotations: {e: f}}}`
	u := admissiontest.Object(t, "EtcdCluster", namespace, "theirs", theirs)
	ctx := apiservertest.Context(t)
	if err := admissiontest.Client(t).Create(ctx, u); err != nil {
		t.Fatal(err)
	}
	c := admissiontest.User(t, namespace, "editor", mayCreateClusters, mayScale)
	for name, edit := range map[string]func() error{
		"a label":     func() error { u.SetLabels(map[string]string{"team": "a"}); return c.Update(ctx, u) },
		"the version": func() error { return edit(t, c, u, "3.6.16", "spec", "version") },
		"a removal": func() error {
			unstructured.RemoveNestedField(u.Object, "spec", "service", "annotations")
			return c.Update(ctx, u)
		},
		"the scale": func() error {
			scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": map[string]any{"replicas": int64(5)}}}
			return c.SubResource("scale").Update(ctx, u.DeepCopy(), client.WithSubResourceBody(scale))
		},
	} {
		if err := admissiontest.Client(t).Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			t.Fatal(err)
		}
		if err := edit(); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
	}
	for _, field := range [][]string{{"spec", "pod", "labels", "a"}, {"spec", "pod", "annotations", "new"}, {"spec", "repository"}} {
		if err := admissiontest.Client(t).Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
			t.Fatal(err)
		}
		admissiontest.Denied(t, edit(t, c, u, "changed", field...), "cannot set this field")
	}
}

func edit(t *testing.T, c client.Client, u *unstructured.Unstructured, value string, field ...string) error {
	t.Helper()
	if err := unstructured.SetNestedField(u.Object, value, field...); err != nil {
		t.Fatal(err)
	}
	return c.Update(apiservertest.Context(t), u)
}

func create(t *testing.T, c client.Client, namespace, name, spec string) error {
	t.Helper()
	return c.Create(apiservertest.Context(t), admissiontest.Object(t, "EtcdCluster", namespace, name, spec))
}
