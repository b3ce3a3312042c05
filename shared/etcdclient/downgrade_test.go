package etcdclient

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Etcd lowers its cluster version and its data when it is asked to, once, and by one minor;
// members say so, and etcd may be told to stop.
func TestDowngrade(t *testing.T) {
	minors := map[string]struct{ at, below, skip string }{
		"3.5": {"3.5.0", "3.4.0", "3.3.0"}, "3.6": {"3.6.0", "3.5.0", "3.4.0"}, "3.7": {"3.7.0", "3.6.0", "3.5.0"},
	}
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		m := minors[version[:3]]
		members, _ := grow(t, version, 1)
		all := endpoints(members...)
		old := strings.HasPrefix(version, "3.5.") // lowers nothing, and says little
		until := func(what, cluster, storage, downgrade string) {
			t.Helper()
			if old {
				cluster, storage = m.at, ""
				if downgrade != "" {
					downgrade = m.at
				}
			}
			etcdtest.Eventually(t, what, func() error {
				a := unhurried.Ask(within(t), all)["m0"]
				if a.ClusterVersion != cluster || a.StorageVersion != storage || a.Downgrade != downgrade {
					return fmt.Errorf("cluster version %q, data %q, downgrade %q", a.ClusterVersion, a.StorageVersion, a.Downgrade)
				}
				return nil
			})
		}
		until("its own minor", m.at, m.at, "")
		if err := unhurried.EnableDowngrade(within(t), all, m.skip); !errors.Is(err, ErrDowngradeRefused) {
			t.Errorf("to %s: %v", m.skip, err)
		}
		// Etcd 3.5 does it, and does not say so.
		unsaid := func(err error) bool { return old && errors.Is(err, ErrOutcomeUnknown) }
		if err := unhurried.EnableDowngrade(within(t), all, m.below); err != nil && !unsaid(err) {
			t.Fatal(err)
		}
		until("the minor below", m.below, m.below, m.below)
		if err := unhurried.EnableDowngrade(within(t), all, m.below); !errors.Is(err, ErrDowngradeRefused) {
			t.Errorf("to %s again: %v", m.below, err)
		}
		if err := unhurried.CancelDowngrade(within(t), all); err != nil && !unsaid(err) {
			t.Fatal(err)
		}
		until("its own minor again", m.at, m.at, "")
		if err := unhurried.CancelDowngrade(within(t), all); errors.Is(err, ErrNoDowngrade) != old {
			t.Errorf("cancelled again: %v", err)
		}
	})
}
