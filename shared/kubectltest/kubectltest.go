// Package kubectltest compares what kubectl shows of an object with a golden file. It is what a person reads when an
// alert wakes them, so each file answers three questions: what happened, is data at risk, and what to do. Read a changed
// file with these questions in mind.
package kubectltest

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

// Golden compares what kubectl get, describe and events show of an object with the golden
// file testdata/kubectl/<situation>.golden. kind is the object's, as users write it.
func Golden(t testing.TB, situation, kind string, o client.Object) {
	t.Helper()
	var got bytes.Buffer
	for _, args := range [][]string{
		{"get", kind, o.GetName(), "-o", "wide"},
		{"describe", kind, o.GetName()},
		{"events", "--for", kind + "/" + o.GetName()},
	} {
		output, err := apiservertest.Kubectl(t, "", append([]string{"--namespace", o.GetNamespace()}, args...)...)
		if err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
		}
		fmt.Fprintf(&got, "$ kubectl %s\n%s\n", strings.Join(args, " "), normalise(string(output), o))
	}
	goldentest.Compare(t, filepath.Join("testdata", "kubectl", situation+".golden"), got.String())
}

// normalise replaces what differs from run to run. Ages have at most three characters, or
// columns would have another width.
func normalise(output string, o client.Object) string {
	output = strings.ReplaceAll(output, o.GetNamespace(), "default")
	output = regexp.MustCompile(regexp.QuoteMeta(o.GetName())+`-[a-z0-9]{10}\b`).ReplaceAllString(output, o.GetName()+"-0123456789")
	for _, r := range replacements {
		output = r.pattern.ReplaceAllString(output, r.by)
	}
	return output
}

var replacements = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "2026-01-01T03:00:00Z"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "00000000-0000-0000-0000-000000000000"},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "${1}1"},
	{regexp.MustCompile(`(?m)(^| )\d{1,2}s( |$)`), "${1}9s${2}"},
}
