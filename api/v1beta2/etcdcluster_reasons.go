package v1beta2

// Reasons of an EtcdCluster's conditions and events, for people and for alerts. Available and
// Degraded have the reason of Progressing where none of their own applies.

// The reasons of conditions while nothing is wrong. Nothing to do.
const (
	// ClusterReasonServing: a quorum of the members serves reads and writes. The message says
	// how many more members can fail. A reason of Available.
	ClusterReasonServing = "Serving"
	// ClusterReasonUpToDate: the cluster is as the spec says. A reason of Progressing.
	ClusterReasonUpToDate = "UpToDate"
	// ClusterReasonAllHealthy: there are at least as many voters as spec.size, and all of them
	// are healthy. A reason of Degraded.
	ClusterReasonAllHealthy = "AllHealthy"
	// ClusterReasonBelowSize: all voters are healthy, but there are fewer than spec.size, because
	// the cluster is forming, growing or replacing a member. Fewer members can fail until then.
	// If that lasts, read Progressing. A reason of Degraded.
	ClusterReasonBelowSize = "BelowSize"
	// ClusterReasonAtSize: there are as many members as spec.size, or it is not known how
	// many. A reason of Scaling.
	ClusterReasonAtSize = "AtSize"
	// ClusterReasonNothingToRecover: no member is lost. A reason of Recovering.
	ClusterReasonNothingToRecover = "NothingToRecover"
	// ClusterReasonAtVersion: all members run the version. A reason of Upgrading.
	ClusterReasonAtVersion = "AtVersion"
	// ClusterReasonNotPaused: spec.paused is not set. A reason of Paused.
	ClusterReasonNotPaused = "NotPaused"
	// ClusterReasonCreating: the cluster has not served yet. If that lasts, read Progressing.
	// A reason of Degraded, Scaling and Upgrading.
	ClusterReasonCreating = "Creating"
)

// The reasons of Available, Degraded and Progressing while a cluster does not serve, or takes
// no writes, and of Warning events.
const (
	// ClusterReasonNoSpace: etcd refuses writes: a database has reached its quota (alarm
	// NOSPACE). Reads work, and no data is lost. Free space as the message says, or set
	// spec.maintenance.autoRepairSpace.
	ClusterReasonNoSpace = "NoSpace"
	// ClusterReasonCorrupt: members' data differs (alarm CORRUPT), and etcd refuses writes.
	// Nothing to do where the operator replaces a minority; where no quorum agrees, follow the
	// message.
	ClusterReasonCorrupt = "Corrupt"
	// ClusterReasonNoQuorum: too few members answer for a quorum, and the data of a majority
	// is not known to be lost. Bring their nodes and Pods back; the operator removes nothing
	// meanwhile. Also a reason of Recovering, while a member is lost.
	ClusterReasonNoQuorum = "NoQuorum"
	// ClusterReasonQuorumLost: the data of a majority is lost. Bring the lost volumes back,
	// restore a backup, or allow recovery from a survivor (spec.recovery.quorumLoss); the
	// message has the commands. Also a reason of Recovering, which is False.
	ClusterReasonQuorumLost = "QuorumLost"
)

// The reasons of Progressing that mean that the operator waits for the user, and of the
// Warning events about that. Available and Degraded have those that stop all work.
const (
	// ClusterReasonPaused: spec.paused is true: etcd keeps running, but no lost member is
	// replaced. Set it to false to resume reconciliation. Also a reason of Paused and
	// Recovering.
	ClusterReasonPaused = "Paused"
	// ClusterReasonNameConflict: an object with a name that the cluster needs has another owner.
	// Remove it, or rename the EtcdCluster. If the message says that data can be lost with it,
	// take a snapshot first. Also the reason of NameConflict.
	ClusterReasonNameConflict = "NameConflict"
	// ClusterReasonLegacyMembers: Pods of the archived operator run under this name. Follow
	// docs/tasks/migration.md; the operator does not touch them.
	ClusterReasonLegacyMembers = "LegacyMembers"
	// ClusterReasonVersionUnsupported: the operator does not support the etcd version in
	// spec.version. Set the one in the message. Also the reason of VersionUnsupported.
	ClusterReasonVersionUnsupported = "VersionUnsupported"
	// ClusterReasonVersionRefused: etcd cannot move from the version that it runs to the one
	// in spec.version. Set the version in the message. Also a reason of Upgrading.
	ClusterReasonVersionRefused = "VersionRefused"
	// ClusterReasonClusterExisted: something is left of an earlier cluster of this name, so no
	// empty cluster is started over it. Adopt its volumes, restore a backup, or delete what is
	// left.
	ClusterReasonClusterExisted = "ClusterExisted"
	// ClusterReasonFenced: an EtcdRestore of this cluster is in progress. Wait for it, or
	// delete it to abort.
	ClusterReasonFenced = "Fenced"
	// ClusterReasonCertificatesMissing: a Secret with certificates, or a key in it, does not
	// exist, or the operator cannot read it. Correct that as the message says; members that
	// run keep serving. Also a reason of CertificatesReady and Recovering.
	ClusterReasonCertificatesMissing = "CertificatesMissing"
	// ClusterReasonCertificatesUnreadable: the API server does not return a Secret with
	// certificates to the operator. The message has its error. Members keep serving, and the
	// operator keeps using the certificates that it read last. Restore access to the Secret. Also
	// a reason of CertificatesReady and Recovering.
	ClusterReasonCertificatesUnreadable = "CertificatesUnreadable"
	// ClusterReasonCertificatesInvalid: a certificate would be refused: it has expired, is for
	// other names, or is signed by another CA. Replace it; members that run keep serving. Also
	// a reason of CertificatesReady and Recovering.
	ClusterReasonCertificatesInvalid = "CertificatesInvalid"
	// ClusterReasonCertificatesPending: certificates are being issued or checked. Wait; if it
	// lasts, look at the issuer. Also a reason of CertificatesReady and Recovering.
	ClusterReasonCertificatesPending = "CertificatesPending"
	// ClusterReasonCredentialsMissing: etcd's authentication is enabled, and the operator has
	// no credentials. Create the Secret that the message describes. Also the reason of
	// CredentialsMissing.
	ClusterReasonCredentialsMissing = "CredentialsMissing"
	// ClusterReasonCredentialsInvalid: etcd refuses the operator's credentials, or their user
	// lacks the role root. Correct the Secret of spec.auth.rootSecret. Also the reason of
	// CredentialsInvalid.
	ClusterReasonCredentialsInvalid = "CredentialsInvalid"
	// ClusterReasonUnmanagedMembers: restarts and upgrades wait, because a user added or changed
	// a member with etcdctl. Run the command in the message. Also the reason of UnmanagedMembers.
	ClusterReasonUnmanagedMembers = "UnmanagedMembers"
	// ClusterReasonScheduleInvalid: a schedule in spec.maintenance is not a cron expression.
	// Correct it.
	ClusterReasonScheduleInvalid = "ScheduleInvalid"
	// ClusterReasonExpansionRefused: a volume cannot be expanded to the storage that the spec
	// asks for. Use a storage class with allowVolumeExpansion: true, or correct what rejects the
	// expansion, such as a quota. Also a reason of StorageResizing.
	ClusterReasonExpansionRefused = "ExpansionRefused"
	// ClusterReasonWaitingForSnapshot: an upgrade waits until members write a snapshot, which
	// takes too many entries to force. Lower spec.etcd.snapshotCount as the message says. Also
	// a reason of Upgrading.
	ClusterReasonWaitingForSnapshot = "WaitingForSnapshot"
	// ClusterReasonObservationStale: the operator holds a step back, because its caches and the API
	// server have disagreed for more than a few seconds; the message says about what. Wait,
	// since it retries; if it lasts, restart the operator. Also a reason of Degraded.
	ClusterReasonObservationStale = "ObservationStale"
)

// Further reasons of Progressing that are not those of a step.
const (
	// ClusterReasonDeleting: the EtcdCluster is being deleted, once the finalizers in the message
	// are removed; Kubernetes deletes what it owns. Nothing to do, unless a finalizer stays: see
	// what the controller of that finalizer waits for. Also a reason of Available, Degraded and
	// Recovering.
	ClusterReasonDeleting = "Deleting"
	// ClusterReasonUnknown: a reason was not in the form that the API accepts. Read the message,
	// which is still valid. Any condition can have it.
	ClusterReasonUnknown = "Unknown"
	// ClusterReasonActionFailed: a step failed, with the error in the message. Wait, since the
	// operator retries; if it lasts, correct what the error names. Also a reason of Available
	// while the cluster starts.
	ClusterReasonActionFailed = "ActionFailed"
	// ClusterReasonWaitingForEtcd: etcd does not allow a step yet, for example while it elects a
	// leader or while a member has only just started; the message says why. Wait, since the
	// operator retries; if it lasts, see which members are not healthy. Also a reason of Available
	// while the cluster starts.
	ClusterReasonWaitingForEtcd = "WaitingForEtcd"
)

// The reasons of Degraded and Progressing while the API server rejects a request of the operator,
// and of the Warning event. The message has the API server's error. A rejection delays only the
// steps that need the rejected object.
const (
	// ClusterReasonPodRejected: a Pod cannot be created, for example because a quota is used up,
	// an admission policy denies it, or its PriorityClass does not exist. Correct the cause that
	// the message names; the operator retries.
	ClusterReasonPodRejected = "PodRejected"
	// ClusterReasonVolumeRejected: a PVC cannot be created, for example because a quota is used
	// up. Correct the cause that the message names; the operator retries.
	ClusterReasonVolumeRejected = "VolumeRejected"
	// ClusterReasonServiceRejected: a Service cannot be created or updated. Correct the cause
	// that the message names; the operator retries. If the Service does not exist, no member is
	// added until then.
	ClusterReasonServiceRejected = "ServiceRejected"
	// ClusterReasonPodDisruptionBudgetRejected: the PodDisruptionBudget cannot be created,
	// updated or deleted. Correct the cause that the message names, or set
	// spec.podDisruptionBudget: false; the operator retries, and restarts no healthy member until
	// then.
	ClusterReasonPodDisruptionBudgetRejected = "PodDisruptionBudgetRejected"
	// ClusterReasonActionRejected: an object cannot be changed or deleted, or the status of the
	// EtcdCluster cannot be written. Correct the cause that the message names; the operator
	// retries.
	ClusterReasonActionRejected = "ActionRejected"
)

// Further reasons of Degraded, about members that the operator restarts or replaces itself
// where it can.
const (
	// ClusterReasonMembersUnhealthy: some members do not serve. The message says which and
	// why. Nothing to do where the operator restarts or replaces them; otherwise follow the
	// message.
	ClusterReasonMembersUnhealthy = "MembersUnhealthy"
	// ClusterReasonJoinersUnhealthy: a new member's Pod does not run. Correct what the message
	// names, such as an image or room on a node.
	ClusterReasonJoinersUnhealthy = "JoinersUnhealthy"
)

// The reasons of Degraded, and of the Warning event, when a Pod cannot run without the user.
const (
	// ClusterReasonImageNotPulled: a member's Pod does not run, because its node cannot pull
	// the image. Correct spec.version or spec.repository, or the registry.
	ClusterReasonImageNotPulled = "ImageNotPulled"
	// ClusterReasonSeedUnhealthy: the first member does not run on its node, so the cluster
	// does not start. Correct what the message names, or run its command to start the member
	// again elsewhere. No data is lost.
	ClusterReasonSeedUnhealthy = "SeedUnhealthy"
)

// The reasons of steps: of Progressing, and of the events about them. Nothing to do where
// nothing else is said: the operator goes on by itself.
const (
	// ClusterReasonRecreatingSeed: the first member's Pod has ended before it served, and is
	// recreated. No data is lost. If it happens again, read the log of the Pod.
	ClusterReasonRecreatingSeed = "RecreatingSeed"
	// ClusterReasonSeedDiscarded: a seed that never served is deleted; another takes its
	// place. No data is lost.
	ClusterReasonSeedDiscarded = "SeedDiscarded"
	// ClusterReasonBootstrapped: the first member serves, and its cluster id is recorded.
	ClusterReasonBootstrapped = "Bootstrapped"
	// ClusterReasonVolumesAdopted: PVCs of an earlier EtcdCluster now belong to this one,
	// which starts with their data.
	ClusterReasonVolumesAdopted = "VolumesAdopted"
	// ClusterReasonMemberAdded: a member was added as a learner.
	ClusterReasonMemberAdded = "MemberAdded"
	// ClusterReasonMemberPromoted: a learner has caught up and has become a voter.
	ClusterReasonMemberPromoted = "MemberPromoted"
	// ClusterReasonMemberRemoved: a member was removed, because the size was lowered or it
	// never became a voter. The other members have its data.
	ClusterReasonMemberRemoved = "MemberRemoved"
	// ClusterReasonRestartingMember: a member's Pod is recreated on its volume, with its data.
	// If it does not start, read the message of Degraded. Also a reason of Recovering.
	ClusterReasonRestartingMember = "RestartingMember"
	// ClusterReasonReplacingDeadMember: a member is lost, and another takes its place and gets
	// the data from the others. If it lasts, make room for the new Pod, or correct what the
	// message names. Also a reason of Recovering.
	ClusterReasonReplacingDeadMember = "ReplacingDeadMember"
	// ClusterReasonMakingRoom: a Pod that has no data, or has it on a volume that is kept, is
	// deleted so that a Pod with data or a new member can be scheduled. No data is lost. Add a
	// node if there is room for one of them only.
	ClusterReasonMakingRoom = "MakingRoom"
	// ClusterReasonMemberMoved: a member of a cordoned node, or whose PVC is being deleted, was
	// removed after another had taken its place.
	ClusterReasonMemberMoved = "MemberMoved"
	// ClusterReasonUpdatingMembers: Pods are replaced one at a time, because spec.pod,
	// spec.etcd or certificates have changed. If one does not run, revert the edit that the
	// message names.
	ClusterReasonUpdatingMembers = "UpdatingMembers"
	// ClusterReasonMemberUpdated: a member runs in a Pod as the spec says.
	ClusterReasonMemberUpdated = "MemberUpdated"
	// ClusterReasonDeletingVolume: a PVC that belongs to no member, such as that of one that was
	// removed, is deleted. The members have all of the cluster's data.
	ClusterReasonDeletingVolume = "DeletingVolume"
	// ClusterReasonRepairingImage: a Pod that cannot run its image gets the image that the spec
	// asks for.
	ClusterReasonRepairingImage = "RepairingImage"
	// ClusterReasonRetentionEnabled: the PVCs are kept when the EtcdCluster is deleted. Delete
	// them yourself when you no longer need them.
	ClusterReasonRetentionEnabled = "RetentionEnabled"
	// ClusterReasonRetentionDisabled: the PVCs, and the data on them, are deleted with the
	// EtcdCluster. Set spec.storage.deletionPolicy to Retain to keep them.
	ClusterReasonRetentionDisabled = "RetentionDisabled"
	// ClusterReasonExpandingVolume: a volume is expanded. If it lasts, look at the events of
	// the PVC. Also a reason of StorageResizing.
	ClusterReasonExpandingVolume = "ExpandingVolume"
)

// The reasons of Progressing during steps that are reported only in the operator's log. Nothing
// to do where nothing else is said.
const (
	// ClusterReasonBootstrapping: the operator chooses the first member (the seed) and records
	// it.
	ClusterReasonBootstrapping = "Bootstrapping"
	// ClusterReasonStartingSeed: the first member starts. If it lasts, correct what the
	// message names, such as an image or room on a node.
	ClusterReasonStartingSeed = "StartingSeed"
	// ClusterReasonStartPermitRevoked: a seed serves, and can never again start an empty
	// cluster.
	ClusterReasonStartPermitRevoked = "StartPermitRevoked"
	// ClusterReasonAdoptingVolumes: the cluster starts from the PVCs of an earlier
	// EtcdCluster. If it waits, bring back the volumes that the message names.
	ClusterReasonAdoptingVolumes = "AdoptingVolumes"
	// ClusterReasonCreatingMembers: Pods of new members are created.
	ClusterReasonCreatingMembers = "CreatingMembers"
	// ClusterReasonAddingMember: a new member's Pod gets ready to join. If it lasts, correct
	// what the message names.
	ClusterReasonAddingMember = "AddingMember"
	// ClusterReasonStartingMember: a member that was added gets its start permit.
	ClusterReasonStartingMember = "StartingMember"
	// ClusterReasonMemberStarted: a member has started, and its start permit is revoked.
	ClusterReasonMemberStarted = "MemberStarted"
	// ClusterReasonScalingDown: a member is drained before it is removed. Also a reason of
	// Scaling.
	ClusterReasonScalingDown = "ScalingDown"
	// ClusterReasonSettingRoles: Pods are labelled with the role of their member, which
	// Services select.
	ClusterReasonSettingRoles = "SettingRoles"
	// ClusterReasonTransferringLeadership: the leader transfers its leadership before it is
	// restarted, defragmented or removed.
	ClusterReasonTransferringLeadership = "TransferringLeadership"
	// ClusterReasonWaitingForMember: a member does not serve yet. Wait; if it lasts, follow
	// the message, which says why.
	ClusterReasonWaitingForMember = "WaitingForMember"
	// ClusterReasonMovingMember: a member is replaced, because its node is cordoned or its PVC is being deleted.
	ClusterReasonMovingMember = "MovingMember"
	// ClusterReasonDeletingPod: a Pod that belongs to no member, or ended before it could join, is
	// deleted. No member's data is lost.
	ClusterReasonDeletingPod = "DeletingPod"
	// ClusterReasonMovingLeader: the leadership will be transferred to the member that the
	// annotation move-leader names; the message says what the transfer waits for.
	ClusterReasonMovingLeader = "MovingLeader"
	// ClusterReasonDefragmenting: members are defragmented, one at a time. If it waits, the
	// message says for what.
	ClusterReasonDefragmenting = "Defragmenting"
	// ClusterReasonDefragmentingMember: a member is defragmented.
	ClusterReasonDefragmentingMember = "DefragmentingMember"
	// ClusterReasonComparingData: the data of the members is compared.
	ClusterReasonComparingData = "ComparingData"
	// ClusterReasonFencing: an EtcdRestore asks for the cluster; steps in flight are awaited.
	ClusterReasonFencing = "Fencing"
)

// The reasons of steps of an upgrade or rollback, beside UpdatingMembers: of Progressing, and
// of the events about them. Nothing to do where nothing else is said.
const (
	// ClusterReasonUpgradeStarted: members begin to move to another version.
	ClusterReasonUpgradeStarted = "UpgradeStarted"
	// ClusterReasonUpgradingMember: a member is restarted with another image. If it does not
	// run, set spec.version or spec.repository as the message of Upgrading says.
	ClusterReasonUpgradingMember = "UpgradingMember"
	// ClusterReasonMemberUpgraded: a member runs the other version.
	ClusterReasonMemberUpgraded = "MemberUpgraded"
	// ClusterReasonUpgradeRedirected: the target version has changed during an upgrade, and
	// members move to the new one.
	ClusterReasonUpgradeRedirected = "UpgradeRedirected"
	// ClusterReasonUpgradeFinished: all members run the version.
	ClusterReasonUpgradeFinished = "UpgradeFinished"
	// ClusterReasonLoweringClusterVersion: etcd lowers its cluster version, before members
	// move down a minor.
	ClusterReasonLoweringClusterVersion = "LoweringClusterVersion"
	// ClusterReasonDowngradeCancelled: etcd's downgrade is cancelled, because another version
	// is wanted or a member has to join.
	ClusterReasonDowngradeCancelled = "DowngradeCancelled"
	// ClusterReasonWritingSnapshots: members write snapshots, so that etcd 3.7 finds no log
	// entries of etcd 3.5. Also a reason of Upgrading.
	ClusterReasonWritingSnapshots = "WritingSnapshots"
)

// The reasons of Upgrading and Progressing while members are to move to another version.
const (
	// ClusterReasonUpgrading: members move to another version, one at a time. Nothing to do,
	// unless the message names a member that does not run and what to set.
	ClusterReasonUpgrading = "Upgrading"
	// ClusterReasonUpgradePending: a move to another version waits until all members are
	// healthy. Wait, or do what the message or that of Progressing says.
	ClusterReasonUpgradePending = "UpgradePending"
)

// The reasons of steps about alarms and space: of Progressing, and of the events about them.
// Nothing to do where nothing else is said.
const (
	// ClusterReasonAlarmDisarmed: the CORRUPT alarm of a member that was removed is disarmed.
	ClusterReasonAlarmDisarmed = "AlarmDisarmed"
	// ClusterReasonRepairingSpace: the operator compacts and defragments, because a database
	// has reached its quota. Writes are refused until SpaceRepaired.
	ClusterReasonRepairingSpace = "RepairingSpace"
	// ClusterReasonSpaceRepaired: there is room again, and the NOSPACE alarm is disarmed.
	ClusterReasonSpaceRepaired = "SpaceRepaired"
	// ClusterReasonDefragmentationStarted: a round of defragmentations begins.
	ClusterReasonDefragmentationStarted = "DefragmentationStarted"
	// ClusterReasonMemberDefragmented: a member was defragmented; the message says how much
	// was freed.
	ClusterReasonMemberDefragmented = "MemberDefragmented"
	// ClusterReasonLeaderMoved: the member that the annotation move-leader names is now the
	// leader.
	ClusterReasonLeaderMoved = "LeaderMoved"
	// ClusterReasonLeaderRefused: the annotation move-leader does not name a voter. Set it to the
	// name of a voter.
	ClusterReasonLeaderRefused = "LeaderRefused"
)

// The reasons of steps of a restore or of a recovery from a survivor: of Progressing, and of
// the events about them. Nothing to do where nothing else is said.
const (
	// ClusterReasonFenceLifted: a restore has ended without adoption, and reconciliation of
	// the old members resumes. See the EtcdRestore for why.
	ClusterReasonFenceLifted = "FenceLifted"
	// ClusterReasonSeedAdopted: the seed of a restore is the cluster now, and grows to its
	// size.
	ClusterReasonSeedAdopted = "SeedAdopted"
	// ClusterReasonSurvivorChosen: the survivor with the most data is chosen. Writes that only
	// other members have will be lost. To keep them, bring those members back before
	// SurvivorAdopted.
	ClusterReasonSurvivorChosen = "SurvivorChosen"
	// ClusterReasonRecoveringFromSurvivor: a seed is built from the survivor's snapshot, or
	// the cluster grows from it. If it lasts, follow the message. Also a reason of Recovering
	// and Degraded.
	ClusterReasonRecoveringFromSurvivor = "RecoveringFromSurvivor"
	// ClusterReasonSurvivorAdopted: the seed with the survivor's data is the cluster now. The
	// message says which writes are lost: check whether clients miss them.
	ClusterReasonSurvivorAdopted = "SurvivorAdopted"
	// ClusterReasonRecoveryAborted: the recovery was aborted before anything was replaced, and
	// no data is lost by it. The message says why. If the cluster does not serve again, follow
	// Available.
	ClusterReasonRecoveryAborted = "RecoveryAborted"
	// ClusterReasonRecoveryComplete: the recovered cluster has all its members, and what was
	// left of the old one is deleted.
	ClusterReasonRecoveryComplete = "RecoveryComplete"
)

// The reasons of Scaling, beside ScalingDown, while the number of members changes. Nothing to
// do where nothing else is said.
const (
	// ClusterReasonScalingUp: members are added. If it lasts, read Progressing.
	ClusterReasonScalingUp = "ScalingUp"
	// ClusterReasonWaitingForUpgrade: the size changes once all members run the version that
	// they move to. If it lasts, read Upgrading.
	ClusterReasonWaitingForUpgrade = "WaitingForUpgrade"
)

// Reasons of the events about what has changed since the last status.
const (
	// ClusterReasonAlarmRaised: etcd has raised an alarm and refuses writes. Follow the
	// message of Available.
	ClusterReasonAlarmRaised = "AlarmRaised"
	// ClusterReasonAlarmCleared: an alarm is no longer raised. Nothing to do.
	ClusterReasonAlarmCleared = "AlarmCleared"
	// ClusterReasonMemberLost: a member is lost: its data is gone or wrong, or its node has
	// been unavailable for long. The message says which. Nothing to do where it says that the
	// operator replaces it; otherwise bring other members back, so that there is a quorum.
	ClusterReasonMemberLost = "MemberLost"
	// ClusterReasonQuorumRegained: a quorum serves again. Nothing to do.
	ClusterReasonQuorumRegained = "QuorumRegained"
	// ClusterReasonResumed: spec.paused was removed, and reconciliation resumes. Nothing to
	// do.
	ClusterReasonResumed = "Resumed"
)

// The reasons of CertificatesReady and of the events about certificates, beside those above
// and TrustingBoth, Reissuing and DroppingOld during CA rotation. Nothing to do where nothing
// else is said.
const (
	// ClusterReasonCertificatesValid: all certificates exist and are valid.
	ClusterReasonCertificatesValid = "CertificatesValid"
	// ClusterReasonCertificateIssued: a Secret has a new certificate, or one was requested
	// from cert-manager.
	ClusterReasonCertificateIssued = "CertificateIssued"
	// ClusterReasonCertificateAuthorityChanged: the cluster's CA was created, or is being
	// rotated. Give the new CA certificate to clients that use a copy of it.
	ClusterReasonCertificateAuthorityChanged = "CertificateAuthorityChanged"
	// ClusterReasonTrustedCAsChanged: the CAs in a Secret have changed.
	ClusterReasonTrustedCAsChanged = "TrustedCAsChanged"
	// ClusterReasonCertificateExpiring: a certificate that the user provides expires within a
	// week. Replace it.
	ClusterReasonCertificateExpiring = "CertificateExpiring"
)

// The reasons of KnownVulnerability and SpaceLow, and of their events.
const (
	// ClusterReasonVulnerableVersion: members run a version with a known vulnerability. Set
	// the version in the message.
	ClusterReasonVulnerableVersion = "VulnerableVersion"
	// ClusterReasonQuotaNearlyUsed: most of the database quota is in use; at the quota etcd
	// refuses writes. Compact, delete keys, or raise spec.etcd.quotaBackendBytes.
	ClusterReasonQuotaNearlyUsed = "QuotaNearlyUsed"
	// ClusterReasonFillingUp: at the growth of the last hours the quota is used up within a
	// day or two, and then etcd refuses writes. Compact, delete keys, or raise
	// spec.etcd.quotaBackendBytes.
	ClusterReasonFillingUp = "FillingUp"
	// ClusterReasonFileNearQuota: a database file is nearly as large as its quota, at which
	// etcd refuses writes, though much of it is free. Let the operator defragment
	// (spec.maintenance).
	ClusterReasonFileNearQuota = "FileNearQuota"
)
