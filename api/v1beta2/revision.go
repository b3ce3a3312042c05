package v1beta2

// The steps in which the highest revision is latched: small for a small cluster, so that
// what is shown of a new one is near to what it has, and large for one that is written to
// all the time, so that it seldom changes.
const (
	leastRevisionStep = 1_000
	revisionStep      = 1_000_000
)

// LatchRevision is what ClusterStatus.HighestRevision becomes when a member reports the
// revision seen; 0 if none has. It is latched one to two steps ahead, and again when only
// half a step is left: seldom, and never too late, as long as fewer revisions than that are
// made between two looks. (Whoever begins anew goes 1e9 beyond it.)
func LatchRevision(last, seen int64) int64 {
	step := int64(leastRevisionStep)
	for step < revisionStep && step < seen {
		step *= 10
	}
	if seen == 0 || seen+step/2 <= last {
		return last
	}
	return (seen + 2*step - 1) / step * step
}
