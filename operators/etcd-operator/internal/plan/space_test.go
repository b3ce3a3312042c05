package plan

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// grows has the databases fill by so many percent of the quota each hour.
func (w *world) grows(percent int64) *world {
	w.o.Growth = Growth{Known: true, PerHour: theQuota / 100 * percent}
	return w
}

// warned is a cluster of which SpaceLow was told.
func (w *world) warned(why v1beta2.SpaceShortage) *world {
	w.o.Cluster.LastStatus.Maintenance = &v1beta2.MaintenanceStatus{Shortage: why}
	return w
}

// quotaOfNobody has nobody tell of a quota.
func (w *world) quotaOfNobody() *world {
	for _, p := range w.o.Pods {
		w.answer(p.Name, func(a *Answer) { a.Quota = 0 })
	}
	return w
}

// Users are told before etcd refuses writes, and not again and again.
func TestSpaceLow(t *testing.T) {
	at := func(size, inUse int64) *world { return healthy(3).databases(size, inUse) }
	for name, tc := range map[string]struct {
		seen   *world
		reason string
	}{
		"room":                      {at(79, 79), ""},
		"much is used":              {at(80, 80), v1beta2.ClusterReasonQuotaNearlyUsed},
		"in one member":             {at(10, 10).database("c", 85, 85), v1beta2.ClusterReasonQuotaNearlyUsed},
		"less is used again":        {at(80, 76).warned(v1beta2.ShortageQuotaNearlyUsed), v1beta2.ClusterReasonQuotaNearlyUsed},
		"there is room again":       {at(80, 74).warned(v1beta2.ShortageQuotaNearlyUsed), ""},
		"a file that is free":       {at(95, 10), v1beta2.ClusterReasonFileNearQuota},
		"and is a little smaller":   {at(91, 10).warned(v1beta2.ShortageFileNearQuota), v1beta2.ClusterReasonFileNearQuota},
		"and was defragmented":      {at(89, 10).warned(v1beta2.ShortageFileNearQuota), ""},
		"full within a day":         {at(60, 60).grows(2), v1beta2.ClusterReasonFillingUp},
		"full within two":           {at(60, 60).grows(1), ""},
		"it was, and slows":         {at(60, 60).grows(1).warned(v1beta2.ShortageFillingUp), v1beta2.ClusterReasonFillingUp},
		"it was, and has ended":     {at(60, 60).grows(0).warned(v1beta2.ShortageFillingUp), ""},
		"it was, and shrinks":       {at(60, 60).grows(-1).warned(v1beta2.ShortageFillingUp), ""},
		"it was, says nobody now":   {at(60, 60).warned(v1beta2.ShortageFillingUp), v1beta2.ClusterReasonFillingUp},
		"it was, and much is free":  {at(60, 40).warned(v1beta2.ShortageFillingUp), ""},
		"the first keys":            {at(40, 40).grows(20), ""},
		"nothing is known of it":    {at(60, 60), ""},
		"no quota is known":         {at(99, 99).quotaOfNobody(), ""},
		"as it was, without quota":  {at(99, 99).quotaOfNobody().warned(v1beta2.ShortageFillingUp), v1beta2.ClusterReasonFillingUp},
		"nobody answers":            {at(10, 10).silent("a", "b", "c").lastStatus(reported("a", "b", "c")).warned(v1beta2.ShortageQuotaNearlyUsed), v1beta2.ClusterReasonQuotaNearlyUsed},
		"nobody answered, and none": {at(99, 99).silent("a", "b", "c").lastStatus(reported("a", "b", "c")), ""},
		"it has not begun":          {nothing(3).warned(v1beta2.ShortageFillingUp), ""},
	} {
		var got string
		status := decided(tc.seen.seen()).Status
		if m := status.Maintenance; (m == nil && tc.reason != "") || (m != nil && string(m.Shortage) != tc.reason) {
			t.Errorf("%s: the status has %+v, want the shortage %q", name, m, tc.reason)
		}
		for _, c := range status.Conditions {
			if c.Type == v1beta2.ConditionSpaceLow {
				got = c.Reason
				if c.Status != metav1.ConditionTrue || c.Message == "" {
					t.Errorf("%s: it is %s and says %q", name, c.Status, c.Message)
				}
			}
		}
		if got != tc.reason {
			t.Errorf("%s: reason %q, want %q", name, got, tc.reason)
		}
	}
}

// The words say what to do, and stay the same while the reason does.
func TestSpaceLowSays(t *testing.T) {
	say := func(w *world) string { return message(decided(w.seen()).Status, v1beta2.ConditionSpaceLow) }
	at := func(size, inUse int64) *world { return healthy(3).databases(size, inUse) }
	compacts := func(c *Cluster) { c.Maintenance.Compacts = true }
	for name, tc := range map[string]struct {
		seen *world
		want []string
	}{
		"without compaction":   {at(85, 85), []string{"refuses all writes", "set spec.etcd.autoCompactionRetention", "kube-apiserver", "spec.etcd.quotaBackendBytes"}},
		"with it":              {at(85, 85).cluster(compacts), []string{"keep less history", "delete keys", "spec.etcd.quotaBackendBytes"}},
		"a file that is free":  {at(96, 10), []string{"defragmentAbovePercent"}},
		"at the quota":         {at(101, 99).alarm(NoSpace, "b"), []string{"a database has reached its quota, and etcd refuses all writes", "delete keys"}},
		"by what will be full": {at(60, 60).grows(10), []string{"within a day or two"}},
	} {
		for _, want := range tc.want {
			if got := say(tc.seen); !strings.Contains(got, want) {
				t.Errorf("%s: it says %q, want %q in it", name, got, want)
			}
		}
	}
	if a, b := say(at(85, 81)), say(at(99, 97).warned(v1beta2.ShortageQuotaNearlyUsed)); a != b {
		t.Errorf("it says %q, and a moment later %q", a, b)
	}
	unseen := at(85, 85).silent("a", "b", "c").lastStatus(reported("a", "b", "c")).warned(v1beta2.ShortageFillingUp)
	if got, want := say(unseen), say(at(60, 60).grows(10)); got != want {
		t.Errorf("when nobody answers it says %q, want %q", got, want)
	}
}
