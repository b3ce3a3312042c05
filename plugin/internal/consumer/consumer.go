// Package consumer writes the configuration by which a program that stores its data in etcd
// reaches a cluster: with the Service, the Secret and the files that the operator provides.
package consumer

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// Settings are what the user chooses.
type Settings struct {
	// Mount is the folder in which the consumer has the files of the Secret; empty for the one
	// that is usual for it.
	Mount string
	// Endpoint is a URL of the cluster for a consumer outside of Kubernetes; empty for that of the
	// Service.
	Endpoint string
}

// Check returns an error if the kind is unknown, or the endpoint is not a URL.
func (s Settings) Check(kind string) error {
	if _, ok := of[kind]; !ok {
		return fmt.Errorf("--output %s is not supported: set one of %s", kind, strings.Join(Kinds, ", "))
	}
	u, err := url.Parse(s.Endpoint)
	if s.Endpoint != "" && (err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme)) {
		return fmt.Errorf("--endpoint %s is not a URL: set a URL such as https://etcd.example.com:2379", s.Endpoint)
	}
	return nil
}

// Kinds are the consumers, in the order in which they are shown.
var Kinds = []string{"env", "kubernetes", "kamaji", "kubeadm", "patroni", "apisix", "vcluster"}

// traits are what differs between consumers.
type traits struct {
	write func(*target) (any, error)
	// copies is whether the consumer is on nodes to which the files of the Secret are copied.
	copies bool
	// password is where the consumer has user and password, if it reaches etcd by its JSON gateway.
	// There a certificate can be no user: with authentication enabled, etcd refuses those that have
	// a common name (embed/serve.go, accessController).
	password string
}

// of are the traits of each consumer.
var of = map[string]traits{
	"env":        {write: (*target).env},
	"kubernetes": {write: (*target).kubernetes},
	"kamaji":     {write: (*target).kamaji},
	"kubeadm":    {write: (*target).kubeadm, copies: true},
	"patroni":    {write: (*target).patroni, password: "etcd3.username and etcd3.password"},
	"apisix":     {write: (*target).apisix, password: "deployment.etcd.user and deployment.etcd.password"},
	"vcluster":   {write: (*target).vcluster},
}

// target is a cluster as a consumer sees it.
type target struct {
	cluster  *v1beta2.EtcdCluster
	endpoint *url.URL
	mount    string
	notes    []string
}

// Config is the configuration of a consumer, with notes as comments.
func Config(c *v1beta2.EtcdCluster, kind string, s Settings) (string, error) {
	if err := s.Check(kind); err != nil {
		return "", err
	}
	consumer := of[kind]
	t := &target{cluster: c, endpoint: endpoint(c), mount: cmp.Or(s.Mount, "/etc/etcd-tls")}
	if s.Endpoint != "" {
		t.endpoint, _ = url.Parse(s.Endpoint) // checked above
	}
	t.notes = append(t.notes, fmt.Sprintf("EtcdCluster %s/%s for %s", c.Namespace, c.Name, kind))
	t.explain(consumer)
	config, err := consumer.write(t)
	if err != nil {
		return "", err
	}
	text, isText := config.(string)
	if !isText {
		data, err := yaml.Marshal(config)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	comments := &strings.Builder{}
	for _, note := range t.notes {
		fmt.Fprintf(comments, "# %s\n", plaintext.Line(note))
	}
	return comments.String() + text, nil
}

// endpoint returns the URL of the cluster's client Service.
func endpoint(c *v1beta2.EtcdCluster) *url.URL {
	host := member.ClientServiceName(c.Name) + "." + c.Namespace + ".svc"
	if c.Spec.Pod != nil {
		host += c.Spec.Pod.ClusterDomain
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(member.ClientPort))}
	if c.ServerTLSSecret() != "" {
		u.Scheme = "https"
	}
	return u
}

// isSecure reports whether clients need a certificate.
func (t *target) isSecure() bool { return t.endpoint.Scheme == "https" }

func (t *target) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// explain says where certificate and user come from.
func (t *target) explain(consumer traits) {
	if t.isSecure() {
		if secret := t.cluster.ClientTLSSecret(); secret != "" {
			advice := "mount the Secret, rather than copy it."
			if consumer.copies {
				advice = "copy them again before the copies expire."
			}
			t.note("tls.crt, tls.key and ca.crt are the keys of the Secret %s. They are renewed: %s", secret, advice)
		} else {
			t.note("Issue the client's certificate yourself, from a CA in the Secret %s.", t.cluster.ServerTLSSecret())
		}
	}
	if t.cluster.Spec.RootSecret() != "" {
		if consumer.password != "" {
			t.note("etcd's authentication is enabled: create a user with a password and the roles that are needed, and set %s.", consumer.password)
			issued := t.cluster.Spec.Issued()
			switch {
			case !t.isSecure() || issued != nil && t.cluster.ClientCommonName() == "":
			case issued != nil:
				t.note("By its JSON gateway, which is used here, etcd then refuses certificates with a common name: set TLS.*.clientCommonName of the EtcdCluster to \"\".")
			default:
				t.note("By its JSON gateway, which is used here, etcd then refuses certificates with a common name: issue one without.")
			}
			return
		}
		if name := t.cluster.ClientCommonName(); name != "" {
			t.note("etcd's authentication is enabled: create the user %s, the common name of that certificate, with the roles that are needed.", name)
			return
		}
		t.note("etcd's authentication is enabled: create a user with the roles that are needed.")
	}
}

// file is where the consumer has a file of the Secret.
func (t *target) file(name string) string { return strings.TrimSuffix(t.mount, "/") + "/" + name }

// plain matches a value that needs no quotes in a shell.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:,@%+=-]+$`)

// quoted returns a value as one word for a shell. It adds quotes only where the shell needs them, because some
// programs do not support quotes in env files.
func quoted(value string) string {
	if plain.MatchString(value) {
		return value
	}
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}

func (t *target) env() (any, error) {
	lines := []string{"ETCDCTL_ENDPOINTS=" + quoted(t.endpoint.String())}
	if t.isSecure() {
		lines = append(lines, "ETCDCTL_CACERT="+quoted(t.file("ca.crt")), "ETCDCTL_CERT="+quoted(t.file("tls.crt")), "ETCDCTL_KEY="+quoted(t.file("tls.key")))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

func (t *target) kubernetes() (any, error) {
	t.note("Flags of kube-apiserver. It compacts every five minutes by itself.")
	lines := []string{"--etcd-servers=" + quoted(t.endpoint.String())}
	if t.isSecure() {
		lines = append(lines, "--etcd-cafile="+quoted(t.file("ca.crt")), "--etcd-certfile="+quoted(t.file("tls.crt")), "--etcd-keyfile="+quoted(t.file("tls.key")))
	}
	return strings.Join(lines, "\n") + "\n", nil
}

func (t *target) kubeadm() (any, error) {
	external := map[string]any{"endpoints": []string{t.endpoint.String()}}
	if t.isSecure() {
		files := map[string]string{"caFile": "/etc/kubernetes/pki/etcd/ca.crt", "certFile": "/etc/kubernetes/pki/apiserver-etcd-client.crt", "keyFile": "/etc/kubernetes/pki/apiserver-etcd-client.key"}
		keys := map[string]string{"caFile": "ca.crt", "certFile": "tls.crt", "keyFile": "tls.key"}
		for _, field := range []string{"caFile", "certFile", "keyFile"} {
			external[field] = files[field]
			if secret := t.cluster.ClientTLSSecret(); secret != "" {
				t.note("kubectl get secret %s -n %s -o jsonpath='{.data.%s}' | base64 -d > %s", quoted(secret), t.cluster.Namespace, strings.ReplaceAll(keys[field], ".", `\.`), files[field])
			}
		}
	}
	t.note("The nodes must reach the endpoint: outside of this Kubernetes set --endpoint, and TLS.*.serverNames for its name.")
	return map[string]any{"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "etcd": map[string]any{"external": external}}, nil
}

// secretKey refers to a key of a Secret, as Kamaji does.
func (t *target) secretKey(secret, key string) any {
	return map[string]any{"secretReference": map[string]any{"namespace": t.cluster.Namespace, "name": secret, "keyPath": key}}
}

func (t *target) kamaji() (any, error) {
	ca := t.cluster.CATLSSecret()
	if ca == "" {
		return nil, errors.New("kamaji issues certificates for each tenant, and needs the key of the CA for that: only a cluster with spec.TLS.auto has it in a Secret")
	}
	t.notes = t.notes[:1] // it has certificates of its own
	t.note("Kamaji reads the CA's key from the Secret %s and issues a certificate for each tenant.", ca)
	t.note("It uses the operators' certificate, whose user is root. Tenants are kept apart once authentication is enabled: etcdctl auth enable.")
	operator := t.cluster.OperatorTLSSecret()
	return map[string]any{
		"apiVersion": "kamaji.clastix.io/v1alpha1", "kind": "DataStore", "metadata": map[string]any{"name": t.cluster.Namespace + "-" + t.cluster.Name},
		"spec": map[string]any{
			"driver": "etcd", "endpoints": []string{t.endpoint.Host},
			"tlsConfig": map[string]any{
				"certificateAuthority": map[string]any{"certificate": t.secretKey(ca, "tls.crt"), "privateKey": t.secretKey(ca, "tls.key")},
				"clientCertificate":    map[string]any{"certificate": t.secretKey(operator, "tls.crt"), "privateKey": t.secretKey(operator, "tls.key")},
			},
		},
	}, nil
}

func (t *target) patroni() (any, error) {
	t.note("A part of patroni.yml.")
	etcd := map[string]any{"hosts": []string{t.endpoint.Host}, "protocol": t.endpoint.Scheme}
	if t.isSecure() {
		etcd["cacert"], etcd["cert"], etcd["key"] = t.file("ca.crt"), t.file("tls.crt"), t.file("tls.key")
	}
	return map[string]any{"etcd3": etcd}, nil
}

func (t *target) apisix() (any, error) {
	t.note("A part of conf/config.yaml.")
	etcd := map[string]any{"host": []string{t.endpoint.String()}, "prefix": "/apisix"}
	config := map[string]any{"deployment": map[string]any{"role": "traditional", "role_traditional": map[string]any{"config_provider": "etcd"}, "etcd": etcd}}
	if t.isSecure() {
		etcd["tls"] = map[string]any{"cert": t.file("tls.crt"), "key": t.file("tls.key"), "verify": true, "sni": t.endpoint.Hostname()}
		config["apisix"] = map[string]any{"ssl": map[string]any{"ssl_trusted_certificate": t.file("ca.crt")}}
	}
	return config, nil
}

func (t *target) vcluster() (any, error) {
	t.note("A part of vcluster.yaml. Give each virtual cluster an etcd cluster of its own.")
	external := map[string]any{"enabled": true, "endpoint": t.endpoint.Host}
	plane := map[string]any{"backingStore": map[string]any{"etcd": map[string]any{"external": external}}}
	if t.isSecure() {
		external["tls"] = map[string]any{"caFile": t.file("ca.crt"), "certFile": t.file("tls.crt"), "keyFile": t.file("tls.key")}
		if secret := t.cluster.ClientTLSSecret(); secret != "" {
			plane["statefulSet"] = map[string]any{"persistence": map[string]any{
				"addVolumes":      []any{map[string]any{"name": "etcd-tls", "secret": map[string]any{"secretName": secret}}},
				"addVolumeMounts": []any{map[string]any{"name": "etcd-tls", "mountPath": t.mount, "readOnly": true}},
			}}
			t.note("The Secret must be in the namespace of the virtual cluster: %s", "kubectl etcd connect --secret-for NAMESPACE writes a copy.")
		}
	}
	return map[string]any{"controlPlane": plane}, nil
}
