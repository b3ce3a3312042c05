package project

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/git"
)

const (
	// repoRoot is the root of the repository, seen from this package.
	repoRoot = "../.."
	// repository is where strangers find it.
	repository = "https://github.com/etcd-operators/etcd-operators"
)

// workflow is what the tests read of a GitHub workflow.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Permissions    map[string]string `json:"permissions"`
		TimeoutMinutes int               `json:"timeout-minutes"`
		Container      any               `json:"container"`
		Environment    any               `json:"environment"`
		Steps          []struct {
			Uses string            `json:"uses"`
			Run  string            `json:"run"`
			With map[string]string `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

// mayWrite is what else one job may write.
var mayWrite = map[string]string{"release.yaml/publish": "packages", "release.yaml/draft": "contents"}

// Workflows run what contributors can run themselves, with no more rights than they need.
func TestWorkflows(t *testing.T) {
	for name, data := range projectFiles(t, ".github/workflows/*") {
		t.Run(path.Base(name), func(t *testing.T) {
			var w workflow
			if err := yaml.Unmarshal(data, &w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]string{"contents": "read"}, w.Permissions); diff != "" {
				t.Errorf("permissions of the workflow (-want +got):\n%s", diff)
			}
			commands := 0
			for id, job := range w.Jobs {
				if job.TimeoutMinutes == 0 {
					t.Errorf("job %s has no timeout-minutes", id)
				}
				for scope, right := range job.Permissions {
					if right == "write" && scope != "pages" && scope != "id-token" && mayWrite[path.Base(name)+"/"+id] != scope {
						t.Errorf("job %s may write %s", id, scope)
					}
				}
				for _, step := range job.Steps {
					for line := range strings.Lines(step.Run) {
						commands++
						if problem := unknownCommand(t, strings.TrimSpace(line)); problem != "" {
							t.Errorf("job %s: %s", id, problem)
						}
					}
				}
			}
			if commands == 0 && len(w.Jobs) > 0 {
				t.Error("the workflow runs nothing")
			}
			for _, problem := range unsafe(path.Base(name), data) {
				t.Error(problem)
			}
		})
	}
}

// takeOver is the only command with which a job may take over the files that an earlier job built.
const takeOver = `echo "$SUM  handover.tar" | sha256sum --check --strict && tar -xf handover.tar`

var (
	// versioned matches a line that uses an action and names its version in a comment.
	versioned = regexp.MustCompile(`(?m)^[ -]*uses: (\S+) # v[0-9]+\.[0-9]+\.[0-9]+$`)
	// handsOver matches the actions that a job with an identity can use: they run no code of a checkout.
	handsOver = regexp.MustCompile(`^actions/(?:download-artifact|upload-artifact|deploy-pages)@`)
)

// unsafe lists the parts of a workflow file that others could control: an action that can change, a cache that
// another workflow fills, and an identity in a job that runs downloaded code.
func unsafe(file string, data []byte) []string {
	var w workflow
	if err := yaml.Unmarshal(data, &w); err != nil {
		return []string{err.Error()}
	}
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	hasVersion := map[string]bool{"": true}
	for _, m := range versioned.FindAllStringSubmatch(string(data), -1) {
		hasVersion[m[1]] = pinnedAction.MatchString(m[1])
	}
	own := strings.TrimSuffix(file, ".yaml") + "-"
	for id, job := range w.Jobs {
		isTrusted := job.Permissions["id-token"] == "write"
		if isTrusted && job.Environment == nil {
			add("job %s has an identity, and no environment whose reviewers let it run", id)
		}
		for _, step := range job.Steps {
			if !hasVersion[step.Uses] {
				add("job %s uses %q: want an action of GitHub's own at a commit, with a comment like # v1.2.3", id, step.Uses)
			}
			isHandedOver := handsOver.MatchString(step.Uses) || step.Run == takeOver || strings.HasPrefix(step.Run, ".ci/")
			if isTrusted && !isHandedOver {
				add("job %s has an identity, so it can only run what another job has handed over, and not: %s%s",
					id, step.Uses, step.Run)
			}
			if !strings.HasPrefix(step.Uses, "actions/cache") {
				continue
			}
			key, restored := step.With["key"], step.With["restore-keys"]
			if !strings.HasPrefix(key, own) || !strings.Contains(key, "github.run_id") || (restored != "" && restored != own) {
				add("job %s caches as %q and restores %q: want a key of this workflow and run, %s${{ github.run_id }}",
					id, key, restored, own)
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestUnsafe(t *testing.T) {
	const pinned = "actions/checkout@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	trusted := func(environment, step string) string {
		return "jobs: {a: {permissions: {id-token: write}, " + environment + "steps: [{" + step + "}]}}"
	}
	const reviewed = "environment: release, "
	cache := func(key, restored string) string {
		return "jobs: {a: {steps: [{with: {key: '" + key + "', restore-keys: " + restored + "},\n" +
			" uses: actions/cache/restore@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa # v5.0.3\n}]}}"
	}
	for name, tc := range map[string]struct {
		text string
		want int
	}{
		"an identity for a command":          {trusted(reviewed, "run: go build"), 1},
		"an action at a commit":              {"jobs: {a: {steps: [{\nuses: " + pinned + " # v6.0.1\n}]}}", 0},
		"an action at a tag":                 {"jobs: {a: {steps: [{\nuses: actions/checkout@v6 # v6.0.1\n}]}}", 1},
		"an action of an unknown version":    {"jobs: {a: {steps: [{\nuses: " + pinned + "\n}]}}", 1},
		"an action in braces":                {"jobs: {a: {steps: [{uses: " + pinned + "}]}}", 1},
		"an action of another owner":         {"jobs: {a: {steps: [{\nuses: x/" + pinned + " # v6.0.1\n}]}}", 1},
		"a cache of its own":                 {cache("ci-${{ github.run_id }}", "ci-"), 0},
		"a cache that is never filled again": {cache("ci-${{ hashFiles(0) }}", "ci-"), 1},
		"a cache that another fills":         {cache("go-${{ github.run_id }}", "go-"), 1},
		"a cache that restores another":      {cache("ci-${{ github.run_id }}", "docs-"), 1},
		"an identity that reviewers grant":   {trusted(reviewed, "run: .ci/publish"), 0},
		"an identity without reviewers":      {trusted("", "run: .ci/publish"), 1},
		"an identity for a build":            {trusted(reviewed, "run: make release"), 1},
		"an identity for a checkout":         {trusted(reviewed, "\nuses: "+pinned+" # v6.0.1\n"), 1},
	} {
		if got := unsafe("ci.yaml", []byte(tc.text)); len(got) != tc.want {
			t.Errorf("%s: got %d problems, want %d: %q", name, len(got), tc.want, got)
		}
	}
}

// TestDockerignore: the builder of an image receives only what the Dockerfile copies, and no kubeconfig, key or
// build of a checkout.
func TestDockerignore(t *testing.T) {
	var want []string
	copies := regexp.MustCompile(`(?m)^COPY ([a-z]+)`)
	for _, m := range copies.FindAllStringSubmatch(string(repoFile(t, "Dockerfile")), -1) {
		want = append(want, "!"+m[1])
	}
	slices.Sort(want)
	var got []string
	for line := range strings.Lines(string(repoFile(t, ".dockerignore"))) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(slices.Insert(slices.Compact(want), 0, "*"), got); diff != "" {
		t.Errorf(".dockerignore (-what the Dockerfile copies +got):\n%s", diff)
	}
}

var (
	pinnedAction    = regexp.MustCompile(`^actions/[a-z-]+(?:/[a-z]+)?@[0-9a-f]{40}$`)
	pinnedContainer = regexp.MustCompile(`^golang:1\.[0-9]+\.[0-9]+-[a-z]+@sha256:[0-9a-f]{64}$`)
)

// unpinned is what a workflow runs by names that can move.
func unpinned(w *workflow) []string {
	var all []string
	for id, job := range w.Jobs {
		if image, ok := job.Container.(string); job.Container != nil && (!ok || !pinnedContainer.MatchString(image)) {
			all = append(all, fmt.Sprintf("%s: container %v", id, job.Container))
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !pinnedAction.MatchString(step.Uses) {
				all = append(all, id+": "+step.Uses)
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestReleaseIsPinned: from the first release on, what builds and signs one is the same until a commit changes it.
func TestReleaseIsPinned(t *testing.T) {
	if !releasedSection.Match(repoFile(t, "CHANGELOG.md")) {
		if !bytes.Contains(repoFile(t, "docs/project/releasing.md"), []byte("pin the container in")) {
			t.Error("the checklist does not say that the first release pins what builds it")
		}
		return
	}
	var w workflow
	if err := yaml.Unmarshal(repoFile(t, ".github/workflows/release.yaml"), &w); err != nil {
		t.Fatal(err)
	}
	for _, found := range unpinned(&w) {
		t.Errorf("release.yaml: %s: pin it by digest, as docs/project/releasing.md says", found)
	}
}

func TestUnpinned(t *testing.T) {
	commit, digest := strings.Repeat("a", 40), strings.Repeat("b", 64)
	for text, want := range map[string][]string{
		"{container: golang:1.26.8-trixie@sha256:" + digest + ", steps: [{uses: actions/checkout@" + commit + "}, {run: make}]}": nil,
		"{steps: [{uses: actions/checkout@" + commit + "}]}":                                                                     nil,
		"{container: golang:1.26-trixie}":                                                                                        {"build: container golang:1.26-trixie"},
		"{container: {image: golang:1.26.8-trixie}}":                                                                             {"build: container map[image:golang:1.26.8-trixie]"},
		"{steps: [{uses: actions/checkout@v6}]}":                                                                                 {"build: actions/checkout@v6"},
		"{steps: [{uses: someone/else@" + commit + "}]}":                                                                         {"build: someone/else@" + commit},
		"{container: golang:1.26-trixie@sha256:" + digest + "}":                                                                  {"build: container golang:1.26-trixie@sha256:" + digest},
	} {
		var w workflow
		if err := yaml.Unmarshal([]byte("jobs: {build: "+text+"}"), &w); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, unpinned(&w)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// unknownCommand says why a line of a workflow is neither a target of the Makefile nor a script, or "".
func unknownCommand(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(regexp.MustCompile(`\$\{\{.*?\}\}`).ReplaceAllString(line, "VALUE"))
	switch {
	case line == takeOver, line == `git config --global --add safe.directory "$GITHUB_WORKSPACE"`:
		return ""
	case words[0] == "make" && len(words) > 1:
		for _, word := range words[1:] {
			if !strings.Contains(word, "=") && !slices.Contains(makeTargets(t), word) {
				return "the Makefile has no target " + word
			}
		}
		return ""
	}
	script, err := os.Stat(filepath.Join(repoRoot, words[0]))
	if err != nil || script.IsDir() || script.Mode()&0o111 == 0 {
		return line + ": neither make nor a script of this repository"
	}
	return ""
}

// makeTargets are the targets that `make help` lists.
func makeTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `).FindAllSubmatch(repoFile(t, "Makefile"), -1) {
		targets = append(targets, string(found[1]))
	}
	return targets
}

// Dependabot looks at every module, the Dockerfile and the workflows, each once.
func TestDependabot(t *testing.T) {
	var config struct {
		Version int `json:"version"`
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directory   string   `json:"directory"`
			Directories []string `json:"directories"`
			Schedule    struct {
				Interval string `json:"interval"`
			} `json:"schedule"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal(repoFile(t, ".github/dependabot.yml"), &config); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, update := range config.Updates {
		folders := update.Directories
		if update.Directory != "" {
			folders = append(folders, update.Directory)
		}
		got[update.Ecosystem] = append(got[update.Ecosystem], folders...)
		if update.Schedule.Interval == "" {
			t.Errorf("updates of %s in %v have no schedule", update.Ecosystem, folders)
		}
	}
	tracked, err := git.Run(t.Context(), repoRoot, "ls-files", "*go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, file := range strings.Fields(string(tracked)) {
		modules = append(modules, "/"+path.Dir(file))
	}
	slices.Sort(modules)
	got["gomod"] = expand(got["gomod"], modules)
	want := map[string][]string{"gomod": modules, "docker": {"/"}, "github-actions": {"/"}}
	if diff := cmp.Diff(want, got); diff != "" || config.Version != 2 {
		t.Errorf("version %d, want 2; folders (-want +got):\n%s", config.Version, diff)
	}
}

// expand are the folders that patterns match, sorted, and the patterns that match none.
func expand(patterns, folders []string) []string {
	var all []string
	for _, pattern := range patterns {
		matching := slices.DeleteFunc(slices.Clone(folders), func(folder string) bool {
			matches, err := path.Match(pattern, folder)
			return err != nil || !matches
		})
		if len(matching) == 0 {
			matching = []string{pattern}
		}
		all = append(all, matching...)
	}
	slices.Sort(all)
	return all
}

// GitHub leaves out a form that has a mistake, and tells no maintainer.
func TestIssueForms(t *testing.T) {
	types := []string{"checkboxes", "dropdown", "input", "markdown", "textarea"}
	forms := projectFiles(t, ".github/ISSUE_TEMPLATE/*.yml")
	for _, required := range []string{"bug.yml", "feature.yml", "config.yml"} {
		if _, ok := forms[".github/ISSUE_TEMPLATE/"+required]; !ok {
			t.Errorf("there is no %s", required)
		}
	}
	for name, data := range forms {
		t.Run(path.Base(name), func(t *testing.T) {
			var form struct {
				Name, Description string
				Body              []struct {
					Type, ID   string
					Attributes struct {
						Label, Value string
						Options      []any
					}
				}
				ContactLinks []struct{ Name, URL, About string } `json:"contact_links"`
			}
			if err := yaml.Unmarshal(data, &form); err != nil {
				t.Fatal(err)
			}
			if path.Base(name) == "config.yml" {
				if len(form.ContactLinks) == 0 {
					t.Error("questions and vulnerabilities have no link")
				}
				for _, link := range form.ContactLinks {
					if link.Name == "" || link.About == "" || !strings.HasPrefix(link.URL, repository) {
						t.Errorf("contact link %+v lacks a name, a description, or a URL of this repository", link)
					}
				}
				return
			}
			if form.Name == "" || form.Description == "" || len(form.Body) == 0 {
				t.Error("the form lacks its name, description or body")
			}
			seen := map[string]bool{}
			for _, field := range form.Body {
				a := field.Attributes
				choice := field.Type == "dropdown" || field.Type == "checkboxes"
				switch {
				case !slices.Contains(types, field.Type):
					t.Errorf("a field has the type %q", field.Type)
				case field.Type == "markdown" && a.Value == "":
					t.Error("a text is empty")
				case field.Type != "markdown" && (a.Label == "" || field.ID == "" || seen[field.ID]):
					t.Errorf("field %q has no label, or no id of its own", field.ID)
				case choice && len(a.Options) == 0:
					t.Errorf("field %q offers nothing", field.ID)
				}
				seen[field.ID] = true
			}
		})
	}
}

// What these files link to is there, whether by a path or by this project's address.
func TestProjectLinks(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)\s]+)\)|` + regexp.QuoteMeta(repository) + `/blob/main/([^)\s]+)`)
	found := 0
	for _, pattern := range []string{
		"CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "GOVERNANCE.md",
		"docs/project/*.md", ".github/*.md", ".github/ISSUE_TEMPLATE/*",
	} {
		for name, data := range projectFiles(t, pattern) {
			for _, link := range links.FindAllSubmatch(data, -1) {
				target, from := string(link[1]), path.Dir(name)
				if shared, ok := strings.CutPrefix(target, repository+"/blob/main/"); ok || target == "" {
					target, from = shared+string(link[2]), "."
				}
				if strings.Contains(target, "://") {
					continue
				}
				found++
				file, anchor, _ := strings.Cut(target, "#")
				if file == "" {
					from, file = ".", name
				}
				file = path.Join(from, file)
				if _, err := os.Stat(filepath.Join(repoRoot, file)); err != nil {
					t.Errorf("%s: %s leads nowhere", name, target)
				} else if anchor != "" && !slices.Contains(anchors(repoFile(t, file)), anchor) {
					t.Errorf("%s: %s has no heading #%s", name, file, anchor)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d links: too few to have been found by the right pattern", found)
	}
}

// anchors are the names that GitHub gives to the headings of a page.
func anchors(page []byte) []string {
	var names []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAll(bytes.ToLower(heading[1]), nil)
		names = append(names, strings.ReplaceAll(string(name), " ", "-"))
	}
	return names
}

// projectFiles are the files that match, by their path in the repository.
func projectFiles(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	matches, err := filepath.Glob(filepath.Join(repoRoot, pattern))
	if err != nil || len(matches) == 0 {
		t.Fatalf("%s: there is no such file: %v", pattern, err)
	}
	files := map[string][]byte{}
	for _, match := range matches {
		name := strings.TrimPrefix(filepath.ToSlash(match), repoRoot+"/")
		files[name] = repoFile(t, name)
	}
	return files
}

// repoFile is what a file of the repository holds.
func repoFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repoRoot, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
