package v1beta2

// Reasons that come from agents, the programs in Pods that back up, verify, restore and
// recover, and from what they work with. An EtcdBackup and an EtcdRestore have them in
// conditions, and so have their events.

// The reasons of an agent's failure: of ConditionComplete and ConditionFailed, of
// ConditionScheduled, ConditionArchiving, ConditionVerified and ConditionHandedOff while they are
// about it, and of events. A failure that can be temporary is retried first.
const (
	// ReasonInvalidTask: the agent cannot use the task that the operator gave it, for example
	// because they are of different versions. Let operator and agent use images of one release,
	// and correct what the message names.
	ReasonInvalidTask = "InvalidTask"
	// ReasonInvalidPath: the volume cannot have a file of this path. Correct pvc.path.
	ReasonInvalidPath = "InvalidPath"
	// ReasonStalled: a member or a store sent or took no data for too long. It is tried
	// again; if it lasts, check the network.
	ReasonStalled = "Stalled"
	// ReasonNoSpace: the volume or the store is full. Free space, or enlarge it.
	ReasonNoSpace = "NoSpace"
	// ReasonScratchSpaceExceeded: the Pod needs more of its node's disk than its limit
	// permits. Raise spec.pod.resources.limits.ephemeral-storage.
	ReasonScratchSpaceExceeded = "ScratchSpaceExceeded"
	// ReasonAccessDenied: the store refuses the credentials this operation, or the user of
	// the Pod cannot use the volume. Grant the rights that the message names.
	ReasonAccessDenied = "AccessDenied"
	// ReasonVolumeUnavailable: reads or writes of the volume fail. Check the volume and its
	// storage.
	ReasonVolumeUnavailable = "VolumeUnavailable"
	// ReasonTimedOut: it took longer than its timeout. Raise that, in the field that the
	// message names.
	ReasonTimedOut = "TimedOut"
	// ReasonInterrupted: the agent was stopped before it was done, for example because its node
	// is drained. Nothing to do: the operator retries.
	ReasonInterrupted = "Interrupted"
	// ReasonCorruptSnapshot: the snapshot is damaged, cut short, or not one of etcd. Restore
	// another one, and look for the cause where this one is stored.
	ReasonCorruptSnapshot = "CorruptSnapshot"
	// ReasonEmptySnapshot: the snapshot holds no key, and the cluster that it would replace
	// has held some; or it holds no key under spec.prefixes. Restore another one, or set
	// spec.allowEmptySnapshot.
	ReasonEmptySnapshot = "EmptySnapshot"
	// ReasonSnapshotTooOld: the data is of an etcd before 3.5. Restore it with etcdctl of
	// that version, upgrade to 3.5, and take a new snapshot.
	ReasonSnapshotTooOld = "SnapshotTooOld"
	// ReasonUnknownVersion: the data is of an etcd that this operator cannot restore, or does not
	// record the version. Install a newer operator, or restore a later snapshot.
	ReasonUnknownVersion = "UnknownVersion"
	// ReasonDataDirTaken: the volume of the new member holds other data, which is not changed. If
	// that data is not needed, delete its PersistentVolumeClaim, so that it gets a new volume.
	ReasonDataDirTaken = "DataDirTaken"
	// ReasonInternalError: the agent failed with an unexpected error. Report it, with the
	// message.
	ReasonInternalError = "InternalError"
)

// The reasons of a failure that the store gives, beside AccessDenied, NoSpace and Stalled, of
// the same conditions (such as ConditionComplete, ConditionFailed and ConditionScheduled), and
// of events.
const (
	// ReasonBucketNotFound: the bucket does not exist. Create it, or correct its name, the
	// endpoint or the region.
	ReasonBucketNotFound = "BucketNotFound"
	// ReasonNotFound: the store has no such object. Correct the path.
	ReasonNotFound = "NotFound"
	// ReasonAlreadyExists: an object of this name exists, and overwrite is false. Choose
	// another path, or remove the object.
	ReasonAlreadyExists = "AlreadyExists"
	// ReasonCredentialsInvalid: the credentials are missing, malformed, wrong or expired.
	// Correct the Secret in s3.awsSecret, or the identity of the Pod's ServiceAccount.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonClockSkewed: the clocks of the Pod's node and of the store differ too much for a
	// signature. Correct the node's clock (NTP).
	ReasonClockSkewed = "ClockSkewed"
	// ReasonObjectArchived: the object is in a storage class that cannot be read at once.
	// Restore it from the archive first (aws s3api restore-object).
	ReasonObjectArchived = "ObjectArchived"
	// ReasonInvalidSettings: the store does not accept the settings, such as the endpoint,
	// the region or the CA. Correct what the message names.
	ReasonInvalidSettings = "InvalidSettings"
	// ReasonTooLarge: the object is larger than a store takes. Back up to a volume instead.
	ReasonTooLarge = "TooLarge"
	// ReasonStoreTLSInvalid: the store's certificate is not trusted. Name its CA in
	// s3.caSecret, or use an endpoint whose certificate is valid for its name.
	ReasonStoreTLSInvalid = "StoreTLSInvalid"
	// ReasonObjectChanged: the object was replaced while it was read. It is tried again; do
	// not write to it meanwhile.
	ReasonObjectChanged = "ObjectChanged"
	// ReasonStoreUnavailable: the store cannot be reached, or fails. It is tried again; if
	// it lasts, check the endpoint, the network and the store.
	ReasonStoreUnavailable = "StoreUnavailable"
)

// The reasons of a failure that the agent's Job and its Pods show when the agent itself has
// reported nothing: of the same conditions (such as ConditionComplete and ConditionFailed),
// and of events. Other reasons that Kubernetes gives a Job or a Pod, such as
// BackoffLimitExceeded, are taken over as they are.
const (
	// ReasonNodeLost: the Pod's node does not report, or does not stop the Pod. Repair the
	// node, or delete it from Kubernetes.
	ReasonNodeLost = "NodeLost"
	// ReasonJobNotDeleted: the Job is terminating for long, though none of its Pods runs.
	// Check its finalizers.
	ReasonJobNotDeleted = "JobNotDeleted"
	// ReasonNodeOutOfDisk: the Pod was evicted, because its node ran short of disk space.
	// Raise spec.pod.resources.requests.ephemeral-storage.
	ReasonNodeOutOfDisk = "NodeOutOfDisk"
	// ReasonNodeOutOfMemory: the Pod was evicted, because its node ran short of memory.
	// Raise spec.pod.resources.requests.memory.
	ReasonNodeOutOfMemory = "NodeOutOfMemory"
	// ReasonEvicted: the Pod was evicted for another cause. Read the message, which has the
	// kubelet's words, and correct what it names.
	ReasonEvicted = "Evicted"
	// ReasonOOMKilled: the Pod ran out of memory. Raise spec.pod.resources.limits.memory.
	ReasonOOMKilled = "OOMKilled"
)
