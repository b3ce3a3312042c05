package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// session is the etcd session of the user in a mounted Secret; nil without one.
func session(dir string) *etcdclient.Session {
	if dir == "" {
		return nil
	}
	return etcdclient.NewSession(func(context.Context) (etcdclient.Credentials, error) { return loadUser(dir) })
}

// loadUser reads a mounted Secret. Its errors contain nothing of the content.
func loadUser(dir string) (etcdclient.Credentials, error) {
	password, err := os.ReadFile(filepath.Join(dir, corev1.BasicAuthPasswordKey))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(password) == 0) {
		return etcdclient.Credentials{}, fmt.Errorf("the Secret does not exist, or its key %s is empty", corev1.BasicAuthPasswordKey)
	}
	if err != nil {
		return etcdclient.Credentials{}, err
	}
	user, err := os.ReadFile(filepath.Join(dir, corev1.BasicAuthUsernameKey))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return etcdclient.Credentials{}, err
	}
	return etcdclient.Credentials{Username: cmp.Or(string(user), v1beta2.DefaultRootUser), Password: string(password)}, nil
}

// advice is what to set where etcd's authentication refuses a backup.
func (j *job) advice() string {
	if j.task.AuthDir != "" {
		return "write the keys username (root, if it is left out) and password of an etcd user with the role root to the Secret that spec.authSecret names, or the EtcdCluster's spec.auth.rootSecret"
	}
	return "set spec.authSecret, or the EtcdCluster's spec.auth.rootSecret, to a Secret with the keys username and password of an etcd user with the role root (or spec.clientTLSSecret to a certificate whose common name is such a user)"
}

// loadTLS reads a mounted Secret. Without one, or a CA in it, the system's are trusted. It
// is read again for each attempt, and an error might pass: a Secret that is being replaced
// might be mounted only in part.
func loadTLS(dir string) (*tls.Config, error) {
	if dir == "" {
		return &tls.Config{}, nil
	}
	config, err := etcdclient.LoadTLS(dir)
	if err != nil {
		return nil, runner.Passing(v1beta2.BackupReasonTLSInvalid, "cannot use the client certificate in the Secret that spec.clientTLSSecret names, or in that of the EtcdCluster's operators: %w", err)
	}
	return config, nil
}
