package etcdversion

import "testing"

func TestNext(t *testing.T) {
	for name, tc := range map[string]struct {
		runs, wanted, next string
		refused            bool
	}{
		"there":                                    {"3.6.16", "3.6.16", "3.6.16", false},
		"a later patch":                            {"3.6.15", "3.6.16", "3.6.16", false},
		"an earlier patch":                         {"3.6.16", "3.6.15", "3.6.15", false},
		"the next minor":                           {"3.6.16", "3.7.3", "3.7.3", false},
		"3.6 to 3.7 by a 3.6 that may":             {"3.6.10", "3.7.3", "3.6.16", false},
		"3.6 to 3.7 from one that may":             {"3.6.11", "3.7.3", "3.7.3", false},
		"3.5 to 3.6 by the newest 3.5":             {"3.5.30", "3.6.16", "3.5.35", false},
		"3.5 to 3.6 from the newest 3.5":           {"3.5.35", "3.6.16", "3.6.16", false},
		"3.5 to 3.6 from a newer 3.5 than we know": {"3.5.40", "3.6.16", "3.6.16", false},
		"a skip":       {"3.5.35", "3.7.3", "3.5.35", true},
		"a minor back": {"3.6.16", "3.5.35", "3.5.35", false},
		"3.7 to 3.6":   {"3.7.3", "3.6.16", "3.6.16", false},
		"a minor back to a newer patch than we know": {"3.6.16", "3.5.60", "3.5.60", false},
		"a minor back by the newest patch":           {"3.6.15", "3.5.35", "3.6.16", false},
		"a minor back to an earlier patch":           {"3.6.16", "3.5.34", "3.6.16", true},
		"two minors back":                            {"3.7.3", "3.5.35", "3.7.3", true},
		"3.5 to 3.4":                                 {"3.5.35", "3.4.37", "3.5.35", true},
		"3.6 to 3.4":                                 {"3.6.16", "3.4.37", "3.6.16", true},
		"back from a minor that nobody has tried":    {"3.99.0", "3.7.3", "3.99.0", true},
		"a patch that is not run":                    {"3.5.35", "3.5.9", "3.5.35", true},
		"what is no version of etcd":                 {"3.6.16", "4.0.0", "3.6.16", true},
	} {
		next, refusal := Next(tc.runs, tc.wanted)
		if next != tc.next || (refusal != "") != tc.refused {
			t.Errorf("%s: next is %s, refused because %q; want %s, refused: %t", name, next, refusal, tc.next, tc.refused)
		}
	}
}
