package build

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const image = "example.com/etcd-restore-operator:v1"

var images = Images{Operator: image, Etcd: "example.com/etcd"}

// restore reads a manifest of testdata, as the API server would give it.
func restore(t *testing.T, file string) *v1beta2.EtcdRestore {
	t.Helper()
	var r v1beta2.EtcdRestore
	manifesttest.Read(t, file, &r)
	r.Namespace, r.UID = "ns", "11111111-2222-3333-4444-555555555555"
	return &r
}

// cluster is the EtcdCluster beside an EtcdRestore.
func cluster(t *testing.T, file string) *v1beta2.EtcdCluster {
	t.Helper()
	var c v1beta2.EtcdCluster
	manifesttest.Read(t, strings.Replace(file, ".restore.", ".cluster.", 1), &c)
	c.Namespace, c.UID = "ns", "66666666-7777-8888-9999-000000000000"
	return &c
}

func sourceOf(r *v1beta2.EtcdRestore) plan.Source {
	return plan.Source{Store: r.Spec.Store(), PVC: r.Spec.PVC}
}

func job(t *testing.T, r *v1beta2.EtcdRestore) *batchv1.Job {
	t.Helper()
	j, err := Job(r, plan.StartJob{Name: plan.JobName(r), Source: sourceOf(r)}, images)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func createOf(r *v1beta2.EtcdRestore) plan.CreateSeed {
	return plan.CreateSeed{
		Name: "example-abcdefghij", Version: "3.6.16", Source: sourceOf(r), Revision: 1_000_001_234,
		Want: &v1beta2.RestoreSnapshot{
			Location: "s3://mybucket/etcd.backup", Size: 20512, SHA256: strings.Repeat("ab", 32), ETag: `"etag"`,
			DatabaseSize: 20480, Revision: 1234, TotalKeys: 10, EtcdVersion: "3.6",
		},
	}
}

func seed(t *testing.T, r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster) *corev1.Pod {
	t.Helper()
	create := createOf(r)
	create.Credentials = credentialsOf(c)
	p, err := Seed(r, c, create, image)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// credentialsOf are those of a cluster with authentication and TLS.
func credentialsOf(c *v1beta2.EtcdCluster) plan.Credentials {
	if c.Spec.RootSecret() == "" {
		return plan.Credentials{}
	}
	return plan.Credentials{RootSecret: c.Spec.RootSecret(), TLSSecret: c.OperatorTLSSecret()}
}

func made(r *v1beta2.EtcdRestore, c *v1beta2.EtcdCluster) *v1beta2.EtcdCluster {
	return Cluster(r, plan.CreateCluster{Labels: c.Labels, Annotations: c.Annotations, Spec: c.Spec})
}

func restores(t *testing.T) []string {
	t.Helper()
	return manifesttest.Files(t, "restore")
}

// The Job, the seed and its volume of each restore in testdata/*.restore.yaml, of the
// cluster beside it, and that cluster as a restore makes it, are as the .golden.yaml
// says. After a wanted change: go test ./internal/build -update.
func TestGolden(t *testing.T) {
	for _, file := range restores(t) {
		t.Run(file, func(t *testing.T) {
			r, c := restore(t, file), cluster(t, file)
			objects := []any{job(t, r), seed(t, r, c)}
			if claim := member.NewClaim(c, createOf(r).Name); claim != nil {
				objects = append(objects, claim)
			}
			if r.MakesCluster() {
				objects = append(objects, made(r, c))
			}
			manifesttest.Golden(t, file, "restore", objects...)
		})
	}
}

// What a namespace with pod-security.kubernetes.io/enforce: restricted admits.
func TestPodsAreRestricted(t *testing.T) {
	for _, file := range restores(t) {
		t.Run(file, func(t *testing.T) {
			r := restore(t, file)
			verify, seed := job(t, r).Spec.Template, seed(t, r, cluster(t, file))
			manifesttest.Restricted(t, &verify.ObjectMeta, &verify.Spec)
			manifesttest.Restricted(t, &seed.ObjectMeta, &seed.Spec)
			for _, spec := range []corev1.PodSpec{verify.Spec, seed.Spec} {
				if token := spec.AutomountServiceAccountToken; token == nil || *token {
					t.Error("the Pod gets a token of the API server")
				}
			}
		})
	}
}

// A builder must not hand out, or write to, what lies in an informer's cache.
func TestNothingIsChangedOrShared(t *testing.T) {
	for _, file := range restores(t) {
		t.Run(file, func(t *testing.T) {
			r, c := restore(t, file), cluster(t, file)
			beforeR, beforeC := r.DeepCopy(), c.DeepCopy()
			for range 2 {
				verify, p, m := job(t, r).Spec.Template, seed(t, r, c), made(r, c)
				for _, marks := range []map[string]string{verify.Labels, verify.Annotations, p.Labels, p.Annotations, m.Annotations} {
					marks["x"] = "x"
				}
				for _, spec := range []*corev1.PodSpec{&verify.Spec, &p.Spec} {
					*spec.SecurityContext.RunAsNonRoot = false
					spec.Tolerations = append(spec.Tolerations[:0], corev1.Toleration{Key: "x"})
					spec.ImagePullSecrets = append(spec.ImagePullSecrets[:0], corev1.LocalObjectReference{Name: "x"})
					if spec.NodeSelector != nil {
						spec.NodeSelector["x"] = "x"
					}
					for _, container := range append(spec.InitContainers, spec.Containers...) {
						if container.Resources.Limits != nil {
							container.Resources.Limits[corev1.ResourceCPU] = resource.MustParse("9")
						}
					}
				}
				if m.Labels != nil {
					m.Labels["x"] = "x"
				}
				if m.Spec.Pod != nil {
					m.Spec.Pod.ServiceAccountName = "x"
				}
			}
			if diff := cmp.Diff(beforeR, r); diff != "" {
				t.Errorf("the EtcdRestore was changed:\n%s", diff)
			}
			if diff := cmp.Diff(beforeC, c); diff != "" {
				t.Errorf("the EtcdCluster was changed:\n%s", diff)
			}
		})
	}
}

// taskIn is the task that a container's agent reads.
func taskIn(t *testing.T, containers []corev1.Container, name string) task.Task {
	t.Helper()
	for _, c := range containers {
		for _, e := range c.Env {
			var got task.Task
			if c.Name != name || e.Name != task.Env {
				continue
			}
			if err := json.Unmarshal([]byte(e.Value), &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
	}
	t.Fatalf("there is no container %s with a task", name)
	return task.Task{}
}

// The agents read from their environment exactly what the operator wrote.
func TestTasks(t *testing.T) {
	for _, file := range restores(t) {
		t.Run(file, func(t *testing.T) {
			r, c := restore(t, file), cluster(t, file)
			spec := job(t, r).Spec.Template.Spec
			verify := taskIn(t, spec.Containers, task.ContainerVerify)
			if verify.Member != nil || verify.Want != nil || verify.Scratch == "" || (verify.Store == nil) == (verify.PVC == nil) {
				t.Errorf("the task of the Job is %+v", verify)
			}
			for _, v := range spec.Volumes {
				if v.Name == volumeScratch && v.EmptyDir.SizeLimit.Value() != verify.ScratchLimit {
					t.Errorf("the agent is told of %d bytes of scratch space, and may use %s", verify.ScratchLimit, v.EmptyDir.SizeLimit)
				}
			}
			p := seed(t, r, c)
			restores := taskIn(t, p.Spec.InitContainers, task.ContainerRestore)
			want := seedTask(r, c, createOf(r))
			want.Credentials = mountCredentials(&agentpod.Files{}, credentialsOf(c))
			if diff := cmp.Diff(want, restores); diff != "" {
				t.Errorf("-written +read:\n%s", diff)
			}
			if m := restores.Member; m.Name != p.Name || m.PeerURL != member.PeerURL(c, p.Name) || m.Token != string(r.UID) || m.DataDir != member.DataDir {
				t.Errorf("the member is %+v", m)
			}
		})
	}
}

// Who reads the snapshot: the user's word for this restore, else that of the EtcdBackup,
// else that of the cluster.
func TestServiceAccount(t *testing.T) {
	cases := map[string]struct{ restore, source, cluster, job, seed string }{
		"nobody's":    {},
		"cluster's":   {cluster: "c", seed: "c"},
		"backup's":    {source: "b", cluster: "c", job: "b", seed: "b"},
		"the user's":  {restore: "r", source: "b", cluster: "c", job: "r", seed: "r"},
		"only user's": {restore: "r", job: "r", seed: "r"},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			r, c := restore(t, "s3.restore.yaml"), cluster(t, "s3.restore.yaml")
			r.Spec.Pod = &v1beta2.AgentPod{ServiceAccountName: tc.restore}
			c.Spec.Pod = &v1beta2.PodPolicy{ServiceAccountName: tc.cluster}
			source := sourceOf(r)
			source.ServiceAccountName = tc.source
			j, err := Job(r, plan.StartJob{Name: "x", Source: source}, images)
			if err != nil {
				t.Fatal(err)
			}
			create := createOf(r)
			create.Source = source
			p, err := Seed(r, c, create, image)
			if err != nil {
				t.Fatal(err)
			}
			if got := j.Spec.Template.Spec.ServiceAccountName; got != tc.job {
				t.Errorf("the Job's is %q, want %q", got, tc.job)
			}
			if got := p.Spec.ServiceAccountName; got != tc.seed {
				t.Errorf("the seed's is %q, want %q", got, tc.seed)
			}
		})
	}
}

// The Job belongs to its EtcdRestore, the seed to the EtcdCluster.
func TestOwners(t *testing.T) {
	r, c := restore(t, "s3.restore.yaml"), cluster(t, "s3.restore.yaml")
	if !metav1.IsControlledBy(job(t, r), r) {
		t.Error("the EtcdRestore does not control the Job")
	}
	if !metav1.IsControlledBy(seed(t, r, c), c) {
		t.Error("the EtcdCluster does not control the seed")
	}
}

// A new EtcdCluster is born fenced.
func TestBornFenced(t *testing.T) {
	r, c := restore(t, "full.restore.yaml"), cluster(t, "full.restore.yaml")
	want := map[string]string{"note": "kept", v1beta2.AnnotationFence: string(r.UID), v1beta2.AnnotationRestoredBy: string(r.UID)}
	if diff := cmp.Diff(want, made(r, c).Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// A seed that mounts the volume of its snapshot has no shape that an EtcdCluster asks for:
// etcd-operator restarts it without that volume when the cluster is whole. Any other is like
// each member.
func TestASeedWithTheBackupsVolumeIsTransient(t *testing.T) {
	for file, transient := range map[string]bool{"pvc.restore.yaml": true, "s3.restore.yaml": false} {
		r, c := restore(t, file), cluster(t, file)
		got := seed(t, r, c).Annotations[v1beta2.AnnotationTemplate]
		if got == "" || (got != member.TemplateHash(c)) != transient {
			t.Errorf("%s: the template is %q, and the cluster's is %q", file, got, member.TemplateHash(c))
		}
	}
}

// A seed is prepared beside members that serve: no Service of the cluster selects it, and no
// budget counts it, before it has its start permit.
func TestNobodySelectsASeedThatPrepares(t *testing.T) {
	for _, file := range restores(t) {
		r, c := restore(t, file), cluster(t, file)
		p := seed(t, r, c)
		selectors := map[string]map[string]string{
			"the client Service": member.ClientService(c).Spec.Selector,
			"the peer Service":   member.PeerService(c).Spec.Selector,
			"the budget":         member.DisruptionBudget(c, 2).Spec.Selector.MatchLabels,
		}
		for what, selector := range selectors {
			if labels.SelectorFromSet(selector).Matches(labels.Set(p.Labels)) {
				t.Errorf("%s: %s selects the seed", file, what)
			}
		}
		p.Labels[v1beta2.LabelOwner] = string(c.UID)
		if !labels.SelectorFromSet(selectors["the peer Service"]).Matches(labels.Set(p.Labels)) {
			t.Errorf("%s: with its start permit, the seed has no name", file)
		}
	}
}

// The seed's node gets etcd's image, and runs it, before a member is stopped.
func TestTheSeedsNodeRunsEtcdsImage(t *testing.T) {
	r, c := restore(t, "s3.restore.yaml"), cluster(t, "s3.restore.yaml")
	p := seed(t, r, c)
	var order []string
	for _, container := range p.Spec.InitContainers {
		order = append(order, container.Name)
		if container.Name == task.ContainerImage && container.Image != p.Spec.Containers[0].Image {
			t.Errorf("it looks for %s, and etcd is %s", container.Image, p.Spec.Containers[0].Image)
		}
	}
	if want := []string{member.ContainerLauncher, task.ContainerImage, task.ContainerRestore}; !slices.Equal(order, want) {
		t.Errorf("the init containers are %v, want %v", order, want)
	}
}
