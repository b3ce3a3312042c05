package task

// The reasons of a Failure that the agent finds by itself. Those of the store are in
// package objectstore: BucketNotFound, AccessDenied, CredentialsInvalid, AlreadyExists,
// NoSpace, StoreUnavailable, Stalled and others.
const (
	// ReasonInvalidTask says that operator and agent don't understand each other.
	ReasonInvalidTask = "InvalidTask"
	// ReasonInvalidPath says that a volume can't have such a file.
	ReasonInvalidPath = "InvalidPath"
	// ReasonNoEndpoint says that no endpoint answers as etcd.
	ReasonNoEndpoint = "NoEndpoint"
	// ReasonDifferentClusters says that endpoints are of different clusters.
	ReasonDifferentClusters = "DifferentClusters"
	// ReasonTLSInvalid says that the certificates don't fit.
	ReasonTLSInvalid = "TLSInvalid"
	// ReasonAuthenticationRequired says that etcd's authentication keeps us out.
	ReasonAuthenticationRequired = "AuthenticationRequired"
	// ReasonSourceLost says that the member failed while it sent its snapshot.
	ReasonSourceLost = "SourceLost"
	// ReasonStalled says that the member, or the store, went silent.
	ReasonStalled = "Stalled"
	// ReasonCorruptStream says that the digest is not that of the snapshot.
	ReasonCorruptStream = "CorruptStream"
	// ReasonAlreadyExists says that there is such a file, which may not be replaced.
	ReasonAlreadyExists = "AlreadyExists"
	// ReasonNoSpace says that the volume is full.
	ReasonNoSpace = "NoSpace"
	// ReasonAccessDenied says that the volume can't be written.
	ReasonAccessDenied = "AccessDenied"
	// ReasonVolumeUnavailable says that the volume fails.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonTimedOut says that the backup took longer than it may.
	ReasonTimedOut = "TimedOut"
	// ReasonInterrupted says that the agent was told to end.
	ReasonInterrupted = "Interrupted"
	// ReasonInternal says that the agent has a defect.
	ReasonInternal = "InternalError"
)
