package v1beta2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLSPolicy says where the certificates of a cluster come from: exactly one of static,
// auto and certManager. With none of them, traffic is not encrypted. The source cannot be
// changed after the cluster is created.
//
// +kubebuilder:validation:XValidation:rule="[has(self.static), has(self.auto), has(self.certManager)].filter(b, b).size() <= 1",message="static, auto and certManager must not be set together: keep the source of the cluster's certificates, and remove the others"
// +kubebuilder:validation:XValidation:rule="!has(self.cipherSuites) || self.cipherSuites.size() == 0 || 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256' in self.cipherSuites || (!has(self.auto) && !has(self.certManager) && 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256' in self.cipherSuites)",fieldPath=".cipherSuites",message="cipherSuites must contain TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (or, for static certificates with RSA keys, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), because etcd does not start without it: add it"
// +kubebuilder:validation:XValidation:rule="!has(self.cipherSuites) || self.cipherSuites.size() == 0 || !has(self.minVersion) || self.minVersion != 'TLS1.3'",fieldPath=".cipherSuites",message="cipherSuites must not be set together with minVersion: TLS1.3, because the cipher suites of TLS 1.3 cannot be configured: remove cipherSuites, or set minVersion: TLS1.2"
type TLSPolicy struct {
	// Certificates that the user keeps in Secrets.
	// +optional
	Static *StaticTLS `json:"static,omitempty"`
	// Certificates that the operator issues, from a certificate authority (CA) of the
	// cluster's own.
	// +optional
	Auto *AutoTLS `json:"auto,omitempty"`
	// Certificates that cert-manager issues.
	// +optional
	CertManager *CertManagerTLS `json:"certManager,omitempty"`

	// The TLS 1.2 cipher suites that members accept, by their names in Go. The list must
	// contain TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (or, for static certificates with RSA
	// keys, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256): etcd does not start without it.
	// Default: Go's own list.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:XValidation:rule="self in ['TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256', 'TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA', 'TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA', 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384', 'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA']",messageExpression="self + ' is not a cipher suite of TLS 1.2 that Go considers secure: set another, such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256'"
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// The oldest version of TLS that members accept: TLS1.2 (default) or TLS1.3.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self in ['TLS1.2', 'TLS1.3']",messageExpression="'minVersion ' + self + ' is not supported: set TLS1.2 or TLS1.3'"
	// +kubebuilder:validation:MaxLength=16
	MinVersion string `json:"minVersion,omitempty"`
}

// IssuedTLS has the settings of certificates that are issued automatically. They are
// stored in the Secrets <cluster>-peer-tls, <cluster>-server-tls, <cluster>-operator-tls
// (for the operators only) and <cluster>-client-tls (for applications), each of type
// kubernetes.io/tls with an additional key ca.crt.
type IssuedTLS struct {
	// How long certificates are valid. They are renewed after two thirds of this time.
	// At least 1h; default 2160h (90 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('1h')",message="certificateLifetime must be a duration of at least 1h with its unit, such as 2160h"
	CertificateLifetime *metav1.Duration `json:"certificateLifetime,omitempty"`
	// How long the old CA is still trusted after all certificates of the cluster have been
	// issued by the new one. Clients must load their new certificates within this time.
	// Default 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$')",message="caOverlap must be a duration with its unit, such as 24h"
	CAOverlap *metav1.Duration `json:"caOverlap,omitempty"`
	// Additional DNS names and IP addresses by which clients reach the members, such as
	// those of a load balancer.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^([*][.])?[A-Za-z0-9]([-.A-Za-z0-9]*[A-Za-z0-9])?$') || self.matches('^[0-9A-Fa-f.:]+$')",message="the server name must be a DNS name or an IP address, without scheme and port, such as etcd.example.com"
	ServerNames []string `json:"serverNames,omitempty"`
	// The common name of the certificate in <cluster>-client-tls: the etcd user that its holder
	// is where authentication is enabled. Empty: it has none. Programs that speak JSON with
	// etcd (Patroni, APISIX) need that, and log in with a password. Default <cluster>-client.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="clientCommonName must not be root, because applications use the certificate and root is etcd's administrator: set the name of another etcd user"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_.:@+/A-Za-z0-9]*$')",message="clientCommonName must be the name of an etcd user: use only letters, digits and - _ . : @ + /, such as app"
	ClientCommonName *string `json:"clientCommonName,omitempty"`
}

// AutoTLS makes the operator the certificate authority (CA) of the cluster. Its key is in
// the Secret <cluster>-ca-tls.
type AutoTLS struct {
	IssuedTLS `json:",inline"`
	// How long the CA's certificate is valid. It is replaced after two thirds of this time.
	// At least 24h; default 43800h (5 years).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,6}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('24h')",message="caLifetime must be a duration of at least 24h with its unit, such as 43800h"
	CALifetime *metav1.Duration `json:"caLifetime,omitempty"`
}

// CertManagerTLS makes cert-manager the issuer.
type CertManagerTLS struct {
	IssuedTLS `json:",inline"`
	// The Issuer or ClusterIssuer. It must publish its CA in the Secrets that it issues
	// (key ca.crt), as a CA issuer does.
	IssuerRef IssuerReference `json:"issuerRef"`
}

// IssuerReference names an issuer of cert-manager.
type IssuerReference struct {
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="name must be the name of an Issuer or ClusterIssuer: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-ca"
	Name string `json:"name"`
	// Issuer (default) or ClusterIssuer.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z][A-Za-z0-9]*$')",message="kind must be the kind of an issuer: set Issuer or ClusterIssuer"
	Kind string `json:"kind,omitempty"`
	// Default cert-manager.io.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="group must be the API group of an issuer, such as cert-manager.io"
	Group string `json:"group,omitempty"`
}

// StaticTLS names the Secrets that hold a cluster's certificates. The keys in
// them are the predecessor's (peer.crt, server.crt, etcd-client.crt, …), or
// those of a kubernetes.io/tls Secret (tls.crt, tls.key, ca.crt).
//
// +kubebuilder:validation:XValidation:rule="(has(self.operatorSecret) && self.operatorSecret.size() > 0) == (has(self.member) && has(self.member.serverSecret) && self.member.serverSecret.size() > 0)",message="operatorSecret and member.serverSecret must be set together, because the operator is a client of the members: set both to serve clients over TLS, or remove both"
type StaticTLS struct {
	// The Secrets that the members use.
	// +optional
	Member *MemberSecret `json:"member,omitempty"`

	// The Secret with the client certificate by which the operator authenticates to the
	// members: etcd-client.crt, etcd-client.key, etcd-client-ca.crt.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="operatorSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-operator-tls"
	OperatorSecret string `json:"operatorSecret,omitempty"`
}

// MemberSecret names the Secrets that hold the members' certificates.
type MemberSecret struct {
	// The Secret for the traffic between members: peer.crt, peer.key,
	// peer-ca.crt.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="peerSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-peer-tls"
	PeerSecret string `json:"peerSecret,omitempty"`

	// The Secret for the traffic with clients: server.crt, server.key,
	// server-ca.crt.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="serverSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-server-tls"
	ServerSecret string `json:"serverSecret,omitempty"`
}

// CARotation is the step that the replacement of a CA has reached.
//
// +kubebuilder:validation:Enum="";TrustingBoth;Reissuing;DroppingOld
type CARotation string

// The steps of the replacement of a CA, which CertificatesReady has as its reason meanwhile.
const (
	// CATrustingBoth: members are restarted so that they trust the new CA as well. Nothing to
	// do.
	CATrustingBoth CARotation = "TrustingBoth"
	// CAReissuing: all certificates are issued by the new CA, and clients load theirs. Restart
	// clients that do not do so by themselves, before the old CA is dropped.
	CAReissuing CARotation = "Reissuing"
	// CADroppingOld: members are restarted so that they trust the new CA only. Nothing to do.
	CADroppingOld CARotation = "DroppingOld"
)

// TLSStatus is the state of a cluster's certificates.
type TLSStatus struct {
	// A hash of the CAs that members trust. A member that was started with other CAs is
	// restarted.
	// +optional
	Trust string `json:"trust,omitempty"`
	// The step that the replacement of a CA has reached; empty while no CA is replaced.
	// +optional
	Rotation CARotation `json:"rotation,omitempty"`
	// Whether certificates are being issued or checked, and nothing is wrong: while the
	// condition CertificatesReady is False, there is nothing to do but wait.
	// +optional
	Pending bool `json:"pending,omitempty"`
	// When the first of the cluster's certificates expires, CAs included.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// The validity of the certificate that expires first of those that members, clients and
	// the operator present.
	// +optional
	Certificate *Validity `json:"certificate,omitempty"`
	// The validity of the CA that expires first of those that have signed them.
	// +optional
	CA *Validity `json:"ca,omitempty"`
}

// Validity is when a certificate is valid.
type Validity struct {
	// Since when it is valid.
	NotBefore metav1.Time `json:"notBefore"`
	// When it expires.
	NotAfter metav1.Time `json:"notAfter"`
}
