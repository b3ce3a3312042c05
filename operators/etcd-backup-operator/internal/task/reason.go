package task

// The reasons of a Failure that the agent finds by itself. Those of the store are in
// package objectstore, and those of every agent in package agent.
const (
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
	// ReasonCorruptStream says that the digest is not that of the snapshot.
	ReasonCorruptStream = "CorruptStream"
	// ReasonAlreadyExists says that there is such a file, which may not be replaced.
	ReasonAlreadyExists = "AlreadyExists"
)
