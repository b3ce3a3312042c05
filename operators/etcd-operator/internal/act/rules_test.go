package act

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// S4: members 1 to 3 are voters, member 4 is not, and member 3 will be removed.
func TestIsQuorumWithout(t *testing.T) {
	x := action.RemoveMember{ID: 3, Members: []facts.Member{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4, Learner: true}}}
	follows := func(id uint64) etcdclient.Answer { return etcdclient.Answer{Reached: true, MemberID: id, Leader: 1} }
	for name, tc := range map[string]struct {
		answers []etcdclient.Answer
		want    bool
		reason  string
	}{
		"both others follow":       {[]etcdclient.Answer{follows(1), follows(2)}, true, "2 of 2"},
		"one has no leader":        {[]etcdclient.Answer{follows(1), {Reached: true, MemberID: 2}}, false, "1 of 2: the other might be partitioned"},
		"one is not reached":       {[]etcdclient.Answer{follows(1), {MemberID: 2, Leader: 1}}, false, "1 of 2"},
		"one and the learner":      {[]etcdclient.Answer{follows(1), follows(4)}, false, "1 of 2: a learner does not vote"},
		"one and the removed":      {[]etcdclient.Answer{follows(1), follows(3)}, false, "1 of 2: member 3 is being removed"},
		"a member of another list": {[]etcdclient.Answer{follows(1), follows(5)}, false, "1 of 2"},
	} {
		answers := map[string]etcdclient.Answer{}
		for i, a := range tc.answers {
			answers[string(rune('a'+i))] = a
		}
		if got := isQuorumWithout(x, answers); got != tc.want {
			t.Errorf("%s: a quorum stays: %t, want %t: %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestIsHolder(t *testing.T) {
	seen := &facts.Pod{Name: "x-a", UID: "1"}
	now := metav1.Now()
	for name, tc := range map[string]struct {
		live metav1.ObjectMeta
		want bool
	}{
		"as observed":   {metav1.ObjectMeta{UID: "1"}, true},
		"replaced":      {metav1.ObjectMeta{UID: "2"}, false},
		"being deleted": {metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now}, false},
	} {
		if got := isHolder(&corev1.Pod{ObjectMeta: tc.live}, seen); got != tc.want {
			t.Errorf("%s: isHolder is %t, want %t", name, got, tc.want)
		}
	}
}
