package plan

import "testing"

// The PodDisruptionBudget keeps a quorum of the voters in etcd's own list: it is
// raised before a member gets its vote, and lowered only after a removal has settled.
func TestBudget(t *testing.T) {
	noBudget := func(c *Cluster) { c.DisruptionBudget = false }
	for name, tc := range map[string]struct {
		reason string
		seen   *world
		want   int
	}{
		"three":                        {"quorum of 3", healthy(3), 2},
		"four":                         {"quorum of 4", healthy(4), 3},
		"five":                         {"quorum of 5", healthy(5), 3},
		"six":                          {"quorum of 6", healthy(6), 4},
		"seven":                        {"quorum of 7", healthy(7), 4},
		"one":                          {"it would block every drain for ever", healthy(1), NoBudget},
		"two":                          {"it would block every drain for ever", healthy(2), NoBudget},
		"the user asked for none":      {"spec.podDisruptionBudget", healthy(3).cluster(noBudget), NoBudget},
		"from one to three, one voter": {"size counts, so that it is there before the second", healthy(1).size(3).newJoiner("b").newJoiner("c"), 1},
		"from one to three, before the promotion": {"raised before: the second voter counts already", healthy(1).size(3).learner("b").learner("c"), 2},
		"from three to four, a learner":           {"a learner has no vote", healthy(3).size(4).learner("d").silent("d"), 2},
		"from three to four, before the vote":     {"raised before: q(4)", healthy(3).size(4).learner("d"), 3},
		"from four to five, before the vote":      {"q(5) is q(4)", healthy(4).size(5).learner("e"), 3},
		"from five to three, before the removal":  {"five still vote", healthy(5).size(3).role("e", Leaving), 3},
		"from five to three, after one removal":   {"lowered after it has settled", healthy(4).size(3), 3},
		"from five to three, not settled":         {"the removal is not known to everyone", healthy(4).size(3).unsettled(), KeepBudget},
		"from three to one":                       {"three still vote", healthy(3).size(1), 2},
		"from three to one, at two":               {"a budget of two of two would block every drain", healthy(2).size(1), NoBudget},
		"a member is moved, before the vote":      {"raised before: q(4)", healthy(3).pod("b", cordoned).learner("d"), 3},
		"a member is moved, before the removal":   {"four still vote", healthy(4).size(3).pod("b", cordoned).role("b", Leaving), 3},
		"one of two is moved, before the vote":    {"raised before: q(3)", healthy(2).pod("b", cordoned).learner("c"), 2},
		"one of three dead":                       {"the dead one still votes", healthy(3).dead("c"), 2},
		"no quorum":                               {"nobody knows the voters", healthy(3).noQuorum(), KeepBudget},
		"nobody answers":                          {"nobody knows the voters", healthy(3).silent("a", "b", "c"), KeepBudget},
		"to begin":                                {"nobody votes yet", begun(3), KeepBudget},
		"paused":                                  {"S12", healthy(5).cluster(func(c *Cluster) { c.Paused = true }), KeepBudget},
		"deleting":                                {"S12", healthy(5).cluster(func(c *Cluster) { c.Deleting = true }), KeepBudget},
	} {
		if d := decided(tc.seen.seen()); d.Budget != tc.want {
			t.Errorf("%s: budget %d, want %d: %s (%s: %s)", name, d.Budget, tc.want, tc.reason, d.Reason, d.Message)
		}
		// Where the budget is kept, so is what was told of it.
		reported := decided(tc.seen.cluster(func(c *Cluster) { c.LastStatus.MinAvailable = 9 }).seen()).Status.MinAvailable
		if tc.want == KeepBudget && reported != 9 || tc.want != KeepBudget && reported != tc.want {
			t.Errorf("%s: status.minAvailable is %d, of a budget of %d", name, reported, tc.want)
		}
		if foreign := decided(unbudgeted(tc.seen).seen()).Status.MinAvailable; foreign != 0 {
			t.Errorf("%s: status.minAvailable is %d, of another's budget", name, foreign)
		}
	}
}
