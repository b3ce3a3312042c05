package plan

import (
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// While the owner of a Pod or PVC is in doubt, nothing is concluded from its absence: no member is stopped, no seed is
// created, started or dropped, no volume is retired, and no rollback ends.
func TestInDoubt(t *testing.T) {
	doubt := func(s *scene) {
		s.Doubtful = []Doubtful{{Object: "Pod c-1", Advice: conditiontext.InDoubt("ns", "Pod", "c-1", "EtcdCluster", "c", "cluster-uid")}}
	}
	first := spec(func(s *v1beta2.RestoreSpec) { s.StopMembers = v1beta2.StopMembersFirst })
	for name, row := range map[string]struct {
		reason string
		o      Observation
		phase  v1beta2.RestorePhase
	}{
		"no seed was made":           {"a Pod with its name might exist", observe(fenced, members("c-2"), doubt), v1beta2.RestoreFencing},
		"members are stopped first":  {"the one in doubt might serve", observe(fenced, first, members("c-2"), doubt), v1beta2.RestoreFencing},
		"all members are stopped":    {"the one in doubt might serve beside the seed", observe(seeded(prepared), doubt), v1beta2.RestoreSeeding},
		"the seed's Pod is in doubt": {"its volume must not be deleted", observe(seeded(), func(s *scene) { s.Pods = nil }, doubt), v1beta2.RestoreSeeding},
		"a rollback":                 {"its volume would not be returned", observe(named, phase(v1beta2.RestoreRollingBack), doubt), v1beta2.RestoreRollingBack},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(row.o)
			if d.Action != nil || d.Reason != v1beta2.RestoreReasonInDoubt || d.Status.Phase != row.phase || len(d.Status.WaitingFor) != 1 || d.Status.WaitingFor[0] != "Pod c-1" {
				t.Errorf("%T: %s in phase %s, waiting for %v, want to wait for Pod c-1 in phase %s: %s", d.Action, d.Reason, d.Status.Phase, d.Status.WaitingFor, row.phase, row.reason)
			}
		})
	}
	retired := func(s *scene) { doubt(s); s.Doubtful[0].Retired = true }
	for name, o := range map[string]Observation{
		"a retired PVC runs no member, so the seed starts":  observe(seeded(prepared), retired),
		"the seed has its permit, so no old member can run": observe(seeded(started), doubt),
	} {
		if d := noted(o); d.Reason == v1beta2.RestoreReasonInDoubt {
			t.Errorf("%s: it waits for %v, want that it continues", name, d.Status.WaitingFor)
		}
	}
	if d := noted(observe(named, phase(v1beta2.RestoreRollingBack), retired)); d.Reason != v1beta2.RestoreReasonInDoubt {
		t.Errorf("a rollback with a retired PVC in doubt: reason %s, want %s: its volume would not be returned", d.Reason, v1beta2.RestoreReasonInDoubt)
	}
}
