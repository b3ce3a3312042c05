package olm

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/git"
)

// levels are operator-framework's, from the lowest. Each needs those before it.
var levels = []string{"Basic Install", "Seamless Upgrades", "Full Lifecycle", "Deep Insights", "Auto Pilot"}

// pointsOf are how many points the page has of each level: as many as operator-framework asks
// for, at https://sdk.operatorframework.io/docs/overview/operator-capabilities.
var pointsOf = map[string]int{"Basic Install": 5, "Seamless Upgrades": 4, "Full Lifecycle": 6, "Deep Insights": 4, "Auto Pilot": 7}

// point is a row of the page's tables.
type point struct {
	text string
	// met says for each operator whether it has it.
	met map[string]bool
	// shown is where one sees that.
	shown string
}

// readPoints reads the tables of docs/tasks/olm.md, by their level.
func readPoints(t *testing.T) map[string][]point {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/tasks/olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]point{}
	level := ""
	var names []string
	for line := range strings.Lines(string(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "### "); ok {
			level, names = heading, nil
		}
		if level == "" || !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if names == nil {
			names = cells[1:4]
			continue
		}
		p := point{text: cells[0], met: map[string]bool{}, shown: cells[4]}
		for i, name := range names {
			if !slices.Contains([]string{"yes", "no"}, cells[i+1]) {
				t.Fatalf("%s: %s: %s has %q, want yes or no", level, p.text, name, cells[i+1])
			}
			p.met[name] = cells[i+1] == "yes"
		}
		all[level] = append(all[level], p)
	}
	return all
}

// TestCapabilityLevels: a package, and the chart of the same operator, claim the highest level
// of which the page shows each point, and no other. The chart of all operators claims the one of which each
// point is met by one of them.
func TestCapabilityLevels(t *testing.T) {
	points := readPoints(t)
	for _, level := range levels {
		if got := len(points[level]); got != pointsOf[level] {
			t.Errorf("the page has %d points of %s, want %d", got, level, pointsOf[level])
		}
	}
	reached := func(isMet func(point) bool) string {
		highest := ""
		for _, level := range levels {
			if slices.ContainsFunc(points[level], func(p point) bool { return !isMet(p) }) {
				break
			}
			highest = level
		}
		return highest
	}
	for _, o := range operators {
		if claimed, shown := readCSV(t, o.name).Metadata.Annotations["capabilities"], reached(func(p point) bool { return p.met[o.name] }); claimed != shown {
			t.Errorf("%s claims %q, and the page shows %q", o.name, claimed, shown)
		}
	}
	together := func(p point) bool {
		return slices.ContainsFunc(operators, func(o operator) bool { return p.met[o.name] })
	}
	umbrella, err := loader.LoadDir(filepath.Join(root, "charts", charts.Umbrella))
	if err != nil {
		t.Fatal(err)
	}
	if claimed, shown := umbrella.Metadata.Annotations["artifacthub.io/operatorCapabilities"], reached(together); claimed != shown {
		t.Errorf("the chart of all operators claims %q, and the page shows %q for the three together", claimed, shown)
	}
}

var namedTest = regexp.MustCompile("`(Test\\w+)`")

// TestCapabilitiesAreShown: each point that an operator has is shown by a test that exists, or by
// a page (whose links another test follows).
func TestCapabilitiesAreShown(t *testing.T) {
	out, err := git.Run(t.Context(), root, "grep", "-hoE", `^func Test\w+`, "--", "*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, line := range strings.Fields(string(out)) {
		exists[line] = true
	}
	for level, all := range readPoints(t) {
		for _, p := range all {
			tests := namedTest.FindAllStringSubmatch(p.shown, -1)
			for _, named := range tests {
				if !exists[named[1]] {
					t.Errorf("%s: %s: there is no %s", level, p.text, named[1])
				}
			}
			if slices.Contains([]bool{p.met[operators[0].name], p.met[operators[1].name], p.met[operators[2].name]}, true) && len(tests) == 0 {
				t.Errorf("%s: %s: no test shows it", level, p.text)
			}
		}
	}
}

// TestPageHasWhatOLMDoesNotBring: the page has the command for what users apply by hand.
func TestPageHasWhatOLMDoesNotBring(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/tasks/olm.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operators {
		command := "kubectl apply -f " + filepath.Join("deploy", o.name, byHand) + "\n"
		if want, got := len(byHandOf(t, o.name)) > 0, strings.Contains(string(text), command); got != want {
			t.Errorf("the page has %q: %v, want %v", command, got, want)
		}
	}
}
