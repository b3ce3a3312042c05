package credentials

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// secrets are what an API server has, of the namespace ns.
type secrets map[string]map[string][]byte

func (s secrets) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	of := schema.GroupResource{Resource: "secrets"}
	if key.Name == "forbidden" {
		return apierrors.NewForbidden(of, key.Name, nil)
	}
	data, ok := s[key.Name]
	if !ok || key.Namespace != "ns" {
		return apierrors.NewNotFound(of, key.Name)
	}
	o.(*corev1.Secret).Data = data
	return nil
}

func (secrets) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("Secrets are not listed")
}

func TestRead(t *testing.T) {
	keeper := &Keeper{Live: secrets{
		"whole":    {"username": []byte("admin"), "password": []byte("p w\n")},
		"nameless": {"password": []byte("p")},
		"empty":    {"username": []byte("root"), "password": nil},
	}}
	for name, tc := range map[string]struct {
		want etcdclient.Credentials
		err  string
	}{
		"whole":     {want: etcdclient.Credentials{Username: "admin", Password: "p w\n"}},
		"nameless":  {want: etcdclient.Credentials{Username: "root", Password: "p"}},
		"empty":     {err: "the Secret has no key password"},
		"none":      {err: "the Secret does not exist"},
		"forbidden": {err: "cannot read the Secret"},
	} {
		got, err := keeper.read(t.Context(), client.ObjectKey{Namespace: "ns", Name: name})
		if got != tc.want || (err == nil) != (tc.err == "") || (err != nil && !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, %v; want %v, %q", name, got, err, tc.want, tc.err)
		}
	}
}

// A session lasts as long as the EtcdCluster names the Secret, and none is left behind.
func TestSessions(t *testing.T) {
	keeper := &Keeper{Live: secrets{}}
	named := func(uid types.UID, secret string) *v1beta2.EtcdCluster {
		c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: uid}}
		if secret != "" {
			c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: secret}
		}
		return c
	}
	if keeper.Of(named("1", "")) != nil || len(keeper.sessions) != 0 {
		t.Error("a cluster that names no Secret has a session")
	}
	first := keeper.Of(named("1", "s"))
	if first == nil || keeper.Of(named("1", "s")) != first {
		t.Error("the session did not last")
	}
	if keeper.Of(named("1", "other")) == first {
		t.Error("another Secret has the session of the first")
	}
	again := keeper.Of(named("1", "s"))
	if again == first || keeper.Of(named("2", "s")) == again {
		t.Error("another EtcdCluster of this name has the session of the first")
	}
	restored, before := named("2", "s"), keeper.Of(named("2", "s"))
	for _, restore := range []string{"q", "r"} {
		restored.Status.FencedBy = restore
		if seeds := keeper.Of(restored); seeds == before || keeper.Of(restored) != seeds {
			t.Error("a restore has no session of its own")
		}
		restored.Status.FencedBy = ""
		if keeper.Of(restored) != before {
			t.Error("after a restore that was given up, the session is another one: without a quorum, nobody gives it a token")
		}
	}
	restored.Status.FencedBy = "r"
	seeds := keeper.Of(restored)
	if n := len(keeper.sessions[client.ObjectKeyFromObject(restored)]); n != 2 {
		t.Errorf("there are %d sessions, want that of the members and that of the seed", n)
	}
	restored.Status.FencedBy, restored.Status.ClusterID = "", "c2"
	if seeds == keeper.Of(named("2", "s")) || seeds == keeper.Of(restored) {
		t.Error("a token of one etcd cluster is shown to another, which would wait for its log to be as long")
	}
	if len(keeper.sessions) != 1 {
		t.Errorf("there are %d sessions of one cluster", len(keeper.sessions))
	}
	keeper.Of(named("2", ""))
	if len(keeper.sessions) != 0 {
		t.Error("a session is left of a cluster that names no Secret any more")
	}
	keeper.Of(named("2", "s"))
	keeper.Forget(client.ObjectKey{Namespace: "ns", Name: "x"})
	if len(keeper.sessions) != 0 {
		t.Error("a session is left of a cluster that is gone")
	}
	var none *Keeper
	none.Forget(client.ObjectKey{})
	if none.Of(named("1", "s")) != nil {
		t.Error("no keeper keeps a session")
	}
}
