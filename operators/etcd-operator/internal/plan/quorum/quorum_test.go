package quorum

import "testing"

func TestMajority(t *testing.T) {
	for n, want := range []int{1, 1, 2, 2, 3, 3, 4, 4} {
		if got := Majority(n); got != want {
			t.Errorf("q(%d) is %d, want %d", n, got, want)
		}
		if Holds(want-1, n) || Holds(want, n) != (n > 0) {
			t.Errorf("of %d voters %d hold a majority, or %d do not", n, want-1, want)
		}
	}
}

func TestSurvives(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		got, want bool
	}{
		"the last voter":      {"nobody would be left", SurvivesRemoval(1, 1, true), false},
		"one of two, healthy": {"the other serves alone", SurvivesRemoval(2, 2, true), true},
		"one of two, lost":    {"the other serves alone", SurvivesRemoval(2, 1, false), true},
		"the healthy of two":  {"only the lost one would be left", SurvivesRemoval(2, 1, true), false},
		"the lost of three":   {"two of two serve", SurvivesRemoval(3, 2, false), true},
		"a healthy of three":  {"one of two would be healthy", SurvivesRemoval(3, 2, true), false},
		"a second voter":      {"there is no other way to grow", SurvivesPromotion(1, 1), true},
		"a third voter":       {"two of three stay if it dies", SurvivesPromotion(2, 2), true},
		"a fourth voter":      {"two of four would not do", SurvivesPromotion(3, 2), false},
		"a fifth voter":       {"three of five stay", SurvivesPromotion(4, 3), true},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %t, want %t: %s", tc.got, tc.want, tc.reason)
			}
		})
	}
}
