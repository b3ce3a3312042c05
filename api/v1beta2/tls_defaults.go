package v1beta2

import "time"

// What an omitted field of the TLS policy stands for.
const (
	DefaultCertificateLifetime = 90 * 24 * time.Hour
	DefaultCALifetime          = 5 * 365 * 24 * time.Hour
	DefaultCAOverlap           = 24 * time.Hour
)

// Issued is what the spec says of certificates that are issued for the user, by the
// operator or by cert-manager; nil if none are.
func (s *ClusterSpec) Issued() *IssuedTLS {
	switch {
	case s.TLS == nil:
		return nil
	case s.TLS.Auto != nil:
		return &s.TLS.Auto.IssuedTLS
	case s.TLS.CertManager != nil:
		return &s.TLS.CertManager.IssuedTLS
	}
	return nil
}

// static is what the spec says of certificates that the user keeps; empty if he keeps
// none.
func (s *ClusterSpec) static() StaticTLS {
	if s.TLS == nil || s.TLS.Static == nil {
		return StaticTLS{}
	}
	return *s.TLS.Static
}

// PeerTLSSecret is the Secret with the certificate that members show to each other; ""
// if they talk in the clear.
func (c *EtcdCluster) PeerTLSSecret() string {
	if c.Spec.Issued() != nil {
		return c.Name + "-peer-tls"
	}
	if m := c.Spec.static().Member; m != nil {
		return m.PeerSecret
	}
	return ""
}

// ServerTLSSecret is the Secret with the certificate that members show to clients; "" if
// they serve them in the clear.
func (c *EtcdCluster) ServerTLSSecret() string {
	if c.Spec.Issued() != nil {
		return c.Name + "-server-tls"
	}
	if m := c.Spec.static().Member; m != nil {
		return m.ServerSecret
	}
	return ""
}

// OperatorTLSSecret is the Secret with the certificate that the operator and the Jobs of
// backups show to the members; "" if they serve clients in the clear.
func (c *EtcdCluster) OperatorTLSSecret() string {
	if c.Spec.Issued() != nil {
		return c.Name + "-operator-tls"
	}
	return c.Spec.static().OperatorSecret
}

// ClientTLSSecret is the Secret with the certificate that is issued for applications; ""
// if none is.
func (c *EtcdCluster) ClientTLSSecret() string {
	if c.Spec.Issued() == nil {
		return ""
	}
	return c.Name + "-client-tls"
}

// ClientCommonName is the common name in that certificate, and so the etcd user that its holder
// is where authentication is enabled; "" if it has none, or none is issued.
func (c *EtcdCluster) ClientCommonName() string {
	issued := c.Spec.Issued()
	switch {
	case issued == nil:
		return ""
	case issued.ClientCommonName != nil:
		return *issued.ClientCommonName
	}
	return c.Name + "-client"
}

// CATLSSecret is the Secret with the key of the cluster's own CA; "" if it has none.
func (c *EtcdCluster) CATLSSecret() string {
	if c.Spec.TLS == nil || c.Spec.TLS.Auto == nil {
		return ""
	}
	return c.Name + "-ca-tls"
}

// UsesTLS reports whether traffic between members, or with clients, uses TLS.
func (c *EtcdCluster) UsesTLS() bool { return c.PeerTLSSecret() != "" || c.ServerTLSSecret() != "" }

// Lifetime is CertificateLifetime, or DefaultCertificateLifetime.
func (t *IssuedTLS) Lifetime() time.Duration {
	if t.CertificateLifetime == nil {
		return DefaultCertificateLifetime
	}
	return t.CertificateLifetime.Duration
}

// Overlap is CAOverlap, or DefaultCAOverlap.
func (t *IssuedTLS) Overlap() time.Duration {
	if t.CAOverlap == nil {
		return DefaultCAOverlap
	}
	return t.CAOverlap.Duration
}

// EffectiveCALifetime is CALifetime, or DefaultCALifetime.
func (t *AutoTLS) EffectiveCALifetime() time.Duration {
	if t.CALifetime == nil {
		return DefaultCALifetime
	}
	return t.CALifetime.Duration
}
