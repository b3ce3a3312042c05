package debian

import (
	"slices"
	"testing"
)

func TestMissingNamesPackagesByTheirPrograms(t *testing.T) {
	have := []string{"ip", "nsenter", "iptables"}
	got := missing(needed, func(program string) bool { return slices.Contains(have, program) })
	if want := []string{"containerd", "nftables", "runc"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
