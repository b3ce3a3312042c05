package docs

import (
	"slices"
	"strings"
	"testing"
)

// root is the root of the repository, seen from this package.
const root = "../.."

// repository reads the repository's pages.
func repository(t *testing.T) ([]*Page, *Checker) {
	t.Helper()
	pages, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 8 {
		t.Fatalf("found %d pages in %s: too few", len(pages), root)
	}
	checker, err := NewChecker(root, pages)
	if err != nil {
		t.Fatal(err)
	}
	return pages, checker
}

// Each link in the Markdown files leads to a file, and to a heading, that is there.
func TestLinks(t *testing.T) {
	pages, checker := repository(t)
	checked := 0
	for _, page := range pages {
		for _, link := range page.Links {
			checked++
			if err := checker.Link(page, link.Target); err != nil {
				t.Errorf("%s:%d: %v", page.Path, link.Line, err)
			}
		}
	}
	t.Logf("%d links on %d pages", checked, len(pages))
}

// Each diagram is one that the site draws without scripts, and says what it shows.
func TestDiagrams(t *testing.T) {
	pages, _ := repository(t)
	for _, page := range pages {
		for _, block := range page.Blocks {
			switch block.Language {
			case "mermaid", "dot", "plantuml":
				t.Errorf("%s:%d: the site shows %s as text: draw the diagram as ```goat {label=\"…\"}", page.Path, block.Line, block.Language)
			case "goat":
				if !strings.Contains(block.Info, "{label=") {
					t.Errorf("%s:%d: add what the diagram shows, for those who cannot see it: ```goat {label=\"…\"}", page.Path, block.Line)
				}
			}
		}
	}
}

// Each block of shell commands parses, and names targets and files that are there.
func TestShell(t *testing.T) {
	pages, checker := repository(t)
	checked := 0
	for _, page := range pages {
		for _, block := range page.Blocks {
			if !slices.Contains([]string{"sh", "bash", "shell"}, block.Language) {
				continue
			}
			checked++
			for _, err := range checker.Shell(t.Context(), block.Text) {
				t.Errorf("%s:%d: %v", page.Path, block.Line, err)
			}
		}
	}
	t.Logf("%d blocks on %d pages", checked, len(pages))
}

func TestParse(t *testing.T) {
	page, err := Parse(strings.Join([]string{
		"# One `two`: [three](x.md)",
		"See [a](a.md#b \"why\"), [b](<b.md>) and `[c](c.md)`.",
		"- in a list:",
		"  ```yaml {fragment=true}",
		"  a: 1",
		"  # no heading",
		"  ```",
		"## Again", "## Again",
		"[d]: d.md",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, link := range page.Links {
		targets = append(targets, link.Target)
	}
	if want := []string{"x.md", "a.md#b", "b.md", "d.md"}; !slices.Equal(targets, want) {
		t.Errorf("links %q, want %q", targets, want)
	}
	if want := []string{"one-two-three", "again", "again-1"}; !slices.Equal(page.Anchors, want) {
		t.Errorf("anchors %q, want %q", page.Anchors, want)
	}
	if len(page.Blocks) != 1 {
		t.Fatalf("%d blocks, want 1", len(page.Blocks))
	}
	want := Block{Line: 5, Language: "yaml", Info: "{fragment=true}", Text: "a: 1\n# no heading\n"}
	if page.Blocks[0] != want || !page.Blocks[0].IsFragment() {
		t.Errorf("block %+v, want %+v", page.Blocks[0], want)
	}
	if _, err := Parse("```sh\nls"); err == nil {
		t.Error("a block without an end is taken")
	}
}

// What is wrong is found.
func TestCheckerFinds(t *testing.T) {
	_, checker := repository(t)
	page := &Page{Path: "docs/page.md"}
	for target, isRight := range map[string]bool{
		"../README.md":         true,
		"https://etcd.io/docs": true,
		Repository + "/blob/main/examples/README.md": true,
		Repository + "/issues":                       true,
		"../README.md#no-such-heading":               false,
		"no-such-page.md":                            false,
		"/README.md":                                 false,
		Repository + "/blob/main/no-such-file":       false,
	} {
		if err := checker.Link(page, target); (err == nil) != isRight {
			t.Errorf("link to %s: %v", target, err)
		}
	}
	for text, isRight := range map[string]bool{
		"kubectl apply -f examples/cluster.yaml":                            true,
		"make demo && make test":                                            true,
		"make simulate SEEDS=10":                                            true,
		"kubectl apply -k '" + Repository + "/deploy/etcd-operator?ref=v1'": true,
		"git clone " + Repository + ".git":                                  true,
		"kubectl get <name>":                                                false,
		"kubectl apply -f examples/no-such.yaml":                            false,
		"kubectl apply -f https://raw.githubusercontent.com/etcd-operators/etcd-operators/main/examples/cluster.yaml": true,
		"kubectl apply -f https://raw.githubusercontent.com/etcd-operators/etcd-operators/main/examples/no.yaml":      false,
		"make no-such-target": false,
		"kubectl wait --for=condition=Available etcd/example --timeout=5m":               false,
		"kubectl wait --timeout=5m --for=condition=Available -n ns etcdclusters/example": false,
		"kubectl wait --for=condition=Available deployment/etcd-operator":                true,
		"kubectl wait --for=jsonpath='{.status.ready}'=3/3 etcd/example":                 true,
		"kubectl apply -k " + Repository + "//deploy/no-such?ref=v1":                     false,
	} {
		if found := checker.Shell(t.Context(), text); (len(found) == 0) != isRight {
			t.Errorf("%s: %v", text, found)
		}
	}
}
