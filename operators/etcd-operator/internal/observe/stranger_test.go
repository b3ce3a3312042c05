package observe_test

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Etcd at a Pod's address counts as the Pod's only if it is not another member by its own
// list: what one member knows of the log is not taken for another's (S13).
func TestEtcdAtAnAddressOfBefore(t *testing.T) {
	list := []etcdclient.Member{{ID: 1, Name: "x-a", PeerURLs: []string{"http://renamed.x.n.svc:2380"}}, {ID: 2, Name: "x-b"}}
	for name, c := range map[string]struct {
		answer etcdclient.Answer
		says   string
	}{
		"its own":                       {etcdclient.Answer{Reached: true, MemberID: 1, Members: list, Read: true}, ""},
		"its own, which follows":        {etcdclient.Answer{Reached: true, MemberID: 1, Leader: 2, Members: list, Read: true}, ""},
		"another's":                     {etcdclient.Answer{Reached: true, MemberID: 2, Members: list, Read: true}, "that of x-b"},
		"another's, which leads":        {etcdclient.Answer{Reached: true, MemberID: 2, Leader: 2, Members: list, Read: true}, "that of x-b"},
		"another's, which follows":      {etcdclient.Answer{Reached: true, MemberID: 2, Leader: 1, Members: list, Read: true}, "that of x-b"},
		"another's, without a quorum":   {etcdclient.Answer{Reached: true, MemberID: 2, LocalMembers: list}, "that of x-b"},
		"a learner's, which tells less": {etcdclient.Answer{Reached: true, MemberID: 3, Learner: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.observer.Etcd = &asked{answers: map[string]etcdclient.Answer{"x-a": c.answer}}
			b.runs(b.pod("x-a"), "10.0.0.1")
			got := seen(t, b.observe(), "x-a").Answer
			if !strings.Contains(got.Blocked, c.says) || (c.says != "") == got.Reached {
				t.Errorf("it is seen as %+v", got)
			}
			if c.says != "" && (got.Committed != 0 || got.Reached != (facts.Answer{}).Reached) {
				t.Errorf("what it says is believed: %+v", got)
			}
		})
	}
}
