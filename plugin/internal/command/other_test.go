package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// logOf is a log of each Pod.
func logOf(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
	if o.Previous {
		return nil, errors.New("there was no container before")
	}
	text := fmt.Sprintf(`{"level":"info","ts":"2026-01-01T12:00:00.123456Z","caller":"x.go:1","msg":"serving","pod":%q}`, pod)
	return io.NopCloser(strings.NewReader(text + "\npassword=secret\n")), nil
}

func TestLogs(t *testing.T) {
	c := aCluster("example")
	w := aWorld(t, append(podsOf(c), c)...)
	golden(t, "logs", w.run("logs example --tail 2"), w.run("logs example example-bbbbbbbbbb --pretty"),
		w.run("logs example nobody"), w.run("logs example --operator"), w.run("logs example example-bbbbbbbbbb --previous"))
}

// Logs are followed into containers that restart, whose stream broke off, and into new Pods, until the
// user ends it.
func TestLogsFollow(t *testing.T) {
	c := aCluster("example")
	pods := podsOf(c)
	runs := func(o client.Object, id string) *corev1.Pod {
		p := o.(*corev1.Pod)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", ContainerID: id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		return p
	}
	first, other := runs(pods[0], "one"), runs(pods[1], "other")
	w := aWorld(t, c, first, other)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	w.ctx = ctx
	var mu sync.Mutex
	read := map[string]int{}
	var options []corev1.PodLogOptions
	app := func(out io.Writer) *App {
		app := w.app(out)
		app.Logs = func(*kube.Access) (ReadLog, error) {
			return func(ctx context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
				mu.Lock()
				defer mu.Unlock()
				read[pod]++
				n := read[pod]
				if pod == first.Name {
					options = append(options, *o)
				}
				if pod == first.Name && n == 1 { // breaks off
					return io.NopCloser(strings.NewReader("2026-01-01T12:00:00.000000001Z begun\n2026-01-01T12:00:00.000000002Z broke\n")), nil
				}
				r, line := io.Pipe()
				go func() {
					if pod == first.Name { // what was read is sent again: a request knows whole seconds
						fmt.Fprint(line, "2026-01-01T12:00:00.000000001Z begun\n2026-01-01T12:00:00.000000002Z broke\n")
					}
					fmt.Fprintf(line, "2026-01-01T12:00:01.5Z line of stream %d\n", n)
					<-ctx.Done()
					line.CloseWithError(ctx.Err())
				}()
				return r, nil
			}, nil
		}
		return app
	}
	out := &display{}
	root := New(app(out), nil)
	root.SetArgs(strings.Fields("logs example -f --tail 5"))
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(ctx) }()
	shows := func(want string) {
		t.Helper()
		etcdtest.Eventually(t, "it to show "+want, func() error {
			if got := out.String(); !strings.Contains(got, want) {
				return fmt.Errorf("it shows\n%s", got)
			}
			return nil
		})
	}
	shows(first.Name + "  begun\n")
	shows(first.Name + "  line of stream 2\n") // the container runs on
	becomes := func(o client.Object, id string) {
		t.Helper()
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if err := w.Status().Update(t.Context(), runs(o, id)); err != nil {
			t.Fatal(err)
		}
	}
	becomes(first, "two")
	shows(first.Name + "  line of stream 3\n") // it has restarted
	if err := w.Create(t.Context(), pods[2]); err != nil {
		t.Fatal(err)
	}
	becomes(pods[2], "new")
	shows(pods[2].GetName() + "  line of stream 1\n")
	end()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if n := strings.Count(out.String(), other.Name); n != 1 || read[other.Name] != 1 {
		t.Errorf("a log that goes on is read %d times:\n%s", read[other.Name], out)
	}
	if len(options) != 3 || *options[0].TailLines != 5 || options[1].TailLines != nil || !options[1].SinceTime.Time.Equal(time.Date(2026, 1, 1, 12, 0, 0, 2, time.UTC)) || options[2].SinceTime != nil || options[2].TailLines != nil {
		t.Errorf("the streams begin elsewhere: %+v", options)
	}

	if n := strings.Count(out.String(), "broke"); n != 2 { // of the container that broke off, and of the next one
		t.Errorf("a line is shown %d times:\n%s", n, out)
	}

	// Without the right to read logs it ends.
	w.ctx = nil
	refused := w.app(io.Discard)
	refused.Logs = func(*kube.Access) (ReadLog, error) {
		return func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
			return nil, apierrors.NewForbidden(corev1.Resource("pods/log"), "example", nil)
		}, nil
	}
	root = New(refused, nil)
	root.SetArgs(strings.Fields("logs example -f"))
	if err := root.ExecuteContext(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("without the right to read logs it ends with %v", err)
	}

	// Nothing is left to follow when the cluster is deleted.
	w.ctx = nil
	if err := w.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	reads := 0
	w.get = func() error {
		if reads++; reads > 2 {
			return apierrors.NewNotFound(v1beta2.GroupVersion.WithResource("etcdclusters").GroupResource(), "example")
		}
		return nil
	}
	if got := w.run("logs example -f"); !strings.Contains(got, "error: EtcdCluster example does not exist") {
		t.Error(got)
	}
}

// A report has what is known, and nothing that is secret.
func TestReport(t *testing.T) {
	c, b := aCluster("example"), aBackup("hourly", "example")
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://me:hunter2@proxy"}}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example-operator-tls", Labels: map[string]string{v1beta2.LabelCluster: "example"}}, Data: map[string][]byte{"tls.key": []byte("hunter2")}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example-aaaaaaaaaa", Labels: map[string]string{v1beta2.LabelCluster: "example"}}}
	of := map[string]string{v1beta2.LabelBackup: "hourly"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hourly-thlyqfs33b", Labels: of}}
	agent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "hourly-thlyqfs33b-t95fq", Labels: of}}
	w := aWorld(t, append(podsOf(c), c, b, secret, claim, job, agent)...)
	file := filepath.Join(t.TempDir(), "report.tar.gz")
	got := w.run("report example --file", file)
	if !strings.Contains(got, "Wrote "+file) || !strings.Contains(got, "reading the log of hourly-thlyqfs33b-t95fq") {
		t.Fatal(got)
	}
	if again := w.run("report example --file", file); !strings.Contains(again, "file exists") {
		t.Errorf("a file is replaced:\n%s", again)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	all := &strings.Builder{}
	for archive := tar.NewReader(gz); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimPrefix(header.Name, "etcd-report-example-20260101-120000/"))
		all.Write(data)
	}
	slices.Sort(names)
	golden(t, "report", "files:\n"+strings.Join(names, "\n"))
	for _, word := range []string{"hunter2", "password=secret"} {
		if strings.Contains(all.String(), word) {
			t.Errorf("%s is in the report", word)
		}
	}
	for _, word := range []string{"REDACTED", "serving", "8a3fc1e07b2d4c55"} {
		if !strings.Contains(all.String(), word) {
			t.Errorf("%s is not in the report", word)
		}
	}
}

func TestConnect(t *testing.T) {
	c, plain := aCluster("example"), aCluster("plain")
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example-client-tls", ResourceVersion: "7"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte("x")}}
	w := aWorld(t, c, plain, secret)
	golden(t, "connect", w.run("connect example"), w.run("connect plain -o patroni"), w.run("connect plain -o nobody"),
		w.run("connect example --secret-for team-a"), w.run("connect plain --secret-for team-a"))
}

func TestInstall(t *testing.T) {
	w := aWorld(t)
	w.then = func(o client.Object) {
		if d, ok := o.(*appsv1.Deployment); ok {
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, UpdatedReplicas: *d.Spec.Replicas, AvailableReplicas: *d.Spec.Replicas}
		}
	}
	golden(t, "install",
		w.run("install --source ../../../deploy"),
		w.run("install --source ../../../deploy --cluster-wide --operators etcd-operator,etcd-backup-operator,etcd-restore-operator"),
		w.run("install --operators etcd"),
		w.run("install --source ../../../deploy --yes --wait=false --registry registry.example.com/etcd --tag v1"))
	d := &appsv1.Deployment{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "etcd-operator"}, d); err != nil {
		t.Fatal(err)
	}
	if got := d.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/etcd/etcd-operator:v1" {
		t.Errorf("the image is %s", got)
	}
	if got := w.run("install --source ../../../deploy --print"); !strings.Contains(got, "kind: CustomResourceDefinition") || strings.Contains(got, "applied Deployment") {
		t.Errorf("%.300s", got)
	}
	stuck := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "etcd-operator-x", Labels: d.Spec.Selector.MatchLabels}, Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"}}}},
	}}
	w.then = nil
	if err := w.Create(t.Context(), stuck); err != nil {
		t.Fatal(err)
	}
	if got := w.run("install --source ../../../deploy --yes --timeout 500ms"); !strings.Contains(got, "Deployment etcd-operator: 0 of 2 replicas are ready (Pod etcd-operator-x: ImagePullBackOff: no such image)") || !strings.Contains(got, "error: not ready yet: everything is applied") {
		t.Error(got)
	}
	if err := w.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}); err != nil {
		t.Fatal(err)
	}
	got := w.run("install --source ../../../deploy --yes")
	if want := "error: nothing was changed, because namespace default does not exist: run \"kubectl create namespace default\" first\n"; !strings.Contains(got, want) || strings.Contains(got, "applied") {
		t.Error(got)
	}
}

// A release is installed from its files, a branch from the repository. In the repository the manifests
// of a release name the development build: its tag goes with them.
func TestInstallLocation(t *testing.T) {
	const project = "https://github.com/etcd-operators/etcd-operators"
	for reason, c := range map[string]struct{ source, ref, location, tag string }{
		"a release":                        {"", "v1.2.3-rc.1", project + "/releases/download/v1.2.3-rc.1", ""},
		"a branch":                         {"", "main", project + "/deploy", ""},
		"a later commit":                   {"", "v1.2.3-4-gabcdef0", project + "/deploy", ""},
		"a release in the repository":      {project + "/deploy/", "v1.2.3", project + "/deploy", "v1.2.3"},
		"a branch of a fork":               {"https://example.com/fork/deploy", "main", "https://example.com/fork/deploy", ""},
		"the files of a release elsewhere": {"https://example.com/fork/releases/download/v1.2.2/", "v1.2.3", "https://example.com/fork/releases/download/v1.2.2", ""},
		"a local folder":                   {"./deploy", "v1.2.3", "./deploy", ""},
	} {
		i := &installation{source: c.source, ref: c.ref}
		if location, tag := i.location(), i.releaseTag(); location != c.location || tag != c.tag {
			t.Errorf("%s: from %q with tag %q, want %q and %q", reason, location, tag, c.location, c.tag)
		}
	}
}

// releaseFiles writes the files of a release of etcd-operator into a folder, with the image that is given.
func releaseFiles(t *testing.T, image string) string {
	t.Helper()
	folder := t.TempDir()
	for file, of := range map[string]string{"etcd-operator.yaml": "etcd-operator", "etcd-operator-cluster-wide.yaml": "etcd-operator/cluster-wide"} {
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("../../../deploy", of))
		if err != nil {
			t.Fatal(err)
		}
		data, err := built.AsYaml()
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.ReplaceAll(data, []byte("ghcr.io/etcd-operators/etcd-operator:dev"), []byte(image))
		if err := os.WriteFile(filepath.Join(folder, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// The files of a release are installed as they are, from a server or a folder, but for the namespace and
// what the flags say of the image.
func TestInstallFilesOfARelease(t *testing.T) {
	const digest = "@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	const image = "ghcr.io/etcd-operators/etcd-operator:v1.2.3" + digest
	folder := releaseFiles(t, image)
	server := httptest.NewServer(http.StripPrefix("/releases/download/v1.2.3", http.FileServer(http.Dir(folder))))
	t.Cleanup(server.Close)
	url := server.URL + "/releases/download/v1.2.3"
	operator := []string{"etcd-operator"}
	for reason, c := range map[string]struct {
		installation
		image, namespace, fails string
	}{
		"from a server":                  {installation: installation{source: url}, image: image, namespace: "databases"},
		"whatever the plugin's release":  {installation: installation{source: url + "/", ref: "v1.2.4"}, image: image, namespace: "databases"},
		"for all namespaces":             {installation: installation{source: url, clusterWide: true}, image: image, namespace: "etcd-operators"},
		"from a folder":                  {installation: installation{source: folder}, image: image, namespace: "databases"},
		"from another registry":          {installation: installation{source: url, registry: "example.com/etcd/"}, image: "example.com/etcd/etcd-operator:v1.2.3" + digest, namespace: "databases"},
		"another tag":                    {installation: installation{source: folder, tag: "mine"}, image: "ghcr.io/etcd-operators/etcd-operator:mine", namespace: "databases"},
		"another registry and tag":       {installation: installation{source: url, registry: "example.com", tag: "mine"}, image: "example.com/etcd-operator:mine", namespace: "databases"},
		"the folder deploy":              {installation: installation{source: "../../../deploy"}, image: "ghcr.io/etcd-operators/etcd-operator:dev", namespace: "databases"},
		"the folder deploy, for all":     {installation: installation{source: "../../../deploy", clusterWide: true}, image: "ghcr.io/etcd-operators/etcd-operator:dev", namespace: "etcd-operators"},
		"a release that is not there":    {installation: installation{source: server.URL + "/releases/download/v1.2.2"}, fails: server.URL + "/releases/download/v1.2.2/etcd-operator.yaml: 404 Not Found"},
		"a folder of something else":     {installation: installation{source: "testdata"}, fails: "testdata has neither the folder etcd-operator, as deploy has, nor the file etcd-operator.yaml of a release"},
		"a server that does not exist":   {installation: installation{source: "http://127.0.0.1:1/releases/download/v1.2.3"}, fails: "connection refused"},
		"a folder that is not there":     {installation: installation{source: "nowhere"}, fails: "nowhere has neither the folder"},
		"an operator that is not a file": {installation: installation{source: folder, operators: []string{"etcd-backup-operator"}}, fails: "nor the file etcd-backup-operator.yaml of a release"},
	} {
		t.Run(reason, func(t *testing.T) {
			if c.operators == nil {
				c.operators = operator
			}
			objects, err := c.build(t.Context(), "databases")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("it fails with %v, want %s", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, o := range objects {
				kinds = append(kinds, o.GetKind())
				if n := o.GetNamespace(); n != "" && n != c.namespace {
					t.Errorf("%s %s is in namespace %s, want %s", o.GetKind(), o.GetName(), n, c.namespace)
				}
				switch o.GetKind() {
				case "RoleBinding", "ClusterRoleBinding":
					subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
					if n := subjects[0].(map[string]any)["namespace"]; err != nil || n != c.namespace {
						t.Errorf("%s %s is for namespace %s, want %s", o.GetKind(), o.GetName(), n, c.namespace)
					}
				case "Deployment":
					containers, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
					if got := containers[0].(map[string]any)["image"]; err != nil || got != c.image {
						t.Errorf("the image is %s, want %s", got, c.image)
					}
				}
			}
			for _, kind := range []string{"CustomResourceDefinition", "ServiceAccount", "RoleBinding", "Deployment"} {
				if !slices.Contains(kinds, kind) {
					t.Errorf("there is no %s in %s", kind, kinds)
				}
			}
		})
	}
}

// What kubectl apply has installed is updated. What another program has set is not, unless that is asked for.
func TestInstallTakesNothingAway(t *testing.T) {
	const line = "install --source ../../../deploy --yes --wait=false --tag v2"
	for manager, taken := range map[string]bool{bySideApply: true, "helm": false} {
		t.Run(manager, func(t *testing.T) {
			w := aWorld(t)
			image := func() string {
				d := &appsv1.Deployment{}
				if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "etcd-operator"}, d); err != nil {
					t.Fatal(err)
				}
				return d.Spec.Template.Spec.Containers[0].Image
			}
			w.run("install --source ../../../deploy --yes --wait=false --tag v1")
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "etcd-operator"}}
			patch := `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"theirs"}]`
			if err := w.Patch(t.Context(), d, client.RawPatch(types.JSONPatchType, []byte(patch)), client.FieldOwner(manager)); err != nil {
				t.Fatal(err)
			}
			got := w.run(line)
			if taken != strings.HasSuffix(image(), ":v2") {
				t.Errorf("the image is %s:\n%s", image(), got)
			}
			if !taken && (!strings.Contains(got, "error: nothing was changed") || !strings.Contains(got, "Deployment etcd-operator: .spec.template.spec.containers") || strings.Contains(got, "applied")) {
				t.Error(got)
			}
			if w.run(line + " --force-conflicts"); !strings.HasSuffix(image(), ":v2") {
				t.Errorf("the image is %s", image())
			}
		})
	}
}

// A download follows redirects, but to no address that anybody on the way could answer for.
func TestStaysEncrypted(t *testing.T) {
	for reason, c := range map[string]struct {
		from, to string
		before   int
		follows  bool
	}{
		"GitHub leads to its store":     {from: "https://github.com", to: "https://objects.example.com", follows: true},
		"a server leads to plain HTTP":  {from: "https://github.com", to: "http://objects.example.com"},
		"a mirror without certificates": {from: "http://mirror", to: "http://store", follows: true},
		"round and round":               {from: "https://github.com", to: "https://github.com", before: maxRedirects},
	} {
		request := func(url string) *http.Request {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		via := slices.Repeat([]*http.Request{request(c.from)}, c.before+1)
		if err := staysEncrypted(request(c.to), via); (err == nil) != c.follows {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestLogsOfPodsWithSidecars: the log of our container is read, wherever a mesh inserts its own.
func TestLogsOfPodsWithSidecars(t *testing.T) {
	c := aCluster("example")
	objects := append(podsOf(c), c, anOperator("default", "etcd-operator-1"))
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			if p.Name == "etcd-operator-1" {
				p.Spec.Containers[0].Name = "etcd-operator"
			}
			p.Spec.Containers = append([]corev1.Container{{Name: "istio-proxy"}}, p.Spec.Containers...)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[1].Name, ContainerID: "1", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		}
	}
	w := aWorld(t, objects...)
	t.Chdir(t.TempDir()) // the report is written there
	for line, want := range map[string]string{
		"logs example": "etcd", "logs example --operator": "etcd-operator", "logs example -f": "etcd", "report example": "etcd",
	} {
		t.Run(line, func(t *testing.T) {
			ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
			defer end()
			var read atomic.Int32
			app := w.app(&display{})
			app.Logs = func(*kube.Access) (ReadLog, error) {
				return func(_ context.Context, _, pod string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
					if o.Container != want && (line != "report example" || o.Container != pod[:strings.LastIndex(pod, "-")]) {
						t.Errorf("container %q of Pod %s is read, want %s", o.Container, pod, want)
					}
					if read.Add(1); o.Follow {
						end()
					}
					return io.NopCloser(strings.NewReader("line\n")), nil
				}, nil
			}
			Run(ctx, app, nil, strings.Fields(line))
			if read.Load() == 0 {
				t.Error("no log is read")
			}
		})
	}
}
