package plan

import (
	"testing"
)

// asksToLead is a request for another leader, and the one that was answered last.
func asksToLead(request, answered string) func(*Cluster) {
	return func(c *Cluster) { c.Maintenance.LeaderRequest, c.Maintenance.LeaderAnswered = request, answered }
}

func answer(request, refused string) wanted {
	return exactly(AnswerLeaderRequest{Request: request, Refused: refused})
}

func TestAnotherLeaderIsAskedFor(t *testing.T) {
	const noVoter = "x is not a voter"
	asked := func(request string) *world { return healthy(3).cluster(asksToLead(request, "")) }
	rows{
		"a follower":                 {reason: "it was wanted so", seen: asked("b"), do: transferLeadershipOf("a", "b"), because: "TransferringLeadership"},
		"another one":                {reason: "it was wanted so", seen: asked("c"), do: transferLeadershipOf("a", "c"), because: "TransferringLeadership"},
		"the one that leads":         {reason: "it does", seen: asked("a"), do: answer("a", ""), because: "LeaderMoved"},
		"one that is no member":      {reason: "none of that name comes again", seen: asked("x"), do: answer("x", noVoter), because: "LeaderRefused"},
		"nobody":                     {reason: "there is nothing to do", seen: asked(" "), because: "UpToDate"},
		"what was answered":          {reason: "it was wanted once", seen: healthy(3).cluster(asksToLead("b", "b")), because: "UpToDate"},
		"while a member is away":     {reason: "S6", seen: asked("b").silent("c"), because: "WaitingForMember"},
		"while one has just come":    {reason: "it may have to lead", seen: asked("b").pod("c", func(p *Pod) { p.ReadySince = now }), because: "MovingLeader"},
		"while members are upgraded": {reason: "it would be moved again", seen: asked("b").wants("3.7.3"), do: record(theVersion, "3.7.3"), because: "UpgradeStarted"},
		"while paused":               {reason: "S12", seen: asked("b").cluster(func(c *Cluster) { c.Paused = true }), because: "Paused"},
		"one alone":                  {reason: "it leads", seen: healthy(1).cluster(asksToLead("a", "")), do: answer("a", ""), because: "LeaderMoved"},
	}.run(t)
}

func TestWhoIsAskedToLead(t *testing.T) {
	for request, want := range map[string]string{"": "", " \n": "", "b": "b", "b 2026-01-01T12:00:00Z": "b", " b\tagain, please": "b"} {
		if got := (&Maintenance{LeaderRequest: request}).LeaderAsked(); got != want {
			t.Errorf("%q asks that %q leads, want %q", request, got, want)
		}
	}
}

// What the annotations of a manifest ask for was asked of another EtcdCluster. It is passed over when
// a cluster begins, and no more after that.
func TestRequestsOfAnotherCluster(t *testing.T) {
	copied := func(c *Cluster) {
		c.Maintenance.DefragmentRequest, c.Maintenance.LeaderRequest = "1", "x-a now"
	}
	o := nothing(3).cluster(copied).seen()
	if m := Plan(o).Status.Maintenance; m == nil || m.DefragmentRequest != "1" || m.LeaderRequest != "x-a now" {
		t.Errorf("before the cluster begins they are latched as %+v", m)
	}
	o = healthy(3).cluster(copied).seen()
	if m := Plan(o).Status.Maintenance; m != nil {
		t.Errorf("of a cluster that runs they are latched as %+v", m)
	}
}
