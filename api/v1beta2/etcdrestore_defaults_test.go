package v1beta2

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRestoreDefaults(t *testing.T) {
	other := &ClusterReference{Name: "other"}
	type values struct {
		MakesCluster bool
		ClusterName  string
		Timeout      time.Duration
	}
	cases := map[string]struct {
		reason string
		spec   RestoreSpec
		want   values
	}{
		"empty": {
			reason: "an object that is older than our CRD may name nothing",
		},
		"equal names": {
			reason: "as with the predecessor: in place",
			spec:   RestoreSpec{EtcdCluster: &ClusterReference{Name: "mine"}},
			want:   values{ClusterName: "mine"},
		},
		"in place": {
			reason: "the restore's own name then means nothing",
			spec:   RestoreSpec{EtcdCluster: other, Target: TargetInPlace, TimeoutInSecond: 90},
			want:   values{ClusterName: "other", Timeout: 90 * time.Second},
		},
		"new": {
			reason: "the other cluster is left alone",
			spec:   RestoreSpec{EtcdCluster: other, Target: TargetNew},
			want:   values{MakesCluster: true, ClusterName: "mine"},
		},
		"template": {
			reason: "there is no other cluster, and target may be left out",
			spec:   RestoreSpec{ClusterTemplate: &ClusterTemplate{}},
			want:   values{MakesCluster: true, ClusterName: "mine"},
		},
		"out of range": {
			reason: "an object that is older than our CRD may hold anything, and nothing may overflow",
			spec:   RestoreSpec{EtcdCluster: other, TimeoutInSecond: 1<<63 - 1},
			want:   values{ClusterName: "other", Timeout: time.Duration(maxSeconds) * time.Second},
		},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			r := &EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "mine"}, Spec: tc.spec}
			if got := (values{r.MakesCluster(), r.ClusterName(), r.Spec.Timeout()}); got != tc.want {
				t.Errorf("got  %+v\nwant %+v: %s", got, tc.want, tc.reason)
			}
		})
	}
}
