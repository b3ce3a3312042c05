package etcdclient

import (
	"fmt"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Raft's log grows, and nothing else: neither the revision nor the alarms.
func TestAppendEntries(t *testing.T) {
	const n = 500
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 3)
		all := endpoints(members...)
		before := unhurried.Ask(within(t), all)["m0"]
		if !before.Reached {
			t.Fatal(before.Err)
		}
		if err := unhurried.AppendEntries(within(t), all, n); err != nil {
			t.Fatal(err)
		}
		etcdtest.Eventually(t, "every member to apply the entries", func() error {
			for name, a := range unhurried.Ask(within(t), all) {
				if a.AppliedIndex < before.AppliedIndex+n {
					return fmt.Errorf("%s has applied %d, and there was %d", name, a.AppliedIndex, before.AppliedIndex)
				}
				if a.Revision != before.Revision || len(a.Alarms) > 0 || len(a.Errors) > 0 {
					t.Errorf("%s is at revision %d, alarms %v, errors %v; before at %d", name, a.Revision, a.Alarms, a.Errors, before.Revision)
				}
			}
			return nil
		})
	})
}
