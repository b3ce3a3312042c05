package releasetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/release"
)

const (
	// startTimeout bounds the start of Kubernetes with what is not built yet, and stopTimeout its end.
	startTimeout, stopTimeout = time.Hour, 2 * time.Minute
	// wayTimeout bounds one way to install, which takes a minute or two, and waitTimeout is how long kubectl
	// waits for one thing.
	wayTimeout  = 15 * time.Minute
	waitTimeout = "--timeout=4m"
)

const (
	// home is where operators of all namespaces are, and databases where users have their clusters.
	home, databases = harness.ClusterWideNamespace, "databases"
)

// user has a release, and a Kubernetes without any of it.
type user struct {
	// ctx ends with the way that is gone.
	ctx context.Context
	// root is the repository, source a clone of the released commit, and dir the folder of the release.
	root, source, dir string
	env               *harness.Env
	// charts is the folder of the charts in the registry, and downloads the URL of the release's files.
	charts, downloads string
	// digests are those of the operators' images, by their names.
	digests map[string]string
}

// way is one way to install all operators.
type way struct {
	// namespace is that of the operators, and of the clusters unless the operators manage all namespaces.
	namespace string
	// install has the commands of docs/tasks/install.md, and uninstall those of docs/tasks/uninstall.md.
	install, uninstall func(*testing.T)
	// image is what an operator runs then.
	image func(operator string) string
}

// installs: a Kubernetes that takes a registry with the release for that of the project gets the operators by its
// manifests, charts and plugin, and by the charts of a clone. They form a cluster, back it up and restore it, and are
// removed. It ends with the first way that fails: those after it would find what that has left.
func installs(t *testing.T, root, source, dir string) {
	u := &user{root: root, source: source, dir: dir, digests: map[string]string{}}
	u.startsKubernetes(t)
	const folder = "/releases/download/" + tag + "/" // as on GitHub
	server := httptest.NewServer(http.StripPrefix(folder, http.FileServer(http.Dir(dir))))
	t.Cleanup(server.Close)
	u.downloads = server.URL + folder
	plugin := filepath.Join(unpacked(t, filepath.Join(dir, "kubectl-etcd_linux_"+runtime.GOARCH+".tar.gz")), "kubectl-etcd")
	for _, w := range []struct {
		name string
		way
	}{
		{"manifests", u.manifests("default", ".yaml")},
		{"manifests for all namespaces", u.manifests(home, "-cluster-wide.yaml")},
		{"charts of the registry", u.helm(databases, u.pinned, u.inRegistry, charts.Operators...)},
		{"chart of all of the registry", u.helm(databases, u.pinned, u.inRegistry, charts.Umbrella)},
		{"charts for all namespaces", u.helm(home, u.pinned, u.asFile, charts.Operators...)},
		{"chart of all for all namespaces", u.helm(home, u.pinned, u.asFile, charts.Umbrella)},
		{"charts of a clone", u.helm(databases, u.built, u.inClone, charts.Operators...)},
		{"chart of all of a clone", u.helm(databases, u.built, u.inClone, charts.Umbrella)},
		{"kubectl etcd", u.plugin(plugin, databases)},
		{"kubectl etcd for all namespaces", u.plugin(plugin, home)},
	} {
		if !t.Run(w.name, func(t *testing.T) { u.installs(t, w.way) }) {
			return
		}
	}
}

// startsKubernetes brings one up, and a registry that has the release.
func (u *user) startsKubernetes(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	env, err := harness.Start(ctx, harness.Options{Nodes: 1, Only: []string{"etcd-3.6"}, Out: t.Output()})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := env.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if env.StaysUp() {
		t.Fatal("this test deletes all EtcdClusters and their definition: run make clean, and unset KUBECONFIG and KEEP")
	}
	u.env = env
	r, err := env.StartRegistry(ctx, "ghcr.io", "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	refs, err := release.Publish(ctx, u.dir, r.Addr+"/etcd-operators")
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		repository, digest, _ := strings.Cut(ref, "@")
		u.digests[strings.TrimPrefix(repository, r.Addr+"/etcd-operators/")] = digest
	}
	u.charts = "oci://" + r.Addr + "/etcd-operators/charts"
}

// pinned is an operator's image as the release names it, and built the one that "make images" has built.
func (u *user) pinned(operator string) string {
	return "ghcr.io/etcd-operators/" + operator + ":" + tag + "@" + u.digests[operator]
}

func (u *user) built(operator string) string { return "ghcr.io/etcd-operators/" + operator + ":dev" }

// manifests are the files of the release.
func (u *user) manifests(namespace, suffix string) way {
	file := func(operator string) string { return filepath.Join(u.dir, operator+suffix) }
	return way{
		namespace: namespace, image: u.pinned,
		install: func(t *testing.T) {
			for _, operator := range harness.Operators {
				u.kubectl(t, "apply", "-f", file(operator))
			}
		},
		uninstall: func(t *testing.T) {
			const one = harness.RestoreOperatorName
			u.kubectl(t, "delete", "-f", file(one), "-l", "app.kubernetes.io/name="+one)
			u.kubectl(t, "get", "deployment/etcd-operator", "deployment/etcd-backup-operator", "--namespace", namespace)
			u.kubectl(t, "get", "etcdrs", "--all-namespaces") // the kind is still served
			for _, operator := range slices.Backward(harness.Operators) {
				u.kubectl(t, "delete", "--ignore-not-found", "-f", file(operator)) // those of all namespaces share one
			}
			u.kubectl(t, "delete", "--ignore-not-found", "lease", "etcd-operator", "etcd-backup-operator", "etcd-restore-operator")
		},
	}
}

// chartOf names a chart for helm, with the flags that this takes.
type chartOf func(t *testing.T, name string) []string

func (u *user) inRegistry(_ *testing.T, name string) []string {
	return []string{u.charts + "/" + name, "--version", version, "--plain-http"} // that of the test has no certificate
}

func (u *user) asFile(_ *testing.T, name string) []string {
	return []string{filepath.Join(u.dir, name+"-"+version+".tgz")}
}

func (u *user) inClone(t *testing.T, name string) []string {
	folder := filepath.Join(u.source, "charts", name)
	if name == charts.Umbrella {
		u.runsHelm(t, "dependency", "build", folder)
	}
	return []string{folder}
}

// helm installs charts, and tests them as the docs say.
func (u *user) helm(namespace string, image func(string) string, at chartOf, names ...string) way {
	return way{
		namespace: namespace, image: image,
		install: func(t *testing.T) {
			for _, name := range names {
				args := append([]string{"install", name}, at(t, name)...)
				args = append(args, "--namespace", namespace, "--create-namespace", "--wait")
				if namespace == home {
					args = append(args, "--set", "global.clusterWide=true")
				}
				u.runsHelm(t, args...)
				u.runsHelm(t, "test", name, "--namespace", namespace)
			}
		},
		uninstall: func(t *testing.T) {
			for _, name := range names {
				u.runsHelm(t, "uninstall", name, "--namespace", namespace)
			}
			u.kubectl(t, "delete", "crd", "etcdclusters.etcd.database.coreos.com", "etcdbackups.etcd.database.coreos.com", "etcdrestores.etcd.database.coreos.com")
			u.kubectl(t, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "etcdbackups.etcd.database.coreos.com", "etcdrestores.etcd.database.coreos.com")
			u.kubectl(t, "delete", "clusterrole,clusterrolebinding", "etcd-backup-operator-admission", "etcd-restore-operator-admission")
			u.kubectl(t, "delete", "namespace", namespace)
		},
	}
}

// plugin is that of the release, which takes its files from where they are published: here, from a server of the test.
func (u *user) plugin(program, namespace string) way {
	with := func(t *testing.T, more ...string) string {
		t.Setenv("KUBECONFIG", u.env.Kubeconfig)
		args := []string{"install", "--source", u.downloads, "--namespace", namespace, "--operators", strings.Join(harness.Operators, ",")}
		if namespace == home {
			args = append(args, "--cluster-wide")
		}
		return run(t, "", program, append(args, more...)...)
	}
	return way{
		namespace: namespace, image: u.pinned,
		install: func(t *testing.T) {
			if namespace != home {
				u.kubectl(t, "create", "namespace", namespace)
			}
			with(t, "--yes")
		},
		uninstall: func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "operators.yaml")
			if err := os.WriteFile(file, []byte(with(t, "--print")), 0o600); err != nil {
				t.Fatal(err)
			}
			u.kubectl(t, "delete", "--ignore-not-found", "-f", file)
			if namespace != home {
				u.kubectl(t, "delete", "namespace", namespace)
			}
		},
	}
}

// installs goes one way from its beginning to its end.
func (u *user) installs(t *testing.T, w way) {
	ctx, cancel := context.WithTimeout(t.Context(), wayTimeout)
	defer cancel()
	u.ctx = ctx
	namespace, annotation := w.namespace, "example=plain"
	if w.namespace == home {
		namespace, annotation = databases, "etcd.database.coreos.com/scope=clusterwide"
	}
	t.Cleanup(func() {
		for _, of := range []string{namespace, w.namespace} {
			if t.Failed() {
				t.Log(u.env.Dump(of, filepath.Join(u.root, "out", "e2e", "failures", "installs", of)))
			}
		}
	})
	w.install(t)
	for _, operator := range harness.Operators {
		u.kubectl(t, "wait", "--namespace", w.namespace, "--for=condition=Available", waitTimeout, "deployment/"+operator)
		got := u.kubectl(t, "get", "deployment", operator, "--namespace", w.namespace, "-o", "jsonpath={.spec.template.spec.containers[*].image}")
		if want := w.image(operator); got != want {
			t.Errorf("%s runs %s, want %s", operator, got, want)
		}
	}
	if namespace != w.namespace {
		u.kubectl(t, "create", "namespace", namespace)
	}
	u.works(t, namespace, annotation)
	if namespace != w.namespace {
		u.kubectl(t, "delete", "namespace", namespace)
	}
	w.uninstall(t)
	u.kubectl(t, "wait", "--for=delete", waitTimeout, "pod", "--namespace", "default", "-l", "app.kubernetes.io/part-of=etcd-operators")
	u.hasNothing(t)
}

// works: a cluster forms, is backed up to a volume and restored from there, and all of it is deleted.
func (u *user) works(t *testing.T, namespace, annotation string) {
	t.Helper()
	for _, step := range []struct{ example, condition, object string }{
		{"cluster.yaml", "Available", "etcd/example"},
		{"backup-pvc.yaml", "Complete", "etcdbk/example-pvc"},
		{"restore-pvc.yaml", "Complete", "etcdrs/example-from-pvc"},
	} {
		example := u.kubectl(t, "annotate", "--local", "-f", filepath.Join(u.source, "examples", step.example), annotation, "-o", "yaml")
		if out, err := u.env.Kubectl.Apply(u.ctx, namespace, example); err != nil {
			t.Fatalf("apply %s: %v\n%s", step.example, err, out)
		}
		u.kubectl(t, "wait", "--namespace", namespace, "--for=condition="+step.condition, waitTimeout, step.object)
	}
	for _, kind := range []string{"etcdrs", "etcdbk", "etcd", "pvc"} {
		u.kubectl(t, "delete", kind, "--all", "--namespace", namespace, waitTimeout)
	}
}

// hasNothing: nothing of the operators is left that belongs to no namespace, nor in the namespace default.
func (u *user) hasNothing(t *testing.T) {
	t.Helper()
	isOurs := func(name string) bool {
		return strings.Contains(name, "etcd") || strings.Contains(name, "example") || strings.HasSuffix(name, "/"+databases)
	}
	for _, kinds := range []string{
		"crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,namespace",
		"deployment,role,rolebinding,serviceaccount,poddisruptionbudget,pod,service,secret,configmap,lease,pvc,job",
	} {
		for _, name := range strings.Fields(u.kubectl(t, "get", kinds, "--namespace", "default", "-o", "name")) {
			if isOurs(name) {
				t.Errorf("%s is left", name)
			}
		}
	}
}

func (u *user) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := u.env.Kubectl.Run(u.ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (u *user) runsHelm(t *testing.T, args ...string) {
	t.Helper()
	t.Setenv("KUBECONFIG", u.env.Kubeconfig)
	fmt.Fprint(t.Output(), run(t, "", filepath.Join(u.root, "bin", "helm"), args...))
}
