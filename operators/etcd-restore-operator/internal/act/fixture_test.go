package act

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const image = "example.com/etcd-restore-operator:test"

// fixture is a restore and its cluster in the middle of everything.
type fixture struct {
	t         *testing.T
	client    client.Client
	namespace string
	a         *Actor

	restore *v1beta2.EtcdRestore
	cluster *v1beta2.EtcdCluster
}

// newFixture makes a cluster that is left to a restore.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := apiservertest.Client(t)
	f := &fixture{t: t, client: c, namespace: apiservertest.Namespace(t)}
	f.a = &Actor{Client: c, Live: c, Metrics: metrics.New(prometheus.NewRegistry()), Images: build.Images{Operator: image, Etcd: "example.com/etcd"}}
	f.restore = &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: f.namespace},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster: &v1beta2.ClusterReference{Name: "x"}, BackupStorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "bucket/x"},
		},
	}
	apiservertest.Create(t, c, f.restore)
	f.makeCluster()
	return f
}

// makeCluster makes the EtcdCluster, which is left to the restore.
func (f *fixture) makeCluster(changes ...func(*v1beta2.EtcdCluster)) {
	f.t.Helper()
	f.cluster = &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: f.namespace, Annotations: map[string]string{v1beta2.AnnotationFence: string(f.restore.UID)}},
		Spec: v1beta2.ClusterSpec{Size: 3, Pod: &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}},
	}
	for _, change := range changes {
		change(f.cluster)
	}
	apiservertest.Create(f.t, f.client, f.cluster)
	f.fencedBy(string(f.restore.UID))
}

func (f *fixture) fencedBy(uid string) {
	f.t.Helper()
	f.cluster.Status.FencedBy = uid
	apiservertest.SetStatus(f.t, f.client, f.cluster)
}

// mark sets an annotation of the EtcdCluster, or removes it.
func (f *fixture) mark(annotation, value string) {
	f.t.Helper()
	if f.cluster.Annotations == nil {
		f.cluster.Annotations = map[string]string{}
	}
	f.cluster.Annotations[annotation] = value
	if value == "" {
		delete(f.cluster.Annotations, annotation)
	}
	f.update(f.cluster)
}

func (f *fixture) update(o client.Object) {
	f.t.Helper()
	if err := f.client.Update(apiservertest.Context(f.t), o); err != nil {
		f.t.Fatal(err)
	}
}

// pod makes a Pod of the cluster.
func (f *fixture) pod(name string) *corev1.Pod {
	f.t.Helper()
	p, err := member.NewPod(f.cluster, member.Options{Name: name, Version: "3.6.16", LauncherImage: image, Role: v1beta2.RoleVoter})
	if err != nil {
		f.t.Fatal(err)
	}
	apiservertest.Create(f.t, f.client, p)
	return p
}

// claim makes a volume of the cluster, without the protection of those in use, which
// nobody would take away here.
func (f *fixture) claim(name string, retired bool) *corev1.PersistentVolumeClaim {
	f.t.Helper()
	c := member.NewClaim(f.cluster, name)
	if retired {
		delete(c.Labels, v1beta2.LabelCluster)
		c.Labels[v1beta2.LabelRetiredBy] = string(f.restore.UID)
	}
	apiservertest.Create(f.t, f.client, c)
	c.Finalizers = nil
	f.update(c)
	return c
}

// job makes the Job.
func (f *fixture) job() *batchv1.Job {
	f.t.Helper()
	j, err := build.Job(f.restore, f.start(), f.a.Images)
	if err != nil {
		f.t.Fatal(err)
	}
	apiservertest.Create(f.t, f.client, j)
	return j
}

func (f *fixture) start() plan.StartJob {
	return plan.StartJob{Name: plan.JobName(f.restore), Source: plan.Source{Store: f.restore.Spec.Store()}}
}

func (f *fixture) createSeed() plan.CreateSeed {
	return plan.CreateSeed{Name: "x-s", Version: "3.6.16", Source: plan.Source{Store: f.restore.Spec.Store()}, Want: &v1beta2.RestoreSnapshot{SHA256: "x"}, Revision: 1}
}

// seed makes the seed as the action does.
func (f *fixture) seed() *corev1.Pod {
	f.t.Helper()
	p, err := build.Seed(f.restore, f.cluster, f.createSeed(), image)
	if err != nil {
		f.t.Fatal(err)
	}
	apiservertest.Create(f.t, f.client, p)
	return p
}

func refOf(o client.Object) plan.Ref { return plan.Ref{Name: o.GetName(), UID: string(o.GetUID())} }

// offer is the value of the annotation seeded for a Pod.
func (f *fixture) offer(p *corev1.Pod) string {
	return fmt.Sprintf("%s/%s/%s", f.restore.UID, p.Name, p.UID)
}

// observed is the world as it is now, for an action that is carried out later.
func (f *fixture) observed() (*v1beta2.EtcdRestore, *plan.Observation) {
	return f.restore.DeepCopy(), &plan.Observation{Restore: f.restore.DeepCopy(), Cluster: f.cluster.DeepCopy()}
}

// state is what there is, by kind and name, with its resourceVersion; a Pod that is to be
// deleted is not.
func (f *fixture) state() map[string]string {
	f.t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{
		&v1beta2.EtcdRestoreList{}, &v1beta2.EtcdClusterList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.PersistentVolumeClaimList{},
	} {
		if err := f.client.List(apiservertest.Context(f.t), list, client.InNamespace(f.namespace)); err != nil {
			f.t.Fatal(err)
		}
		for _, o := range itemsOf(list) {
			all[fmt.Sprintf("%T %s", o, o.GetName())] = o.GetResourceVersion()
		}
	}
	return all
}

func itemsOf(list client.ObjectList) (all []client.Object) {
	switch l := list.(type) {
	case *v1beta2.EtcdRestoreList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *v1beta2.EtcdClusterList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *batchv1.JobList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *corev1.PodList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	case *corev1.PersistentVolumeClaimList:
		for i := range l.Items {
			all = append(all, &l.Items[i])
		}
	}
	return all
}

// gone reports whether an object is not there.
func (f *fixture) gone(o client.Object) bool {
	return apierrors.IsNotFound(f.client.Get(apiservertest.Context(f.t), client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object)))
}

// labels are those of a volume now.
func (f *fixture) labels(name string) map[string]string {
	f.t.Helper()
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace}}
	apiservertest.Read(f.t, f.client, c)
	return c.Labels
}

// annotations are those of the EtcdCluster now.
func (f *fixture) annotations() map[string]string {
	f.t.Helper()
	apiservertest.Read(f.t, f.client, f.cluster)
	return f.cluster.Annotations
}
