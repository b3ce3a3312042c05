package agent

// The reasons of a Failure that every agent may give, beside those of package
// objectstore.
const (
	// ReasonInvalidTask says that operator and agent don't understand each other.
	ReasonInvalidTask = "InvalidTask"
	// ReasonInvalidPath says that a volume can't have such a file.
	ReasonInvalidPath = "InvalidPath"
	// ReasonStalled says that the other side went silent.
	ReasonStalled = "Stalled"
	// ReasonNoSpace says that the volume is full.
	ReasonNoSpace = "NoSpace"
	// ReasonAccessDenied says that the volume can't be used by the agent's user.
	ReasonAccessDenied = "AccessDenied"
	// ReasonVolumeUnavailable says that the volume fails.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonTimedOut says that it took longer than it may.
	ReasonTimedOut = "TimedOut"
	// ReasonInterrupted says that the agent was told to end.
	ReasonInterrupted = "Interrupted"
	// ReasonCorruptSnapshot says that what was read is damaged, or cut short, or not a
	// snapshot of etcd at all.
	ReasonCorruptSnapshot = "CorruptSnapshot"
	// ReasonEmptySnapshot says that the snapshot holds no key and no revision.
	ReasonEmptySnapshot = "EmptySnapshot"
	// ReasonUnknownVersion says that the data is of an etcd that can't be restored.
	ReasonUnknownVersion = "UnknownVersion"
	// ReasonDataDirTaken says that a seed's volume holds data that the agent has not made.
	ReasonDataDirTaken = "DataDirTaken"
	// ReasonInternal says that the agent has a defect.
	ReasonInternal = "InternalError"
)
