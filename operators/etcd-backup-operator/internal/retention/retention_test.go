package retention

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A revision of these tests is also what is stored with the snapshot, and says of which
// cluster it is: those from foreign on are of another one, those from unknown on do not say.
const (
	foreign = 1_000_000
	unknown = 2_000_000
	marked  = 3_000_000
)

// known is what is stored with snapshots.
func known(suspects []snapshotname.Snapshot) []Known {
	var all []Known
	for _, s := range suspects {
		k := Known{Snapshot: s, Identity: Identity{Cluster: "ours", Revision: s.Revision}}
		switch {
		case s.Revision >= marked:
			k.Marked = true
		case s.Revision >= unknown:
			k.Identity = Identity{}
		case s.Revision >= foreign:
			k.Identity = Identity{Cluster: "theirs", Revision: s.Revision - foreign}
		}
		all = append(all, k)
	}
	return all
}

// at is a snapshot's name: its revision, and how many hours old it is.
func at(revision int64, hours int) string {
	return snapshotname.Name("a", revision, noon.Add(-time.Duration(hours)*time.Hour))
}

func TestExpired(t *testing.T) {
	written := at(100, 0)
	for name, c := range map[string]struct {
		names  []string
		policy Policy
		// clock is what another clock says than the name of the one just written.
		clock  time.Time
		want   []string
		spared int
		// looks is how many must be looked at; -1: all others.
		looks  int
		reason string
	}{
		"no policy": {
			names: []string{at(1, 9999), written},
		},
		"as many as may be": {
			names:  []string{at(1, 2), at(2, 1), written},
			policy: Policy{MaxBackups: 3},
			reason: "nothing is looked at in vain",
		},
		"one too many": {
			names:  []string{at(1, 2), at(2, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(1, 2)}, looks: -1,
		},
		"only the new one": {
			names:  []string{at(2, 1), written, at(1, 2)},
			policy: Policy{MaxBackups: 1},
			want:   []string{at(1, 2), at(2, 1)}, looks: -1,
		},
		"999 is not above 1000": {
			names:  []string{at(9, 2), at(10, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(9, 2)}, looks: -1,
			reason: "the predecessor sorted these as text and deleted the newest",
		},
		"too old": {
			names:  []string{at(1, 49), at(2, 48), at(3, 47), written},
			policy: Policy{MaxAge: 48 * time.Hour},
			want:   []string{at(1, 49)}, looks: 1,
			reason: "just as old as may be is not too old",
		},
		"count and age": {
			names:  []string{at(1, 50), at(2, 49), at(3, 2), at(4, 1), written},
			policy: Policy{MaxBackups: 3, MaxAge: 48 * time.Hour},
			want:   []string{at(1, 50), at(2, 49)}, looks: -1,
		},
		"the age takes more than the count": {
			names:  []string{at(1, 50), at(2, 49), written},
			policy: Policy{MaxBackups: 3, MaxAge: 24 * time.Hour},
			want:   []string{at(1, 50), at(2, 49)}, looks: -1,
		},
		"a clock that is behind": {
			names:  []string{at(1, 50), at(2, 49), written},
			policy: Policy{MaxAge: 24 * time.Hour},
			clock:  noon.Add(-25*time.Hour - time.Minute),
			want:   []string{at(1, 50)}, looks: 1,
			reason: "age is counted from the earliest that any clock says",
		},
		"newer ones": {
			names:  []string{at(1, -2), at(2, -1), at(3, 1), at(4, 2), written},
			policy: Policy{MaxBackups: 2, MaxAge: time.Minute},
			want:   []string{at(4, 2), at(3, 1)}, looks: 2,
			reason: "an older run that ends last, or a clock that was ahead: what is newer is neither deleted nor counted",
		},
		"only newer ones": {
			names:  []string{at(1, -2), at(2, -1), written},
			policy: Policy{MaxBackups: 1},
		},
		"the store doesn't list the new one yet": {
			names:  []string{at(1, 2), at(2, 1)},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(1, 2)}, looks: -1,
			reason: "it counts all the same",
		},
		"the new one is the only one young enough": {
			names:  []string{at(1, 2), written},
			policy: Policy{MaxAge: time.Nanosecond},
			want:   []string{at(1, 2)}, looks: -1,
		},
		"two of one time": {
			names:  []string{at(7, 1), at(8, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(7, 1)}, looks: -1,
		},
		"an earlier try at the same backup": {
			names:  []string{at(99, 0), written},
			policy: Policy{MaxBackups: 1},
			want:   []string{at(99, 0)}, looks: -1,
		},
		"listed twice": {
			names:  []string{at(1, 1), at(1, 1), at(2, 2), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(2, 2)}, looks: 2,
		},
		"neighbours": {
			names:  []string{"a", "a_v1_b_v1_2001-01-01-00:00:00", "ab_v1_2001-01-01-00:00:00", "a_v1_2001-01-01-00:00:00.zst", "a/b_v1_2001-01-01-00:00:00", written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Hour},
			reason: "not ours, however old",
		},
		"marked names": {
			names:  []string{snapshotname.MarkedName("a", snapshotname.MarkNoQuorum, 9, noon.Add(-99*time.Hour)), snapshotname.MarkedName("a", snapshotname.MarkUnhealthy, 9, noon.Add(-99*time.Hour)), at(1, 2), written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Hour, Always: true},
			looks:  1,
			reason: "they are neither deleted nor counted, and the last of the cluster stays with the one just written: that is it",
			want:   []string{at(1, 2)},
		},
		"another cluster's": {
			names:  []string{at(foreign+300, 3), at(foreign+301, 2), at(1, 1), written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Minute},
			want:   []string{at(1, 1)}, looks: -1, spared: 2,
			reason: "two backups of an empty, recreated cluster removed all of production's",
		},
		"another cluster's of a low revision": {
			names:  []string{at(foreign+3, 2), at(foreign+4, 1), written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Minute},
			looks:  -1, spared: 2,
			reason: "the revisions of two clusters say nothing of each other",
		},
		"another cluster's between ours": {
			names:  []string{at(1, 4), at(2, 3), at(foreign+300, 2), at(foreign+301, 1), written},
			policy: Policy{MaxBackups: 2},
			want:   []string{at(1, 4)}, looks: -1, spared: 1,
			reason: "what is not ours to delete takes no place of ours",
		},
		"a higher revision": {
			names:  []string{at(308, 2), at(99, 1), written},
			policy: Policy{MaxBackups: 1},
			want:   []string{at(99, 1)}, looks: -1, spared: 1,
			reason: "recreated with the same URLs and token, a cluster has the same id, and begins at revision 1",
		},
		"the same revision": {
			names:  []string{at(100, 2), written},
			policy: Policy{MaxBackups: 1},
			want:   []string{at(100, 2)}, looks: -1,
			reason: "nothing was written in between",
		},
		"those that say nothing": {
			names:  []string{at(unknown, 2), at(unknown+1, 1), written},
			policy: Policy{MaxBackups: 1},
			looks:  -1, spared: 2,
			reason: "the predecessor stored no metadata: no consent, no deletion",
		},
		"consent": {
			names:  []string{at(unknown, 8), at(unknown+1, 7), at(foreign, 6), at(foreign+1, 5), at(500, 4), at(1, 3), written},
			policy: Policy{MaxBackups: 1, Always: true},
			want:   []string{at(unknown, 8), at(foreign, 6), at(500, 4), at(1, 3)}, looks: -1,
			reason: "of each cluster one is kept all the same",
		},
		"consent, and a larger minimum": {
			names:  []string{at(foreign, 6), at(foreign+1, 5), at(foreign+2, 4), at(1, 3), at(2, 2), at(3, 1), written},
			policy: Policy{MaxBackups: 1, MaxAge: time.Minute, MinBackups: 2, Always: true},
			want:   []string{at(foreign, 6), at(1, 3), at(2, 2)}, looks: -1,
		},
		"a minimum of old ones": {
			names:  []string{at(1, 300), at(2, 200), at(3, 100), written},
			policy: Policy{MaxAge: time.Hour, MinBackups: 3},
			want:   []string{at(1, 300)}, looks: -1,
		},
		"stored as marked under a plain name": {
			names:  []string{at(marked, 1), written},
			policy: Policy{MaxBackups: 1, Always: true},
			looks:  -1, spared: 1,
			reason: "a path may end in the mark of another",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reference := noon
			if !c.clock.IsZero() {
				reference = c.clock
			}
			suspects := Suspects("a", written, c.names, c.policy, reference)
			wantLooks := c.looks
			if wantLooks < 0 {
				wantLooks = len(c.names)
				if slices.Contains(c.names, written) {
					wantLooks--
				}
			}
			if len(suspects) != wantLooks {
				t.Errorf("%d must be looked at, want %d: %s", len(suspects), wantLooks, c.reason)
			}
			got, spared := Expired(Identity{Cluster: "ours", Revision: 100}, known(suspects), c.policy, reference)
			if diff := cmp.Diff(c.want, got); diff != "" || spared != c.spared {
				t.Errorf("spared %d, want %d; expired (-want +got): %s\n%s", spared, c.spared, c.reason, diff)
			}
		})
	}
}

// FuzzExpired holds what is deleted against what must hold of any policy and any names.
func FuzzExpired(f *testing.F) {
	f.Add("a_v1_2026-03-01-11:00:00\na_v2_2026-03-01-12:00:00\nb", 1, int64(time.Hour), 0, false)
	f.Add("a_v1_b_v2_2026-03-01-11:00:00\na_v1000001_2026-03-01-11:00:00\na_v1000002_2026-03-01-11:00:00", 2, int64(0), 1, true)
	f.Fuzz(func(t *testing.T, list string, maxBackups int, maxAge int64, minBackups int, always bool) {
		names := strings.Split(list, "\n")
		written := snapshotname.Name("a", 5, noon)
		policy := Policy{MaxBackups: max(0, maxBackups), MaxAge: max(0, time.Duration(maxAge)), MinBackups: max(0, minBackups), Always: always}
		suspects := known(Suspects("a", written, names, policy, noon))
		expired, _ := Expired(Identity{Cluster: "ours", Revision: 5}, suspects, policy, noon)
		left, had := map[string]int{"ours": 1}, map[string]int{"ours": 1}
		for _, k := range suspects {
			had[k.Cluster]++
			if !slices.Contains(expired, k.Name) {
				left[k.Cluster]++
			}
		}
		for cluster, n := range had {
			if left[cluster] < min(n, max(1, policy.MinBackups)) {
				t.Errorf("of %d of cluster %q are kept %d", n, cluster, left[cluster])
			}
		}
		for i, name := range expired {
			s, ok := snapshotname.Parse("a", name)
			if !ok || name == written || s.Time.After(noon) || !slices.Contains(names, name) || slices.Contains(expired[:i], name) {
				t.Errorf("%q must not be deleted (now)", name)
			}
			if !always && s.Revision > 5 {
				t.Errorf("%q is deleted without consent", name)
			}
			if i > 0 {
				if before, _ := snapshotname.Parse("a", expired[i-1]); before.Time.After(s.Time) {
					t.Errorf("%q is deleted before the older %q", before.Name, name)
				}
			}
		}
	})
}
