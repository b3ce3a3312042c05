package command

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// Data is compared where that costs little, and can be told apart; else a note says why not.
func TestCanCompare(t *testing.T) {
	small := etcdclient.Answer{Reached: true, Version: "3.6.16", DBSizeInUse: maxCompared}
	large, old := small, small
	large.DBSizeInUse++
	old.Version = "3.5.15"
	for reason, row := range map[string]struct {
		other etcdclient.Answer
		want  string
		is    bool
	}{
		"both are small":          {small, "", true},
		"one is large":            {large, "hashing 512.0 MiB would delay writes; kubectl etcd check example does it all the same", false},
		"one hashes its own way":  {old, "etcd 3.5.15 of b can hash the same data differently", false},
		"there is no other":       {etcdclient.Answer{}, "", false},
		"the oldest one that can": {etcdclient.Answer{Reached: true, Version: "3.5.16"}, "", true},
	} {
		why, is := canCompare("example", map[string]etcdclient.Answer{"a": small, "b": row.other})
		if why != row.want || is != row.is {
			t.Errorf("%s: %q, %t", reason, why, is)
		}
	}
}

// The data of a single member is not hashed: there is nothing to compare it with.
func TestDiagnoseOfOneMember(t *testing.T) {
	c := aCluster("example")
	c.Status.MemberDetails = c.Status.MemberDetails[:1]
	w := aWorld(t, append(podsOf(c), c)...)
	w.forward = forwardTo(realMembers(t, c))
	if got := w.run("diagnose example"); strings.Contains(got, "hashing") || !strings.Contains(got, "No runbook fits") {
		t.Error(got)
	}
}
