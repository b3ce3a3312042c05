package crdtest

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const operatorName = "etcd-backup-operator"

var (
	mayBackUp     = admissiontest.Right(v1beta2.GroupName, "etcdbackups", []string{"get", "create", "update"})
	mayCreatePods = admissiontest.Right("", "pods", []string{"create"})
)

// Fields by which an EtcdBackup uses what is another's.
const (
	byPassword    = `{etcdEndpoints: ["https://x:2379"], authSecret: postgres, ` + toS3 + `}`
	byCertificate = `{etcdEndpoints: ["https://x:2379"], clientTLSSecret: web-tls, ` + toS3 + `}`
	byClaim       = `{` + from + `, ` + toPV + `}`
	byCopy        = `{` + from + `, ` + toS3 + `, copyTo: {storageType: PVC, pvc: {claimName: backups, path: etcd}}}`
	byIdentity    = `{` + from + `, ` + toS3 + `, pod: {annotations: {"iam.amazonaws.com/role": admin}}}`
	byLabel       = `{` + from + `, ` + toS3 + `, pod: {labels: {aadpodidbinding: admin}}}`
	byAccount     = `{` + from + `, ` + toS3 + `, pod: {serviceAccountName: admin}}`
)

// enforced installs the rules of admission, and returns a namespace.
func enforced(t *testing.T) (namespace string) {
	t.Helper()
	namespace = apiservertest.Namespace(t)
	nobody := admissiontest.User(t, namespace, "nobody", mayBackUp)
	admissiontest.Enforced(t, repoRoot, operatorName, nobody, admissiontest.Object(t, "EtcdBackup", namespace, "", byAccount))
	return namespace
}

// Who may create EtcdBackups, and nothing else, uses no Secret, volume or account of
// another's by one, and is told which right to ask for.
func TestNobodyReachesMoreByAnEtcdBackup(t *testing.T) {
	namespace := enforced(t)
	for name, row := range map[string]struct {
		spec string
		want []string
	}{
		"a password": {byPassword, []string{
			"spec.authSecret: " + namespace + "-a-password cannot use Secret postgres", "leave authSecret out where clusterRef names",
			`{apiGroups: [""], resources: [secrets], resourceNames: [postgres], verbs: [use]} in namespace ` + namespace, "or the right to create Pods there",
		}},
		"a password for an EtcdCluster": {`{clusterRef: {name: x}, authSecret: postgres, ` + toS3 + `}`, []string{"cannot use Secret postgres"}},
		"a certificate":                 {byCertificate, []string{"spec.clientTLSSecret:", `resources: [secrets], resourceNames: [web-tls], verbs: [use]}`}},
		"a volume":                      {byClaim, []string{"spec.pvc.claimName:", `resources: [persistentvolumeclaims], resourceNames: [backups], verbs: [use]}`}},
		"a volume for copies":           {byCopy, []string{"spec.copyTo.pvc.claimName:", `resources: [persistentvolumeclaims], resourceNames: [backups], verbs: [use]}`}},
		"an identity":                   {byIdentity, []string{"spec.pod:", "cannot choose the identity of a Pod by iam.amazonaws.com/role: remove it, or grant the right to create Pods in namespace " + namespace}},
		"an identity by label":          {byLabel, []string{"cannot choose the identity of a Pod by aadpodidbinding"}},
		"an account":                    {byAccount, []string{"spec.pod.serviceAccountName:", `resources: [serviceaccounts], resourceNames: [admin], verbs: [use]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, strings.ReplaceAll(strings.ToLower(name), " ", "-"), mayBackUp)
			admissiontest.Denied(t, create(t, c, namespace, row.spec), row.want...)
		})
	}
}

// What needs nobody's consent, and what those may do who have it.
func TestCreatorsMay(t *testing.T) {
	namespace := enforced(t)
	use := func(resource, verb, name string) rbacv1.PolicyRule {
		return admissiontest.Right("", resource, []string{verb}, name)
	}
	for name, row := range map[string]struct {
		reason string
		spec   string
		right  []rbacv1.PolicyRule
	}{
		"cronjob":                  {"the account of the example", `{clusterRef: {name: x}, ` + toS3 + `}`, nil},
		"endpoints":                {"the predecessor's manifests: requests to S3 are signed, and reveal no key", `{` + from + `, ` + toS3 + `}`, nil},
		"default-account":          {"every Pod has it", `{` + from + `, ` + toS3 + `, pod: {serviceAccountName: default}}`, nil},
		"empty":                    {"old clients send empty strings", `{` + from + `, ` + toS3 + `, authSecret: "", clientTLSSecret: "", pod: {serviceAccountName: ""}}`, nil},
		"password-by-pods":         {"a Pod mounts any Secret", byPassword, []rbacv1.PolicyRule{mayCreatePods}},
		"password-by-use":          {"its owner lets them", byPassword, []rbacv1.PolicyRule{use("secrets", "use", "postgres")}},
		"password-by-get":          {"they can read it themselves", byPassword, []rbacv1.PolicyRule{use("secrets", "get", "postgres")}},
		"certificate-by-pods":      {"a Pod mounts any Secret", byCertificate, []rbacv1.PolicyRule{mayCreatePods}},
		"certificate-by-use":       {"its owner lets them", byCertificate, []rbacv1.PolicyRule{use("secrets", "use", "web-tls")}},
		"volume-by-pods":           {"a Pod mounts any claim", byClaim, []rbacv1.PolicyRule{mayCreatePods}},
		"volume-by-use":            {"its owner lets them", byClaim, []rbacv1.PolicyRule{use("persistentvolumeclaims", "use", "backups")}},
		"volume-by-update":         {"it is theirs", byClaim, []rbacv1.PolicyRule{use("persistentvolumeclaims", "update", "backups")}},
		"copies-by-pods":           {"a Pod mounts any claim", byCopy, []rbacv1.PolicyRule{mayCreatePods}},
		"copies-by-use":            {"its owner lets them", byCopy, []rbacv1.PolicyRule{use("persistentvolumeclaims", "use", "backups")}},
		"copies-by-update":         {"it is theirs", byCopy, []rbacv1.PolicyRule{use("persistentvolumeclaims", "update", "backups")}},
		"other-annotations":        {"they reach nothing", `{` + from + `, ` + toS3 + `, pod: {annotations: {"sidecar.istio.io/inject": "false"}, labels: {team: a}}}`, nil},
		"identity-by-pods":         {"a Pod has any annotation", byIdentity, []rbacv1.PolicyRule{mayCreatePods}},
		"account-by-pods":          {"a Pod runs as any account", byAccount, []rbacv1.PolicyRule{mayCreatePods}},
		"account-by-use":           {"its owner lets them", byAccount, []rbacv1.PolicyRule{use("serviceaccounts", "use", "admin")}},
		"account-by-impersonation": {"they can act as it themselves", byAccount, []rbacv1.PolicyRule{use("serviceaccounts", "impersonate", "admin")}},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, name, append(row.right, mayBackUp)...)
			if err := create(t, c, namespace, row.spec); err != nil {
				t.Errorf("%s, but it was refused: %v", row.reason, err)
			}
		})
	}
}

// A right to one object lets nobody use another.
func TestConsentIsForOneObject(t *testing.T) {
	namespace := enforced(t)
	c := admissiontest.User(t, namespace, "one", mayBackUp,
		admissiontest.Right("", "secrets", []string{"use", "get"}, "mine"),
		admissiontest.Right("", "persistentvolumeclaims", []string{"use", "update"}, "mine"),
		admissiontest.Right("", "serviceaccounts", []string{"use", "impersonate"}, "mine"))
	for _, spec := range []string{byPassword, byCertificate, byClaim, byCopy, byAccount} {
		admissiontest.Denied(t, create(t, c, namespace, spec))
	}
	elsewhere := apiservertest.Namespace(t)
	const user = "who-may-create-pods-elsewhere"
	admissiontest.UserIn(t, elsewhere, user, mayCreatePods)
	admissiontest.Denied(t, create(t, admissiontest.UserIn(t, namespace, user, mayBackUp), namespace, byAccount))
}

// Whoever changes the spec of an EtcdBackup answers for all of it; what others made before
// may be labelled, and goes on.
func TestAChangeIsTheOneWhoMakesIt(t *testing.T) {
	namespace := enforced(t)
	admin := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdBackup", namespace, "theirs", byPassword)
	if err := admin.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	c := admissiontest.User(t, namespace, "editor", mayBackUp)
	u.SetLabels(map[string]string{"team": "a"})
	u.SetFinalizers([]string{"example.com/x"})
	if err := c.Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("a label is refused: %v", err)
	}
	elsewhere := []any{"https://attacker.example.com:2379"}
	if err := unstructured.SetNestedSlice(u.Object, elsewhere, "spec", "etcdEndpoints"); err != nil {
		t.Fatal(err)
	}
	admissiontest.Denied(t, c.Update(apiservertest.Context(t), u), "cannot use Secret postgres")
}

func create(t *testing.T, c client.Client, namespace, spec string) error {
	t.Helper()
	return c.Create(apiservertest.Context(t), admissiontest.Object(t, "EtcdBackup", namespace, "", spec))
}
