package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// withSecret names credentials for etcd's authentication.
func (w *world) withSecret() *world {
	return w.cluster(func(c *Cluster) { c.RootSecret = "etcd-root" })
}

// allRun is a cluster whose members run a version.
func allRun(version string) *world {
	w := healthy(3).cluster(func(c *Cluster) { c.Version, c.WantedVersion = version, version })
	return w.runs("a", version).runs("b", version).runs("c", version)
}

// Whoever uses etcd's authentication is warned of a version without its last fix, and told
// which one to set; nobody else is.
func TestKnownVulnerability(t *testing.T) {
	refusesAll := func(w *world) *world {
		for _, name := range []string{"a", "b", "c"} {
			w.answer(name, func(a *Answer) { *a = Answer{Read: true, Refused: NoCredentials} })
		}
		return w
	}
	for name, tc := range map[string]struct {
		seen *world
		want []string
	}{
		"3.4":                         {allRun("3.4.37").withSecret(), []string{"etcd 3.4.37", "GHSA-xg4h-6gfc-h4m8", "set spec.version to 3.5.35"}},
		"3.5 without the fix":         {allRun("3.5.32").withSecret(), []string{"etcd 3.5.32", "set spec.version to 3.5.35"}},
		"3.5 with it":                 {allRun("3.5.33").withSecret(), nil},
		"3.6 without the fix":         {allRun("3.6.13").withSecret(), []string{"etcd 3.6.13", "set spec.version to 3.6.16"}},
		"3.6 with it":                 {allRun("3.6.14").withSecret(), nil},
		"3.7 without the fix":         {allRun("3.7.0").withSecret(), []string{"etcd 3.7.0", "set spec.version to 3.7.3"}},
		"3.7 with it":                 {allRun("3.7.1").withSecret(), nil},
		"a later minor":               {allRun("3.8.0").withSecret(), nil},
		"no version":                  {allRun("latest").withSecret(), nil},
		"without authentication":      {allRun("3.6.13"), nil},
		"a member refuses to answer":  {refusesAll(allRun("3.6.13")), []string{"etcd 3.6.13", "set spec.version to 3.6.16"}},
		"one member of three":         {allRun("3.6.16").runs("b", "3.6.13").withSecret(), []string{"etcd 3.6.13", "the members move to 3.6.16"}},
		"the fix is on its way":       {allRun("3.6.13").wants("3.6.16").withSecret(), []string{"the members move to 3.6.16"}},
		"no upgrade leads to the fix": {allRun("3.4.37").wants("3.6.16").withSecret(), []string{"set spec.version to 3.5.35"}},
		"it has not begun":            {nothing(3).cluster(func(c *Cluster) { c.Version = "3.6.13" }).withSecret(), nil},
	} {
		status := decided(tc.seen.seen()).Status
		got := message(status, v1beta2.ConditionKnownVulnerability)
		if (got == "") != (len(tc.want) == 0) {
			t.Errorf("%s: it says %q, want %q", name, got, tc.want)
		}
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it says %q, want %q in it", name, got, want)
			}
		}
	}
}
