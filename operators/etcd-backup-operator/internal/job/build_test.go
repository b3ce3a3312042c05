package job

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
)

const image = "example.com/etcd-backup-operator:v1"

var (
	due = time.Date(2026, 1, 2, 3, 30, 0, 0, time.UTC)
	// serverTime is later: the API server's clock is not the operator's.
	serverTime = due.Add(2 * time.Second)
)

// backup reads a manifest of testdata, as the API server would give it.
func backup(t *testing.T, file string) *v1beta2.EtcdBackup {
	t.Helper()
	var b v1beta2.EtcdBackup
	manifesttest.Read(t, file, &b)
	b.Namespace, b.UID = "ns", "11111111-2222-3333-4444-555555555555"
	return &b
}

func startOf(b *v1beta2.EtcdBackup) plan.StartJob {
	s := plan.StartJob{Name: plan.JobName(b, due), Scheduled: due, Started: due.Add(time.Second), RetryUntil: due.Add(time.Hour), Endpoints: b.Spec.EtcdEndpoints, TLSSecret: b.Spec.ClientTLSSecret, AuthSecret: b.Spec.AuthSecret}
	if b.Spec.ClusterRef != nil {
		s.Endpoints, s.Cluster = []string{"https://example-aaaaaaaaaa.example.ns.svc:2379"}, b.Spec.ClusterRef.Name
		s.OwnAuth = s.AuthSecret != ""
		s.Forbidden, s.Pinned = []string{"00000000000000aa"}, []string{"00000000000000bb"}
	}
	return s
}

func build(t *testing.T, b *v1beta2.EtcdBackup) *batchv1.Job {
	t.Helper()
	j, err := Build(b, startOf(b), serverTime, image)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func backups(t *testing.T) []string {
	t.Helper()
	return manifesttest.Files(t, "backup")
}

// The Job of each backup in testdata/*.backup.yaml is as the .golden.yaml beside it
// says. After a wanted change: go test ./internal/job -update.
func TestGolden(t *testing.T) {
	for _, file := range backups(t) {
		t.Run(file, func(t *testing.T) { manifesttest.Golden(t, file, "backup", build(t, backup(t, file))) })
	}
}

// What a namespace with pod-security.kubernetes.io/enforce: restricted admits.
func TestPodsAreRestricted(t *testing.T) {
	for _, file := range backups(t) {
		t.Run(file, func(t *testing.T) {
			pod := build(t, backup(t, file)).Spec.Template
			manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
			if token := pod.Spec.AutomountServiceAccountToken; token == nil || *token {
				t.Error("the Pod gets a token of the API server")
			}
		})
	}
}

// A builder must not hand out, or write to, what lies in an informer's cache.
func TestBackupIsNeitherChangedNorShared(t *testing.T) {
	for _, file := range backups(t) {
		t.Run(file, func(t *testing.T) {
			b := backup(t, file)
			before := b.DeepCopy()
			for range 2 {
				pod := build(t, b).Spec.Template
				pod.Labels["x"], pod.Annotations["x"] = "x", "x"
				if pod.Spec.NodeSelector != nil {
					pod.Spec.NodeSelector["x"] = "x"
				}
				*pod.Spec.SecurityContext.RunAsNonRoot = false
				pod.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory]
				pod.Spec.Tolerations = append(pod.Spec.Tolerations[:0], corev1.Toleration{Key: "x"})
			}
			if diff := cmp.Diff(before, b); diff != "" {
				t.Errorf("the EtcdBackup was changed:\n%s", diff)
			}
		})
	}
}

// The agent reads from its environment exactly what the operator wrote.
func TestTaskRoundTrip(t *testing.T) {
	for _, file := range backups(t) {
		t.Run(file, func(t *testing.T) {
			b := backup(t, file)
			want := newTask(b, startOf(b), serverTime)
			var got task.Task
			for _, e := range build(t, b).Spec.Template.Spec.Containers[0].Env {
				if e.Name != task.Env {
					continue
				}
				if err := json.Unmarshal([]byte(e.Value), &got); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-written +read:\n%s", diff)
			}
			if (got.Store == nil) == (got.PVC == nil) {
				t.Errorf("S3 is %v and PVC is %v, want one of them", got.Store, got.PVC)
			}
		})
	}
}

// The agent keeps one backup of each cluster in any case, or as many as the policy says.
func TestTheAgentKnowsHowManyToKeep(t *testing.T) {
	for policy, want := range map[*v1beta2.BackupPolicy]int{nil: 0, {}: 0, {MinBackups: 1}: 0, {MinBackups: 3}: 3} {
		b := backup(t, backups(t)[0])
		b.Spec.BackupPolicy = policy
		if got := newTask(b, startOf(b), serverTime).MinBackups; got != want {
			t.Errorf("with the policy %+v the agent is to keep %d, want %d", policy, got, want)
		}
	}
}

// A dollar sign in a name is one, not a variable of Kubernetes' making.
func TestDollarSigns(t *testing.T) {
	b := backup(t, "s3.backup.yaml")
	b.Spec.S3.Path = "mybucket/$(HOME)/$$"
	value := build(t, b).Spec.Template.Spec.Containers[0].Env[0].Value
	var got task.Task
	if err := json.Unmarshal([]byte(value), &got); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(value, "$") || got.Store.Key != "$(HOME)/$$" {
		t.Errorf("the key is %q in %s", got.Store.Key, value)
	}
}

// Labels tell backups apart, whatever they are called.
func TestLabels(t *testing.T) {
	long := strings.Repeat("a", 52)
	seen := map[string]string{}
	for _, name := range []string{
		"a", "a.b", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 253),
		long + "." + strings.Repeat("b", 60), long + "-" + strings.Repeat("b", 60),
	} {
		for key, value := range Labels(name) {
			if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
				t.Errorf("label %s of %s: %v", key, name, errs)
			}
		}
		value := Selector(name)[v1beta2.LabelBackup]
		if other, ok := seen[value]; ok {
			t.Errorf("%s and %s have the same label", name, other)
		}
		seen[value] = name
	}
}

// The user's labels and annotations never take the place of ours, even on an object
// that is older than the rules which refuse them.
func TestOurLabelsWin(t *testing.T) {
	b := backup(t, "s3.backup.yaml")
	b.Spec.Pod = &v1beta2.AgentPod{
		Labels:      map[string]string{v1beta2.LabelApp: "etcd", v1beta2.LabelBackup: "other"},
		Annotations: map[string]string{v1beta2.AnnotationBackup: "other"},
	}
	pod := build(t, b).Spec.Template
	for key, want := range Labels(b.Name) {
		if pod.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, pod.Labels[key], want)
		}
	}
	if got := pod.Annotations[v1beta2.AnnotationBackup]; got != b.Name {
		t.Errorf("the annotation is %q, want %q", got, b.Name)
	}
}

// The Job belongs to its EtcdBackup, and to that one only.
func TestOwner(t *testing.T) {
	b := backup(t, "s3.backup.yaml")
	j := build(t, b)
	if !metav1.IsControlledBy(j, b) {
		t.Error("the EtcdBackup does not control the Job")
	}
	b.UID = "another"
	if metav1.IsControlledBy(j, b) {
		t.Error("a later EtcdBackup of the same name controls the Job")
	}
}

// A backup is streamed: its Pod takes no space on its node's disk, which would have to be
// requested and bounded.
func TestNoScratch(t *testing.T) {
	for _, file := range backups(t) {
		for _, v := range build(t, backup(t, file)).Spec.Template.Spec.Volumes {
			if v.EmptyDir != nil || v.HostPath != nil || v.Ephemeral != nil {
				t.Errorf("%s: the volume %s is on the node's disk", file, v.Name)
			}
		}
	}
}
