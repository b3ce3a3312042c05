package command

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func TestList(t *testing.T) {
	example, other := aCluster("example"), aCluster("other")
	backedUp(example, aBackup("hourly", "example"))
	other.Namespace, other.Status.TargetVersion, other.Status.ReadyMembers = "prod", "3.7.3", "2/3"
	says(other, "Degraded", "True", "MembersUnhealthy", "other-b does not answer")
	says(other, "Progressing", "True", "UpgradingMember", "1 of 3")
	w := aWorld(t, example, other)
	golden(t, "list", w.run("list"), w.run("list -A -o wide"), aWorld(t).run("list"), w.run("list -o table"))
	if got := w.run("list -o yaml"); !strings.Contains(got, "kind: EtcdClusterList") || !strings.Contains(got, "  kind: EtcdCluster\n") || !strings.Contains(got, "clusterID: 8a3fc1e07b2d4c55") {
		t.Errorf("as YAML it is not a list of EtcdClusters:\n%s", got)
	}
}

func TestMembers(t *testing.T) {
	c := aCluster("example")
	c.Status.MemberDetails[1].Unmanaged = true
	pods := podsOf(c)
	pods[2].(*corev1.Pod).Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 4, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
	w := aWorld(t, append(pods, c)...)
	golden(t, "members", w.run("members example -o wide --ask-etcd=false"), w.run("members example -o json --ask-etcd=false"), w.run("members missing"))
}

func TestStatus(t *testing.T) {
	healthy := func() (*v1beta2.EtcdCluster, *v1beta2.EtcdBackup) {
		c, b := aCluster("example"), aBackup("hourly", "example")
		backedUp(c, b)
		until := metav1.NewTime(now.Add(58 * 24 * time.Hour))
		c.Spec.TLS, c.Status.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}, &v1beta2.TLSStatus{NotAfter: &until}
		return c, b
	}
	show := func(c *v1beta2.EtcdCluster, b *v1beta2.EtcdBackup, more ...*v1beta2.EtcdRestore) string {
		w := aWorld(t, append(podsOf(c), c, b)...)
		for _, r := range more {
			if err := w.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		return w.run("status example --ask-etcd=false")
	}
	c, b := healthy()
	golden(t, "status-healthy", show(c, b))

	c, b = healthy()
	c.Spec.Version, c.Status.TargetVersion, c.Generation = "3.7.3", "3.7.3", 2
	says(c, "Progressing", "True", "UpgradingMember", "1 of 3 members run quay.io/coreos/etcd:v3.7.3; restarting member example-bbbbbbbbbb")
	says(c, "Upgrading", "True", "Upgrading", "1 of 3 members run quay.io/coreos/etcd:v3.7.3")
	c.Status.Conditions[3].LastTransitionTime = ago(time.Minute)
	golden(t, "status-upgrading", show(c, b))

	c, b = healthy()
	c.Status.Backup, c.Status.TLS.NotAfter = nil, &metav1.Time{Time: now.Add(-time.Hour)}
	c.Status.Alarms = []v1beta2.AlarmStatus{{Kind: "NOSPACE", Member: "example-bbbbbbbbbb"}}
	says(c, "Available", "False", "NoSpace", "etcd refuses writes: alarm NOSPACE on member example-bbbbbbbbbb; reads work, and no data is lost: databases have reached their quota; set spec.maintenance.autoRepairSpace: true, and the operator compacts, defragments and disarms")
	says(c, "Progressing", "False", "NoSpace", "etcd refuses writes: alarm NOSPACE on member example-bbbbbbbbbb; the condition Available says what to do")
	says(c, "CertificatesReady", "False", "CertificatesInvalid", "Secret example-server-tls: tls.crt has expired")
	says(c, "BackedUp", "False", "NoGoodBackup", "there is no good backup")
	golden(t, "status-no-space", show(c, b, &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "back"},
		Spec:       v1beta2.RestoreSpec{EtcdCluster: &v1beta2.ClusterReference{Name: "example"}},
		Status:     v1beta2.RestoreStatus{Phase: v1beta2.RestoreVerifying, Progress: "104.0 MiB of 361.0 MiB"},
	}))

	golden(t, "status-new", aWorld(t, &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new", Generation: 1}}).run("status new"))
}

// A cluster whose members cannot be reached is shown all the same.
func TestStatusWithoutPortForward(t *testing.T) {
	c := aCluster("example")
	w := aWorld(t, append(podsOf(c), c)...)
	if got := w.run("status example"); !strings.Contains(got, "etcd was not asked: no member of EtcdCluster example can be reached") || !strings.Contains(got, "3 voters serve") {
		t.Error(got)
	}
	if got := w.run("status example -o json"); !strings.Contains(got, `"etcdNotAsked": "no member`) {
		t.Error(got)
	}
}

func TestEvents(t *testing.T) {
	c, b := aCluster("example"), aBackup("hourly", "example")
	event := func(name, kind, about, reason, message string, when time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: "default", Name: about},
			Type:           "Normal", Reason: reason, Message: message, LastTimestamp: ago(when), Count: 2,
		}
	}
	w := aWorld(t, c, b,
		event("1", "EtcdCluster", "example", "MemberAdded", "added member example-c", time.Minute),
		event("2", "Pod", "example-aaaaaaaaaa", "Started", "started container etcd", time.Hour),
		event("3", "EtcdBackup", "hourly", "BackupSucceeded", "stored", 30*time.Minute),
		event("7", "Job", "hourly-thlyqfs33b", "SuccessfulCreate", "Created pod: hourly-thlyqfs33b-t95fq", 31*time.Minute),
		event("8", "Pod", "hourly-thlyqfs33b-t95fq", "Failed", "Error: ImagePullBackOff", 31*time.Minute),
		event("9", "Pod", "hourly-report-t95fq", "Started", "of another EtcdBackup", time.Minute),
		event("4", "EtcdCluster", "other", "MemberAdded", "of another cluster", time.Minute),
		event("6", "Pod", "example-operator-7d6c4fcb79-8c96v", "Started", "of no member", time.Minute),
		event("5", "Pod", "web-1", "Started", "of no cluster", time.Minute))
	golden(t, "events", w.run("events example"), aWorld(t, c).run("events example"))
}

func TestVersionAndCompletion(t *testing.T) {
	w := aWorld(t, anOperator("etcd-operators", "etcd-operator-1", "--cluster-wide"))
	// The versions of Go and of etcd are those of the build.
	built := strings.NewReplacer(runtime.Version(), "GO", strings.Join(etcdversion.All(), ", "), "VERSIONS")
	golden(t, "version", built.Replace(w.run("version")), built.Replace(w.run("version --client")), w.run("--version"))
	for _, shell := range []string{"kubectl", "bash", "zsh", "fish", "powershell"} {
		if got := w.run("completion " + shell); !strings.Contains(got, "kubectl-etcd") || strings.Contains(got, "error:") {
			t.Errorf("%s: %.200s", shell, got)
		}
	}
	if got := aWorld(t, aCluster("example"), aCluster("other")).run("__complete status", ""); !strings.Contains(got, "example\nother\n:4") {
		t.Errorf("names of clusters are not completed:\n%s", got)
	}
}

// anOperator is a Pod of etcd-operator.
func anOperator(namespace, name string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1beta2.LabelName: "etcd-operator", "app.kubernetes.io/part-of": "etcd-operators"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Image: "ghcr.io/etcd-operators/etcd-operator:dev", Args: append([]string{"--listen-addr=0.0.0.0:8080"}, args...)}}},
	}
}

// The operators that serve a namespace are found wherever they run, as far as the user can list Pods.
func TestOperatorsThatServeANamespace(t *testing.T) {
	w := aWorld(t, aCluster("example"),
		anOperator("default", "own"),
		anOperator("etcd-operators", "all-from-its-own-namespace", "--cluster-wide"),
		anOperator("platform", "all-from-another-namespace", "--cluster-wide=true"),
		anOperator("team-a", "of-another-namespace"),
		anOperator("team-b", "of-another-namespace-said-so", "--cluster-wide=false"),
		anOperator("etcd-operators", "of-the-namespace-etcd-operators"),
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	found := func() []string {
		got := w.run("version -o json")
		var names []string
		for _, line := range strings.Split(got, "\n") {
			if pod, _, isOperator := strings.Cut(line, ": ghcr.io/"); isOperator {
				names = append(names, strings.Trim(pod, ` "`))
			}
		}
		slices.Sort(names)
		return names
	}
	want := []string{"default/own", "etcd-operators/all-from-its-own-namespace", "platform/all-from-another-namespace"}
	if got := found(); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if got := w.run("logs example --operator"); !strings.Contains(got, "all-from-another-namespace  {") || strings.Contains(got, "of-another-namespace  {") {
		t.Error(got)
	}

	w.list = func(_ client.ObjectList, namespace string) error {
		if namespace == "" {
			return apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no RBAC policy matched"))
		}
		return nil
	}
	if got := found(); !slices.Equal(got, want[:2]) {
		t.Errorf("without the right to list Pods of all namespaces, found %q, want %q", got, want[:2])
	}
}

// What somebody has no right to list, or what no operator is installed for, is said, and the rest is shown.
func TestStatusWithoutRights(t *testing.T) {
	c, b := aCluster("example"), aBackup("hourly", "example")
	backedUp(c, b)
	w := aWorld(t, append(podsOf(c), c, b)...)
	w.list = func(list client.ObjectList, _ string) error {
		resource := map[string]string{"*v1.PodList": "pods", "*v1beta2.EtcdBackupList": "etcdbackups", "*v1beta2.EtcdRestoreList": "etcdrestores"}[fmt.Sprintf("%T", list)]
		if resource == "" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no RBAC policy matched"))
	}
	screens := []string{w.run("status example"), w.run("status example -o json"), w.run("diagnose example"), w.run("members example --ask-etcd=false")}
	w.list = func(list client.ObjectList, _ string) error {
		for kind, of := range map[string]client.ObjectList{"EtcdBackup": &v1beta2.EtcdBackupList{}, "EtcdRestore": &v1beta2.EtcdRestoreList{}} {
			if reflect.TypeOf(list) == reflect.TypeOf(of) {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: v1beta2.GroupName, Kind: kind}}
			}
		}
		return nil
	}
	golden(t, "status-no-rights", append(screens, w.run("status example --ask-etcd=false"), w.run("backups example"), w.run("events example"))...)
	w.list = func(client.ObjectList, string) error {
		return apierrors.NewServiceUnavailable("the API server is shutting down")
	}
	if got := w.run("status example"); !strings.Contains(got, "error: ") {
		t.Errorf("an API server that does not answer is taken for a right that is missing:\n%s", got)
	}
}

// etcd tells its quota from 3.6 on. Of an older one the Pod tells it.
func TestQuotaOfOldEtcd(t *testing.T) {
	c := aCluster("example")
	c.Status.MemberDetails = c.Status.MemberDetails[:1]
	pods := podsOf(c)
	container := &pods[0].(*corev1.Pod).Spec.Containers[0]
	container.Env = []corev1.EnvVar{{Name: member.EnvQuota, Value: "16384"}} // less than its empty database takes
	m := etcdtest.NewMember(t, etcdtest.Versions()[0], c.Status.MemberDetails[0].Name)
	m.Start(t, "new", m)
	m.WaitReady(t)
	w := aWorld(t, append(pods, c)...)
	w.forward = forwardTo([]*etcdtest.Member{m})
	if got := w.run("members example"); !strings.Contains(got, "% of 16.0 KiB") {
		t.Errorf("the quota is not shown:\n%s", got)
	}
	if got := w.run("diagnose example"); !strings.Contains(got, "quota nearly used") {
		t.Errorf("a database near its quota is not found:\n%s", got)
	}
}

// TestEventsWithoutRights: without the right to list backups or restores, the other events are shown.
func TestEventsWithoutRights(t *testing.T) {
	w := aWorld(t, aCluster("example"), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "1"},
		InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Namespace: "default", Name: "example"},
		Reason:         "MemberAdded", LastTimestamp: ago(time.Minute),
	})
	w.list = func(list client.ObjectList, _ string) error {
		if _, ok := list.(*v1beta2.EtcdBackupList); ok {
			return apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("etcdbackups").GroupResource(), "", errors.New("no right"))
		}
		return nil
	}
	got := w.run("events example")
	for _, want := range []string{"MemberAdded", "Not all events are shown: list EtcdBackups: etcdbackups.etcd.database.coreos.com is forbidden"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s, want %s in it", got, want)
		}
	}
}

// TestVersionFails: in each format, the exit code reports that the API server does not answer.
func TestVersionFails(t *testing.T) {
	for _, line := range []string{"version", "version -o json"} {
		out := &display{}
		app := aWorld(t).app(out)
		app.Connect = func(bool) (*kube.Access, error) { return nil, errors.New("no route to host") }
		if got := Run(t.Context(), app, nil, strings.Fields(line)); got != 1 || !strings.Contains(out.String(), "no route to host") {
			t.Errorf("%s: got exit code %d, want 1, and why:\n%s", line, got, out)
		}
	}
}

// TestManagedFieldsAreNotShown: managed fields are longer than the object, and of no use to a reader.
func TestManagedFieldsAreNotShown(t *testing.T) {
	managed := []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	w := aWorld(t, aCluster("example"), aBackup("hourly", "example"), &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "1"},
		InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Namespace: "default", Name: "example"},
	})
	w.Client = interceptor.NewClient(w.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, o, opts...)
			o.SetManagedFields(managed)
			return err
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if err := c.List(ctx, list, opts...); err != nil {
				return err
			}
			return meta.EachListItem(list, func(o kruntime.Object) error {
				o.(client.Object).SetManagedFields(managed)
				return nil
			})
		},
	})
	everyCommand(t, func(cmd *cobra.Command, name string, args []string) {
		if o := cmd.Flags().Lookup("output"); o == nil || name == "connect" || name == "check" || name == "top" {
			return
		}
		if cmd.Flags().Lookup("wait") != nil {
			args = append(args, "--wait=false")
		}
		if got := w.run(strings.Join(append(args, "-o", "yaml"), " ")); strings.Contains(got, "managedFields") {
			t.Errorf("%s: managedFields are shown:\n%s", name, got)
		}
	})
}
