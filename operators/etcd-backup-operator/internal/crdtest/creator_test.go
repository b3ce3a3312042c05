package crdtest

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/creator"
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
			"spec.authSecret: " + namespace + "-a-password cannot use Secret postgres", "remove authSecret if clusterRef names",
			`{apiGroups: [""], resources: [secrets], resourceNames: [postgres], verbs: [use]} in namespace ` + namespace, "or the right to create Pods there",
		}},
		"a password for an EtcdCluster": {`{clusterRef: {name: x}, authSecret: postgres, ` + toS3 + `}`, []string{"cannot use Secret postgres"}},
		"a certificate":                 {byCertificate, []string{"spec.clientTLSSecret:", `resources: [secrets], resourceNames: [web-tls], verbs: [use]}`}},
		"a volume":                      {byClaim, []string{"spec.pvc.claimName:", `resources: [persistentvolumeclaims], resourceNames: [backups], verbs: [use]}`}},
		"a volume for copies":           {byCopy, []string{"spec.copyTo.pvc.claimName:", `resources: [persistentvolumeclaims], resourceNames: [backups], verbs: [use]}`}},
		"an account":                    {byAccount, []string{"spec.pod.serviceAccountName:", `resources: [serviceaccounts], resourceNames: [admin], verbs: [use]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := admissiontest.User(t, namespace, strings.ReplaceAll(strings.ToLower(name), " ", "-"), mayBackUp)
			admissiontest.Denied(t, create(t, c, namespace, row.spec), row.want...)
		})
	}
}

// Injectors, Services, clouds, networks and schedulers read these settings of a Pod. The list of allowed
// settings is empty: the policy also denies an annotation that no version of the operator knows.
func TestSettingsOfPodsNeedTheRightToCreatePods(t *testing.T) {
	namespace := enforced(t)
	for name, row := range map[string]struct{ reason, settings, field string }{
		"istio-inject": {"a sidecar sees what the Pod mounts", `annotations: {sidecar.istio.io/inject: "true"}`, "pod.annotations/sidecar.istio.io/inject"},
		"istio-image":  {"a creator could choose an image", `annotations: {sidecar.istio.io/proxyImage: attacker.example.com/x}`, "pod.annotations/sidecar.istio.io/proxyImage"},
		"istio-secret": {"the sidecar can mount any Secret", `annotations: {sidecar.istio.io/userVolume: '[{"name":"x","secret":{"secretName":"postgres"}}]'}`, "pod.annotations/sidecar.istio.io/userVolume"},
		"linkerd":      {"a creator could choose an image", `annotations: {config.linkerd.io/proxy-image: attacker.example.com/x}`, "pod.annotations/config.linkerd.io/proxy-image"},
		"dapr":         {"a creator could choose an image", `annotations: {dapr.io/sidecar-image: attacker.example.com/x}`, "pod.annotations/dapr.io/sidecar-image"},
		"multus":       {"the Pod joins another network", `annotations: {k8s.v1.cni.cncf.io/networks: storage}`, "pod.annotations/k8s.v1.cni.cncf.io/networks"},
		"kube2iam":     {"the Pod gets a cloud's identity", `annotations: {iam.amazonaws.com/role: admin}`, "pod.annotations/iam.amazonaws.com/role"},
		"unknown":      {"an injector that does not exist yet", `annotations: {example.com/later: x}`, "pod.annotations/example.com/later"},
		"identity":     {"the Pod gets a cloud's identity", `labels: {aadpodidbinding: admin}`, "pod.labels/aadpodidbinding"},
		"selected":     {"a Service would send it other Pods' traffic", `labels: {web: front}`, "pod.labels/web"},
		"root":         {"Pod Security admission may allow it", `securityContext: {runAsUser: 0}`, "pod.securityContext"},
		"node":         {"a node has an identity", `nodeSelector: {node-role.kubernetes.io/control-plane: ""}`, "pod.nodeSelector"},
		"taint":        {"a node has an identity", `tolerations: [{operator: Exists}]`, "pod.tolerations"},
		"affinity":     {"a node has an identity", `affinity: {nodeAffinity: {}}`, "pod.affinity"},
		"priority":     {"it preempts Pods of others", `priorityClassName: high`, "pod.priorityClassName"},
		"verification": {"its Pod has the account of the EtcdBackup", `}, verification: {nodeSelector: {a: b}`, "verification.nodeSelector"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := `{` + from + `, ` + toS3 + `, pod: {` + row.settings + `}}`
			c := admissiontest.User(t, namespace, name, mayBackUp)
			admissiontest.Denied(t, create(t, c, namespace, spec), "spec."+row.field+": "+namespace+"-"+name+" cannot set this field without the right to create Pods in namespace "+namespace+": remove the field")
			c = admissiontest.User(t, namespace, "may-"+name, mayBackUp, mayCreatePods)
			if err := create(t, c, namespace, spec); err != nil {
				t.Errorf("%s, but whoever can create Pods was refused: %v", row.reason, err)
			}
		})
	}
}

// TestInstallersAllowSettings extends the list of allowed settings, as docs/tasks/permissions.md and the chart
// do.
func TestInstallersAllowSettings(t *testing.T) {
	namespace := enforced(t)
	const list = `[] + ["pod.labels/team","pod.annotations/sidecar.istio.io/inject=false","pod.nodeSelector"]`
	patch := client.RawPatch(types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/variables/0/expression", "value": `+strconv.Quote(list)+`}]`))
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: creator.BackupPolicy}}
	if err := apiservertest.Client(t).Patch(apiservertest.Context(t), policy, patch); err != nil {
		t.Fatal(err)
	}
	c := admissiontest.User(t, namespace, "creator", mayBackUp)
	pod := func(settings string) *unstructured.Unstructured {
		return admissiontest.Object(t, "EtcdBackup", namespace, "", `{`+from+`, `+toS3+`, pod: {`+settings+`}}`)
	}
	allowed := pod(`labels: {team: a}, annotations: {sidecar.istio.io/inject: "false"}, nodeSelector: {pool: spare}`)
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = c.Create(ctx, allowed.DeepCopy())
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("what the list allows is refused: %v", last)
	}
	for name, settings := range map[string]string{
		"another value": `annotations: {sidecar.istio.io/inject: "true"}`, "another label": `labels: {teams: a}`,
		"another field": `tolerations: [{operator: Exists}]`, "one beside": `labels: {team: a, web: front}`,
	} {
		if err := c.Create(apiservertest.Context(t), pod(settings)); err == nil {
			t.Errorf("%s is accepted", name)
		}
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
		"password-by-jobs":         {"whoever creates Jobs creates Pods", byPassword, []rbacv1.PolicyRule{admissiontest.Right("batch", "jobs", []string{"create"})}},
		"plain-settings":           {"ResourceQuotas limit resources, and env accepts only a few names", `{` + from + `, ` + toS3 + `, pod: {resources: {limits: {memory: 1Gi}}, env: [{name: NO_PROXY, value: x}], imagePullSecrets: [{name: x}]}}`, nil},
		"empty-settings":           {"old clients send empty values", `{` + from + `, ` + toS3 + `, pod: {labels: {}, annotations: {}, nodeSelector: {}, tolerations: []}}`, nil},
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
