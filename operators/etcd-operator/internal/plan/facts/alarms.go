package facts

import (
	"slices"
)

// AlarmKind is what an alarm is about.
type AlarmKind string

const (
	// NoSpace: a member's database has grown to its quota.
	NoSpace AlarmKind = "NOSPACE"
	// Corrupt: a member's data differs from that of the others.
	Corrupt AlarmKind = "CORRUPT"
)

// Alarm is an alarm that is raised. MemberID is 0 for a CORRUPT of which etcd could not
// tell who it is.
type Alarm struct {
	MemberID uint64
	Kind     AlarmKind
}

// AlarmsOf are the alarms of one kind.
func (v *Members) AlarmsOf(kind AlarmKind) []Alarm {
	return slices.DeleteFunc(slices.Clone(v.Alarms), func(a Alarm) bool { return a.Kind != kind })
}

// IsCorrupt reports whether a CORRUPT alarm or the last comparison names a member.
func (v *Members) IsCorrupt(id uint64) bool {
	return id != 0 && (slices.Contains(v.Alarms, Alarm{id, Corrupt}) || v.Cluster.Differs(id))
}

// CorruptIsKnown reports whether etcd could tell of each CORRUPT alarm who it is.
func (v *Members) CorruptIsKnown() bool { return !slices.Contains(v.Alarms, Alarm{0, Corrupt}) }
