package member

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// tlsMount is where a member's certificates are mounted, a folder for each Secret: the
// predecessor's places.
const tlsMount = "/etc/etcdtls/member/"

// caKey is the key of the CAs in a Secret of type kubernetes.io/tls, beside those
// that package corev1 names.
const caKey = "ca.crt"

// Variables of etcd that have to do with TLS.
const (
	// EnvCipherSuites and EnvTLSMinVersion are the user's to set, or spec.TLS has them.
	EnvCipherSuites  = "ETCD_CIPHER_SUITES"
	EnvTLSMinVersion = "ETCD_TLS_MIN_VERSION"
)

// secret is a Secret with certificates that is mounted in a member's Pod.
type secret struct {
	name string
	// folder is its place, and the name of its volume.
	folder string
	// legacy is what the predecessor's names of its keys begin with.
	legacy string
	// flags is what the names of etcd's flags for it begin with.
	flags string
}

// secrets are those that a cluster's members use.
func secrets(c *v1beta2.EtcdCluster) []secret {
	all := []secret{
		{c.PeerTLSSecret(), "peer-tls", "peer", "--peer-"},
		{c.ServerTLSSecret(), "server-tls", "server", "--"},
	}
	return slices.DeleteFunc(all, func(s secret) bool { return s.name == "" })
}

// tlsFlags are etcd's flags for TLS. Certificates are always asked for, of members and
// of clients.
//
// The names of the keys in a Secret are not known here, so that a value names the places
// where a file may be, and the launcher takes the one that is there: see
// [launcher.Or].
func tlsFlags(c *v1beta2.EtcdCluster, name string) []string {
	var flags []string
	for _, s := range secrets(c) {
		places := func(keys ...string) string {
			for i, key := range keys {
				keys[i] = tlsMount + s.folder + "/" + key
			}
			return strings.Join(keys, launcher.Or)
		}
		flags = append(flags,
			s.flags+"cert-file="+places(s.legacy+".crt", corev1.TLSCertKey),
			s.flags+"key-file="+places(s.legacy+".key", corev1.TLSPrivateKeyKey),
			s.flags+"trusted-ca-file="+places(s.legacy+"-ca.crt", caKey),
			s.flags+"client-cert-auth",
		)
	}
	if c.PeerTLSSecret() != "" {
		// Every certificate of this cluster's members is for all of them. Those of
		// another cluster are not, even of the same CA.
		flags = append(flags, "--peer-cert-allowed-hostname="+Host(c, name))
	}
	return flags
}

// tlsSettings are the variables for TLS, without those that the user sets himself.
func tlsSettings(c *v1beta2.EtcdCluster, user []corev1.EnvVar) []corev1.EnvVar {
	if !c.UsesTLS() {
		return nil
	}
	var env []corev1.EnvVar
	if c.PeerTLSSecret() != "" {
		// A reverse look-up of a Pod's address may give other names than its Service does,
		// or none yet. What a peer's certificate must be for says
		// --peer-cert-allowed-hostname.
		env = append(env, corev1.EnvVar{Name: launcher.EnvSkipPeerSAN, Value: "true"})
	}
	if suites := c.Spec.TLS.CipherSuites; len(suites) > 0 {
		env = append(env, corev1.EnvVar{Name: EnvCipherSuites, Value: strings.Join(suites, ",")})
	}
	if v := c.Spec.TLS.MinVersion; v != "" {
		env = append(env, corev1.EnvVar{Name: EnvTLSMinVersion, Value: v})
	}
	return slices.DeleteFunc(env, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(user, func(u corev1.EnvVar) bool { return u.Name == e.Name })
	})
}

func tlsVolumes(c *v1beta2.EtcdCluster) []corev1.Volume {
	var v []corev1.Volume
	for _, s := range secrets(c) {
		v = append(v, corev1.Volume{Name: s.folder, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: s.name},
		}})
	}
	return v
}

func tlsVolumeMounts(c *v1beta2.EtcdCluster) []corev1.VolumeMount {
	var m []corev1.VolumeMount
	for _, s := range secrets(c) {
		m = append(m, corev1.VolumeMount{Name: s.folder, MountPath: tlsMount + s.folder, ReadOnly: true})
	}
	return m
}

// tlsTemplate is what is said of TLS in the shape of a member's Pod; nil without TLS, so
// that the hash of such a cluster is that of releases which knew none. What only shapes
// certificates is not in it: etcd reads a new one without a restart.
type tlsTemplate struct {
	PeerSecret   string   `json:"peerSecret,omitempty"`
	ServerSecret string   `json:"serverSecret,omitempty"`
	CipherSuites []string `json:"cipherSuites,omitempty"`
	MinVersion   string   `json:"minVersion,omitempty"`
	// Trust is that of the status: etcd reads the CAs once, when it starts.
	Trust string `json:"trust,omitempty"`
}

func newTLSTemplate(c *v1beta2.EtcdCluster) *tlsTemplate {
	if !c.UsesTLS() {
		return nil
	}
	return &tlsTemplate{
		PeerSecret: c.PeerTLSSecret(), ServerSecret: c.ServerTLSSecret(),
		CipherSuites: c.Spec.TLS.CipherSuites, MinVersion: c.Spec.TLS.MinVersion, Trust: trust(c),
	}
}

// trust is the hash of the CAs that members are to trust; empty if it is not
// known, or there is no TLS.
func trust(c *v1beta2.EtcdCluster) string {
	if !c.UsesTLS() || c.Status.TLS == nil {
		return ""
	}
	return c.Status.TLS.Trust
}

// scheme is that of the URLs of a kind of traffic that uses the certificates in a Secret.
func scheme(secret string) string {
	if secret == "" {
		return "http"
	}
	return "https"
}
