package build

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/Masterminds/semver/v3"
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

// ownVersions are what a module needs in another version than the others.
var ownVersions = map[string]*regexp.Regexp{
	// Its release, and what its etcdctl was written for.
	"e2e/localkube/build/etcd-3.6": regexp.MustCompile(`^go\.etcd\.io/|/tablewriter$|/uax29/v2$`),
	// Newer than what Kubernetes was written for.
	"e2e/localkube/build/cert-manager": regexp.MustCompile(`/cel-go$`),
}

// TestDependenciesAreShared: what several modules need that the demo or the tests compile is compiled once if they
// need it, and what it needs, in the same version. etcd 3.5 shares too little with the others.
func TestDependenciesAreShared(t *testing.T) {
	source, err := FindSource()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(source, "..", "..", "..")
	requires := map[string]map[string]*semver.Version{} // by module of ours, and module
	highest := map[string]*semver.Version{}
	for _, ours := range []string{
		"shared", "operators/etcd-operator", "operators/etcd-backup-operator", "operators/etcd-restore-operator", "e2e", "plugin",
		"e2e/localkube/build/kubernetes", "e2e/localkube/build/etcd-3.6", "e2e/localkube/build/etcd-3.7",
		"e2e/localkube/build/versitygw", "e2e/localkube/build/cert-manager",
	} {
		requires[ours] = map[string]*semver.Version{}
		for path, version := range required(t, filepath.Join(root, ours)) {
			if own := ownVersions[ours]; own != nil && own.MatchString(path) || strings.HasPrefix(path, "github.com/etcd-operators/") {
				continue
			}
			requires[ours][path] = version
			if highest[path] == nil || version.GreaterThan(highest[path]) {
				highest[path] = version
			}
		}
	}
	for ours, modules := range requires {
		for path, version := range modules {
			if !version.Equal(highest[path]) {
				t.Errorf("%s requires %s %s, another module a newer one: run (cd %s && GOWORK=off go get %s@%s)", ours, path, version.Original(), ours, path, highest[path].Original())
			}
		}
	}
}

// required are the modules in a module's go.mod.
func required(t *testing.T, dir string) map[string]*semver.Version {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit in %s: %v", dir, err)
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	all := map[string]*semver.Version{}
	for _, r := range mod.Require {
		if all[r.Path], err = semver.NewVersion(r.Version); err != nil {
			t.Fatalf("%s in %s: %v", r.Path, dir, err)
		}
	}
	return all
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
