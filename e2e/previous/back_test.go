package previous

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// TestWayBackOfCharts: who goes back to the chart of the release without its definitions keeps those of
// today, and the rules of admission that belong to them. helm rollback takes them back. The next update
// takes them along again if it is told to, and otherwise has the values of the one before. A value that
// the older chart does not have is set to null.
func TestWayBackOfCharts(t *testing.T) {
	r, config := release(t), apiservertest.Another(t)
	h := helm{t: t, program: filepath.Join(r.root, "bin/helm"), kubeconfig: apiservertest.Kubeconfig(t, config), cache: t.TempDir()}
	c := apiservertest.ClientFor(t, config)
	today := packed(t, r.root)

	h.run("install", charts.Umbrella, r.Chart(), "--create-namespace")
	before := kept(t, c)
	h.run("upgrade", charts.Umbrella, today, "--set", lacked+"={EtcdOperatorOneReplica}")
	updated := kept(t, c)
	for name, object := range updated { // Helm keeps policies that only the newer release has, too
		if strings.HasPrefix(name, "ValidatingAdmissionPolicy") && before[name] == nil {
			before[name] = object
		}
	}
	if cmp.Equal(before, updated) {
		t.Fatal("the definitions are those of the release after the update, too")
	}
	goBack := []string{"upgrade", charts.Umbrella, r.Chart(), "--reset-then-reuse-values", "--set", create("false")}
	if out, err := h.try(goBack...); err == nil || !strings.Contains(out, "additional properties 'disabled' not allowed") {
		t.Fatalf("the chart of the release takes %s: %v; name another value\n%s", lacked, err, out)
	}
	goBack[len(goBack)-1] += "," + lacked + "=null"
	for _, step := range []struct {
		name string
		args []string
		want map[string]map[string]any
		has  bool
	}{
		{"going back", goBack, updated, false},
		{"an update without values", []string{"upgrade", charts.Umbrella, today}, updated, false},
		{"an update with them", []string{"upgrade", charts.Umbrella, today, "--reset-then-reuse-values", "--set", create("true")}, updated, true},
		{"helm rollback", []string{"rollback", charts.Umbrella, "1"}, before, true},
	} {
		h.run(step.args...)
		if diff := cmp.Diff(step.want, kept(t, c)); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", step.name, diff)
		}
		if has := strings.Contains(h.run("get", "manifest", charts.Umbrella), "kind: CustomResourceDefinition"); has != step.has {
			t.Errorf("after %s the release has definitions: %v, want %v", step.name, has, step.has)
		}
	}
}

// lacked is a value that the chart of the release refuses, since it has none of that name.
const lacked = "etcd-operator.prometheusRule.disabled"

// create is the value crds.create of each operator, as docs/tasks/install.md has it.
func create(value string) string {
	var all []string
	for _, operator := range charts.Operators {
		all = append(all, operator+".crds.create="+value)
	}
	return strings.Join(all, ",")
}

// packed is today's chart of all operators, as a file.
func packed(t *testing.T, root string) string {
	t.Helper()
	umbrella, err := loader.LoadDir(filepath.Join(root, "charts", charts.Umbrella))
	if err != nil {
		t.Fatal(err)
	}
	umbrella.SetDependencies() // "helm dependency build" might have left older ones
	for _, operator := range charts.Operators {
		c, err := loader.LoadDir(filepath.Join(root, "charts", operator))
		if err != nil {
			t.Fatal(err)
		}
		umbrella.AddDependency(c)
	}
	file, err := util.Save(umbrella, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// kept are the objects that outlive a release, without their status and what the API server notes.
func kept(t *testing.T, c client.Client) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	for kind, group := range map[string]schema.GroupVersion{
		"CustomResourceDefinition":         {Group: "apiextensions.k8s.io", Version: "v1"},
		"ValidatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1"},
		"ValidatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1"},
		"ClusterRole":                      {Group: "rbac.authorization.k8s.io", Version: "v1"},
		"ClusterRoleBinding":               {Group: "rbac.authorization.k8s.io", Version: "v1"},
	} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(group.WithKind(kind + "List"))
		if err := c.List(apiservertest.Context(t), &list, client.MatchingLabels{"app.kubernetes.io/managed-by": "Helm"}); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 0 {
			t.Fatalf("the release has no %s", kind)
		}
		for _, u := range list.Items {
			delete(u.Object, "status")
			u.SetGeneration(0)
			u.SetResourceVersion("")
			u.SetManagedFields(nil)
			all[kind+"/"+u.GetName()] = u.Object
		}
	}
	return all
}

// helmTimeout bounds one command, which takes seconds.
const helmTimeout = 2 * time.Minute

// helm runs the pinned helm in one namespace.
type helm struct {
	t                          *testing.T
	program, kubeconfig, cache string
}

func (h helm) run(args ...string) string {
	h.t.Helper()
	out, err := h.try(args...)
	if err != nil {
		h.t.Fatalf("helm %s: %v (make bin/helm builds it)\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (h helm) try(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), helmTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.program, append(args, "--namespace", "databases", "--kubeconfig", h.kubeconfig)...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+h.cache)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
