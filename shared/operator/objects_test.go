package operator

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"
)

// looked counts how often each object was looked at.
type looked struct {
	*Objects[int]
	metric *prometheus.Desc
}

func (l looked) Describe(ch chan<- *prometheus.Desc) { ch <- l.metric }

func (l looked) Collect(ch chan<- prometheus.Metric) {
	l.Each(func(key types.NamespacedName, n *int) {
		SeriesOf(ch, key)(l.metric, prometheus.CounterValue, float64(*n), "eye")
	})
}

func TestObjects(t *testing.T) {
	l := looked{NewObjects(func() *int { return new(10) }), OfObject("looked_total", "Looks.", "by")}
	kept, gone := types.NamespacedName{Namespace: "ns", Name: "kept"}, types.NamespacedName{Namespace: "ns", Name: "gone"}
	for _, key := range []types.NamespacedName{kept, gone, kept} {
		l.Note(key, func(n *int) { *n++ })
	}
	l.Forget(gone)
	want := `# HELP looked_total Looks.
# TYPE looked_total counter
looked_total{by="eye",name="kept",namespace="ns"} 12
`
	if err := testutil.CollectAndCompare(l, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
