package objectstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
)

const (
	// idleConnections is how many are kept: as many as an upload in parts uses.
	idleConnections = 4
	// readBuffer and writeBuffer bound what an idle connection holds of memory.
	readBuffer, writeBuffer = 16 << 10, 32 << 10
)

// NewTransport is what stores are reached by: it goes through the proxies of the
// environment, packs and unpacks nothing, and holds little memory. With a folder of CAs,
// which [ReadCAs] reads, no other is trusted. source is the field of a spec that names them.
func NewTransport(caDir, source string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost, t.ReadBufferSize, t.WriteBufferSize = idleConnections, readBuffer, writeBuffer
	t.DisableCompression = true // sizes and offsets are those of the object
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if caDir == "" {
		return t, nil
	}
	pem, err := ReadCAs(caDir, source)
	if err != nil {
		return nil, err
	}
	t.TLSClientConfig.RootCAs = x509.NewCertPool()
	if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
		return nil, Because(InvalidSettings, errors.New("the store's CA ("+source+".caSecret) holds no certificate: write it in PEM, beginning with -----BEGIN CERTIFICATE-----"))
	}
	return t, nil
}
