package harness

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/snapshotcheck"
	"github.com/etcd-operators/etcd-operators/e2e/stallproxy"
)

const (
	// storeImage is versitygw, an S3 server that stores into folders.
	storeImage = "ghcr.io/versity/versitygw:v1.8.0"
	storeName  = "s3"
	storePort  = 7070
	// storeKey and storeSecret are the credentials that may do anything there.
	storeKey, storeSecret = "etcd-backups", "etcd-backups-secret"
	// StoreSecret is the name of the Secret with the credentials, as the examples have
	// it.
	StoreSecret = "aws"
)

// Store is an S3 store in a namespace, which an [Inspector] looks into. Its credentials
// are in the Secret [StoreSecret].
type Store struct {
	*Inspector
	// Endpoint is its URL.
	Endpoint string
}

// StoreHost is the name in the store's URL.
func StoreHost(namespace string) string { return storeName + "." + namespace }

// StartStore starts an S3 store with a bucket. It speaks TLS if a Secret is named, with the
// certificate for [StoreHost] and its CA.
func (e *Env) StartStore(ctx context.Context, v *View, namespace, bucket, certificate string) (*Store, error) {
	scheme := corev1.URISchemeHTTP
	if certificate != "" {
		scheme = corev1.URISchemeHTTPS
	}
	s := &Store{Endpoint: fmt.Sprintf("%s://%s:%d", strings.ToLower(string(scheme)), StoreHost(namespace), storePort)}
	if err := e.Client.Create(ctx, StoreCredentials(namespace, StoreSecret, storeKey, storeSecret)); err != nil {
		return nil, err
	}
	if err := e.Client.Create(ctx, storeServer(namespace, scheme, certificate)); err != nil {
		return nil, err
	}
	if err := e.Client.Create(ctx, service(namespace, storeName, storePort)); err != nil {
		return nil, err
	}
	var err error
	if s.Inspector, err = e.startInspector(ctx, v, namespace, "inspect-s3", s.Endpoint, certificate, ""); err != nil {
		return nil, err
	}
	if err := e.AwaitDeployment(ctx, v, namespace, storeName); err != nil {
		return nil, err
	}
	return s, Poll(ctx, "the bucket", func(ctx context.Context) (string, error) {
		return "", s.ask(ctx, "POST", "bucket", url.Values{"bucket": {bucket}}, &struct{}{})
	})
}

// Credentials are the store's, in a Secret of another name.
func (s *Store) Credentials(name string) *corev1.Secret {
	return StoreCredentials(s.namespace, name, storeKey, storeSecret)
}

// StoreCredentials is a Secret with credentials for S3, in the form of AWS' own files.
func StoreCredentials(namespace, name, key, secret string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{
		"credentials": fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", key, secret),
		"config":      "[default]\nregion = us-east-1\n",
	}}
}

// storeServer keeps metadata in files beside the objects: not every file system has
// extended attributes.
func storeServer(namespace string, scheme corev1.URIScheme, certificate string) *appsv1.Deployment {
	p := restrictedPod(namespace, storeName)
	p.Spec.RestartPolicy = corev1.RestartPolicyAlways
	c := &p.Spec.Containers[0]
	c.Name, c.Image, c.Command = storeName, storeImage, nil // the image's own
	c.Args = []string{
		fmt.Sprintf("--port=:%d", storePort), "--region=us-east-1", "--access=" + storeKey, "--secret=" + storeSecret,
		"--health=/health", "--keep-alive", "--quiet",
	}
	if certificate != "" {
		c.Args = append(c.Args, "--cert="+tlsFolder+"/tls.crt", "--key="+tlsFolder+"/tls.key")
		mount(&p.Spec, "tls", tlsFolder, secretVolume(certificate))
	}
	c.Args = append(c.Args, "posix", "--sidecar=/metadata", "/buckets")
	c.ReadinessProbe = httpProbe("/health", storePort)
	c.ReadinessProbe.HTTPGet.Scheme = scheme
	mount(&p.Spec, "buckets", "/buckets", emptyDir())
	mount(&p.Spec, "metadata", "/metadata", emptyDir())
	mount(&p.Spec, "tmp", "/tmp", emptyDir())
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storeName}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: p.Labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec},
	}}
}

// service is in front of the Pods that are labelled app=<name>.
func service(namespace, name string, port int32) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Port: port}},
	}}
}

// Inspector is a Pod that looks at what is stored in an S3 store, or on a volume: see
// package stored.
type Inspector struct{ *program }

// StartInspector starts one for an S3 store, for the volume of a claim, or for both.
func (e *Env) StartInspector(ctx context.Context, v *View, namespace, name, store, claim string) (*Inspector, error) {
	return e.startInspector(ctx, v, namespace, name, store, "", claim)
}

// startInspector lets it trust the CA in the Secret of the store's certificate, if there is one.
func (e *Env) startInspector(ctx context.Context, v *View, namespace, name, store, certificate, claim string) (*Inspector, error) {
	pod := restrictedPod(namespace, name, "inspect", "--work=/work")
	c := &pod.Spec.Containers[0]
	mount(&pod.Spec, "work", "/work", emptyDir())
	if store != "" {
		c.Command = append(c.Command, "--s3="+store)
		c.Env = []corev1.EnvVar{{Name: "AWS_ACCESS_KEY_ID", Value: storeKey}, {Name: "AWS_SECRET_ACCESS_KEY", Value: storeSecret}}
	}
	if certificate != "" {
		c.Env = append(c.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: tlsFolder + "/ca.crt"})
		mount(&pod.Spec, "tls", tlsFolder, secretVolume(certificate))
	}
	if claim != "" {
		c.Command = append(c.Command, "--volume=/volume")
		mount(&pod.Spec, "volume", "/volume", corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		})
	}
	p, err := e.start(ctx, v, pod, "the inspector "+name)
	return &Inspector{p}, err
}

// PutObject stores an empty object that is nobody's backup.
func (i *Inspector) PutObject(ctx context.Context, bucket, key string) error {
	return i.ask(ctx, "POST", "object", url.Values{"bucket": {bucket}, "key": {key}}, &struct{}{})
}

// Objects is what is in a bucket.
func (i *Inspector) Objects(ctx context.Context, bucket string) (all []snapshotcheck.Object, err error) {
	return all, i.ask(ctx, "GET", "objects", url.Values{"bucket": {bucket}}, &all)
}

// Uploads are the keys of the uploads to a bucket that are neither complete nor
// aborted.
func (i *Inspector) Uploads(ctx context.Context, bucket string) (keys []string, err error) {
	return keys, i.ask(ctx, "GET", "uploads", url.Values{"bucket": {bucket}}, &keys)
}

// Files is what is on the volume.
func (i *Inspector) Files(ctx context.Context) (all []snapshotcheck.Object, err error) {
	return all, i.ask(ctx, "GET", "files", nil, &all)
}

// Object opens a snapshot in a bucket.
func (i *Inspector) Object(ctx context.Context, bucket, key string) (s snapshotcheck.Snapshot, err error) {
	return s, i.ask(ctx, "GET", "snapshot", url.Values{"bucket": {bucket}, "key": {key}}, &s)
}

// KeysOf are all keys that are in a snapshot in a bucket.
func (i *Inspector) KeysOf(ctx context.Context, bucket, key string) (c mirror.Content, err error) {
	return c, i.ask(ctx, "GET", "keys", url.Values{"bucket": {bucket}, "key": {key}}, &c)
}

// KeysOfFile are all keys that are in a snapshot on the volume.
func (i *Inspector) KeysOfFile(ctx context.Context, path string) (c mirror.Content, err error) {
	return c, i.ask(ctx, "GET", "keys", url.Values{"file": {path}}, &c)
}

// DamageObject stores at another key, or at the same, what is left of an object.
func (i *Inspector) DamageObject(ctx context.Context, bucket, key, to string, how snapshotcheck.Damage) error {
	return i.ask(ctx, "POST", "damage", url.Values{"bucket": {bucket}, "key": {key}, "to": {to}, "how": {string(how)}}, &struct{}{})
}

// DeleteObject deletes an object.
func (i *Inspector) DeleteObject(ctx context.Context, bucket, key string) error {
	return i.ask(ctx, "POST", "delete", url.Values{"bucket": {bucket}, "key": {key}}, &struct{}{})
}

// File opens a snapshot on the volume.
func (i *Inspector) File(ctx context.Context, path string) (s snapshotcheck.Snapshot, err error) {
	return s, i.ask(ctx, "GET", "snapshot", url.Values{"file": {path}}, &s)
}

// StallProxy is a Pod through which a store is reached, and which can stall transfers: see
// package stallproxy.
type StallProxy struct {
	*program
	// Endpoint is the store's URL through the proxy.
	Endpoint string
}

// StartStallProxy puts a proxy in front of the namespace's store.
func (e *Env) StartStallProxy(ctx context.Context, v *View, namespace string) (*StallProxy, error) {
	const name = "stall-proxy"
	if err := e.Client.Create(ctx, service(namespace, name, storePort)); err != nil {
		return nil, err
	}
	pod := restrictedPod(namespace, name, name, fmt.Sprintf("--to=%s:%d", storeName, storePort), fmt.Sprintf("--from=:%d", storePort))
	p, err := e.start(ctx, v, pod, "the stall proxy")
	return &StallProxy{p, fmt.Sprintf("http://%s.%s:%d", name, namespace, storePort)}, err
}

// Shut lets so many bytes more pass to the store; what it sends passes.
func (p *StallProxy) Shut(ctx context.Context, after int) error {
	return p.ask(ctx, "POST", "shut", url.Values{"after": {fmt.Sprint(after)}}, &struct{}{})
}

// ShutDownloads lets so many bytes more pass from the store; what it is sent passes.
func (p *StallProxy) ShutDownloads(ctx context.Context, after int) error {
	return p.ask(ctx, "POST", "shut", url.Values{"after": {fmt.Sprint(after)}, "down": {"true"}}, &struct{}{})
}

// Open lets everything pass.
func (p *StallProxy) Open(ctx context.Context) error {
	return p.ask(ctx, "POST", "open", nil, &struct{}{})
}

// Holds waits until a transfer is held up.
func (p *StallProxy) Holds(ctx context.Context) error {
	return Poll(ctx, "a transfer to be in the middle", func(ctx context.Context) (string, error) {
		var s stallproxy.State
		if err := p.ask(ctx, "GET", "state", nil, &s); err != nil || s.Held > 0 {
			return "", err
		}
		return "nothing is held up", nil
	})
}
