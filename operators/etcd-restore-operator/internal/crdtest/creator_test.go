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
	mayRestore        = admissiontest.Right(v1beta2.GroupName, "etcdrestores", []string{"get", "create", "update"})
	mayCreateClusters = admissiontest.Right(v1beta2.GroupName, "etcdclusters", []string{"create"})
	mayCreatePods     = admissiontest.Right("", "pods", []string{"create"})
)

// Restores by which somebody gets an EtcdCluster, or what is another's.
const (
	byTemplate = `{clusterTemplate: {spec: {size: 3, repository: attacker.example.com/etcd, pod: {etcdEnv: [{name: X, valueFrom: {secretKeyRef: {name: postgres, key: password}}}]}}}, ` + fromS3 + `}`
	byCopy     = `{etcdCluster: {name: example}, target: New, ` + fromS3 + `}`
	replacing  = `{etcdCluster: {name: example}, target: InPlace, ` + fromS3 + `}`
	byClaim    = `{etcdCluster: {name: example}, target: InPlace, backupStorageType: PVC, pvc: {claimName: backups, path: etcd.db}}`
	byIdentity = `{etcdCluster: {name: example}, target: InPlace, ` + fromS3 + `, pod: {annotations: {"iam.amazonaws.com/role": admin}}}`
	byAccount  = `{etcdCluster: {name: example}, target: InPlace, ` + fromS3 + `, pod: {serviceAccountName: admin}}`
)

// mayUpdate is the right to change one EtcdCluster.
func mayUpdate(verb, name string) rbacv1.PolicyRule {
	return admissiontest.Right(v1beta2.GroupName, "etcdclusters", []string{verb}, name)
}

// enforced installs the rules of admission, and returns a namespace.
func enforced(t *testing.T) (namespace string) {
	t.Helper()
	namespace = apiservertest.Namespace(t)
	nobody := admissiontest.User(t, namespace, "nobody", mayRestore)
	admissiontest.Enforced(t, repoRoot, "etcd-restore-operator", nobody, admissiontest.Object(t, "EtcdRestore", namespace, "refused", byTemplate))
	// The policy for templates takes effect on its own.
	creator := admissiontest.User(t, namespace, "creator", mayRestore, mayCreateClusters)
	admissiontest.Enforced(t, repoRoot, "etcd-restore-operator", creator, admissiontest.Object(t, "EtcdRestore", namespace, "refused", byTemplate))
	return namespace
}

// Who may create EtcdRestores, and nothing else, gets no EtcdCluster by one, replaces what
// none holds, and uses no volume or account of another's; and is told which right to ask for.
func TestNobodyReachesMoreByAnEtcdRestore(t *testing.T) {
	namespace := enforced(t)
	const grant = `{apiGroups: [etcd.database.coreos.com], resources: [etcdclusters], `
	for name, row := range map[string]struct {
		spec  string
		right []rbacv1.PolicyRule
		want  []string
	}{
		"template": {byTemplate, []rbacv1.PolicyRule{mayCreatePods}, []string{
			namespace + "-template cannot create EtcdClusters, and this EtcdRestore creates one", grant + "verbs: [create]} in namespace " + namespace,
		}},
		"copy": {byCopy, nil, []string{"cannot create", grant + "verbs: [create]}"}},
		"in-place": {replacing, []rbacv1.PolicyRule{mayCreateClusters}, []string{
			"cannot update EtcdCluster example, and this EtcdRestore replaces its data", grant + "resourceNames: [example], verbs: [update]} in namespace " + namespace,
		}},
		"of-its-own-name": {`{etcdCluster: {name: of-its-own-name}, ` + fromS3 + `}`, nil, []string{"cannot update EtcdCluster of-its-own-name"}},
		"another":         {replacing, []rbacv1.PolicyRule{mayUpdate("update", "mine")}, []string{"EtcdCluster example", "cannot update"}},
		"volume":          {byClaim, []rbacv1.PolicyRule{mayUpdate("update", "example")}, []string{"spec.pvc.claimName:", `resources: [persistentvolumeclaims], resourceNames: [backups], verbs: [use]}`}},
		"identity":        {byIdentity, []rbacv1.PolicyRule{mayUpdate("update", "example")}, []string{"spec.pod.annotations/iam.amazonaws.com/role: ", "cannot set this field"}},
		"unknown":         {`{verifyOnly: true, pod: {annotations: {example.com/later: x}}, ` + fromS3 + `}`, nil, []string{"spec.pod.annotations/example.com/later: "}},
		"selected":        {`{verifyOnly: true, pod: {labels: {web: front}}, ` + fromS3 + `}`, nil, []string{"spec.pod.labels/web: "}},
		"root":            {`{verifyOnly: true, pod: {securityContext: {runAsUser: 0}}, ` + fromS3 + `}`, nil, []string{"spec.pod.securityContext: "}},
		"image":           {byTemplate, []rbacv1.PolicyRule{mayCreateClusters}, []string{"spec.clusterTemplate.spec.repository: ", "create Pods"}},
		"balancer":        {`{clusterTemplate: {spec: {service: {type: LoadBalancer}}}, ` + fromS3 + `}`, []rbacv1.PolicyRule{mayCreateClusters, mayCreatePods}, []string{"spec.clusterTemplate.spec.service.type: ", "create Services"}},
		"account":         {byAccount, []rbacv1.PolicyRule{mayUpdate("update", "example")}, []string{"spec.pod.serviceAccountName:", `resources: [serviceaccounts], resourceNames: [admin], verbs: [use]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, name, append(row.right, mayRestore)...)
			admissiontest.Denied(t, create(t, c, namespace, name, row.spec), row.want...)
		})
	}
}

// Who may create or change the EtcdCluster may restore it, as ever.
func TestCreatorsMay(t *testing.T) {
	namespace := enforced(t)
	for name, row := range map[string]struct {
		spec  string
		right []rbacv1.PolicyRule
	}{
		"template":             {`{clusterTemplate: {spec: {size: 3}}, ` + fromS3 + `}`, []rbacv1.PolicyRule{mayCreateClusters}},
		"template-with-image":  {byTemplate, []rbacv1.PolicyRule{mayCreateClusters, mayCreatePods}},
		"copy":                 {byCopy, []rbacv1.PolicyRule{mayCreateClusters}},
		"in-place":             {replacing, []rbacv1.PolicyRule{mayUpdate("update", "example")}},
		"in-place-by-patch":    {replacing, []rbacv1.PolicyRule{mayUpdate("patch", "example")}},
		"predecessors":         {`{etcdCluster: {name: predecessors}, ` + fromS3 + `}`, []rbacv1.PolicyRule{mayUpdate("update", "predecessors")}},
		"verify-in-place":      {`{etcdCluster: {name: example}, target: InPlace, verifyOnly: true, ` + fromS3 + `}`, nil},
		"verify-a-copy":        {`{etcdCluster: {name: example}, target: New, verifyOnly: true, ` + fromS3 + `}`, nil},
		"volume-by-pods":       {byClaim, []rbacv1.PolicyRule{mayUpdate("update", "example"), mayCreatePods}},
		"volume-by-use":        {byClaim, []rbacv1.PolicyRule{mayUpdate("update", "example"), admissiontest.Right("", "persistentvolumeclaims", []string{"use"}, "backups")}},
		"identity-by-pods":     {byIdentity, []rbacv1.PolicyRule{mayUpdate("update", "example"), mayCreatePods}},
		"account-by-pods":      {byAccount, []rbacv1.PolicyRule{mayUpdate("update", "example"), mayCreatePods}},
		"verification":         {`{verifyOnly: true, startEtcd: {}, backupRef: {name: nightly}, pod: {securityContext: {fsGroup: 1}, nodeSelector: {a: b}, affinity: {}}}`, []rbacv1.PolicyRule{admissiontest.Right("batch", "jobs", []string{"create"})}}, // by etcd-backup-operator
		"account-by-use":       {byAccount, []rbacv1.PolicyRule{mayUpdate("update", "example"), admissiontest.Right("", "serviceaccounts", []string{"use"}, "admin")}},
		"an-etcdbackups-place": {`{etcdCluster: {name: example}, target: InPlace, backupRef: {name: nightly}}`, []rbacv1.PolicyRule{mayUpdate("update", "example")}},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, "may-"+name, append(row.right, mayRestore)...)
			if err := create(t, c, namespace, name, row.spec); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

// Whoever changes the spec answers for it. Our operator, which may update no EtcdCluster by
// these rights, adds its finalizer to what others made.
func TestAChangeIsTheOneWhoMakesIt(t *testing.T) {
	namespace := enforced(t)
	u := admissiontest.Object(t, "EtcdRestore", namespace, "theirs", byClaim)
	if err := admissiontest.Client(t).Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	c := admissiontest.User(t, namespace, "editor", mayRestore)
	u.SetFinalizers([]string{v1beta2.GroupName + "/restore"})
	if err := c.Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("a finalizer is refused: %v", err)
	}
	if err := unstructured.SetNestedField(u.Object, true, "spec", "acceptRunningOldMembers"); err != nil {
		t.Fatal(err)
	}
	admissiontest.Denied(t, c.Update(apiservertest.Context(t), u), "cannot update EtcdCluster example")
}

func create(t *testing.T, c client.Client, namespace, name, spec string) error {
	t.Helper()
	return c.Create(apiservertest.Context(t), admissiontest.Object(t, "EtcdRestore", namespace, name, spec))
}
