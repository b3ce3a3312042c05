package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/etcd-operators/etcd-operators/plugin/internal/consumer"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// What is typed is completed from what there is.
func TestCompletion(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte("apiVersion: v1\nkind: Config\ncontexts: [{name: prod, context: {}}, {name: dev, context: {}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	w := aWorld(t, aCluster("example"), aCluster("other"), aBackup("hourly", "example"), aBackup("daily", "other"))
	for line, want := range map[string][]string{
		"upgrade|":                                  {"example", "other"},
		"upgrade|example|":                          etcdversion.All(),
		"upgrade|example|3.6.16|":                   {},
		"restore|example|--from|":                   {"daily", "hourly"},
		"restore|example|--entry|":                  {"hourly-2"},
		"restore|example|--from|daily|--entry|":     {"daily-2"},
		"restore|gone|--size|":                      {"1", "3", "5"},
		"verify|hourly|--entry|":                    {"hourly-2"},
		"verify|hourly|--etcd-version|":             etcdversion.All(),
		"backup|example|--like|":                    {"daily", "hourly"},
		"install|--operators|":                      operatorNames,
		"install|--operators|etcd-backup-operator,": {"etcd-backup-operator,etcd-operator", "etcd-backup-operator,etcd-restore-operator"},
		"connect|example|-o|":                       consumer.Kinds,
		"status|-n|":                                {"default"},
		"status|--context|":                         {"dev", "prod"},
	} {
		out := &bytes.Buffer{}
		root := New(w.app(out), genericclioptions.NewConfigFlags(false))
		root.SetArgs(append([]string{"__complete"}, strings.Split(line, "|")...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		got, _, _ := strings.Cut(out.String(), "Completion ended")
		if wanted := strings.Join(append(slices.Clone(want), ":4\n"), "\n"); got != wanted {
			t.Errorf("%s is completed by\n%s, not\n%s", line, got, wanted)
		}
	}
}
