package agent

import (
	"cmp"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// Nothing here trusts the EtcdBackup: whoever may create one must not get at the password of
// a Secret, nor at the data of an EtcdCluster, by naming an endpoint or a store of their own
// (docs/design/security.md).

const (
	// endpointsKey is the key in which the owner of a Secret lists, with blanks or commas
	// between, to whom its password can be sent. A mounted Secret shows neither its type
	// nor its labels, and no operator may read one through the API: so the Secret's data names them.
	endpointsKey = "etcd-endpoints"
	// clusterMark begins an entry that means the members of an EtcdCluster.
	clusterMark = "EtcdCluster/"
)

// withheld returns why the password in the mounted Secret is not for an endpoint; nil if it
// is: to the members of an EtcdCluster that names the Secret, or to the endpoints that the
// Secret lists; to others by TLS only.
func (j *job) withheld(endpoint string) error {
	t := &j.task
	if t.AuthDir == "" || (t.Cluster != "" && t.OwnAuth) {
		return nil
	}
	if _, err := os.Stat(filepath.Join(t.AuthDir, corev1.BasicAuthPasswordKey)); errors.Is(err, fs.ErrNotExist) {
		return nil // there is none to withhold, and that is what is wrong
	}
	entry := clusterMark + t.Cluster
	if t.Cluster == "" {
		entry = address(endpoint)
		if !strings.HasPrefix(entry, "https://") {
			return withheldBy("the password in Secret %s is not sent without TLS, except to the members of an EtcdCluster: set spec.clusterRef, or https:// in spec.etcdEndpoints", t.AuthSecret)
		}
	}
	entries, err := allowedEndpoints(t.AuthDir)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e string) bool { return address(e) == entry }) {
		return nil
	}
	if len(entries) > 0 {
		return withheldBy("Secret %[1]s does not list %[2]s as an endpoint for its password: add %[2]s to its key %[3]s", t.AuthSecret, entry, endpointsKey)
	}
	return withheldBy("Secret %s does not list %s as an endpoint for its password: to allow it, the Secret's owner runs kubectl patch secret %s -p '{\"stringData\":{\"%s\":\"%s\"}}'",
		t.AuthSecret, entry, t.AuthSecret, endpointsKey, entry)
}

// withheldBy is the error of an endpoint to which the password is not sent.
func withheldBy(format string, args ...any) error {
	return &endpointError{passwordWithheld, runner.Refuse(v1beta2.BackupReasonPasswordWithheld, format, args...)}
}

// allowedEndpoints are the entries of a mounted Secret.
func allowedEndpoints(dir string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(dir, endpointsKey))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return strings.FieldsFunc(string(content), func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }), err
}

// address is an endpoint as scheme://host:port; what is none stays as it is.
func address(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return endpoint
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), cmp.Or(u.Port(), clientPort))
}

// checkStore refuses the store for an etcd cluster whose EtcdCluster does not allow it. That
// an endpoint lies about its id helps nobody: whoever stands between us and the members can
// read what they hold without us.
func (j *job) checkStore(cluster uint64) error {
	id := hex(cluster)
	if slices.Contains(j.task.Forbidden, id) {
		return runner.Refuse(v1beta2.BackupReasonStoreNotAllowed, "the EtcdCluster of etcd cluster %s does not allow this store: use one of its spec.backup.allowedStores, or add this store to them", id)
	}
	if !slices.Contains(j.task.Pinned, id) || j.task.Store == nil {
		return nil
	}
	way, err := j.detour()
	if err != nil || way == "" {
		return err
	}
	return runner.Refuse(v1beta2.BackupReasonStoreNotAllowed, "the EtcdCluster of etcd cluster %s restricts its stores, and %s can redirect the backup to another one: remove that setting (spec.s3.endpoint takes the URL of a store that is not AWS)", id, way)
}

// Variables that lead requests to a store elsewhere.
var (
	endpointVariables = []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"}
	proxyVariables    = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}
	trustVariables    = []string{"AWS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"}
)

// detour is what may lead requests elsewhere than to the store that the task names; empty
// if nothing does. A proxy sees only what is not encrypted, or encrypted for a CA
// that was added.
func (j *job) detour() (string, error) {
	for _, name := range endpointVariables {
		if j.task.Store.Endpoint == "" && os.Getenv(name) != "" {
			return "the variable " + name, nil
		}
	}
	ours, err := j.inFiles("ca_bundle")
	if err != nil {
		return "", err
	}
	ours = ours || j.task.Store.CADir != ""
	trusts := slices.ContainsFunc(trustVariables, func(name string) bool { return os.Getenv(name) != "" })
	for _, name := range proxyVariables {
		if os.Getenv(name) != "" && (ours || trusts || strings.HasPrefix(strings.ToLower(j.task.Store.Endpoint), "http://")) {
			return "the variable " + name, nil
		}
	}
	if found, err := j.inFiles("endpoint_url"); j.task.Store.Endpoint == "" && (found || err != nil) {
		return "endpoint_url in the Secret that s3.awsSecret names", err
	}
	return "", nil
}

// inFiles reports whether AWS' files in the mounted Secret have a setting.
func (j *job) inFiles(setting string) (bool, error) {
	if j.task.Store.SecretDir == "" {
		return false, nil
	}
	for _, name := range []string{"config", "credentials"} {
		content, err := os.ReadFile(filepath.Join(j.task.Store.SecretDir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if strings.Contains(strings.ToLower(string(content)), setting) {
			return true, nil
		}
	}
	return false, nil
}
