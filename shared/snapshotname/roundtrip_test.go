package snapshotname

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
)

func TestRoundTrip(t *testing.T) {
	type parts struct {
		Path     string
		Revision int64
		Due      time.Time
	}
	roundtriptest.Check(t, func(p parts) (parts, error) {
		name := Name(p.Path, p.Revision, p.Due)
		s, ok := Parse(p.Path, name)
		path, same, isAny := ParseAny(name)
		if !ok || !isAny || s != same {
			return p, fmt.Errorf("%q is read as %+v, %t and %+v, %t", name, s, ok, same, isAny)
		}
		return parts{path, s.Revision, s.Time}, nil
	}, func(p *parts) { p.Revision, p.Due = max(p.Revision, 0), p.Due.Truncate(time.Second) })
}
