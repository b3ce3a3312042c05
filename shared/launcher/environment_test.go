package launcher

import (
	"slices"
	"testing"
)

func TestAddChecks(t *testing.T) {
	const (
		hash, start  = "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED", "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK"
		other, gates = "ETCD_NAME=a", EnvFeatureGates + "="
	)
	both := Checks{Compactions: true, AtStart: true}
	for name, tc := range map[string]struct {
		reason string
		checks Checks
		env    []string
		old    []string
		now    []string
	}{
		"none": {reason: "nothing is asked for", env: []string{other}, old: []string{other}, now: []string{other}},
		"one": {
			reason: "3.5 names nobody in its alarm", checks: Checks{Compactions: true}, env: []string{other},
			old: []string{other}, now: []string{other, gates + "CompactHashCheck=true"},
		},
		"both": {
			reason: "3.5 knows no gates, 3.7 no other names, and 3.6 takes but one of them", checks: both, env: []string{other},
			old: []string{other, start + "=true"}, now: []string{other, gates + "CompactHashCheck=true,InitialCorruptCheck=true"},
		},
		"the user's gates stay": {
			reason: "they are merged", checks: both, env: []string{gates + "LeaseCheckpoint=true"},
			old: []string{gates + "LeaseCheckpoint=true", start + "=true"},
			now: []string{gates + "LeaseCheckpoint=true,CompactHashCheck=true,InitialCorruptCheck=true"},
		},
		"the user turns a gate off": {
			reason: "the user wins", checks: both, env: []string{gates + "CompactHashCheck=false"},
			old: []string{gates + "CompactHashCheck=false", start + "=true"},
			now: []string{gates + "CompactHashCheck=false,InitialCorruptCheck=true"},
		},
		"the user turns a variable off": {
			reason: "3.6 refuses to start with both names", checks: both, env: []string{hash + "=false"},
			old: []string{hash + "=false", start + "=true"},
			now: []string{hash + "=false", gates + "InitialCorruptCheck=true"},
		},
		"gates that are empty": {reason: "etcd skips empty ones", checks: Checks{AtStart: true}, env: []string{gates}, old: []string{gates, start + "=true"}, now: []string{gates + ",InitialCorruptCheck=true"}},
	} {
		if got := tc.checks.add(slices.Clone(tc.env), lastGated+1); !slices.Equal(got, tc.env) {
			t.Errorf("%s: a later minor: %q, want %q: it refuses unknown the gates", name, got, tc.env)
		}
		if got := tc.checks.add(slices.Clone(tc.env), 5); !slices.Equal(got, tc.old) {
			t.Errorf("%s: before 3.6: %q, want %q: %s", name, got, tc.old, tc.reason)
		}
		if got := tc.checks.add(slices.Clone(tc.env), 6); !slices.Equal(got, tc.now) {
			t.Errorf("%s: since 3.6: %q, want %q: %s", name, got, tc.now, tc.reason)
		}
	}
}
