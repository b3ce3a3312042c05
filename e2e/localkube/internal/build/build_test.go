package build

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestKeyChangesWithWhatIsBuiltAndOnlyWithThat(t *testing.T) {
	module := fstest.MapFS{"go.mod": {Data: []byte("module x")}, "coredns/main.go": {Data: []byte("package main")}}
	recipe := Etcd("v3.6.16")
	base := key(t, module, recipe)
	with := func(path, content string) fstest.MapFS {
		changed := maps.Clone(module)
		changed[path] = &fstest.MapFile{Data: []byte(content)}
		return changed
	}
	for name, c := range map[string]struct {
		module fstest.MapFS
		recipe Recipe
		same   bool
	}{
		"nothing":            {module: with("go.mod", "module x"), recipe: recipe, same: true},
		"a text beside it":   {module: with("README.md", "words"), recipe: recipe, same: true},
		"go.mod":             {module: with("go.mod", "module y"), recipe: recipe},
		"a new go.sum":       {module: with("go.sum", "sums"), recipe: recipe},
		"a program's source": {module: with("coredns/main.go", "package main // more"), recipe: recipe},
		"the version":        {module: module, recipe: Etcd("v3.6.17")},
		"the programs":       {module: module, recipe: Kubernetes()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := key(t, c.module, c.recipe); (got == base) != c.same {
				t.Errorf("key %s, before %s, want the same: %t", got, base, c.same)
			}
		})
	}
}

func TestVersionsAreThoseOfTheModules(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	requires := func(recipe Recipe, module string) {
		content, err := os.ReadFile(filepath.Join(source, recipe.Module, "go.mod"))
		if err != nil {
			t.Error(err)
			return
		}
		if !regexp.MustCompile(`(?m)^(require)?\s*` + regexp.QuoteMeta(module+" "+recipe.Version) + `\s*$`).Match(content) {
			t.Errorf("%s/go.mod doesn't require %s %s directly", recipe.Module, module, recipe.Version)
		}
	}
	requires(Kubernetes(), "k8s.io/kubernetes")
	requires(Versitygw(), "github.com/versity/versitygw")
	requires(CertManager(), "github.com/cert-manager/cert-manager")
	for _, version := range EtcdVersions() {
		for _, program := range []string{"server", "etcdctl", "etcdutl"} {
			requires(Etcd(version), "go.etcd.io/etcd/"+program+"/v3")
		}
	}
}

func TestEnvironmentIsFreeOfTheCallersBuildSettings(t *testing.T) {
	got := environment([]string{"HOME=/h", "GOFLAGS=-mod=mod", "GOWORK=/w/go.work", "GOOS=plan9", "GOPROXY=off"})
	for _, want := range []string{"HOME=/h", "GOPROXY=off", "GOWORK=off", "GOOS=linux", "CGO_ENABLED=0"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %v", want, got)
		}
	}
	for _, entry := range got {
		if strings.Contains(entry, "plan9") || strings.Contains(entry, "-mod=mod") || strings.Contains(entry, "go.work") {
			t.Errorf("%s was kept", entry)
		}
	}
}

func key(t *testing.T, module fstest.MapFS, recipe Recipe) string {
	t.Helper()
	k, err := Key(module, recipe)
	if err != nil {
		t.Fatal(err)
	}
	return k
}
