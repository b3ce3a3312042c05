// Package credentials keeps the operator's sessions with clusters on which etcd's
// authentication is enabled.
//
// It reads no Secret but the one that an EtcdCluster names in spec.auth.rootSecret, by
// its name, and only when a member has refused to answer: so neither a list nor a watch
// of Secrets is needed, and a password that was changed is noticed when the old one is
// refused. What it reads goes to etcd, and nowhere else: to no log, event or status.
package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Keeper keeps a session for each EtcdCluster that names a Secret, for as long as it
// does; during a restore one more, for the etcd cluster that this makes. It is safe for
// concurrent use, and its zero value but for Live is ready.
type Keeper struct {
	// Live reads from the API server, not from a cache.
	Live client.Reader

	mu       sync.Mutex
	sessions map[client.ObjectKey][]kept
}

// giver is the etcd cluster that has given a session its token: that of an EtcdCluster, by uid and
// by its own id, or the one that a restore makes; with the Secret that the session is for.
type giver struct {
	uid                         types.UID
	secret, cluster, restoredBy string
}

type kept struct {
	giver
	session *etcdclient.Session
}

// Of returns the session of a cluster; nil if it names no Secret.
func (k *Keeper) Of(c *v1beta2.EtcdCluster) *etcdclient.Session {
	key := client.ObjectKeyFromObject(c)
	secret := c.Spec.RootSecret()
	if k == nil || secret == "" {
		k.Forget(key)
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	wanted := giver{uid: c.UID, secret: secret, cluster: c.Status.ClusterID, restoredBy: c.Status.FencedBy}
	known := k.sessions[key]
	if i := slices.IndexFunc(known, func(o kept) bool { return o.giver == wanted }); i >= 0 {
		return known[i].session
	}
	// A restore may be given up. Then the members are the same, and without a quorum no other token
	// is to be had of them.
	replaced := wanted
	replaced.restoredBy = ""
	known = slices.DeleteFunc(known, func(o kept) bool { return o.giver != replaced })
	session := etcdclient.NewSession(func(ctx context.Context) (etcdclient.Credentials, error) {
		return k.read(ctx, client.ObjectKey{Namespace: key.Namespace, Name: secret})
	})
	if k.sessions == nil {
		k.sessions = map[client.ObjectKey][]kept{}
	}
	k.sessions[key] = append(known, kept{wanted, session})
	return session
}

// Forget drops the session of a cluster that is gone.
func (k *Keeper) Forget(key client.ObjectKey) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.sessions, key)
}

// read reads a Secret. What is wrong with it is said without what is in it.
func (k *Keeper) read(ctx context.Context, key client.ObjectKey) (etcdclient.Credentials, error) {
	var s corev1.Secret
	if err := k.Live.Get(ctx, key, &s); err != nil {
		if apierrors.IsNotFound(err) {
			return etcdclient.Credentials{}, errors.New("the Secret does not exist")
		}
		return etcdclient.Credentials{}, fmt.Errorf("cannot read the Secret: %w", err)
	}
	password := string(s.Data[corev1.BasicAuthPasswordKey])
	if password == "" {
		return etcdclient.Credentials{}, fmt.Errorf("the Secret has no key %s", corev1.BasicAuthPasswordKey)
	}
	user := cmp.Or(string(s.Data[corev1.BasicAuthUsernameKey]), v1beta2.DefaultRootUser)
	return etcdclient.Credentials{Username: user, Password: password}, nil
}
