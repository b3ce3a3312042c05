// Package quorum has the arithmetic of majorities, and no other knowledge.
package quorum

// Majority is q(n), the smallest majority of n voters.
func Majority(n int) int { return n/2 + 1 }

// Holds reports whether so many healthy voters of n are a majority.
func Holds(healthy, n int) bool { return n > 0 && healthy >= Majority(n) }

// SurvivesRemoval reports whether a majority is healthy after one of n voters has been
// removed (S4). The last voter is never removed.
func SurvivesRemoval(n, healthy int, isHealthy bool) bool {
	if isHealthy {
		healthy--
	}
	return n > 1 && Holds(healthy, n-1)
}

// SurvivesPromotion reports whether a majority is healthy even if a learner dies as it gets
// its vote, beside n voters (S5). From one voter to two it cannot be, so the learner counts
// there.
func SurvivesPromotion(n, healthy int) bool {
	if n == 1 {
		healthy++
	}
	return Holds(healthy, n+1)
}
