package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// layouts are the names of the keys of a client's TLS Secret: the predecessor's, and
// those of kubernetes.io/tls.
var layouts = []struct{ cert, key, ca string }{
	{"etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"},
	{"tls.crt", "tls.key", "ca.crt"},
}

// session is that of the user in a mounted Secret; of nobody without one.
func session(dir string) *etcdclient.Session {
	if dir == "" {
		return nil
	}
	return etcdclient.NewSession(func(context.Context) (etcdclient.Credentials, error) { return loadUser(dir) })
}

// loadUser reads a mounted Secret. What is wrong with it is said without what is in it.
func loadUser(dir string) (etcdclient.Credentials, error) {
	password, err := os.ReadFile(filepath.Join(dir, corev1.BasicAuthPasswordKey))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(password) == 0) {
		return etcdclient.Credentials{}, fmt.Errorf("there is no such Secret, or nothing in it under the key %s", corev1.BasicAuthPasswordKey)
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

// advice says what to write where etcd's authentication refuses a backup.
func (j *job) advice() string {
	if j.task.AuthDir != "" {
		return "write the keys username (root, if it is left out) and password of an etcd user with the role root to the Secret that authSecret names, or the EtcdCluster's spec.auth.rootSecret"
	}
	return "set authSecret, or the EtcdCluster's spec.auth.rootSecret, to a Secret with the keys username and password of an etcd user with the role root (or clientTLSSecret to a certificate whose common name is such a user)"
}

// loadTLS reads a mounted Secret. Without a CA in it, the system's are trusted.
func loadTLS(dir string) (*tls.Config, error) {
	if dir == "" {
		return &tls.Config{}, nil
	}
	for _, l := range layouts {
		if _, err := os.Stat(filepath.Join(dir, l.cert)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, l.cert), filepath.Join(dir, l.key))
		if err != nil {
			return nil, runner.Refuse(task.ReasonTLSInvalid, "correct %s and %s in the Secret clientTLSSecret: %w", l.cert, l.key, err)
		}
		config := &tls.Config{Certificates: []tls.Certificate{cert}}
		ca, err := os.ReadFile(filepath.Join(dir, l.ca))
		if errors.Is(err, fs.ErrNotExist) {
			return config, nil
		}
		if err != nil {
			return nil, runner.Refuse(task.ReasonTLSInvalid, "read %s of the Secret clientTLSSecret: %w", l.ca, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, runner.Refuse(task.ReasonTLSInvalid, "%s in the Secret clientTLSSecret holds no certificate in PEM", l.ca)
		}
		return config, nil
	}
	return nil, runner.Refuse(task.ReasonTLSInvalid, "the Secret clientTLSSecret has neither the keys etcd-client.crt, etcd-client.key and etcd-client-ca.crt nor tls.crt, tls.key and ca.crt")
}
