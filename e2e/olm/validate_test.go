package olm

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is one of bin/, by its absolute path.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: build it with make bin/%s", err, name)
	}
	return path
}

// TestValid runs operator-framework's validators, and has nothing to say against the bundles:
// no error, and no warning.
func TestValid(t *testing.T) {
	for _, o := range operators {
		if out, err := exec.CommandContext(t.Context(), program(t, "olm"), bundle(o.name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", o.name, err, out)
		}
	}
}

// TestMistakesAreFound plants a mistake in a copy of a bundle, and the validators find it.
func TestMistakesAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, with, want string
	}{
		"a name without a version":       {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: "name: etcd-operator.v", with: "name: etcd-operator-", want: "naming convention"},
		"no mode of installation":        {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: "- supported: true", with: "- supported: false", want: "none of InstallModeTypes are supported"},
		"a level that does not exist":    {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: "capabilities: Seamless Upgrades", with: "capabilities: Perfect", want: "Perfect"},
		"a maintainer without address":   {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: "email: etcd-operators@users.noreply.github.com", with: "email: etcd-operators", want: "csv.Spec.Maintainers email etcd-operators is invalid"},
		"no request for memory":          {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: "requests:", with: "claims: []\n                  x:", want: "resource requests"},
		"a definition of another kind":   {file: "manifests/etcd.database.coreos.com_etcdclusters.yaml", old: "kind: EtcdCluster\n", with: "kind: EtcdOther\n", want: "not found in bundle"},
		"an unknown field in a sample":   {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: `"version": "3.6.16"`, with: `"versoin": "3.6.16"`, want: "unknown field"},
		"a sample of too many members":   {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: `"size": 3`, with: `"size": 9`, want: "should be less than or equal to 7"},
		"a sample that breaks a rule":    {file: "manifests/etcd-operator.clusterserviceversion.yaml", old: `"version": "3.6.16"`, with: `"version": "3.6"`, want: "version is not of the form X.Y.Z"},
		"a budget that stops all drains": {file: "manifests/etcd-operator_policy_v1_poddisruptionbudget.yaml", old: "maxUnavailable: 1", with: "maxUnavailable: 0", want: "maxUnavailable field cannot be set to 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bundle")
			if err := os.CopyFS(dir, os.DirFS(bundle("etcd-operator"))); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, c.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("%s has no %q", c.file, c.old)
			}
			if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), c.old, c.with)), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program(t, "olm"), dir).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%v, want %q in\n%s", err, c.want, out)
			}
		})
	}
}

// TestCatalog: operator-framework's own model of a catalog takes one of all bundles, and refuses one that has a
// bundle twice.
func TestCatalog(t *testing.T) {
	args := []string{"catalog"}
	for _, o := range operators {
		args = append(args, "example.com/"+o.name+"-bundle:dev="+bundle(o.name))
	}
	out, err := exec.CommandContext(t.Context(), program(t, "olm"), args...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, o := range operators {
		for _, want := range []string{"image: example.com/" + o.name + "-bundle:dev\n", "- name: " + o.name + ".v0.0.0-dev\n"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("the catalog does not say %q", want)
			}
		}
	}
	twice := exec.CommandContext(t.Context(), program(t, "olm"), append(args, args[1])...)
	if out, err := twice.CombinedOutput(); err == nil || !strings.Contains(string(out), "not valid") {
		t.Errorf("a bundle twice: %v\n%s", err, out)
	}
}

// TestUpdates: a release is updated to from all earlier versions, and a development build from none.
func TestUpdates(t *testing.T) {
	for tag, want := range map[string]string{"v1.2.3": "<1.2.3", "v1.2.3-rc.1": "<1.2.3-rc.1", "dev": ""} {
		for _, o := range operators {
			if got := csvOf(t, &o, tag, time.Time{}).Metadata.Annotations["olm.skipRange"]; got != want {
				t.Errorf("%s %s is updated to from %q, want %q", o.name, tag, got, want)
			}
		}
	}
}

// TestChannels: who subscribed to versions before a release gets the release, too.
func TestChannels(t *testing.T) {
	for version, want := range map[string]string{"1.2.3": "stable,candidate", "1.2.3-rc.1": "candidate", "0.0.0-dev": "candidate"} {
		labels := bundleLabels("x", version)
		first, _, _ := strings.Cut(want, ",")
		if got := labels["operators.operatorframework.io.bundle.channels.v1"]; got != want || labels["operators.operatorframework.io.bundle.channel.default.v1"] != first {
			t.Errorf("%s: %q", version, labels)
		}
	}
}

// result is what a test of the scorecard prints.
type result struct {
	Results []struct {
		Name        string   `json:"name"`
		State       string   `json:"state"`
		Errors      []string `json:"errors"`
		Suggestions []string `json:"suggestions"`
	} `json:"results"`
}

// statusIsNotInExamples begins a suggestion of the scorecard that we do not follow: examples are
// what users write, and the operators alone write status.
const statusIsNotInExamples = " does not have status spec."

// TestScorecard runs all tests that operator-framework's image scorecard-test has: each one that
// tests/scorecard/config.yaml names. None of them needs a cluster.
func TestScorecard(t *testing.T) {
	jail := scorecardJail(t)
	for _, o := range operators {
		jail.put(t, bundle(o.name))
		for _, test := range scorecardTests {
			t.Run(o.name+"/"+test.name, func(t *testing.T) {
				r := jail.run(t, test.name)
				for _, one := range r.Results {
					if one.State != "pass" || len(one.Errors) > 0 {
						t.Errorf("%s: %s %v", one.Name, one.State, one.Errors)
					}
					for _, suggestion := range one.Suggestions {
						if !strings.Contains(suggestion, statusIsNotInExamples) {
							t.Errorf("%s suggests: %s", one.Name, suggestion)
						}
					}
				}
				if len(r.Results) == 0 {
					t.Error("it has no result")
				}
			})
		}
	}
}

// TestScorecardFails: it finds a field of an example without a descriptor.
func TestScorecardFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bundle")
	if err := os.CopyFS(dir, os.DirFS(bundle("etcd-operator"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "manifests/etcd-operator.clusterserviceversion.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), "path: size\n", "path: length\n", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	jail := scorecardJail(t)
	jail.put(t, dir)
	r := jail.run(t, "olm-spec-descriptors")
	if len(r.Results) != 1 || r.Results[0].State != "fail" {
		t.Errorf("%+v", r)
	}
}

// jail is a folder with the program of the scorecard and a bundle, which it reads at /bundle,
// where the scorecard mounts it in a Pod.
type jail string

func scorecardJail(t *testing.T) jail {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(program(t, "scorecard-test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "scorecard-test"), text, 0o700); err != nil {
		t.Fatal(err)
	}
	return jail(dir)
}

// put replaces the bundle.
func (j jail) put(t *testing.T, dir string) {
	t.Helper()
	into := filepath.Join(string(j), "bundle")
	if err := os.RemoveAll(into); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(into, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
}

// run runs one test of the scorecard, which sees nothing but the jail.
func (j jail) run(t *testing.T, test string) result {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/scorecard-test", test)
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: string(j)}
	if os.Geteuid() != 0 { // a namespace of its own, in which the user is root
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", test, err, stderr.String())
	}
	var r result
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return r
}
