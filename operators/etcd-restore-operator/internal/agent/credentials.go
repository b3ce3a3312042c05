package agent

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// remedy is what follows once the credentials are right.
const remedy = "then create another EtcdRestore"

// checkCredentials refuses a snapshot with authentication enabled whose cluster
// etcd-operator could not manage: it would show a password or a name that etcd does not
// take. What the Secrets hold is never told.
func (j *job) checkCredentials(ctx context.Context, database *os.File, enabled bool) error {
	c := j.task.Credentials
	if c == nil || !enabled {
		return nil
	}
	named, err := isRoot(ctx, database, c)
	if err != nil || named {
		return err
	}
	if c.Secret == "" {
		return missingCredentials(c)
	}
	user, password, err := readUser(c)
	if err != nil {
		return err
	}
	found, err := rebuild.FindUser(ctx, database, user)
	switch {
	case err != nil:
		return err
	case found == nil:
		return runner.Refuse(task.ReasonRootSecretInvalid, "the snapshot, in which authentication is enabled, has no user of the name in Secret %s (spec.auth.rootSecret of the EtcdCluster): put the username and password of a user that had the role root when the snapshot was taken into a Secret, and name it in spec.auth.rootSecret; %s", c.Secret, remedy)
	case !found.Accepts(password):
		return runner.Refuse(task.ReasonRootSecretInvalid, "the snapshot, in which authentication is enabled, has another password than Secret %s (spec.auth.rootSecret of the EtcdCluster): put the password from when the snapshot was taken into a Secret, and name it in spec.auth.rootSecret; %s", c.Secret, remedy)
	case !found.IsRoot():
		return runner.Refuse(task.ReasonRootSecretInvalid, "the user in Secret %s (spec.auth.rootSecret of the EtcdCluster) has no role root in the snapshot, in which authentication is enabled: put a user that had it into a Secret, and name it in spec.auth.rootSecret; %s", c.Secret, remedy)
	}
	return nil
}

// missingCredentials is the failure of a cluster that names no Secret, and whose
// certificate, if it has one, names no root user.
func missingCredentials(c *task.Credentials) error {
	const secret = "create a Secret of type kubernetes.io/basic-auth with the username and password of a user that had the role root when the snapshot was taken, and set spec.auth.rootSecret of the EtcdCluster to its name"
	if c.CommonName == "" && c.TLSDir == "" {
		return runner.Refuse(task.ReasonRootSecretMissing, "authentication is enabled in the snapshot, and the EtcdCluster has no spec.auth.rootSecret: %s; %s", secret, remedy)
	}
	return runner.Refuse(task.ReasonRootSecretMissing, "authentication is enabled in the snapshot, and the common name of the operator's client certificate is no user with the role root in it: %s; %s", secret, remedy)
}

// isRoot tells whether the name in the operator's client certificate is a user who may do
// all: etcd then asks for no password.
func isRoot(ctx context.Context, database *os.File, c *task.Credentials) (bool, error) {
	name := c.CommonName
	if name == "" && c.TLSDir != "" {
		name = commonName(c.TLSDir)
	}
	if name == "" {
		return false, nil
	}
	user, err := rebuild.FindUser(ctx, database, name)
	return user != nil && user.IsRoot(), err
}

// commonName is the name in a mounted certificate; empty if there is none that can be read.
func commonName(dir string) string {
	config, err := etcdclient.LoadTLS(dir)
	if err != nil || len(config.Certificates) == 0 {
		return ""
	}
	leaf, err := x509.ParseCertificate(config.Certificates[0].Certificate[0])
	if err != nil {
		return ""
	}
	return leaf.Subject.CommonName
}

// readUser reads the mounted Secret.
func readUser(c *task.Credentials) (user, password string, err error) {
	content, err := os.ReadFile(filepath.Join(c.Dir, corev1.BasicAuthPasswordKey))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(content) == 0 {
		return "", "", runner.Refuse(task.ReasonRootSecretMissing, "authentication is enabled in the snapshot, and Secret %s (spec.auth.rootSecret of the EtcdCluster) does not exist or has no key password: create it with the username and password of a user that had the role root when the snapshot was taken; %s", c.Secret, remedy)
	}
	if err != nil {
		return "", "", err
	}
	name, err := os.ReadFile(filepath.Join(c.Dir, corev1.BasicAuthUsernameKey))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	return cmp.Or(string(name), v1beta2.DefaultRootUser), string(content), nil
}
