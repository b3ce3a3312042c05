package harness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// etcdImage is the etcd that runs where no operator runs one.
const etcdImage = v1beta2.DefaultRepository + ":v" + etcdversion.Default

// StartTLSEtcd starts an etcd of one member, as somebody else might run it, and a writer.
// It takes nobody without a certificate of its CA. name is that of its Pod and of
// its Service; servers and clients are the Secrets of both sides. It returns the URL.
func (e *Env) StartTLSEtcd(ctx context.Context, v *View, namespace, name, servers, clients string) (url string, w *Writer, err error) {
	host := name + "." + namespace
	if err := e.Client.Create(ctx, service(namespace, name, 2379)); err != nil {
		return "", nil, err
	}
	pod := restrictedPod(namespace, name)
	c := &pod.Spec.Containers[0]
	c.Name, c.Image = "etcd", etcdImage
	c.Command = []string{
		"etcd", "--data-dir=/data/etcd", "--client-cert-auth", "--trusted-ca-file=/tls/ca.crt", "--cert-file=/tls/tls.crt", "--key-file=/tls/tls.key",
		"--listen-client-urls=https://0.0.0.0:2379", "--advertise-client-urls=https://" + host + ":2379",
	}
	mount(&pod.Spec, "data", "/data", emptyDir())
	mount(&pod.Spec, "tls", "/tls", secretVolume(servers))
	if err := e.Client.Create(ctx, pod); err != nil {
		return "", nil, err
	}
	writing := restrictedPod(namespace, name+"-writer", "write", "--endpoint="+host+":2379", fmt.Sprintf("--rate=%d", Rate), "--tls=/tls")
	mount(&writing.Spec, "tls", "/tls", secretVolume(clients))
	w, err = e.startWriter(ctx, v, writing)
	return "https://" + host + ":2379", w, err
}

func secretVolume(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

func secret(namespace, name string, data map[string][]byte) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
}
