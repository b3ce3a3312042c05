package launcher

import (
	"cmp"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
)

func TestRoundTrips(t *testing.T) {
	roundtriptest.Check(t, func(p StartPermit) (StartPermit, error) {
		read, err := ParseStartPermit([]byte(p.String()))
		return *read, err
	})
	roundtriptest.Check(t, roundtriptest.JSON[State])
	dir := t.TempDir()
	roundtriptest.Check(t, func(o Owner) (Owner, error) {
		if err := writeOwner(dir, o); err != nil {
			return o, err
		}
		read, err := readOwner(dir)
		return *read, err
	}, func(o *Owner) { o.ClusterUID, o.Member = cmp.Or(o.ClusterUID, "u"), cmp.Or(o.Member, "m") })
}
