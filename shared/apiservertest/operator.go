package apiservertest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	managerconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Account returns a config for the operator's account in the namespace. The account has exactly the rights of
// the Role in a file, and the admission policy in the folder crd beside it confines it. So a test fails if an
// operator needs more than its deployment grants.
func Account(t testing.TB, namespace, file string) *rest.Config {
	t.Helper()
	manifest, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.Role
	if err := yaml.UnmarshalStrict(manifest, &role); err != nil {
		t.Fatal(err)
	}
	name := role.Name
	confine(t, name, filepath.Join(filepath.Dir(file), "../crd/admission.yaml"))
	role.Namespace = namespace
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name, Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
	}
	for _, o := range []client.Object{&role, binding} {
		if err := Client(t).Create(Context(t), o); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	to := Config()
	to.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + name
	return to
}

// Confined returns a config with the name of an operator's account. The account has all rights, but the
// admission policy in the file confines it.
func Confined(t testing.TB, namespace, operator, file string) *rest.Config {
	t.Helper()
	confine(t, operator, file)
	to := Config()
	to.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + namespace + ":" + operator, Groups: []string{"system:masters"}}
	return to
}

// confine creates the policy of an operator's account, and its binding, from the file.
func confine(t testing.TB, operator, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var u unstructured.Unstructured
		if err := yaml.UnmarshalStrict(document, &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetName() != operator+"."+v1beta2.GroupName {
			continue
		}
		if err := Client(t).Create(Context(t), &u); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
}

// StartOperator starts a manager that looks after a namespace, with what setup gives it to
// do, as a main program does. It ends with the test, or when stop is called.
func StartOperator(t testing.TB, to *rest.Config, namespace string, setup func(context.Context, ctrl.Manager) error) (stop func()) {
	t.Helper()
	return StartOperatorWith(t, to, namespace, cache.Options{}, setup)
}

// StartOperatorWith is StartOperator with the caches of a main program.
func StartOperatorWith(t testing.TB, to *rest.Config, namespace string, caches cache.Options, setup func(context.Context, ctrl.Manager) error) (stop func()) {
	t.Helper()
	caches.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	mgr, err := ctrl.NewManager(to, ctrl.Options{
		Scheme:     Scheme(),
		Cache:      caches,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: managerconfig.Controller{SkipNameValidation: new(true)}, // there are several in this process
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := setup(ctx, mgr); err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the operator ended: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}
