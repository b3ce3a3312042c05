// Package kube is the plugin's side of Kubernetes: a client that knows the custom resources, and
// the questions about a cluster that several commands ask.
package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Access is how the commands reach Kubernetes.
type Access struct {
	client.Client
	// Namespace is that of the flags or of the kubeconfig's context.
	Namespace string
	// Config is how the API server is reached; nil in tests without one.
	Config *rest.Config
}

// Scheme has the kinds of Kubernetes and ours.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta2.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // two kinds of one name: a bug of this program
		}
	}
	return scheme
}

// requestTimeout bounds a request for objects, unless --request-timeout does: the
// largest is a list of a namespace's events. Logs and port-forwards last, and are not bounded.
const requestTimeout = 30 * time.Second

// New is the access that a kubeconfig gives.
func New(config *rest.Config, namespace string) (*Access, error) {
	bounded := rest.CopyConfig(config)
	bounded.Timeout = cmp.Or(bounded.Timeout, requestTimeout)
	c, err := client.New(bounded, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return &Access{Client: c, Namespace: namespace, Config: config}, nil
}

// Cluster reads an EtcdCluster of the namespace.
func (a *Access) Cluster(ctx context.Context, name string) (*v1beta2.EtcdCluster, error) {
	cluster := &v1beta2.EtcdCluster{}
	if err := a.Get(ctx, a.key(name), cluster); err != nil {
		return nil, a.explain("EtcdCluster", name, err)
	}
	return cluster, nil
}

// Backup reads an EtcdBackup of the namespace.
func (a *Access) Backup(ctx context.Context, name string) (*v1beta2.EtcdBackup, error) {
	backup := &v1beta2.EtcdBackup{}
	if err := a.Get(ctx, a.key(name), backup); err != nil {
		return nil, a.explain("EtcdBackup", name, err)
	}
	return backup, nil
}

// Restore reads an EtcdRestore of the namespace.
func (a *Access) Restore(ctx context.Context, name string) (*v1beta2.EtcdRestore, error) {
	restore := &v1beta2.EtcdRestore{}
	if err := a.Get(ctx, a.key(name), restore); err != nil {
		return nil, a.explain("EtcdRestore", name, err)
	}
	return restore, nil
}

func (a *Access) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: a.Namespace, Name: name}
}

// explain says what to do about an object that cannot be read.
func (a *Access) explain(kind, name string, err error) error {
	switch {
	case meta.IsNoMatchError(err):
		return UnknownKind(kind)
	case apierrors.IsNotFound(err):
		return explained{err, fmt.Sprintf("%s %s does not exist in namespace %s: %s shows all", kind, name, a.Namespace, kinds[kind].list)}
	}
	return fmt.Errorf("read %s %s: %w", kind, name, err)
}

// explained is an error of the API server in words of ours.
type explained struct {
	error
	words string
}

func (e explained) Error() string { return e.words }
func (e explained) Unwrap() error { return e.error }

// kinds are the operator of each kind, and what lists its objects.
var kinds = map[string]struct{ operator, list string }{
	"EtcdCluster": {"etcd-operator", "kubectl etcd list -A"},
	"EtcdBackup":  {"etcd-backup-operator", "kubectl get etcdbk -A"},
	"EtcdRestore": {"etcd-restore-operator", "kubectl get etcdrs -A"},
}

// Operator is the one that serves a kind.
func Operator(kind string) string { return kinds[kind].operator }

// UnknownKind says what to do about a kind that the API server does not know.
func UnknownKind(kind string) error {
	operator := kinds[kind].operator
	return fmt.Errorf("the API server has no kind %s: to install %s, run \"kubectl etcd install --operators %s\"", kind, operator, operator)
}

// Pods are the Pods of a cluster's members, by name. Those of an earlier EtcdCluster of its
// name are not among them.
func (a *Access) Pods(ctx context.Context, cluster *v1beta2.EtcdCluster) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := a.List(ctx, list, client.InNamespace(a.Namespace), client.MatchingLabels{v1beta2.LabelCluster: cluster.Name}); err != nil {
		return nil, fmt.Errorf("list the Pods of EtcdCluster %s: %w", cluster.Name, err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		owner := p.Labels[v1beta2.LabelOwner]
		return owner != "" && owner != string(cluster.UID)
	})
	slices.SortFunc(pods, func(x, y corev1.Pod) int { return strings.Compare(x.Name, y.Name) })
	return pods, nil
}

// IsReady reports whether a Pod is ready.
func IsReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Backups are the EtcdBackups of a cluster, by name; those of all clusters of the namespace if
// the name is empty.
func (a *Access) Backups(ctx context.Context, cluster string) ([]v1beta2.EtcdBackup, error) {
	list := &v1beta2.EtcdBackupList{}
	if err := a.List(ctx, list, client.InNamespace(a.Namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, explained{err, UnknownKind("EtcdBackup").Error()}
		}
		return nil, fmt.Errorf("list EtcdBackups: %w", err)
	}
	backups := slices.DeleteFunc(list.Items, func(b v1beta2.EtcdBackup) bool { return cluster != "" && Source(&b) != cluster })
	slices.SortFunc(backups, func(x, y v1beta2.EtcdBackup) int { return strings.Compare(x.Name, y.Name) })
	return backups, nil
}

// Source is the EtcdCluster that an EtcdBackup backs up: the one of clusterRef, or the one whose
// client Service is in etcdEndpoints. Empty if neither tells.
func Source(b *v1beta2.EtcdBackup) string {
	if b.Spec.ClusterRef != nil {
		return b.Spec.ClusterRef.Name
	}
	for _, endpoint := range b.Spec.EtcdEndpoints {
		_, host, _ := strings.Cut(endpoint, "://")
		host, _, _ = strings.Cut(host, ":")
		host, _, _ = strings.Cut(host, ".")
		if name, isClient := strings.CutSuffix(host, "-client"); isClient {
			return name
		}
	}
	return ""
}

// Restores are the EtcdRestores about a cluster, by name.
func (a *Access) Restores(ctx context.Context, cluster string) ([]v1beta2.EtcdRestore, error) {
	list := &v1beta2.EtcdRestoreList{}
	if err := a.List(ctx, list, client.InNamespace(a.Namespace)); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, explained{err, UnknownKind("EtcdRestore").Error()}
		}
		return nil, fmt.Errorf("list EtcdRestores: %w", err)
	}
	restores := slices.DeleteFunc(list.Items, func(r v1beta2.EtcdRestore) bool {
		return r.Status.Cluster != cluster && r.Name != cluster && (r.Spec.EtcdCluster == nil || r.Spec.EtcdCluster.Name != cluster)
	})
	slices.SortFunc(restores, func(x, y v1beta2.EtcdRestore) int { return strings.Compare(x.Name, y.Name) })
	return restores, nil
}

// Patch changes an object by a merge patch of what change does to it. It has no precondition on
// the resource version: what it sets is the user's own, and the operators never write it.
func (a *Access) Patch(ctx context.Context, o client.Object, change func()) error {
	before := o.DeepCopyObject().(client.Object)
	change()
	if err := a.Client.Patch(ctx, o, client.MergeFrom(before), client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("patch %s: %w", o.GetName(), err)
	}
	return nil
}

// FieldOwner is what the API server records as the manager of the fields that the plugin sets.
const FieldOwner = "kubectl-etcd"

// Clients is a client for what the other one does not do: logs, and port-forwards.
func (a *Access) Clients() (kubernetes.Interface, error) {
	clients, err := kubernetes.NewForConfig(a.Config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return clients, nil
}
