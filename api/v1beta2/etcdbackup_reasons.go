package v1beta2

// Reasons of an EtcdBackup's conditions, records and events, for people and for alerts.
// Those that a backup shares with a restore, such as those of the store, are in
// agent_reasons.go.

// The reasons of ConditionQuorum and ConditionFailed while nothing is wrong. Nothing to do.
const (
	// ReasonSourceHealthy: a quorum confirmed that the source was up to date.
	ReasonSourceHealthy = "SourceHealthy"
	// BackupReasonNotFailed: no failure was reported.
	BackupReasonNotFailed = "NotFailed"
)

// The reasons of ConditionQuorum when a backup that is stored is not a good one, and of
// Warning events. It counts neither for retention nor as the newest good backup.
const (
	// ReasonNoQuorum: no quorum answered, so the backup might lack the latest writes. Bring
	// back a majority of the members, and back the cluster up again.
	ReasonNoQuorum = "BackupWithoutQuorum"
	// ReasonSourceUnhealthy: every member that answered reported errors, or was named by
	// a CORRUPT alarm. Repair the cluster, or restore it from an earlier backup.
	ReasonSourceUnhealthy = "BackupOfUnhealthyMember"
)

// Reasons of the events about a backup that is stored, and that might not be what was meant.
const (
	// ReasonSourceEmpty: the backup holds no key, since nothing was ever written to the
	// source. Check that spec.clusterRef or spec.etcdEndpoints name the right cluster.
	ReasonSourceEmpty = "BackupOfEmptyCluster"
	// ReasonSourceTooOld: the source runs a version of etcd whose snapshots an
	// EtcdRestore refuses. Upgrade the cluster, then back it up again.
	ReasonSourceTooOld = "BackupOfUnsupportedVersion"
)

// How a backup ended: the reasons of ConditionComplete, ConditionFailed and of records in
// status.history, and of events. Others are those of the agent, and Kubernetes' own of a Job
// or Pod that failed, such as BackoffLimitExceeded or OOMKilled.
const (
	// BackupReasonSucceeded: the backup is stored; the message says where, and what to know of
	// it. Nothing to do, unless that says so.
	BackupReasonSucceeded = "BackupSucceeded"
	// BackupReasonJobFailed: the Job failed, and its Pod did not report why. Read the events
	// and the log of its Pod.
	BackupReasonJobFailed = "JobFailed"
	// BackupReasonJobLost: the Job was deleted before it reported a result. A one-shot backup
	// is tried again, three times in all; find out who deletes Jobs.
	BackupReasonJobLost = "JobLost"
	// BackupReasonResultLost: the Job is complete, but its Pod was gone before its report was
	// read. A snapshot might be stored: look at the path, and find out what deletes Pods.
	BackupReasonResultLost = "ResultLost"
	// BackupReasonReplaced: the Job was stopped, since the next backup was due and
	// spec.backupPolicy.concurrencyPolicy is Replace. If that happens often, back up less
	// often.
	BackupReasonReplaced = "Replaced"
	// BackupReasonPodNotStarting: the Pod of a Job does not start; the message has the error of
	// the scheduler or of the kubelet. Correct the cause, and the Pod starts. As the reason of a
	// failure: the Job was stopped because the next backup was due. Also a reason of
	// ConditionScheduled, ConditionArchiving and ConditionCopied.
	BackupReasonPodNotStarting = "PodNotStarting"
)

// The reasons of ConditionScheduled, and of ConditionComplete until a backup has ended, while
// there is nothing to warn of.
const (
	// BackupReasonScheduled: the message says when the next backup is due. Nothing to do.
	BackupReasonScheduled = "Scheduled"
	// BackupReasonSuspended: spec.suspend is true. Set it to false to resume. Also a reason
	// of ConditionArchiving.
	BackupReasonSuspended = "Suspended"
	// BackupReasonNothingDue: the schedule has no further time. Correct
	// spec.backupPolicy.schedule if there should be more backups.
	BackupReasonNothingDue = "NothingDue"
	// BackupReasonPreviousRunning: the previous backup still runs, and
	// spec.backupPolicy.concurrencyPolicy does not permit two at a time. Wait, or back up
	// less often.
	BackupReasonPreviousRunning = "PreviousRunning"
	// BackupReasonJobStopping: the Job of a backup that was given up is still being deleted.
	// Wait; if it lasts, see which finalizers the Job has.
	BackupReasonJobStopping = "JobStopping"
)

// What happens to the backup that is due: the reasons of ConditionScheduled, of
// ConditionComplete until a backup has ended, and of events.
const (
	// BackupReasonStarted: the backup is running in a Job. Wait for it.
	BackupReasonStarted = "BackupStarted"
	// BackupReasonClusterNotFound: there is no EtcdCluster of the name in spec.clusterRef.
	// Create it, or correct the name; the backup starts by itself then. Also a reason of
	// ConditionArchiving.
	BackupReasonClusterNotFound = "ClusterNotFound"
	// BackupReasonClusterNotReady: the EtcdCluster has no ready member. Read its conditions,
	// which say why; the backup starts by itself when it has one.
	BackupReasonClusterNotReady = "ClusterNotReady"
	// BackupReasonTooManyJobs: there are so many Jobs of this EtcdBackup that no other is
	// started. See why they do not end or are not deleted.
	BackupReasonTooManyJobs = "TooManyJobs"
	// BackupReasonStartRefused: the API server rejects the Job, for example for a quota. Fix
	// what the message says; the operator tries again every half minute. Also a reason of
	// ConditionArchiving and ConditionCopied.
	BackupReasonStartRefused = "StartRefused"
	// BackupReasonJobInDoubt: no controller owns a Job that has the name of a Job of this
	// EtcdBackup, because its owner references were edited. The Job might still run, so the
	// operator starts nothing that must not run at the same time. Run the command in the message,
	// or delete the Job if it does not belong to this EtcdBackup. Also a reason of
	// ConditionArchiving and ConditionCopied.
	BackupReasonJobInDoubt = "JobInDoubt"
)

// What is wrong with the spec: the reasons of ConditionComplete, ConditionFailed and
// ConditionScheduled of an EtcdBackup that is refused, also of ConditionArchiving and
// ConditionCopied, and of the events about that. Edit the spec as the message says; the operator resumes by itself.
const (
	// BackupReasonStorageMissing: the field for spec.storageType is not set: spec.s3, spec.oss,
	// spec.abs, spec.gcs or spec.pvc. Set it.
	BackupReasonStorageMissing = "StorageMissing"
	// BackupReasonStorageUnknown: spec.storageType is empty or not supported. Set S3, OSS,
	// ABS, GCS or PVC.
	BackupReasonStorageUnknown = "StorageUnknown"
	// BackupReasonStorageClassArchived: an object of the class in spec.s3.storageClass cannot be
	// read at once. Set one that can, such as GLACIER_IR or STANDARD_IA.
	BackupReasonStorageClassArchived = "StorageClassArchived"
	// BackupReasonStoreEndpointInvalid: spec.s3.endpoint is not the URL of a store. Set it to a
	// URL such as https://s3.example.com.
	BackupReasonStoreEndpointInvalid = "StoreEndpointInvalid"
	// BackupReasonStoreNotAllowed: the cluster's spec.backup.allowedStores does not list this
	// store. Choose a store that it lists, or add this store to the list. Also a reason of
	// records: the Pod checks the list if the source is given as an address.
	BackupReasonStoreNotAllowed = "StoreNotAllowed"
	// BackupReasonCreatorNotChecked: the backup uses a PVC or a ServiceAccount, and no
	// ValidatingAdmissionPolicy checks whether its creator can. First delete the EtcdBackups
	// whose creators you do not trust: a policy does not check those that exist. Then apply
	// it, or start the operator with --trust-creators, as the message says. The backup then
	// starts by itself.
	BackupReasonCreatorNotChecked = "CreatorNotChecked"
	// BackupReasonPathInvalid: spec.s3.path or spec.pvc.path cannot be used. Set it to a path
	// such as mybucket/etcd.backup, or backups/etcd.db.
	BackupReasonPathInvalid = "PathInvalid"
	// BackupReasonCopyIsSource: spec.copyTo is where the backup itself is stored. Set another
	// store or path.
	BackupReasonCopyIsSource = "CopyIsSource"
	// BackupReasonClaimInvalid: spec.pvc.claimName is not the name of a PVC. Correct it.
	BackupReasonClaimInvalid = "ClaimInvalid"
	// BackupReasonSourceMissing: the spec does not say which cluster to back up. Set
	// spec.clusterRef.name, or spec.etcdEndpoints.
	BackupReasonSourceMissing = "SourceMissing"
	// BackupReasonSourceAmbiguous: spec.etcdEndpoints and spec.clusterRef are both set.
	// Remove one of them.
	BackupReasonSourceAmbiguous = "SourceAmbiguous"
	// BackupReasonEndpointInvalid: one of spec.etcdEndpoints is not a URL with scheme, host
	// and port, or there are too many. Correct it.
	BackupReasonEndpointInvalid = "EndpointInvalid"
	// BackupReasonPasswordInTheClear: the password in spec.authSecret cannot be sent to an
	// endpoint without TLS. Set spec.clusterRef, or an https:// endpoint.
	BackupReasonPasswordInTheClear = "PasswordInTheClear"
	// BackupReasonPolicyInvalid: a number or word in spec.backupPolicy, or
	// spec.ttlSecondsAfterFinished, cannot be used. Correct what the message names.
	BackupReasonPolicyInvalid = "PolicyInvalid"
	// BackupReasonScheduleInvalid: spec.backupPolicy.schedule is not a cron expression, or
	// backupIntervalInSecond is set as well. Correct it, or remove one of them.
	BackupReasonScheduleInvalid = "ScheduleInvalid"
	// BackupReasonCompressionUnknown: spec.compression is not supported. Set none or zstd.
	BackupReasonCompressionUnknown = "CompressionUnknown"
	// BackupReasonTooManyRestrictedClusters: so many EtcdClusters have
	// spec.backup.allowedStores that a Job cannot check them all. Install an
	// etcd-backup-operator for this namespace alone, as the message says.
	BackupReasonTooManyRestrictedClusters = "TooManyRestrictedClusters"
)

// Why the Pod of a backup failed: the reasons of ConditionFailed, ConditionComplete and of
// records in status.history, and of events.
const (
	// BackupReasonNoEndpoint: no member answers as etcd. Check spec.etcdEndpoints, that the
	// members run, and that network policies admit the Pod.
	BackupReasonNoEndpoint = "NoEndpoint"
	// BackupReasonDifferentClusters: spec.etcdEndpoints are of more than one cluster. Set only
	// those of one cluster.
	BackupReasonDifferentClusters = "DifferentClusters"
	// BackupReasonTLSInvalid: no TLS connection can be made. Check the scheme of the
	// endpoints, and the certificate and CA in the client's Secret.
	BackupReasonTLSInvalid = "TLSInvalid"
	// BackupReasonAuthenticationRequired: etcd's authentication rejects the backup. Set
	// spec.authSecret, or correct the user and password in the Secret.
	BackupReasonAuthenticationRequired = "AuthenticationRequired"
	// BackupReasonPasswordWithheld: etcd requires a user, and the Secret does not list the
	// endpoint to which its password can be sent. Run the command in the message, which adds the
	// endpoint to the Secret.
	BackupReasonPasswordWithheld = "PasswordWithheld"
	// BackupReasonSourceLost: the member failed while it sent its snapshot. The backup is
	// retried; if it fails again, read the member's log.
	BackupReasonSourceLost = "SourceLost"
	// BackupReasonCorruptStream: the snapshot does not match its digest, and nothing was
	// stored. If it happens again, check the member's disk and data.
	BackupReasonCorruptStream = "CorruptStream"
	// BackupReasonUnknownBackup: the object at the path does not record which cluster it is a
	// backup of, so it is not replaced. Choose another path, or set spec.overwritePolicy to
	// Always.
	BackupReasonUnknownBackup = "UnknownBackup"
	// BackupReasonOtherCluster: the object at the path is a backup of another cluster, so it is
	// not replaced. Choose another path, or set spec.overwritePolicy to Always.
	BackupReasonOtherCluster = "OtherCluster"
	// BackupReasonNewerBackup: the object at the path is a backup of a higher revision, so it is
	// not replaced. Choose another path, or set spec.overwritePolicy to Always.
	BackupReasonNewerBackup = "NewerBackup"
	// BackupReasonForeignFile: a file or directory of the volume was not created by a backup
	// operator, so it is not changed. Choose another pvc.path, or follow the message.
	BackupReasonForeignFile = "ForeignFile"
	// BackupReasonAlreadyExists: an object exists at the path, and must not be replaced. Choose
	// another path, or remove it.
	BackupReasonAlreadyExists = "AlreadyExists"
)

// Reasons of the events about what the operator deletes, and about what it leaves out.
const (
	// BackupReasonExpired: the EtcdBackup is deleted, since spec.ttlSecondsAfterFinished is
	// over. Nothing to do: what is stored stays.
	BackupReasonExpired = "Expired"
	// BackupReasonJobStopped: a Job is deleted whose backup was given up. See the failure
	// before it for why.
	BackupReasonJobStopped = "JobStopped"
	// BackupReasonJobDeleted: a finished Job is deleted, since its result is in status.history
	// and a newer Job is kept. Nothing to do.
	BackupReasonJobDeleted = "JobDeleted"
	// BackupReasonMissed: backups that were due were missed. At most the newest of them is
	// made up. Check whether the operator was down, or earlier backups took too long.
	BackupReasonMissed = "BackupsMissed"
)

// The reasons of ConditionArchiving beside those of the agent.
const (
	// BackupReasonRecording: all changes are recorded. Nothing to do.
	BackupReasonRecording = "Recording"
	// BackupReasonSnapshotNeeded: changes are recorded, and a snapshot is taken at once, since
	// none reaches back to where the recording began. Wait for it; if it fails, see the
	// condition Failed.
	BackupReasonSnapshotNeeded = "SnapshotNeeded"
	// BackupReasonArchiverStarting: the archiver was started and has not reported its progress.
	// Wait; if it lasts, read the log of its Pod, and let network policies admit the operator to
	// its port 8090.
	BackupReasonArchiverStarting = "ArchiverStarting"
	// BackupReasonArchiverStopping: the archiver is being replaced. Wait for its Pod to end.
	BackupReasonArchiverStopping = "ArchiverStopping"
)

// The reasons of events about the archive.
const (
	// BackupReasonArchiverStarted: the operator has started the archiver. Nothing to do.
	BackupReasonArchiverStarted = "ArchiverStarted"
	// BackupReasonArchiverReplaced: the archiver is restarted with other settings, or because its
	// Job had ended. Nothing to do.
	BackupReasonArchiverReplaced = "ArchiverReplaced"
	// BackupReasonArchiverStopped: the archiver is stopped, since spec.suspend is true or spec.archive
	// was removed. Nothing to do: what is stored stays.
	BackupReasonArchiverStopped = "ArchiverStopped"
	// BackupReasonArchiveGap: changes were not recorded, and no restore reaches the revisions that the
	// message names. Set spec.etcd.autoCompactionRetention to more than the archiver can be
	// away; nothing to do for the past.
	BackupReasonArchiveGap = "ArchiveGap"
)

// The reasons of ConditionCopied once a copy has ended, and of events about that.
const (
	// BackupReasonCopied: the backup is in spec.copyTo as well. Nothing to do.
	BackupReasonCopied = "BackupCopied"
	// BackupReasonCopyFailed: a backup, or the archive, could not be copied to spec.copyTo; the
	// backup itself is stored. Follow the message: it has the failure of that store. The next
	// backup copies what is missing; of a one-shot backup, create another one.
	BackupReasonCopyFailed = "CopyFailed"
)

// The reason of ConditionCopied before that, and one of a copy's failure.
const (
	// BackupReasonNotCopied: no copy has ended yet. Wait for the next one.
	BackupReasonNotCopied = "NotCopied"
	// BackupReasonCopyResultLost: the Job that copies has ended, and its Pod was gone before its
	// report was read. The copy might be stored: look at spec.copyTo, and find out what deletes
	// Pods. The next backup copies what is missing.
	BackupReasonCopyResultLost = "CopyResultLost"
)

// The reasons of events about the Jobs that copy.
const (
	// BackupReasonCopyStarted: the operator has started the Job that copies the backup. Nothing
	// to do.
	BackupReasonCopyStarted = "CopyStarted"
	// BackupReasonCopyStopped: the operator has stopped a Job that copies, since spec.copyTo was
	// removed or changed, or is rejected now. Nothing to do: what is copied stays.
	BackupReasonCopyStopped = "CopyStopped"
)

// The reasons of ConditionVerified of an EtcdBackup once a backup was verified, and of events about
// that.
const (
	// BackupReasonVerified: the backup that was verified last is good: etcd has served exactly
	// what was backed up. Nothing to do.
	BackupReasonVerified = "BackupVerified"
	// BackupReasonVerificationFailed: the verification of the last backup failed. Follow the
	// message, which has the failure of the EtcdRestore that verified it.
	BackupReasonVerificationFailed = "VerificationFailed"
)

// The reasons of ConditionVerified of an EtcdBackup before that.
const (
	// BackupReasonNotVerified: no backup was verified yet. Wait; if it lasts, follow the message.
	BackupReasonNotVerified = "NotVerified"
	// BackupReasonVerifierMissing: no backup is verified, because the CustomResourceDefinition of
	// EtcdRestores is not installed. Install etcd-restore-operator, or remove spec.verification.
	BackupReasonVerifierMissing = "VerifierMissing"
)

// The reasons of events about the EtcdRestores that verify backups.
const (
	// BackupReasonVerificationStarted: an EtcdRestore verifies a backup. Nothing to do.
	BackupReasonVerificationStarted = "VerificationStarted"
	// BackupReasonVerificationDeleted: the EtcdRestore of a verification is deleted, since its
	// result is recorded and there is a newer one, or since spec.verification was removed. Nothing
	// to do.
	BackupReasonVerificationDeleted = "VerificationDeleted"
)
