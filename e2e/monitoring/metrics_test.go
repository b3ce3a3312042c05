package monitoring

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// exposed are the labels of each metric that someone exposes.
type exposed map[string][]string

// Labels that Prometheus adds to what it collects of members and of operators, by the PodMonitors.
var targetLabels = []string{"job", "namespace", "pod", "cluster"}

// byPrometheus are the metrics of Prometheus' own.
var byPrometheus = exposed{"up": targetLabels, "ALERTS": {"alertname", "alertstate"}}

// byRuntime are those of controller-runtime, in each operator: the reference has only the operators'
// own. TestReplicas of shared/operator looks for it.
var byRuntime = exposed{"leader_election_master_status": {"name"}}

var (
	referenceRow = regexp.MustCompile("(?m)^\\| `(etcd_\\w+)` \\| (\\w+) \\| ([^|]*) \\|")
	inBackticks  = regexp.MustCompile("`([^`]+)`")
	exposition   = regexp.MustCompile(`(?m)^([a-z_]\w*)(?:\{([^}]*)\})? `)
)

// byOperators are the operators' metrics, by the reference that a test compares with their code.
func byOperators(t *testing.T) exposed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := exposed{}
	for _, row := range referenceRow.FindAllStringSubmatch(string(text), -1) {
		var labels []string
		for _, label := range inBackticks.FindAllStringSubmatch(row[3], -1) {
			labels = append(labels, label[1])
		}
		if row[2] != "histogram" {
			all[row[1]] = labels
			continue
		}
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			all[row[1]+suffix] = append(labels, "le")
		}
	}
	if len(all) == 0 {
		t.Fatal("the reference of metrics has no rows")
	}
	return all
}

// extensive are the metrics that etcd exposes only with --metrics=extensive. Rules that ask for them
// never fire without it.
var extensive = []string{"grpc_server_handling_seconds_bucket"}

// byEtcd are the metrics of a member of a real cluster of two, which has lost the other; and those
// that the other one had, with --metrics=extensive.
func byEtcd(t *testing.T, version string) (usual, more exposed) {
	t.Helper()
	a, b := etcdtest.NewMember(t, version, "a"), etcdtest.NewMember(t, version, "b")
	a.Start(t, "new", a, b)
	other := etcdtest.Start(t, nil, append(b.Command(t), "--metrics=extensive", "--initial-cluster="+etcdtest.InitialCluster(a, b), "--initial-cluster-token="+a.Name)...)
	a.WaitReady(t)
	b.WaitReady(t)
	has := func(m *etcdtest.Member, metric string) (all exposed) {
		etcdtest.Eventually(t, "member "+m.Name+" to expose "+metric, func() (err error) {
			all, err = exposedBy(t, m)
			if _, ok := all[metric]; err == nil && !ok {
				return errors.New("it does not")
			}
			return err
		})
		return all
	}
	has(a, "etcd_network_peer_round_trip_time_seconds_bucket") // once the way to the other is measured
	more = has(b, "etcd_server_has_leader")
	other.Kill()
	return has(a, "etcd_network_peer_sent_failures_total"), more
}

// exposedBy is what a member exposes now.
func exposedBy(t *testing.T, m *etcdtest.Member) (exposed, error) {
	t.Helper()
	text, err := fetch(t, "http://"+m.Metrics+"/metrics")
	all := exposed{}
	for _, line := range exposition.FindAllStringSubmatch(text, -1) {
		all[line[1]] = nil
		for _, label := range matcher.FindAllStringSubmatch(quoted.ReplaceAllString(line[2], `""`), -1) {
			all[line[1]] = append(all[line[1]], label[1])
		}
	}
	return all, err
}

func fetch(t *testing.T, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// queries are those of all rules and dashboards, by who asks.
func queries(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, rule := range alerts(t) {
		all["alert "+name] = rule.Expr
	}
	for _, d := range Dashboards() {
		for where, query := range d.Queries(some) {
			if !strings.Contains(query, "{__name__=~") { // a pattern of names
				all["dashboard "+where] = query
			}
		}
	}
	return all
}

// Whatever a rule or a dashboard asks for is exposed, by the operators or by etcd of each version,
// with the labels by which it is selected and grouped.
func TestMetricsAreExposed(t *testing.T) {
	ours, all := byOperators(t), queries(t)
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		etcds, more := byEtcd(t, version)
		for _, name := range extensive {
			if _, usual := etcds[name]; usual || more[name] == nil {
				t.Errorf("etcd %s exposes %s by itself: %t, and with --metrics=extensive the labels %v", version, name, usual, more[name])
			}
			etcds[name] = more[name]
		}
		for who, query := range all {
			names := Metrics(query)
			if len(names) == 0 {
				t.Errorf("%s asks for nothing: %s", who, query)
			}
			matched := Matched(query)
			some := slices.Clone(targetLabels)
			for _, name := range names {
				labels, found := ours[name]
				if !found {
					labels, found = byPrometheus[name]
				}
				if !found {
					labels, found = byRuntime[name]
				}
				if !found {
					labels, found = etcds[name]
				}
				if !found {
					t.Errorf("%s asks for %s, which neither an operator nor etcd %s exposes", who, name, version)
				}
				some = append(some, labels...)
				for _, label := range matched[name] {
					if !slices.Contains(labels, label) && !slices.Contains(targetLabels, label) {
						t.Errorf("%s selects %s by the label %s, which it does not have", who, name, label)
					}
				}
			}
			for _, by := range grouped.FindAllStringSubmatch(query, -1) {
				for label := range strings.SplitSeq(by[1], ", ") {
					if !slices.Contains(some, label) {
						t.Errorf("%s groups by the label %s, which none of %v has", who, label, names)
					}
				}
			}
		}
	})
}

var (
	onCondition = regexp.MustCompile(`condition(?:=~|!~|=)"([^"]*)"`)
	onReason    = regexp.MustCompile(`reason(?:=~|!~|=)"([^"]*)"`)
	plainWord   = regexp.MustCompile(`^\w+$`)
)

// Conditions and reasons that a query selects by exist: a misspelled one would never fire.
func TestConditionsExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/reference/conditions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for who, query := range queries(t) {
		for _, found := range slices.Concat(onCondition.FindAllStringSubmatch(query, -1), onReason.FindAllStringSubmatch(query, -1)) {
			for name := range strings.SplitSeq(found[1], "|") {
				if plainWord.MatchString(name) && !strings.Contains(string(text), "| `"+name+"` |") {
					t.Errorf("%s selects by %s, which is no condition and no reason", who, name)
				}
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	for query, want := range map[string][]string{
		`a_total`: {"a_total"},
		`sum by (x, y) (rate(a_total{x=~"b|c",y!="d"}[5m])) / on (x) group_left sum(c) > 0.5 * 1e3`: {"a_total", "c"},
		`max(a{x="}"} == 1) or vector(0)`:                                                                     {"a"},
		`(a unless b) and time() - c offset 1h`:                                                               {"a", "b", "c"},
		`-sum by (pod) (rate(a{namespace=~"$namespace"}[$__rate_interval]))`:                                  {"a"},
		`histogram_quantile(0.99, sum by (le) (rate(a_bucket{}[5m]))) > 0.1 and predict_linear(b[4h], 4 * 9)`: {"a_bucket", "b"},
	} {
		if diff := cmp.Diff(want, Metrics(query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	for query, want := range map[string]string{
		`max by (x) (a{x!="1",y=~"2"}) == 1`:                     `max by (x) (a{x!="1",y=~"2"})`,
		`time() - a > 2 * 86400`:                                 `time() - a`,
		`a / (b > 0) > 0.95`:                                     `a / (b)`,
		`a / b < 0.5 and a > 104857600`:                          `a / b and a`,
		`sum(up) < (count(up) + 1) / 2`:                          `sum(up) < bool (count(up) + 1) / 2`,
		"min(a)\n< min(b / 4)":                                   "min(a)\n< bool min(b / 4)",
		`predict_linear(a[4h], 4 * 3600) / (b > 0) > 1 unless c`: `predict_linear(a[4h], 4 * 3600) / (b) unless c`,
	} {
		if got := Observed(query); got != want {
			t.Errorf("without thresholds, %s is %s, want %s", query, got, want)
		}
	}
	if diff := cmp.Diff(map[string][]string{"a": {"x", "y"}, "b": {"z"}}, Matched(`a{x="{",y=~"1"} / b{z!="2"}`)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
