package v1beta2

// Reasons of an EtcdRestore's conditions and events, for people and for alerts. Complete
// has the reason of what is happening now; Verified, Fenced, HandedOff and Failed have it
// while they are about that. Reasons of the agent that reads the snapshot, and of the store,
// are in agent_reasons.go; those of an EtcdCluster for which the restore waits are taken
// over from it.

// The reasons of steps that check the snapshot and prepare the seed, also of events. Unless
// spec.stopMembers is First or a seed was lost, no member is stopped yet. Nothing to do where
// nothing else is said; to abort, delete the EtcdRestore.
const (
	// RestoreReasonVerifying: a Job fetches and checks the snapshot. No cluster is changed yet.
	// If it lasts, look at the Pod of the Job.
	RestoreReasonVerifying = "Verifying"
	// RestoreReasonResultLost: the Pod of the Job was deleted before its report was read, and
	// the Job is recreated. If it happens again, find out what deletes Pods.
	RestoreReasonResultLost = "ResultLost"
	// RestoreReasonSnapshotVerified: the snapshot is good. With spec.verifyOnly the restore is
	// finished, and nothing was restored. Also the reason of Verified from then on.
	RestoreReasonSnapshotVerified = "SnapshotVerified"
	// RestoreReasonClusterCreated: the new EtcdCluster is created, fenced for this restore.
	RestoreReasonClusterCreated = "ClusterCreated"
	// RestoreReasonFencing: etcd-operator is asked to suspend its reconciliation of the
	// cluster. No member is stopped yet. If it lasts, check that etcd-operator runs.
	RestoreReasonFencing = "Fencing"
	// RestoreReasonPreparing: the first member of the restored cluster (the seed) is created,
	// and rebuilds the database from the snapshot.
	RestoreReasonPreparing = "Preparing"
	// RestoreReasonSeedDeleted: a seed is deleted; the message says why. No data is lost by
	// that: another seed follows, or the cluster returns to its old members.
	RestoreReasonSeedDeleted = "SeedDeleted"
	// RestoreReasonSeedLost: a seed was lost before it was adopted. No data is lost by that:
	// another one follows, from the same snapshot.
	RestoreReasonSeedLost = "SeedLost"
	// RestoreReasonSeedWithdrawn: the hand-over of a seed is withdrawn, because it is lost or
	// the restore is rolled back. No data is lost by that.
	RestoreReasonSeedWithdrawn = "SeedWithdrawn"
)

// The reasons of steps from the stop of the old members on, also of events. Nothing to do
// where nothing else is said.
const (
	// RestoreReasonStoppingMembers: the old members are stopped, and no member serves until the
	// seed does. Members without volumes lose their data; the others get theirs back if the
	// restore is rolled back.
	RestoreReasonStoppingMembers = "StoppingMembers"
	// RestoreReasonKeepingVolumes: the old members' volumes are kept until the restored
	// cluster has its size.
	RestoreReasonKeepingVolumes = "KeepingVolumes"
	// RestoreReasonSeedStarting: the seed has its start permit, and etcd starts with the
	// restored data.
	RestoreReasonSeedStarting = "SeedStarting"
	// RestoreReasonSeedReady: the seed serves, and the snapshot can never be restored to it
	// again.
	RestoreReasonSeedReady = "SeedReady"
	// RestoreReasonSeedHandedOver: the seed is offered to etcd-operator. If it lasts, read the
	// message, which has the answer of etcd-operator.
	RestoreReasonSeedHandedOver = "SeedHandedOver"
	// RestoreReasonSeedAdopted: the cluster serves what the snapshot holds, and takes writes.
	// Also the reason of HandedOff and Fenced from then on.
	RestoreReasonSeedAdopted = "SeedAdopted"
	// RestoreReasonVolumesDeleted: the restored cluster has its size, and the old members'
	// volumes are deleted. What they held beyond the snapshot is gone.
	RestoreReasonVolumesDeleted = "VolumesDeleted"
	// RestoreReasonRestoreComplete: the cluster has its size, and serves what the snapshot
	// holds. Nothing to do.
	RestoreReasonRestoreComplete = "RestoreComplete"
)

// The reasons of Complete while it waits for etcd-operator and nothing is wrong.
const (
	// RestoreReasonVersionPending: etcd-operator has not reported yet which version the
	// cluster runs. If it lasts, check that etcd-operator runs.
	RestoreReasonVersionPending = "VersionPending"
	// RestoreReasonCertificatesPending: the seed needs certificates that are not issued yet.
	// If it lasts, read the condition CertificatesReady of the EtcdCluster.
	RestoreReasonCertificatesPending = "CertificatesPending"
	// RestoreReasonGrowing: etcd-operator adds members until the cluster has its size. If it
	// lasts, read the conditions of the EtcdCluster.
	RestoreReasonGrowing = "Growing"
)

// The reasons of steps of a rollback, and of those after a failure or a deletion, also of
// events. Nothing to do where nothing else is said: the cluster returns to its old members.
const (
	// RestoreReasonFenceWithdrawn: the request to fence the cluster is withdrawn. The cluster was
	// not changed.
	RestoreReasonFenceWithdrawn = "FenceWithdrawn"
	// RestoreReasonClusterDeleted: the EtcdCluster that was created for this restore, and
	// never served, is deleted.
	RestoreReasonClusterDeleted = "ClusterDeleted"
	// RestoreReasonVolumesReturned: the old members get their volumes back, with their data.
	RestoreReasonVolumesReturned = "VolumesReturned"
	// RestoreReasonFenceLifted: the fence is lifted, and etcd-operator recreates the old members
	// that have volumes. As a failure: the annotation that ends the fence was set by another
	// client; create another EtcdRestore.
	RestoreReasonFenceLifted = "FenceLifted"
	// RestoreReasonJobDeleted: the Job is deleted, because the restore has failed. See Failed
	// for why.
	RestoreReasonJobDeleted = "JobDeleted"
	// RestoreReasonReleased: the finalizer is removed from the EtcdRestore, because nothing
	// is left to roll back.
	RestoreReasonReleased = "Released"
)

// The reasons of Complete, and of Warning events, while the restore waits for the user, for
// another object, or for another try. It continues by itself.
const (
	// RestoreReasonAnotherRestore: another EtcdRestore of the same cluster is in progress.
	// Wait for it, or delete it to abort.
	RestoreReasonAnotherRestore = "AnotherRestore"
	// RestoreReasonBackupNotReady: the EtcdBackup has stored nothing yet. Wait for it, or
	// read its conditions.
	RestoreReasonBackupNotReady = "BackupNotReady"
	// RestoreReasonClusterDeleting: an EtcdCluster of this name is being deleted. Wait for
	// that.
	RestoreReasonClusterDeleting = "ClusterDeleting"
	// RestoreReasonClusterPaused: spec.paused of the EtcdCluster is true. Set it to false.
	RestoreReasonClusterPaused = "ClusterPaused"
	// RestoreReasonDataLossNotAccepted: a quorum of members without volumes serves, and their
	// data is lost when they are stopped. Back it up, then set spec.acceptDataLoss.
	RestoreReasonDataLossNotAccepted = "DataLossNotAccepted"
	// RestoreReasonOperatorMissing: no etcd-operator has ever reconciled the EtcdCluster.
	// Start one that watches its namespace, or, if one runs with --cluster-wide, give the
	// EtcdCluster the annotation scope.
	RestoreReasonOperatorMissing = "OperatorMissing"
	// RestoreReasonOperatorOtherScope: no etcd-operator has ever reconciled the EtcdCluster,
	// whose annotation scope assigns it to one that runs with --cluster-wide. Start such a
	// one, or remove the annotation if one runs in the namespace.
	RestoreReasonOperatorOtherScope = "OperatorOtherScope"
	// RestoreReasonOperatorTooOld: the etcd-operator of the cluster cannot take part in a
	// restore. Replace its Deployment by that of this release.
	RestoreReasonOperatorTooOld = "OperatorTooOld"
	// RestoreReasonOperatorNotAnswering: etcd-operator has not answered for a minute. Check
	// that it runs and reconciles this EtcdCluster.
	RestoreReasonOperatorNotAnswering = "OperatorNotAnswering"
	// RestoreReasonOldMembersRunning: old members do not stop, and could serve clients beside
	// the restored cluster. Repair their node, mark it out of service, or set
	// spec.acceptRunningOldMembers.
	RestoreReasonOldMembersRunning = "OldMembersRunning"
	// RestoreReasonSeedNotStopping: a seed that is to be deleted does not stop, most often
	// because its node is lost. Repair the node, mark it out of service, or set
	// spec.acceptRunningOldMembers.
	RestoreReasonSeedNotStopping = "SeedNotStopping"
	// RestoreReasonPodNotStarting: the Pod that checks the snapshot does not start. Correct
	// what the message names, such as a Secret, a volume or an image.
	RestoreReasonPodNotStarting = "PodNotStarting"
	// RestoreReasonVerificationFailed: a check of the snapshot failed, and is retried. If it
	// fails again, correct what the message says.
	RestoreReasonVerificationFailed = "VerificationFailed"
	// RestoreReasonSeedNotStarting: the seed's Pod does not start. Correct what the message
	// names; if there is no room for it beside the old members, set spec.stopMembers: First.
	RestoreReasonSeedNotStarting = "SeedNotStarting"
	// RestoreReasonSeedFailed: the seed could not restore the snapshot, and retries. If it fails
	// again, correct what the message says, or delete the EtcdRestore to return to the old
	// members that have volumes.
	RestoreReasonSeedFailed = "SeedFailed"
	// RestoreReasonSeedStopped: the seed's Pod ended, because its node refused or stopped it or
	// because another Pod preempted it. Another seed follows; while members serve, the fourth
	// such Pod fails the restore. Read in the message why, and make room on that node or give
	// spec.pod of the EtcdCluster another place.
	RestoreReasonSeedStopped = "SeedStopped"
	// RestoreReasonSeedNotReady: etcd of the seed, or the launcher that waits to start it,
	// exited and is restarted. Look at its log.
	RestoreReasonSeedNotReady = "SeedNotReady"
	// RestoreReasonVersionUnsupported: no seed is created, because etcd-operator does not support
	// spec.version of the EtcdCluster. Set another one.
	RestoreReasonVersionUnsupported = "VersionUnsupported"
	// RestoreReasonInDoubt: no controller owns a Pod or PVC that has the name of a member or of the
	// seed, because its owner references or labels were edited. The restore waits. Run the command
	// in the message, or delete the object if it does not belong to the cluster.
	RestoreReasonInDoubt = "InDoubt"
	// RestoreReasonRefused: the API server rejects an action of the operator. Correct the cause
	// that the message names, such as a quota; the operator retries.
	RestoreReasonRefused = "Refused"
)

// The reasons of Failed, and of Warning events, that concern the spec. Create another
// EtcdRestore that is corrected as the message says. No member was stopped.
const (
	// RestoreReasonTargetMissing: the spec does not say which cluster is restored, or how.
	// Set etcdCluster.name and target, or clusterTemplate.
	RestoreReasonTargetMissing = "TargetMissing"
	// RestoreReasonTargetAmbiguous: two fields name different targets, or spec.prefixes is set
	// for a restore in place. Set only one of them.
	RestoreReasonTargetAmbiguous = "TargetAmbiguous"
	// RestoreReasonTargetUnknown: spec.target is neither InPlace nor New. Set one of them.
	RestoreReasonTargetUnknown = "TargetUnknown"
	// RestoreReasonNameInvalid: the new EtcdCluster gets the EtcdRestore's name, and cannot
	// have it. Choose a shorter or simpler one.
	RestoreReasonNameInvalid = "NameInvalid"
	// RestoreReasonStorageMissing: the spec does not say where the snapshot is. Set
	// backupStorageType with s3, oss, abs, gcs or pvc, or backupRef.
	RestoreReasonStorageMissing = "StorageMissing"
	// RestoreReasonStorageAmbiguous: two fields name different places. Set only one of them.
	RestoreReasonStorageAmbiguous = "StorageAmbiguous"
	// RestoreReasonStorageUnknown: backupStorageType is not supported. Set S3, OSS,
	// ABS, GCS or PVC.
	RestoreReasonStorageUnknown = "StorageUnknown"
	// RestoreReasonPathInvalid: path or prefix of s3, oss, abs or gcs, or pvc.path, is malformed.
	// Write it as the message shows.
	RestoreReasonPathInvalid = "PathInvalid"
	// RestoreReasonClaimInvalid: pvc.claimName cannot be the name of a PersistentVolumeClaim.
	// Correct it.
	RestoreReasonClaimInvalid = "ClaimInvalid"
	// RestoreReasonClusterIDInvalid: spec.clusterID is not 16 hexadecimal digits in lower
	// case. Copy it from status.clusterID of the EtcdCluster.
	RestoreReasonClusterIDInvalid = "ClusterIDInvalid"
	// RestoreReasonRevisionBumpTooSmall: with this revisionBump, clients could see revisions
	// decrease. Remove it, or set the value in the message.
	RestoreReasonRevisionBumpTooSmall = "RevisionBumpTooSmall"
	// RestoreReasonRevisionInvalid: spec.revision is negative. Set it to a revision of the
	// backed-up cluster.
	RestoreReasonRevisionInvalid = "RevisionInvalid"
	// RestoreReasonTimeoutInvalid: spec.timeoutInSecond is negative. Set 0 or more.
	RestoreReasonTimeoutInvalid = "TimeoutInvalid"
)

// The reasons of Failed, and of Warning events, that concern what the spec names. Some are
// reasons of a wait first, since what is missing may still be created.
const (
	// RestoreReasonClusterNotFound: there is no such EtcdCluster in the namespace. Create it,
	// or correct etcdCluster.name; to make a new one, set target New or clusterTemplate.
	RestoreReasonClusterNotFound = "ClusterNotFound"
	// RestoreReasonClusterGone: the EtcdCluster was deleted while it was restored, or after
	// the hand-over. Create another EtcdRestore if it is still wanted.
	RestoreReasonClusterGone = "ClusterGone"
	// RestoreReasonAlreadyExists: an EtcdCluster has the name of the new one already. Give
	// the EtcdRestore another name, or set target InPlace to restore that one.
	RestoreReasonAlreadyExists = "AlreadyExists"
	// RestoreReasonCreatorNotChecked: the restore creates an EtcdCluster, and no
	// ValidatingAdmissionPolicy checked whether its creator can. Apply the policy, or start
	// the operator with --trust-creators, as the message says. Then create another
	// EtcdRestore.
	RestoreReasonCreatorNotChecked = "CreatorNotChecked"
	// RestoreReasonBackupNotFound: there is no such EtcdBackup in the namespace. Correct
	// backupRef.name, or name the place of the snapshot.
	RestoreReasonBackupNotFound = "BackupNotFound"
	// RestoreReasonBackupFailed: the EtcdBackup has failed and stored nothing. Restore
	// another backup.
	RestoreReasonBackupFailed = "BackupFailed"
	// RestoreReasonBackupStorageUnknown: the EtcdBackup no longer says how to reach the place
	// of its snapshot. Set backupStorageType and the place instead of backupRef.
	RestoreReasonBackupStorageUnknown = "BackupStorageUnknown"
	// RestoreReasonEntryNotFound: the EtcdBackup has no such backup in its status.history.
	// Correct backupRef.entry, or name the place of the snapshot.
	RestoreReasonEntryNotFound = "EntryNotFound"
	// RestoreReasonEntryFailed: the backup that backupRef.entry names was not stored. Restore
	// another one.
	RestoreReasonEntryFailed = "EntryFailed"
	// RestoreReasonLocationInvalid: the snapshot that s3.prefix has led to has an unusable
	// name. Set s3.path instead.
	RestoreReasonLocationInvalid = "LocationInvalid"
	// RestoreReasonSnapshotNotFound: there is no snapshot at the place. Correct s3.path,
	// s3.prefix or pvc.path.
	RestoreReasonSnapshotNotFound = "SnapshotNotFound"
	// RestoreReasonAmbiguousPrefix: s3.prefix leads to snapshots of several backups. Set a
	// longer one, or spec.clusterID.
	RestoreReasonAmbiguousPrefix = "AmbiguousPrefix"
	// RestoreReasonHashMismatch: the hash of the data differs from the hash that etcd computed when
	// the snapshot was taken, so the restore changed nothing. Restore another snapshot, or set
	// spec.skipHashCheck to restore this snapshot without the check.
	RestoreReasonHashMismatch = "HashMismatch"
	// RestoreReasonEtcdNotServing: etcd does not start on the restored database, or does not
	// answer (spec.startEtcd). Read the message, which has what etcd logged last, and the log of
	// the Job's Pod.
	RestoreReasonEtcdNotServing = "EtcdNotServing"
	// RestoreReasonServedDataDiffers: etcd serves other data than the snapshot holds
	// (spec.startEtcd). Restore another snapshot, and report this.
	RestoreReasonServedDataDiffers = "ServedDataDiffers"
	// RestoreReasonEtcdVersionUnknown: the version of etcd to start is unknown (spec.startEtcd).
	// Set spec.startEtcd.version.
	RestoreReasonEtcdVersionUnknown = "EtcdVersionUnknown"
	// RestoreReasonRevisionNotHeld: no known snapshot holds spec.revision, and no archive beside
	// a snapshot reaches it; nothing is changed. Set a revision that the message names, or
	// restore another snapshot.
	RestoreReasonRevisionNotHeld = "RevisionNotHeld"
	// RestoreReasonTimeNotHeld: no archive covers spec.time; nothing is changed. Set a time that
	// the message names, or spec.revision.
	RestoreReasonTimeNotHeld = "TimeNotHeld"
	// RestoreReasonArchiveUnusable: a segment of the archive is damaged, or of another history
	// than the snapshot; nothing is changed. Set spec.revision to one that a snapshot holds, or
	// restore another snapshot.
	RestoreReasonArchiveUnusable = "ArchiveUnusable"
	// RestoreReasonClusterAmbiguous: snapshots of several clusters hold spec.revision. Set
	// spec.clusterID to the id of the cluster to restore.
	RestoreReasonClusterAmbiguous = "ClusterAmbiguous"
	// RestoreReasonWrongCluster: the snapshot does not belong to the cluster in spec.clusterID, or
	// does not record its cluster. Set another snapshot, or remove spec.clusterID.
	RestoreReasonWrongCluster = "WrongCluster"
	// RestoreReasonSnapshotChanged: the snapshot was replaced after it was stored or verified.
	// Create another EtcdRestore to restore the new snapshot.
	RestoreReasonSnapshotChanged = "SnapshotChanged"
	// RestoreReasonNoHash: the file ends without a sha256, as a copied database does. Take a
	// snapshot with etcdctl snapshot save, or set spec.skipHashCheck.
	RestoreReasonNoHash = "NoHash"
)

// The reasons of Failed, and of Warning events, when the cluster could not serve what the
// snapshot holds. Change what the message names, and create another EtcdRestore.
const (
	// RestoreReasonVersionMismatch: the cluster's etcd cannot read data of the snapshot's
	// version. Restore it to a cluster of the version in the message, and upgrade that.
	RestoreReasonVersionMismatch = "VersionMismatch"
	// RestoreReasonVersionUnknown: the version of the cluster or of the snapshot is not one
	// of etcd. Correct spec.version of the EtcdCluster, or restore another snapshot.
	RestoreReasonVersionUnknown = "VersionUnknown"
	// RestoreReasonVolumeTooSmall: the database does not fit on the members' volumes. Raise
	// their storage request.
	RestoreReasonVolumeTooSmall = "VolumeTooSmall"
	// RestoreReasonQuotaTooSmall: etcd would refuse writes, because the database is larger
	// than its quota. Raise spec.etcd.quotaBackendBytes.
	RestoreReasonQuotaTooSmall = "QuotaTooSmall"
	// RestoreReasonRevisionTooHigh: no revision is left to begin at. Remove spec.revisionBump, or
	// restore another snapshot.
	RestoreReasonRevisionTooHigh = "RevisionTooHigh"
	// RestoreReasonRootSecretMissing: authentication is enabled in the snapshot, and
	// etcd-operator would have no credentials for it. Write them to a Secret, and name that
	// in spec.auth.rootSecret.
	RestoreReasonRootSecretMissing = "RootSecretMissing"
	// RestoreReasonRootSecretInvalid: the restored cluster would refuse the credentials in
	// spec.auth.rootSecret. Write those from when the snapshot was taken.
	RestoreReasonRootSecretInvalid = "RootSecretInvalid"
)

// The reasons of Failed, and of Warning events, when the work itself failed.
const (
	// RestoreReasonJobFailed: the Job failed without a report. Look at the events and the log
	// of its Pod.
	RestoreReasonJobFailed = "JobFailed"
	// RestoreReasonPreparationFailed: the seed could not prepare its database, and did not
	// report why. Look at its events, and at the log of the container in the message.
	RestoreReasonPreparationFailed = "PreparationFailed"
	// RestoreReasonResultInvalid: an agent reported success without what it found. Let
	// operator and agent use images of one release.
	RestoreReasonResultInvalid = "ResultInvalid"
	// RestoreReasonRestoreFailed: a reason was not in the form that the API accepts. Read the
	// message, which is still valid.
	RestoreReasonRestoreFailed = "RestoreFailed"
)

// The reasons of Fenced, HandedOff and Failed while they are not about what is happening
// now.
const (
	// RestoreReasonFenced: etcd-operator has suspended its reconciliation. To abort, delete
	// the EtcdRestore.
	RestoreReasonFenced = "Fenced"
	// RestoreReasonNotFenced: etcd-operator reconciles the cluster. Nothing to do.
	RestoreReasonNotFenced = "NotFenced"
	// RestoreReasonNotHandedOff: no seed was created yet. Nothing to do.
	RestoreReasonNotHandedOff = "NotHandedOff"
	// RestoreReasonNotFailed: the restore has not failed. Nothing to do.
	RestoreReasonNotFailed = "NotFailed"
	// RestoreReasonRollingBack: the restore will fail once the cluster has returned to its old
	// members. Wait; the message says why it fails.
	RestoreReasonRollingBack = "RollingBack"
	// RestoreReasonDeleted: the EtcdRestore was deleted before its seed was adopted. Nothing
	// to do: the cluster returns to its old members. It is in status.failure, and in the
	// message of RollingBack.
	RestoreReasonDeleted = "Deleted"
)
