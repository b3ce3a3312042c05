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
	// ReasonInternal says that the agent has a defect.
	ReasonInternal = "InternalError"
)
