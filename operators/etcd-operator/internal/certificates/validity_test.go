package certificates

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// Certificates that end together, as with their CA, are told of alike each time: the status would
// change with each look.
func TestValidityIsTheSameEachTime(t *testing.T) {
	end := time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC)
	pairs, want := map[role]*pair{}, facts.Validity{NotBefore: end.Add(-time.Hour), NotAfter: end}
	for i, r := range []role{peer, server, operator, applications} {
		pairs[r] = &pair{role: r, leaf: &x509.Certificate{NotBefore: want.NotBefore.Add(-time.Duration(i) * time.Minute), NotAfter: end}}
	}
	for range 100 {
		if leaf, ca := firstToEnd(pairs, end); leaf != want || ca.IsKnown() {
			t.Fatalf("it is %v, and the CA's %v; want that of the last one, %v", leaf, ca, want)
		}
	}
}
