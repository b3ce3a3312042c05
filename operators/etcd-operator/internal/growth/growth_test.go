package growth

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

var (
	key   = types.NamespacedName{Namespace: "n", Name: "x"}
	begun = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
)

const mebibyte = 1 << 20

// seen is an Observation, some minutes after the beginning, of members of which the fullest
// has so many bytes in use.
func seen(minute int, inUse int64) *facts.Observation {
	o := &facts.Observation{Now: begun.Add(time.Duration(minute) * time.Minute), Cluster: facts.Cluster{ClusterID: 7}}
	o.Pods = []facts.Pod{
		{Name: "a", Answer: facts.Answer{Reached: true, ClusterID: 7, DBSizeInUse: inUse / 2}},
		{Name: "b", Answer: facts.Answer{Reached: true, ClusterID: 7, DBSizeInUse: inUse}},
		{Name: "c", Answer: facts.Answer{Reached: true, ClusterID: 8, DBSizeInUse: inUse * 9}},
		{Name: "d"},
	}
	return o
}

// after is what is told after so many minutes, each of which is observed.
func after(minutes int, inUse func(minute int) int64) facts.Growth {
	var k Keeper
	var told facts.Growth
	for i := range minutes {
		told = k.Note(key, seen(i, inUse(i)))
	}
	return told
}

func TestGrowth(t *testing.T) {
	steady := func(minute int) int64 { return int64(minute) * mebibyte }
	sawtooth := func(minute int) int64 { return int64(100+minute%60) * mebibyte }
	for name, tc := range map[string]struct {
		minutes int
		inUse   func(int) int64
		want    facts.Growth
	}{
		"a moment":              {1, steady, facts.Growth{}},
		"less than three hours": {170, steady, facts.Growth{}},
		"a steady growth":       {360, steady, facts.Growth{Known: true, PerHour: 60 * mebibyte}},
		"one of weeks":          {20_000, steady, facts.Growth{Known: true, PerHour: 60 * mebibyte}},
		"none":                  {360, func(int) int64 { return mebibyte }, facts.Growth{Known: true}},
		"an hour of history that is compacted each hour": {360, sawtooth, facts.Growth{Known: true}},
		"the same from the earliest moment on":           {180, sawtooth, facts.Growth{Known: true}},
		"one that shrinks":                               {360, func(m int) int64 { return int64(1000-m) * mebibyte }, facts.Growth{Known: true, PerHour: -60 * mebibyte}},
		"nobody answers":                                 {360, func(int) int64 { return 0 }, facts.Growth{}},
	} {
		if got := after(tc.minutes, tc.inUse); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// What is old, or another cluster's, is not told; and no more is kept than is needed.
func TestWhatIsForgotten(t *testing.T) {
	var k Keeper
	fill := func(from int) {
		for i := range 400 {
			k.Note(key, seen(from+i, int64(i+1)*mebibyte))
		}
	}
	fill(0)
	if n := len(k.all[key].seen); n != samples {
		t.Errorf("%d samples are kept, want %d", n, samples)
	}
	if got := k.Note(key, seen(1000, 0)); got.Known {
		t.Errorf("members that have not answered for ten hours: %+v", got)
	}
	fill(2000)
	other := seen(2401, mebibyte)
	other.Cluster.ClusterID = 8
	if got := k.Note(key, other); got.Known {
		t.Errorf("a cluster that was restored: %+v", got)
	}
	k.Forget(key)
	if len(k.all) != 0 {
		t.Error("a cluster that is gone is kept")
	}
}
