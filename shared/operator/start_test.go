package operator

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// oneMinute bounds what takes the operators a few seconds on an idle machine.
const oneMinute = time.Minute

var programs = map[string]Program{
	"etcd-operator":         {Kind: "EtcdCluster", Definition: deploy.EtcdClusters, Optional: []string{"secrets"}},
	"etcd-backup-operator":  {Kind: "EtcdBackup", Definition: deploy.EtcdBackups},
	"etcd-restore-operator": {Kind: "EtcdRestore", Definition: deploy.EtcdRestores, Related: []Dependency{{Definition: deploy.EtcdClusters, Operator: "etcd-operator"}}},
}

// replica is a running operator, with an account of its own.
type replica struct {
	t          *testing.T
	namespace  string
	url        string
	stop       func()
	ended      chan error
	reconciles chan string
}

// start starts a replica of an operator, which reads what it looks after and Pods.
func start(t *testing.T, name, namespace string, to *rest.Config) *replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, namespace: namespace, url: "http://" + address, ended: make(chan error, 1), reconciles: make(chan string, 100)}
	p := programs[name]
	p.Name, p.QPS, p.Burst = name, 100, 200
	p.Caches = func() cache.Options { return cache.Options{} }
	p.SetUp = func(_ context.Context, mgr ctrl.Manager, _ *Options) error {
		kinds := map[string]client.Object{"EtcdCluster": &v1beta2.EtcdCluster{}, "EtcdBackup": &v1beta2.EtcdBackup{}, "EtcdRestore": &v1beta2.EtcdRestore{}}
		return ctrl.NewControllerManagedBy(mgr).For(kinds[p.Kind]).Owns(&corev1.Pod{}).WithOptions(controller.Options{SkipNameValidation: new(true)}).
			Complete(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
				r.reconciles <- request.Name
				return reconcile.Result{}, nil
			}))
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &Options{Name: name, Kind: p.Kind, ListenAddr: address, Namespace: namespace, Pod: "replica", Image: "example.com/operator:v1", LeaderElect: true, Workers: 1}
	go func() { r.ended <- p.serve(ctx, to, o) }()
	r.stop = func() {
		cancel()
		if err := <-r.ended; err != nil {
			t.Errorf("%s ended: %v", name, err)
		}
		r.ended <- nil
	}
	t.Cleanup(r.stop)
	return r
}

// says waits until /readyz has an answer with all of these.
func (r *replica) says(want ...string) {
	r.t.Helper()
	r.serves("/readyz", want...)
}

// serves waits until a path has an answer with all of these.
func (r *replica) serves(path string, want ...string) {
	r.t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(r.t.Context(), 50*time.Millisecond, oneMinute, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+path, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			last = err.Error()
			return false, nil
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		last = fmt.Sprintf("%d %s", response.StatusCode, body)
		return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(last, w) }), err
	})
	if err != nil {
		r.t.Fatalf("%s says %s, want all of %q: %v", path, last, want, err)
	}
}

// isReady waits until the replica is ready.
func (r *replica) isReady() {
	r.t.Helper()
	r.says("200 ok")
}

// works waits until the replica reconciles an object.
func (r *replica) works(name string) {
	r.t.Helper()
	limit := time.After(oneMinute)
	for {
		select {
		case got := <-r.reconciles:
			if got == name {
				return
			}
		case <-limit:
			r.t.Fatalf("%s is not reconciled", name)
		}
	}
}

// idle tells that nothing was reconciled.
func (r *replica) idle() {
	r.t.Helper()
	select {
	case got := <-r.reconciles:
		r.t.Errorf("%s was reconciled", got)
	default:
	}
}

// account reaches a server as an operator's account of the namespace.
func account(to *rest.Config, namespace string) *rest.Config {
	to = rest.CopyConfig(to)
	to.QPS, to.Burst = -1, -1
	to.Impersonate.UserName = "system:serviceaccount:" + namespace + ":operator"
	return to
}

// grant gives the account of the namespace a Role with these rules, and takes away what it
// had by the same name.
func grant(t *testing.T, namespace, name string, rules []rbacv1.PolicyRule) {
	t.Helper()
	c := apiservertest.Client(t)
	at := metav1.ObjectMeta{Namespace: namespace, Name: name}
	for _, o := range []client.Object{
		&rbacv1.Role{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, ObjectMeta: at, Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBinding"}, ObjectMeta: at,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "operator", Namespace: namespace}},
		},
	} {
		//nolint:staticcheck // typed objects need no generated apply configuration here
		if err := c.Patch(apiservertest.Context(t), o, client.Apply, client.FieldOwner("test"), client.ForceOwnership); err != nil {
			t.Fatal(err)
		}
	}
}

// shipped are the rules of an operator's Roles in deploy/.
func shipped(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	var all []rbacv1.PolicyRule
	for _, file := range []string{roleFile, leaseFile} {
		text, err := deploy.Roles.ReadFile(path.Join(name, "base", file))
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(string(text), "\n---\n")
		all = append(all, rulesOf(t, []byte(first))...)
	}
	return all
}

func rulesOf(t *testing.T, manifest []byte) []rbacv1.PolicyRule {
	t.Helper()
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(manifest, &role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("no Role: %v", err)
	}
	return role.Rules
}

// predecessorRole is what installers of the archived operator granted.
const predecessorRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: etcd-operator-role}
rules:
  - {apiGroups: [etcd.database.coreos.com], resources: [etcdclusters, etcdbackups, etcdrestores], verbs: ["*"]}
  - {apiGroups: [""], resources: [pods, services, endpoints, persistentvolumeclaims, events], verbs: ["*"]}
  - {apiGroups: [apps], resources: [deployments], verbs: ["*"]}
  - {apiGroups: [""], resources: [secrets], verbs: [get]}
`

// aPod makes the operator's own Pod.
func aPod(t *testing.T, namespace string) types.UID {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "replica"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "operator", Image: "example.com/operator:v1"}}},
	}
	apiservertest.Create(t, apiservertest.Client(t), pod)
	return pod.UID
}

// aCluster makes an EtcdCluster.
func aCluster(t *testing.T, namespace, name string) {
	t.Helper()
	apiservertest.Create(t, apiservertest.Client(t), &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1beta2.ClusterSpec{Size: 1},
	})
}

// TestPredecessorsRole: under the rights of the archived operator ours is not ready, says
// which it lacks in /readyz and in an event about its Pod, and resumes once they are there.
func TestPredecessorsRole(t *testing.T) {
	t.Parallel()
	namespace := apiservertest.Namespace(t)
	uid := aPod(t, namespace)
	aCluster(t, namespace, "example")
	grant(t, namespace, "old", rulesOf(t, []byte(predecessorRole)))
	r := start(t, "etcd-operator", namespace, account(apiservertest.Config(), namespace))
	missing := []string{
		"missing permissions: ",
		"update etcdclusters/status.etcd.database.coreos.com in namespace " + namespace,
		"list, watch, create, patch, delete poddisruptionbudgets.policy in",
		"list, watch endpointslices.discovery.k8s.io in",
		"create, patch events.events.k8s.io in",
		"get, create, update leases.coordination.k8s.io in namespace " + namespace,
		"apply deploy/etcd-operator/base/role.yaml and deploy/etcd-operator/base/leader-election.yaml",
	}
	r.says(append(missing, "503")...)
	// Its events are of the core group.
	event := warning(t, namespace)
	for _, want := range missing {
		if !strings.Contains(event.Message, want) {
			t.Errorf("the event says %q, without %q", event.Message, want)
		}
	}
	if event.InvolvedObject.UID != uid || event.InvolvedObject.Name != "replica" {
		t.Errorf("the event is about %v", event.InvolvedObject)
	}
	r.idle()
	grant(t, namespace, "ours", shipped(t, "etcd-operator"))
	r.works("example")
	r.isReady()
}

// TestWarning: an operator that may make events of events.k8s.io makes its warning there.
func TestWarning(t *testing.T) {
	t.Parallel()
	namespace := apiservertest.Namespace(t)
	grant(t, namespace, "operator", []rbacv1.PolicyRule{{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create"}}})
	r := start(t, "etcd-backup-operator", namespace, account(apiservertest.Config(), namespace))
	r.says("503", "missing permissions: ")
	if e := warning(t, namespace); e.ReportingController != "etcd-backup-operator" || e.InvolvedObject.Name != "replica" {
		t.Errorf("the event is about %v, by %q", e.InvolvedObject, e.ReportingController)
	}
}

// warning waits for the event of an operator that waits.
func warning(t *testing.T, namespace string) corev1.Event {
	t.Helper()
	c := apiservertest.Client(t)
	var found corev1.Event
	if err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, oneMinute, true, func(ctx context.Context) (bool, error) {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		i := slices.IndexFunc(list.Items, func(e corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && e.Reason == v1beta2.ReasonNotReady
		})
		if i >= 0 {
			found = list.Items[i]
		}
		return i >= 0, nil
	}); err != nil {
		t.Fatalf("no event: %v", err)
	}
	return found
}

// TestEachPermission: without any single one of its rights each operator is not ready, and
// names it; with all that its Roles grant it lacks nothing.
func TestEachPermission(t *testing.T) {
	t.Parallel()
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			namespace := apiservertest.Namespace(t)
			c := apiservertest.ClientFor(t, account(apiservertest.Config(), namespace))
			rules := shipped(t, name)
			o := &Options{Name: name, Namespace: namespace, LeaderElect: true}
			needed, err := o.rights(p.Optional)
			if err != nil || len(needed) < 10 {
				t.Fatalf("it needs %v: %v", needed, err)
			}
			grant(t, namespace, "operator", rules)
			granted(t, c, needed, "")
			for _, without := range needed {
				var rest []rbacv1.PolicyRule
				for _, rule := range rules {
					if slices.Contains(rule.APIGroups, without.group) && slices.Contains(rule.Resources, without.resource) {
						rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == without.verb })
					}
					if len(rule.Verbs) > 0 {
						rest = append(rest, rule)
					}
				}
				grant(t, namespace, "operator", rest)
				granted(t, c, needed, "missing permissions: "+without.verb+" "+without.object()+"; apply "+without.file+", ")
			}
		})
	}
}

// granted waits until just this is missing: the API server follows its Roles by a watch.
func granted(t *testing.T, c client.Client, needed rights, want string) {
	t.Helper()
	var last string
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, oneMinute, true, func(ctx context.Context) (bool, error) {
		asked := slices.Clone(needed)
		last = ""
		if err := asked.check(ctx, c); err != nil {
			last = err.Error()
		}
		return (last == "") == (want == "") && strings.HasPrefix(last, want), nil
	}); err != nil {
		t.Fatalf("it says %q, want %q: %v", last, want, err)
	}
}

// TestRightsByFlags: with leader election off no Lease is asked for; an operator for all
// namespaces needs its rights in all of them, and the Lease at home.
func TestRightsByFlags(t *testing.T) {
	one := Options{Name: "etcd-operator", Namespace: "home"}
	rights, err := one.rights(nil)
	if err != nil || slices.ContainsFunc(rights, func(r right) bool { return r.resource == "leases" }) {
		t.Errorf("without leader election: %v, %v", rights, err)
	}
	all := Options{Name: "etcd-operator", Namespace: "home", ClusterWide: true, LeaderElect: true}
	rights, err = all.rights(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rights {
		if want := map[bool]string{true: "home"}[r.resource == "leases"]; r.namespace != want {
			t.Errorf("%s %s: want namespace %q", r.verb, r.object(), want)
		}
	}
	unknown := Options{Name: "x-operator"}
	if _, err := unknown.rights(nil); err == nil {
		t.Error("an operator without a Role has its rights")
	}
}

// TestOptionalPermissions: a Role from which the rules on Secrets were taken away, as its
// comments allow, is enough.
func TestOptionalPermissions(t *testing.T) {
	t.Parallel()
	namespace := apiservertest.Namespace(t)
	aCluster(t, namespace, "example")
	grant(t, namespace, "operator", slices.DeleteFunc(shipped(t, "etcd-operator"), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") }))
	r := start(t, "etcd-operator", namespace, account(apiservertest.Config(), namespace))
	r.works("example")
	r.isReady()
}

// TestReplicas: of two replicas one works; both are ready, since the other is there to take
// over; and it does.
func TestReplicas(t *testing.T) {
	t.Parallel()
	namespace := apiservertest.Namespace(t)
	aCluster(t, namespace, "example")
	grant(t, namespace, "operator", shipped(t, "etcd-operator"))
	first := start(t, "etcd-operator", namespace, account(apiservertest.Config(), namespace))
	first.works("example")
	first.isReady()
	second := start(t, "etcd-operator", namespace, account(apiservertest.Config(), namespace))
	second.isReady()
	second.idle()
	// The alert about an operator without a leader asks for it.
	second.serves("/metrics", `leader_election_master_status{name="etcd-operator"} `)
	first.stop()
	second.works("example")
	second.isReady()

	lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "etcd-operator"}}
	apiservertest.Read(t, apiservertest.Client(t), &lease)
	if got := time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second; got != leaseDuration {
		t.Errorf("the Lease is held for %s, want %s", got, leaseDuration)
	}
}

// TestTakeOver: the figures keep what they promise, in the worst case.
func TestTakeOver(t *testing.T) {
	const jitter, promised = 2.2, 19 * time.Second // client-go waits up to a period and JitterFactor of it
	look := time.Duration(jitter * float64(retryPeriod))
	if worst := look + leaseDuration + look; worst > promised {
		t.Errorf("a replica may take over only after %s", worst)
	}
	if renewDeadline >= leaseDuration {
		t.Error("a leader may act after another has begun")
	}
}

// TestKindNotServed: on a Kubernetes that has not got its CustomResourceDefinition yet an
// operator waits for it, and resumes by itself; so it does for the kind of another operator,
// without which it works.
func TestKindNotServed(t *testing.T) {
	config := apiservertest.Another(t)
	c := apiservertest.ClientFor(t, config)
	r := start(t, "etcd-restore-operator", metav1.NamespaceDefault, config)
	r.says("503", "waiting for CustomResourceDefinition etcdrestores.etcd.database.coreos.com; apply deploy/etcd-restore-operator/crd")
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdRestores))
	restore := &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "restore"},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster: &v1beta2.ClusterReference{Name: "restore"}, BackupStorageType: "S3", S3: &v1beta2.S3Source{Path: "bucket/key", AWSSecret: "aws"},
		},
	}
	apiservertest.Create(t, c, restore)
	r.works("restore")
	r.says("503", "waiting for CustomResourceDefinition etcdclusters.etcd.database.coreos.com; apply deploy/etcd-operator/crd")
	apiservertest.Install(t, config, apiservertest.Definition(deploy.EtcdClusters))
	r.isReady()
}

// TestPermissionTakenAway: an operator that loses a right while it runs says so once it is
// refused.
func TestPermissionTakenAway(t *testing.T) {
	t.Parallel()
	namespace := apiservertest.Namespace(t)
	ready := newReadiness()
	ready.clear(waitStart)
	c := apiservertest.ClientFor(t, account(apiservertest.Config(), namespace))
	o := &Options{Name: "etcd-backup-operator", Namespace: namespace}
	p := &Program{Name: o.Name}
	forbidden := c.List(apiservertest.Context(t), &corev1.PodList{}, client.InNamespace(namespace))
	p.askAgain(o, c, ready)(t.Context(), forbidden)
	until(t, func() string {
		if got := cmp.Or(strings.Join(ready.reasons(), "\n"), "ready"); !strings.Contains(got, "get, list, watch pods in namespace "+namespace) {
			return got
		}
		return ""
	})
	grant(t, namespace, "operator", shipped(t, "etcd-backup-operator"))
	until(t, func() string { return strings.Join(ready.reasons(), "\n") })
}

func until(t *testing.T, objection func() string) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, oneMinute, true, func(context.Context) (bool, error) { return objection() == "", nil }); err != nil {
		t.Fatalf("%s: %v", objection(), err)
	}
}

// TestAddressInUse: what can't be served ends the operator, rather than to leave it without
// probes.
func TestAddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := programs["etcd-operator"]
	o := &Options{Name: "etcd-operator", ListenAddr: l.Addr().String(), Namespace: apiservertest.Namespace(t)}
	if err := p.serve(apiservertest.Context(t), apiservertest.Config(), o); err == nil || !strings.Contains(err.Error(), o.ListenAddr) {
		t.Errorf("error %v, want one with the address", err)
	}
}
