package monitoring

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/docs"
)

// root is the root of the repository, seen from this package.
const root = "../.."

// alerts are all alerts by name.
func alerts(t *testing.T) map[string]Rule {
	t.Helper()
	all, err := Alerts(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Each alert says how severe it is, what is wrong, what that means, and where to read what to do.
func TestAlertsAreComplete(t *testing.T) {
	pages, err := docs.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string][]string{}
	for _, page := range pages {
		anchors[page.Path] = page.Anchors
	}
	for name, rule := range alerts(t) {
		if !regexp.MustCompile(`^Etcd[A-Z]\w+$`).MatchString(name) {
			t.Errorf("%s does not begin with Etcd", name)
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s: severity %q, want critical, warning or info", name, rule.Labels["severity"])
		}
		for _, annotation := range []string{"summary", "description"} {
			if text := rule.Annotations[annotation]; !strings.HasSuffix(text, ".") {
				t.Errorf("%s: %s %q is no sentence", name, annotation, text)
			}
		}
		url := rule.Annotations["runbook_url"]
		path, anchor, _ := strings.Cut(strings.TrimPrefix(url, docs.Repository+"/blob/main/"), "#")
		if !slices.Contains(anchors[path], anchor) {
			t.Errorf("%s: runbook_url %s leads to no heading; %s has %v", name, url, path, anchors[path])
		}
		if text, err := os.ReadFile(filepath.Join(root, path)); err != nil || !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s: its runbook %s does not name it: %v", name, path, err)
		}
	}
}

// promtool runs Prometheus' own tool.
func promtool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := filepath.Abs(filepath.Join(root, "bin/promtool"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: build it with make bin/promtool", err)
	}
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(out), err
}

// promtool reads all rules, and each of their templates.
func TestRulesAreValid(t *testing.T) {
	if out, err := promtool(t, "check", "rules", "--lint=all", "--lint-fatal", ruleFile(t)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// ruleFile writes all rules to a file.
func ruleFile(t *testing.T) string {
	t.Helper()
	text, err := RuleFile(root)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "rules.yaml", text)
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// unitTest is promtool's form of a test, as far as it is used here.
type unitTest struct {
	RuleFiles          []string `json:"rule_files"`
	EvaluationInterval string   `json:"evaluation_interval"`
	Tests              []played `json:"tests"`
}

type played struct {
	Name        string     `json:"name"`
	Interval    string     `json:"interval"`
	InputSeries []input    `json:"input_series"`
	Expressions []expected `json:"promql_expr_test"`
}

type input struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

type expected struct {
	Expr     string   `json:"expr"`
	EvalTime string   `json:"eval_time"`
	Samples  []sample `json:"exp_samples"`
}

type sample struct {
	Labels string  `json:"labels"`
	Value  float64 `json:"value"`
}

// one is a test: which alerts fire at a time, of series with a value each interval.
func one(name, every string, given series, at time.Duration, firing ...string) played {
	p := played{Name: name, Interval: every, Expressions: []expected{{Expr: `ALERTS{alertstate="firing"}`, EvalTime: at.String()}}}
	for s, values := range given {
		p.InputSeries = append(p.InputSeries, input{s, values})
	}
	for _, labels := range firing {
		p.Expressions[0].Samples = append(p.Expressions[0].Samples, sample{labels, 1})
	}
	return p
}

// play lets promtool run tests of a file of rules.
func play(t *testing.T, rules, every string, tests ...played) {
	t.Helper()
	text, err := yaml.Marshal(unitTest{RuleFiles: []string{rules}, EvaluationInterval: every, Tests: tests})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := promtool(t, "test", "rules", write(t, "test.yaml", text)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

var labelsUsed = regexp.MustCompile(`\$labels\.(\w+)`)

// Each alert fires when it should, not before its time, and not when all is well or when only
// something similar is wrong.
func TestEachAlert(t *testing.T) {
	all := alerts(t)
	for name := range scenes {
		if _, ok := all[name]; !ok {
			t.Errorf("there is no alert %s to test", name)
		}
	}
	for name, rule := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ok := scenes[name]
			if !ok || len(s.fires) == 0 || len(s.quiet) == 0 {
				t.Fatalf("%s needs a row in scenes, with series for which it fires and some for which it does not", name)
			}
			text, err := yaml.Marshal(Groups{Groups: []Group{{Name: "one", Rules: []Rule{rule}}}})
			if err != nil {
				t.Fatal(err)
			}
			rules := write(t, "rule.yaml", text)
			every := s.every
			if every == "" {
				every = "1m"
			}
			labels := fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing", severity=%q`, name, rule.Labels["severity"])
			tests := []played{one("fires", every, s.fires, s.at, labels+", "+s.labels+"}")}
			if strings.Contains(rule.Expr, "absent(") {
				tests = append(tests, one("never there", every, nil, s.at, labels+"}"))
			}
			if hold := duration(t, rule.For); hold > 0 {
				tests = append(tests, one("not yet", every, s.fires, hold/2))
			}
			for i, quiet := range s.quiet {
				tests = append(tests, one(fmt.Sprintf("quiet %d", i), every, quiet, s.at))
			}
			play(t, rules, every, tests...)
			for _, annotation := range rule.Annotations {
				for _, used := range labelsUsed.FindAllStringSubmatch(annotation, -1) {
					if !strings.Contains(s.labels, used[1]+"=") {
						t.Errorf("%q names the label %s, which the alert does not have: %s", annotation, used[1], s.labels)
					}
				}
			}
		})
	}
}

// duration reads one of Prometheus' in days, hours or minutes.
func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	var n int
	var unit string
	if _, err := fmt.Sscanf(text, "%d%s", &n, &unit); err != nil && text != "" {
		t.Fatalf("for: %s: %v", text, err)
	}
	return time.Duration(n) * map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute}[unit]
}

// A healthy cluster with backups raises no alert at all.
func TestNothingFiresWhenAllIsWell(t *testing.T) {
	play(t, ruleFile(t), "1m", one("healthy", "1m", healthy(), 3*time.Hour))
}

// The page for users lists each alert, as it is, and names no others.
func TestPageListsAlerts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/tasks/monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(Etcd\\w+)` \\| (\\w+) \\| ([\\w ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, strings.Join(row[1:], " "))
	}
	all := alerts(t)
	for _, named := range regexp.MustCompile("`(Etcd\\w+)`").FindAllStringSubmatch(string(text), -1) {
		if _, ok := all[named[1]]; !ok {
			t.Errorf("there is no alert %s", named[1])
		}
	}
	var want []string
	for name, rule := range all {
		want = append(want, strings.Join([]string{name, rule.Labels["severity"], cmp.Or(rule.For, "at once")}, " "))
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("it lists\n%s\nwant\n%s", strings.Join(listed, "\n"), strings.Join(want, "\n"))
	}
}

// The page for users says of each alert of etcd-mixin which of ours answers it.
func TestPageAnswersMixin(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/tasks/monitoring.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(etcd[A-Z]\\w+)` \\| `Etcd").FindAllStringSubmatch(string(text), -1) {
		got = append(got, row[1])
	}
	want := []string{
		"etcdMembersDown", "etcdInsufficientMembers", "etcdNoLeader", "etcdHighNumberOfLeaderChanges", "etcdHighNumberOfFailedGRPCRequests",
		"etcdGRPCRequestsSlow", "etcdMemberCommunicationSlow", "etcdHighNumberOfFailedProposals", "etcdHighFsyncDurations", "etcdHighCommitDurations",
		"etcdDatabaseQuotaLowSpace", "etcdExcessiveDatabaseGrowth", "etcdDatabaseHighFragmentationRatio",
	}
	if !slices.Equal(got, want) {
		t.Errorf("it answers %v, want %v", got, want)
	}
}
