package agent

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// layouts are the names of the keys of a client's TLS Secret: the predecessor's, and
// those of kubernetes.io/tls.
var layouts = []struct{ cert, key, ca string }{
	{"etcd-client.crt", "etcd-client.key", "etcd-client-ca.crt"},
	{"tls.crt", "tls.key", "ca.crt"},
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
