package operator

import (
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/deploy"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

func TestOptions(t *testing.T) {
	cases := map[string]struct {
		reason         string
		namespace, pod string
		args           []string
		wrong          string // a part of what is said
		image          string
	}{
		"predecessor's":   {reason: "its Deployment sets these", namespace: "ns", pod: "p", args: []string{"--create-crd=false", "--listen-addr=0.0.0.0:8080", "--cluster-wide=false"}},
		"no namespace":    {reason: "whose objects?", pod: "p", wrong: "MY_POD_NAMESPACE is not set"},
		"no pod":          {reason: "which image?", namespace: "ns", wrong: "neither --image nor MY_POD_NAME is set"},
		"no pod, image":   {reason: "the image is known", namespace: "ns", args: []string{"--image=x:v1"}, image: "x:v1"},
		"no workers":      {reason: "nothing would be done", namespace: "ns", pod: "p", args: []string{"--workers=0"}, wrong: "--workers is less than 1"},
		"version, no pod": {reason: "to be asked anywhere", args: []string{"--version"}},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			t.Setenv("MY_POD_NAMESPACE", tc.namespace)
			t.Setenv("MY_POD_NAME", tc.pod)
			t.Setenv("OPERATOR_IMAGE", "")
			o := Options{Name: "x-operator", Kind: "X"}
			fs := flag.NewFlagSet("x", flag.ContinueOnError)
			o.Bind(fs)
			if err := errors.Join(fs.Parse(tc.args), o.Check()); (err != nil) != (tc.wrong != "") || (err != nil && !strings.Contains(err.Error(), tc.wrong)) {
				t.Errorf("error %v, want one with %q: %s", err, tc.wrong, tc.reason)
			}
			if o.Image != tc.image {
				t.Errorf("the image is %q, want %q", o.Image, tc.image)
			}
		})
	}
}

// The operator finds its image in its own Pod, in the container of its name if there is
// one, else in the first.
func TestOwnImage(t *testing.T) {
	c, namespace := apiservertest.Client(t), apiservertest.Namespace(t)
	pod := func(name string, containers ...string) {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		for _, c := range containers {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: c, Image: "example.com/" + c + ":v1"})
		}
		apiservertest.Create(t, c, p)
	}
	pod("one", "a")
	pod("named", "sidecar", "x-operator")
	for name, want := range map[string]string{"one": "example.com/a:v1", "named": "example.com/x-operator:v1"} {
		o := Options{Name: "x-operator", Namespace: namespace, Pod: name}
		if err := o.Prepare(apiservertest.Context(t), c, nil); err != nil || o.Image != want {
			t.Errorf("in Pod %s the image is %q, want %q (%v)", name, o.Image, want, err)
		}
	}
	o := Options{Name: "x-operator", Namespace: namespace, Pod: "gone"}
	if err := o.Prepare(apiservertest.Context(t), c, nil); err == nil || !strings.Contains(err.Error(), "--image") {
		t.Errorf("without a Pod: %v, want what to do", err)
	}
}

// --create-crd installs the definition, and brings up to date what is there.
func TestCreateCRD(t *testing.T) {
	config := apiservertest.Another(t)
	c := apiservertest.ClientFor(t, config)
	o := Options{Name: "etcd-operator", Image: "x", CreateCRD: true}
	for range 2 {
		if err := o.Prepare(apiservertest.Context(t), c, deploy.EtcdClusters); err != nil {
			t.Fatal(err)
		}
		var installed apiextensionsv1.CustomResourceDefinition
		installed.Name = apiservertest.Definition(deploy.EtcdClusters).Name
		apiservertest.Read(t, c, &installed)
		columns := &installed.Spec.Versions[0].AdditionalPrinterColumns
		if len(*columns) < 2 {
			t.Fatalf("the columns are %v", *columns)
		}
		before := installed.DeepCopy()
		*columns = (*columns)[:1]
		if err := c.Patch(apiservertest.Context(t), &installed, client.MergeFrom(before), client.FieldOwner("somebody-else")); err != nil {
			t.Fatal(err)
		}
	}
}

// A replica that waits is alive, and not ready, and says what it waits for.
func TestProbes(t *testing.T) {
	r := newReadiness()
	ask := func(path string, want int, text string) {
		t.Helper()
		w := httptest.NewRecorder()
		r.handlers()[path].ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != want || w.Body.String() != text {
			t.Errorf("%s says %d %q, want %d %q", path, w.Code, w.Body, want, text)
		}
	}
	r.set(waitLease, "no replica leads")
	ask("/healthz", http.StatusOK, "ok\n")
	ask("/readyz", http.StatusServiceUnavailable, "no replica leads\nthe operator is starting\n")
	r.clear(waitStart)
	r.clear(waitLease)
	ask("/healthz", http.StatusOK, "ok\n")
	ask("/readyz", http.StatusOK, "ok\n")
}
