package retention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestName(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for name, c := range map[string]struct {
		revision int64
		due      time.Time
		want     string
	}{
		"plain":                     {revision: 17, due: noon, want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"another zone is UTC":       {revision: 17, due: noon.In(berlin), want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"fractions are dropped":     {revision: 17, due: noon.Add(999 * time.Millisecond), want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"the revision isn't padded": {revision: 1000000, due: noon, want: "dir/etcd_v1000000_2026-03-01-12:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Name("dir/etcd", c.revision, c.due); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const good = "_v17_2026-03-01-12:00:00"
	for name, c := range map[string]struct {
		path, name string
		ok         bool
		reason     string
	}{
		"our own":              {path: "a", name: "a" + good, ok: true},
		"a path like a name":   {path: "a" + good, name: "a" + good + good, ok: true, reason: "only the part behind the path counts"},
		"the empty path":       {path: "", name: good, ok: true, reason: "a bucket's root is a path, too"},
		"a longer path":        {path: "a", name: "a_v1_b" + good, reason: "it is a neighbour's whose path begins like ours and a revision"},
		"another path":         {path: "a", name: "b" + good, reason: "not ours"},
		"the path alone":       {path: "a", name: "a", reason: "a one-shot backup's"},
		"a suffix":             {path: "a", name: "a" + good + ".zst", reason: "we never write one"},
		"a folder":             {path: "a", name: "a" + good + "/x", reason: "we never write one"},
		"a sign":               {path: "a", name: "a_v+17_2026-03-01-12:00:00", reason: "we never write one"},
		"a negative revision":  {path: "a", name: "a_v-17_2026-03-01-12:00:00", reason: "there is none"},
		"a padded revision":    {path: "a", name: "a_v017_2026-03-01-12:00:00", reason: "we never write one"},
		"no revision":          {path: "a", name: "a_v_2026-03-01-12:00:00", reason: "we always write one"},
		"a revision too large": {path: "a", name: "a_v9223372036854775808_2026-03-01-12:00:00", reason: "an int64 can't hold it"},
		"no such day":          {path: "a", name: "a_v17_2026-02-30-12:00:00", reason: "there is none"},
		"a fraction":           {path: "a", name: "a_v17_2026-03-01-12:00:00.5", reason: "time.Parse takes it; we never write one"},
		"a zone":               {path: "a", name: "a_v17_2026-03-01-12:00:00Z", reason: "we never write one"},
		"a short hour":         {path: "a", name: "a_v17_2026-03-01-2:00:00", reason: "time.Parse may take it; we never write one"},
		"nothing":              {path: "a", name: "", reason: "not ours"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Parse(c.path, c.name)
			if ok != c.ok {
				t.Fatalf("Parse(%q, %q) is %t, want %t: %s", c.path, c.name, ok, c.ok, c.reason)
			}
			if want := (Snapshot{Name: c.name, Revision: 17, Time: noon}); ok && got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestExpired(t *testing.T) {
	// at is a snapshot's name: its revision, and how many hours old it is.
	at := func(revision int64, hours int) string {
		return Name("a", revision, noon.Add(-time.Duration(hours)*time.Hour))
	}
	written := at(100, 0)
	for name, c := range map[string]struct {
		names  []string
		policy Policy
		want   []string
		reason string
	}{
		"no policy": {
			names: []string{at(1, 9999), written},
		},
		"as many as may be": {
			names:  []string{at(1, 2), at(2, 1), written},
			policy: Policy{MaxBackups: 3},
		},
		"one too many": {
			names:  []string{at(1, 2), at(2, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(1, 2)},
		},
		"only the new one": {
			names:  []string{at(2, 1), written, at(1, 2)},
			policy: Policy{MaxBackups: 1},
			want:   []string{at(1, 2), at(2, 1)},
		},
		"a cluster that was made anew": {
			names:  []string{at(99999, 2), at(5, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(99999, 2)},
			reason: "the time orders, never the revision",
		},
		"999 is not above 1000": {
			names:  []string{at(999, 2), at(1000, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(999, 2)},
			reason: "the predecessor sorted these as text and deleted the newest",
		},
		"too old": {
			names:  []string{at(1, 49), at(2, 48), at(3, 47), written},
			policy: Policy{MaxAge: 48 * time.Hour},
			want:   []string{at(1, 49)},
			reason: "just as old as may be is not too old",
		},
		"count and age": {
			names:  []string{at(1, 50), at(2, 49), at(3, 2), at(4, 1), written},
			policy: Policy{MaxBackups: 3, MaxAge: 48 * time.Hour},
			want:   []string{at(1, 50), at(2, 49)},
		},
		"the age takes more than the count": {
			names:  []string{at(1, 50), at(2, 49), written},
			policy: Policy{MaxBackups: 3, MaxAge: 24 * time.Hour},
			want:   []string{at(1, 50), at(2, 49)},
		},
		"names of the future": {
			names:  []string{at(1, -2), at(2, -1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(2, -1)},
			reason: "the one just written stays though others claim to be newer",
		},
		"the store doesn't list the new one yet": {
			names:  []string{at(1, 2), at(2, 1)},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(1, 2)},
			reason: "it counts all the same",
		},
		"the new one is too old itself": {
			names:  []string{at(1, 2), written},
			policy: Policy{MaxAge: time.Nanosecond},
			want:   []string{at(1, 2)},
			reason: "a backup that took longer than its age may be",
		},
		"two of one time": {
			names:  []string{at(7, 1), at(8, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(7, 1)},
		},
		"listed twice": {
			names:  []string{at(1, 1), at(1, 1), at(2, 2), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(2, 2)},
		},
		"neighbours": {
			names:  []string{"a", "a_v1_b_v1_2001-01-01-00:00:00", "ab_v1_2001-01-01-00:00:00", "a_v1_2001-01-01-00:00:00.zst", "a/b_v1_2001-01-01-00:00:00", written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Hour},
			reason: "not ours, however old",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Expired("a", written, c.names, c.policy, noon)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a", "a_v17_2026-03-01-12:00:00")
	f.Add("a", "a_v1_b_v17_2026-03-01-12:00:00")
	f.Add("a_v1_2026-03-01-12:00:00", "a_v1_2026-03-01-12:00:00_v1_2026-03-01-12:00:00")
	f.Fuzz(func(t *testing.T, path, name string) {
		s, ok := Parse(path, name)
		if !ok {
			return
		}
		if again := Name(path, s.Revision, s.Time); again != name {
			t.Errorf("%q of path %q was taken, but its name would be %q", name, path, again)
		}
		for i := range path { // no shorter path may claim it
			if _, ok := Parse(path[:i], name); ok {
				t.Errorf("%q is taken for path %q and for %q", name, path, path[:i])
			}
		}
	})
}

func FuzzExpired(f *testing.F) {
	f.Add("a_v1_2026-03-01-12:00:00\na_v2_2026-03-01-11:00:00\nb", 1, int64(time.Hour))
	f.Add("a_v1_b_v2_2026-03-01-11:00:00", 2, int64(0))
	f.Fuzz(func(t *testing.T, list string, maxBackups int, maxAge int64) {
		names := strings.Split(list, "\n")
		written := Name("a", 5, noon)
		policy := Policy{MaxBackups: max(0, maxBackups), MaxAge: max(0, time.Duration(maxAge))}
		expired := Expired("a", written, names, policy, noon)
		kept := 1 // the one just written
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			if s, ok := Parse("a", name); ok && name != written && !slices.Contains(expired, name) {
				kept++
				if policy.MaxAge > 0 && noon.Sub(s.Time) > policy.MaxAge {
					t.Errorf("%q is older than %s and was kept", name, policy.MaxAge)
				}
			}
		}
		if policy.MaxBackups > 0 && kept > policy.MaxBackups {
			t.Errorf("%d are kept, want at most %d", kept, policy.MaxBackups)
		}
		for i, name := range expired {
			s, ok := Parse("a", name)
			if !ok || name == written || !slices.Contains(names, name) || slices.Contains(expired[:i], name) {
				t.Errorf("%q must not be deleted (now)", name)
			}
			if i > 0 {
				if before, _ := Parse("a", expired[i-1]); before.Time.After(s.Time) {
					t.Errorf("%q is deleted before the older %q", before.Name, name)
				}
			}
		}
	})
}

func ExampleName() {
	fmt.Println(Name("prod/etcd", 1234, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	// Output: prod/etcd_v1234_2026-03-01-12:00:00
}
