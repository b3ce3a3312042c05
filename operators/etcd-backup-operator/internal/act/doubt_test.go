package act

import (
	"context"
	"errors"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// taken is an API server on which every name is in use: each create fails, and each get returns an object.
type taken struct {
	client.Client
	owners []metav1.OwnerReference
}

func (s taken) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
}

func (s taken) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetOwnerReferences(s.owners)
	return nil
}

// List has an EtcdRestore without labels.
func (s taken) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	if o.ApplyOptions(options); o.LabelSelector == nil {
		list.(*v1beta2.EtcdRestoreList).Items = []v1beta2.EtcdRestore{{ObjectMeta: metav1.ObjectMeta{Name: "b-1", OwnerReferences: s.owners}}}
	}
	return nil
}

// The name of an object is a hash of the EtcdBackup's uid, so an object of that name without a controller is probably
// the EtcdBackup's: the message must not say to delete it.
func TestNameIsTaken(t *testing.T) {
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns", UID: "uid"}}
	for name, row := range map[string]struct {
		reason string
		owners []metav1.OwnerReference
		want   []string
	}{
		"by an object without a controller": {"it might belong to this EtcdBackup", nil, []string{"might belong to this EtcdBackup", `"uid":"uid"`, "delete it only if it does not"}},
		"by an object of another":           {"it is another's", []metav1.OwnerReference{{UID: "other", Controller: new(true)}}, []string{"does not belong to this EtcdBackup: delete it"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := taken{owners: row.owners}
			a := &Actor{Client: s, Live: s}
			for kind, err := range map[string]error{
				"Job":         a.create(t.Context(), b, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "b-1"}}, func() {}),
				"EtcdRestore": a.adoptedRestore(t.Context(), b, "b-1"),
			} {
				for _, want := range append(row.want, kind+" b-1") {
					if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: error %q, want a refusal with %q: %s", kind, err, want, row.reason)
					}
				}
			}
		})
	}
}
