package s3

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// trustedCAs are the certificates, in PEM, that alone are trusted to sign the store's;
// nil: the system's, or those that AWS_CA_BUNDLE of the environment names.
func (s Settings) trustedCAs(secret *secret) ([]byte, error) {
	var pem []byte
	var err error
	switch {
	case s.CADir != "":
		pem, err = objectstore.ReadCAs(s.CADir, "s3")
	case secret != nil && secret.config.CustomCABundle != "":
		pem, err = s.bundle(secret.config.CustomCABundle)
	default:
		return nil, nil
	}
	if err == nil && !isPEM(pem) {
		err = objectstore.Because(objectstore.InvalidSettings, errors.New("the store's CA (s3.caSecret, s3.caConfigMap, or ca_bundle in the Secret's config) holds no certificate: write it in PEM, beginning with -----BEGIN CERTIFICATE-----"))
	}
	return pem, err
}

func isPEM(pem []byte) bool { return x509.NewCertPool().AppendCertsFromPEM(pem) }

// bundle reads the key of the Secret that ca_bundle names. Of a path on the machine where
// the config was written the last part is left, and no path leads elsewhere in the Pod.
func (s Settings) bundle(path string) ([]byte, error) {
	key := filepath.Base(path)
	pem, err := os.ReadFile(filepath.Join(s.SecretDir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, objectstore.Because(objectstore.InvalidSettings, fmt.Errorf("ca_bundle in the Secret's config is %s, and the Secret has no such key: add the key %s with the CA's certificate to the Secret and write ca_bundle = %s, or name a Secret with the key ca.crt in s3.caSecret", path, key, key))
	}
	if err == nil && len(bytes.TrimSpace(pem)) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, objectstore.Because(objectstore.InvalidSettings, fmt.Errorf("ca_bundle in the Secret's config is %s: %w", path, err))
	}
	return pem, nil
}
