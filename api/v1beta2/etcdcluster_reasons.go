package v1beta2

// Reasons of an EtcdCluster's conditions and events, for people and for alerts.

// The reasons of Available, beside those of Progressing.
const (
	// ClusterReasonServing: a quorum of the members serves reads and writes. Nothing to do;
	// the message says how many more members can fail.
	ClusterReasonServing = "Serving"
	// ClusterReasonNoSpace: etcd refuses writes: a database has reached its quota (alarm
	// NOSPACE). Free space as the message says, or set spec.maintenance.autoRepairSpace.
	// Also a reason of Degraded and Progressing.
	ClusterReasonNoSpace = "NoSpace"
	// ClusterReasonCorrupt: members' data differs (alarm CORRUPT). The operator replaces a
	// minority; where no quorum agrees, follow the message.
	ClusterReasonCorrupt = "Corrupt"
	// ClusterReasonNoQuorum: too few members answer for a quorum, and none of their data is
	// known to be lost. Bring their nodes and Pods back; the operator removes nothing
	// meanwhile.
	ClusterReasonNoQuorum = "NoQuorum"
	// ClusterReasonQuorumLost: the data of a majority is lost. Restore a backup, or allow
	// recovery from a survivor (spec.recovery.quorumLoss); the message has both commands.
	ClusterReasonQuorumLost = "QuorumLost"
)

// The reasons of Progressing that mean that there is nothing to do, or that the operator
// waits for the user. They are also the reasons of the Warning events about that.
const (
	// ClusterReasonUpToDate: the cluster is as the spec says. Nothing to do.
	ClusterReasonUpToDate = "UpToDate"
	// ClusterReasonPaused: spec.paused is true. Set it to false to resume reconciliation.
	// Also a reason of Paused, Available, Degraded and Recovering.
	ClusterReasonPaused = "Paused"
	// ClusterReasonDeleting: the EtcdCluster is being deleted, once the finalizers in the
	// message are removed; Kubernetes deletes what it owns. Also a reason of Available,
	// Degraded and Recovering.
	ClusterReasonDeleting = "Deleting"
	// ClusterReasonNameConflict: an object of a name that the cluster needs belongs to
	// someone else. Remove it, or rename the EtcdCluster.
	ClusterReasonNameConflict = "NameConflict"
	// ClusterReasonLegacyMembers: Pods of the archived operator run under this name. Follow
	// docs/tasks/migration.md; the operator does not touch them.
	ClusterReasonLegacyMembers = "LegacyMembers"
	// ClusterReasonVersionUnsupported: the operator does not support the etcd version in
	// spec.version. Set the one in the message.
	ClusterReasonVersionUnsupported = "VersionUnsupported"
	// ClusterReasonVersionRefused: etcd cannot move from the version that it runs to the one
	// in spec.version. Set the version in the message. Also a reason of Upgrading.
	ClusterReasonVersionRefused = "VersionRefused"
	// ClusterReasonClusterExisted: something is left of an earlier cluster of this name, so
	// no empty cluster is started over it. Adopt its volumes, restore a backup, or delete
	// what is left.
	ClusterReasonClusterExisted = "ClusterExisted"
	// ClusterReasonFenced: an EtcdRestore of this cluster is in progress. Wait for it, or
	// delete it to abort.
	ClusterReasonFenced = "Fenced"
	// ClusterReasonCertificatesMissing: a Secret with certificates, or a key in it, does not
	// exist. Write it as the message says. Also a reason of CertificatesReady.
	ClusterReasonCertificatesMissing = "CertificatesMissing"
	// ClusterReasonCertificatesInvalid: a certificate would be refused: it has expired, is
	// for other names, or is signed by another CA. Replace it. Also a reason of
	// CertificatesReady.
	ClusterReasonCertificatesInvalid = "CertificatesInvalid"
	// ClusterReasonCertificatesPending: certificates are being issued. Wait; if it lasts,
	// look at the issuer. Also a reason of CertificatesReady.
	ClusterReasonCertificatesPending = "CertificatesPending"
	// ClusterReasonCredentialsMissing: etcd's authentication is enabled, and the operator
	// has no credentials. Create the Secret that the message describes.
	ClusterReasonCredentialsMissing = "CredentialsMissing"
	// ClusterReasonCredentialsInvalid: etcd refuses the operator's credentials, or their
	// user lacks the role root. Correct the Secret of spec.auth.rootSecret.
	ClusterReasonCredentialsInvalid = "CredentialsInvalid"
	// ClusterReasonUnmanagedMembers: restarts and upgrades wait, because someone added or
	// changed a member with etcdctl. Run the command in the message. Also the reason of
	// UnmanagedMembers.
	ClusterReasonUnmanagedMembers = "UnmanagedMembers"
	// ClusterReasonScheduleInvalid: a schedule in spec.maintenance is no cron expression.
	// Correct it.
	ClusterReasonScheduleInvalid = "ScheduleInvalid"
	// ClusterReasonExpansionRefused: a volume cannot be expanded to the storage that the
	// spec asks for. Use a storage class with allowVolumeExpansion: true. Also a reason of
	// StorageResizing.
	ClusterReasonExpansionRefused = "ExpansionRefused"
	// ClusterReasonWaitingForSnapshot: an upgrade waits until members write a snapshot,
	// which takes too many entries to force. Lower spec.etcd.snapshotCount as the message
	// says. Also a reason of Upgrading.
	ClusterReasonWaitingForSnapshot = "WaitingForSnapshot"
	// ClusterReasonObservationStale: the operator does nothing, because its caches and the
	// API server have disagreed for more than a few seconds; the message says about what. It
	// retries; if it lasts, restart the operator.
	ClusterReasonObservationStale = "ObservationStale"
	// ClusterReasonUnknown: a reason was not in the form that the API takes; the message
	// still holds.
	ClusterReasonUnknown = "Unknown"
	// ClusterReasonActionFailed: a step failed, or etcd asks to wait with it; the message has
	// the error. The operator retries. Also a reason of Available while the cluster starts.
	ClusterReasonActionFailed = "ActionFailed"
)

// The reasons of Degraded, and of the Warning event, while the API server refuses a
// request of the operator. The message has the API server's words.
const (
	// ClusterReasonPodRejected: a Pod cannot be created, as when a quota is used up, an
	// admission policy denies it, or its PriorityClass does not exist. Lift what refuses it;
	// the operator retries.
	ClusterReasonPodRejected = "PodRejected"
	// ClusterReasonVolumeRejected: the same of a PersistentVolumeClaim.
	ClusterReasonVolumeRejected = "VolumeRejected"
	// ClusterReasonServiceRejected: a Service cannot be created or updated. No member is
	// changed until it can.
	ClusterReasonServiceRejected = "ServiceRejected"
	// ClusterReasonPodDisruptionBudgetRejected: the same of the PodDisruptionBudget;
	// spec.podDisruptionBudget: false does without one.
	ClusterReasonPodDisruptionBudgetRejected = "PodDisruptionBudgetRejected"
	// ClusterReasonActionRejected: an object cannot be changed or deleted. Lift what refuses
	// it; the operator retries.
	ClusterReasonActionRejected = "ActionRejected"
)

// Further reasons of Degraded.
const (
	// ClusterReasonAllHealthy: all voters are healthy. Nothing to do.
	ClusterReasonAllHealthy = "AllHealthy"
	// ClusterReasonMembersUnhealthy: some members do not serve. The message says which and
	// why; the operator restarts or replaces those that it can.
	ClusterReasonMembersUnhealthy = "MembersUnhealthy"
	// ClusterReasonJoinersUnhealthy: a new member's Pod does not run. Correct what the
	// message names, such as an image or room on a node.
	ClusterReasonJoinersUnhealthy = "JoinersUnhealthy"
	// ClusterReasonImageNotPulled: a member's Pod does not run, because its node cannot pull
	// the image. Correct spec.version or spec.repository, or the registry. Also the reason of
	// a Warning event.
	ClusterReasonImageNotPulled = "ImageNotPulled"
	// ClusterReasonSeedUnhealthy: the first member does not run on its node, so the cluster
	// does not start. The message has the command that starts it again elsewhere. Also the
	// reason of a Warning event.
	ClusterReasonSeedUnhealthy = "SeedUnhealthy"
)

// The reasons of steps: of Progressing, and of the events about them.
const (
	// ClusterReasonBootstrapping: the operator chooses the first member (the seed) and
	// records it.
	ClusterReasonBootstrapping = "Bootstrapping"
	// ClusterReasonStartingSeed: the first member starts.
	ClusterReasonStartingSeed = "StartingSeed"
	// ClusterReasonRecreatingSeed: the first member's Pod has ended before it served, and is
	// recreated.
	ClusterReasonRecreatingSeed = "RecreatingSeed"
	// ClusterReasonSeedDiscarded: a seed that never served is deleted; another takes its
	// place. No data is lost.
	ClusterReasonSeedDiscarded = "SeedDiscarded"
	// ClusterReasonStartPermitRevoked: a seed serves, and can never again start an empty
	// cluster.
	ClusterReasonStartPermitRevoked = "StartPermitRevoked"
	// ClusterReasonBootstrapped: the first member serves, and its cluster id is recorded.
	ClusterReasonBootstrapped = "Bootstrapped"
	// ClusterReasonAdoptingVolumes: the cluster starts from the PVCs of an earlier
	// EtcdCluster. If it waits, bring back the volumes that the message names.
	ClusterReasonAdoptingVolumes = "AdoptingVolumes"
	// ClusterReasonVolumesAdopted: PVCs of an earlier EtcdCluster now belong to this one.
	ClusterReasonVolumesAdopted = "VolumesAdopted"
	// ClusterReasonCreatingMembers: Pods of new members are created.
	ClusterReasonCreatingMembers = "CreatingMembers"
	// ClusterReasonAddingMember: a new member's Pod gets ready to join.
	ClusterReasonAddingMember = "AddingMember"
	// ClusterReasonMemberAdded: a member was added as a learner.
	ClusterReasonMemberAdded = "MemberAdded"
	// ClusterReasonStartingMember: a member that was added gets its start permit.
	ClusterReasonStartingMember = "StartingMember"
	// ClusterReasonMemberStarted: a member has started, and its start permit is revoked.
	ClusterReasonMemberStarted = "MemberStarted"
	// ClusterReasonMemberPromoted: a learner has caught up and has become a voter.
	ClusterReasonMemberPromoted = "MemberPromoted"
	// ClusterReasonMemberRemoved: a member was removed, because the size was lowered or it
	// never became a voter.
	ClusterReasonMemberRemoved = "MemberRemoved"
	// ClusterReasonScalingDown: a member is drained before it is removed. Also a reason of
	// Scaling.
	ClusterReasonScalingDown = "ScalingDown"
	// ClusterReasonSettingRoles: Pods are labelled with the role of their member, which
	// Services select.
	ClusterReasonSettingRoles = "SettingRoles"
	// ClusterReasonTransferringLeadership: the leader transfers its leadership before it is
	// restarted or removed.
	ClusterReasonTransferringLeadership = "TransferringLeadership"
	// ClusterReasonWaitingForMember: a member does not serve yet. The message says why.
	ClusterReasonWaitingForMember = "WaitingForMember"
	// ClusterReasonRestartingMember: a member's Pod is recreated on its volume. Also a
	// reason of Recovering.
	ClusterReasonRestartingMember = "RestartingMember"
	// ClusterReasonReplacingDeadMember: a member is lost and another takes its place. Also a
	// reason of Recovering.
	ClusterReasonReplacingDeadMember = "ReplacingDeadMember"
	// ClusterReasonMakingRoom: a Pod without data is deleted, so that one with data can be
	// scheduled.
	ClusterReasonMakingRoom = "MakingRoom"
	// ClusterReasonMovingMember: a member is replaced, because its node is cordoned.
	ClusterReasonMovingMember = "MovingMember"
	// ClusterReasonMemberMoved: a member of a cordoned node was removed after another had
	// taken its place.
	ClusterReasonMemberMoved = "MemberMoved"
	// ClusterReasonUpdatingMembers: Pods are replaced one at a time, because spec.pod,
	// spec.etcd or certificates have changed.
	ClusterReasonUpdatingMembers = "UpdatingMembers"
	// ClusterReasonMemberUpdated: a member runs in a Pod as the spec says.
	ClusterReasonMemberUpdated = "MemberUpdated"
	// ClusterReasonDeletingPod: an orphaned Pod of the cluster is deleted.
	ClusterReasonDeletingPod = "DeletingPod"
	// ClusterReasonDeletingVolume: the PVC of a member that was removed is deleted.
	ClusterReasonDeletingVolume = "DeletingVolume"
	// ClusterReasonRepairingImage: a Pod that cannot run its image gets the one in the spec.
	ClusterReasonRepairingImage = "RepairingImage"
	// ClusterReasonRetentionEnabled: the PVCs are kept when the EtcdCluster is deleted.
	ClusterReasonRetentionEnabled = "RetentionEnabled"
	// ClusterReasonRetentionDisabled: the PVCs are deleted with the EtcdCluster.
	ClusterReasonRetentionDisabled = "RetentionDisabled"
	// ClusterReasonExpandingVolume: a volume is expanded. Also a reason of StorageResizing.
	ClusterReasonExpandingVolume = "ExpandingVolume"
)

// The reasons of steps of an upgrade or rollback, beside UpdatingMembers.
const (
	// ClusterReasonUpgradeStarted: members begin to move to another version.
	ClusterReasonUpgradeStarted = "UpgradeStarted"
	// ClusterReasonUpgrading: members move to another version, one at a time. Also a reason
	// of Upgrading.
	ClusterReasonUpgrading = "Upgrading"
	// ClusterReasonUpgradePending: a move to another version waits until all members are
	// healthy, or for what Progressing says. Also a reason of Upgrading.
	ClusterReasonUpgradePending = "UpgradePending"
	// ClusterReasonUpgradingMember: a member is restarted with another image.
	ClusterReasonUpgradingMember = "UpgradingMember"
	// ClusterReasonMemberUpgraded: a member runs the other version.
	ClusterReasonMemberUpgraded = "MemberUpgraded"
	// ClusterReasonUpgradeRedirected: members move to another version than the one that they
	// were on the way to.
	ClusterReasonUpgradeRedirected = "UpgradeRedirected"
	// ClusterReasonUpgradeFinished: all members run the version.
	ClusterReasonUpgradeFinished = "UpgradeFinished"
	// ClusterReasonLoweringClusterVersion: etcd lowers its cluster version, before members
	// move down a minor.
	ClusterReasonLoweringClusterVersion = "LoweringClusterVersion"
	// ClusterReasonDowngradeCancelled: etcd's downgrade is cancelled, because another
	// version is wanted or a member has to join.
	ClusterReasonDowngradeCancelled = "DowngradeCancelled"
	// ClusterReasonWritingSnapshots: members write snapshots, so that etcd 3.7 finds no log
	// entries of etcd 3.5. Also a reason of Upgrading.
	ClusterReasonWritingSnapshots = "WritingSnapshots"
)

// The reasons of steps about alarms, space and data.
const (
	// ClusterReasonAlarmRaised: etcd has raised an alarm and refuses writes. See Available.
	ClusterReasonAlarmRaised = "AlarmRaised"
	// ClusterReasonAlarmCleared: an alarm is no longer raised.
	ClusterReasonAlarmCleared = "AlarmCleared"
	// ClusterReasonAlarmDisarmed: the CORRUPT alarm of a member that was removed is
	// disarmed.
	ClusterReasonAlarmDisarmed = "AlarmDisarmed"
	// ClusterReasonRepairingSpace: the operator compacts and defragments, because a database
	// has reached its quota.
	ClusterReasonRepairingSpace = "RepairingSpace"
	// ClusterReasonSpaceRepaired: there is room again, and the NOSPACE alarm is disarmed.
	ClusterReasonSpaceRepaired = "SpaceRepaired"
	// ClusterReasonDefragmentationStarted: a round of defragmentations begins.
	ClusterReasonDefragmentationStarted = "DefragmentationStarted"
	// ClusterReasonDefragmenting: members are defragmented, one at a time.
	ClusterReasonDefragmenting = "Defragmenting"
	// ClusterReasonDefragmentingMember: a member is defragmented.
	ClusterReasonDefragmentingMember = "DefragmentingMember"
	// ClusterReasonMemberDefragmented: a member was defragmented; the message says how much
	// was freed.
	ClusterReasonMemberDefragmented = "MemberDefragmented"
	// ClusterReasonComparingData: the data of the members is compared.
	ClusterReasonComparingData = "ComparingData"
)

// The reasons of steps of a restore or of a recovery from a survivor.
const (
	// ClusterReasonFencing: an EtcdRestore asks for the cluster; steps in flight are
	// awaited.
	ClusterReasonFencing = "Fencing"
	// ClusterReasonFenceLifted: a restore has ended without adoption, and reconciliation
	// resumes.
	ClusterReasonFenceLifted = "FenceLifted"
	// ClusterReasonSeedAdopted: the seed of a restore is the cluster now.
	ClusterReasonSeedAdopted = "SeedAdopted"
	// ClusterReasonSurvivorChosen: the survivor with the most data is chosen. What other
	// members had acknowledged beyond it will be lost.
	ClusterReasonSurvivorChosen = "SurvivorChosen"
	// ClusterReasonRecoveringFromSurvivor: a seed is built from the survivor's snapshot, or
	// the cluster grows from it. Also a reason of Recovering and Degraded.
	ClusterReasonRecoveringFromSurvivor = "RecoveringFromSurvivor"
	// ClusterReasonSurvivorAdopted: the seed with the survivor's data is the cluster now;
	// the message says which writes are lost.
	ClusterReasonSurvivorAdopted = "SurvivorAdopted"
	// ClusterReasonRecoveryAborted: the recovery was aborted before anything was replaced;
	// the message says why.
	ClusterReasonRecoveryAborted = "RecoveryAborted"
	// ClusterReasonRecoveryComplete: the recovered cluster has all its members, and what was
	// left of the old one is deleted.
	ClusterReasonRecoveryComplete = "RecoveryComplete"
)

// The reasons of Scaling, Recovering, Upgrading and Paused while there is nothing to do,
// or nothing can be said yet.
const (
	// ClusterReasonCreating: the cluster has not served yet. Also a reason of Degraded.
	ClusterReasonCreating = "Creating"
	// ClusterReasonAtSize: there are as many members as spec.size.
	ClusterReasonAtSize = "AtSize"
	// ClusterReasonScalingUp: members are added.
	ClusterReasonScalingUp = "ScalingUp"
	// ClusterReasonWaitingForUpgrade: the size changes once all members run the version that
	// they move to.
	ClusterReasonWaitingForUpgrade = "WaitingForUpgrade"
	// ClusterReasonNothingToRecover: no member is lost.
	ClusterReasonNothingToRecover = "NothingToRecover"
	// ClusterReasonAtVersion: all members run the version.
	ClusterReasonAtVersion = "AtVersion"
	// ClusterReasonNotPaused: spec.paused is not set.
	ClusterReasonNotPaused = "NotPaused"
)

// Reasons of the events about what has changed since the last status.
const (
	// ClusterReasonMemberLost: a member is lost for good; the message says why, and whether
	// the operator replaces it.
	ClusterReasonMemberLost = "MemberLost"
	// ClusterReasonQuorumRegained: a quorum serves again.
	ClusterReasonQuorumRegained = "QuorumRegained"
	// ClusterReasonResumed: spec.paused was removed, and reconciliation resumes.
	ClusterReasonResumed = "Resumed"
)

// The reasons of CertificatesReady and of the events about certificates, beside those
// above and TrustingBoth, Reissuing and DroppingOld during CA rotation.
const (
	// ClusterReasonCertificatesValid: all certificates exist and are valid.
	ClusterReasonCertificatesValid = "CertificatesValid"
	// ClusterReasonCertificateIssued: a Secret has a new certificate, or one was requested
	// from cert-manager.
	ClusterReasonCertificateIssued = "CertificateIssued"
	// ClusterReasonCertificateAuthorityChanged: the cluster's CA was created, or is being
	// rotated.
	ClusterReasonCertificateAuthorityChanged = "CertificateAuthorityChanged"
	// ClusterReasonTrustedCAsChanged: the CAs in a Secret have changed.
	ClusterReasonTrustedCAsChanged = "TrustedCAsChanged"
	// ClusterReasonCertificateExpiring: a certificate that the user provides expires within
	// a week. Replace it.
	ClusterReasonCertificateExpiring = "CertificateExpiring"
)

// The reasons of KnownVulnerability and SpaceLow, and of their events.
const (
	// ClusterReasonVulnerableVersion: members run a version with a known vulnerability. Set
	// the version in the message.
	ClusterReasonVulnerableVersion = "VulnerableVersion"
	// ClusterReasonQuotaNearlyUsed: most of the database quota is in use. Compact, delete
	// keys, or raise spec.etcd.quotaBackendBytes.
	ClusterReasonQuotaNearlyUsed = "QuotaNearlyUsed"
	// ClusterReasonFillingUp: at the growth of the last hours the quota is used up within a
	// day or two. Compact, delete keys, or raise spec.etcd.quotaBackendBytes.
	ClusterReasonFillingUp = "FillingUp"
	// ClusterReasonFileNearQuota: a database file is nearly as large as its quota, though
	// much of it is free. Let the operator defragment (spec.maintenance).
	ClusterReasonFileNearQuota = "FileNearQuota"
)
