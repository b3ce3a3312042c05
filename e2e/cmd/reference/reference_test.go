package main

import (
	"go/ast"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// write makes a package of one file.
func write(t *testing.T, name, source string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestConstants(t *testing.T) {
	all, err := parseConstants(write(t, "etcdcluster_reasons.go", `package v1beta2

const group = "example.com"

// ConditionAvailable: a quorum serves.
const ConditionAvailable = "Available"

// The reasons of ConditionAvailable.
const (
	// ReasonQuorumLost is a loss of <half> of the
	// members; see ConditionAvailable.
	ReasonQuorumLost = "QuorumLost"
	ReasonOther      = "Other"
)

// The reasons of steps, and of the events about them.
const (
	// ClusterReasonAddingMember: a member is being added.
	ClusterReasonAddingMember = "AddingMember"
	// ClusterReasonInvalid: s3.path, which revisionBump is not, is invalid.
	ClusterReasonInvalid = "Invalid"
)

const (
	// EventMemberAdded: a member was added.
	EventMemberAdded = "MemberAdded"

	// PhaseRunning is one that runs.
	PhaseRunning ClusterPhase = "Running"
	// AnnotationX on an EtcdCluster asks for X.
	AnnotationX = group + "/x"
	Number      = 3
)
`))
	if err != nil {
		t.Fatal(err)
	}
	conditions, events := conditionsPage(all), eventsPage(all)
	for _, row := range []string{
		"### EtcdCluster conditions\n\n| Value | Meaning |\n| --- | --- |\n| `Available` | A quorum serves. |\n",
		"\nThe reasons of `Available`.\n\n| Value | Meaning |\n| --- | --- |\n| `QuorumLost` | A loss of &lt;half&gt; of the members; see `Available`. |\n| `Other` |  |\n",
		"| `AddingMember` | A member is being added. |\n",
		"| `Invalid` | s3.path, which revisionBump is not, is invalid. |\n",
		"| `Running` | One that runs. |\n",
	} {
		if !strings.Contains(conditions, row) {
			t.Errorf("the page of conditions has no\n%s\nin\n%s", row, conditions)
		}
	}
	if row := "| `MemberAdded` | A member was added. |\n"; !strings.Contains(events, row) || strings.Contains(conditions, row) {
		t.Errorf("%q is not on the page of events alone:\n%s", row, events)
	}
	if row := "\nThe reasons of steps, and of the events about them.\n\n| Value | Meaning |\n| --- | --- |\n| `AddingMember` |"; !strings.Contains(events, row) {
		t.Errorf("the page of events has no\n%s\nin\n%s", row, events)
	}
	if row := "| `example.com/x` | On an EtcdCluster asks for X. |\n"; !strings.Contains(labelsPage(all), row) {
		t.Errorf("no %q in\n%s", row, labelsPage(all))
	}
}

func TestMetrics(t *testing.T) {
	got, err := parseMetrics(write(t, "metrics.go", `package metrics

func New() {
	each := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"namespace", "name"}, more...), nil)
	}
	use(
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "a_total", Help: "A."}, []string{"result"}),
		prometheus.NewDesc("b", "B.", []string{"phase"}, nil),
		each("c", "C."),
		each("d_total", "D"+"D.", "reason"),
		operator.OfObject("e", "E.", "member"),
		operator.Duration("f", "F."),
	)
}
`), write(t, "objects.go", `package operator

func OfObject(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"namespace"}, more...), nil)
}

func Duration(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help})
}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []series{
		{name: "a_total", help: "A.", typ: "counter", labels: []string{"result"}},
		{name: "b", help: "B.", typ: "gauge", labels: []string{"phase"}},
		{name: "c", help: "C.", typ: "gauge", labels: []string{"namespace", "name"}},
		{name: "d_total", help: "DD.", typ: "counter", labels: []string{"namespace", "name", "reason"}},
		{name: "e", help: "E.", typ: "gauge", labels: []string{"namespace", "member"}},
		{name: "f", help: "F.", typ: "histogram"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Each name of a metric in the sources of the operators is on the page.
func TestMetricsOfOperators(t *testing.T) {
	for _, operator := range operators {
		dir := filepath.Join("../../../operators", operator, "internal/metrics")
		all, err := parseMetrics(dir, "../../../shared/operator")
		if err != nil {
			t.Fatal(err)
		}
		files, _, err := parseFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		names := 0
		for _, file := range files {
			for _, text := range stringsInFile(file) {
				if strings.HasPrefix(text, "etcd_") {
					names++
				}
			}
		}
		if len(all) == 0 || len(all) != names {
			t.Errorf("%s: %d metrics of %d that the sources name", operator, len(all), names)
		}
	}
}

func TestFlags(t *testing.T) {
	got, err := parseFlags("Usage of x:\n" +
		"  -cluster-wide\n    \tlook after all\n" +
		"  -listen-addr string\n    \taddress that serves (default \"0.0.0.0:8080\")\n" +
		"  -workers int\n    \thow many\n    \tat a time (default 16)\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []option{
		{name: "cluster-wide", help: "look after all"},
		{name: "listen-addr", typ: "string", defaultValue: "0.0.0.0:8080", help: "address that serves"},
		{name: "workers", typ: "int", defaultValue: "16", help: "how many at a time"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := parseFlags("flag provided but not defined: -h"); err == nil {
		t.Error("no flags are no error")
	}
}

func stringsInFile(file *ast.File) []string {
	var found []string
	ast.Inspect(file, func(node ast.Node) bool {
		if expr, ok := node.(*ast.BasicLit); ok {
			found = append(found, stringsIn(expr)...)
		}
		return true
	})
	return found
}
