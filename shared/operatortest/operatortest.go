// Package operatortest looks at an operator from outside, in tests: at its events, and at
// its metrics.
package operatortest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Edit changes an object as a user does.
func Edit[T client.Object](t testing.TB, c client.Client, o T, change func(T)) {
	t.Helper()
	etcdtest.Eventually(t, "the edit to be accepted", func() error {
		apiservertest.Read(t, c, o)
		change(o)
		return c.Update(apiservertest.Context(t), o)
	})
}

// WantEvents waits for an event of each reason about an object.
func WantEvents(t testing.TB, c client.Client, about client.Object, reasons ...string) {
	t.Helper()
	etcdtest.Eventually(t, fmt.Sprintf("the events %v", reasons), func() error {
		var list eventsv1.EventList
		if err := c.List(apiservertest.Context(t), &list, client.InNamespace(about.GetNamespace())); err != nil {
			return err
		}
		var seen []string
		for i := range list.Items {
			if event := &list.Items[i]; event.Regarding.UID == about.GetUID() {
				seen = append(seen, event.Reason)
			}
		}
		for _, reason := range reasons {
			if !slices.Contains(seen, reason) {
				return fmt.Errorf("there are %v", seen)
			}
		}
		return nil
	})
}

// Metric is the value of a series with these values of its labels, in their order, and
// whether there is such a series. Of a histogram it is how many it has counted.
func Metric(t testing.TB, from prometheus.Gatherer, name string, labels ...string) (value float64, ok bool) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if f.GetName() == name && slices.Equal(values, labels) {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()), true
			}
		}
	}
	return 0, false
}

// WantMetric waits for a metric to have a value: it follows the status.
func WantMetric(t testing.TB, from prometheus.Gatherer, want float64, name string, labels ...string) {
	t.Helper()
	etcdtest.Eventually(t, name+" to follow the status", func() error {
		if got, _ := Metric(t, from, name, labels...); got != want {
			return fmt.Errorf("it is %v, want %v", got, want)
		}
		return nil
	})
}

// WantMetrics compares the whole text of the metrics of these names, and asks Prometheus' own
// linter what it has to say of all of them.
func WantMetrics(t testing.TB, from prometheus.Gatherer, want string, names ...string) {
	t.Helper()
	if err := testutil.GatherAndCompare(from, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	problems, err := testutil.GatherAndLint(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
