package v1beta2

// Labels on the objects of a cluster. The operator sets and owns all of them;
// admission refuses them in spec.pod.labels.
const (
	// LabelApp marks every object of every cluster; its value is AppEtcd.
	LabelApp = "app"
	// LabelCluster holds the EtcdCluster's name, on Pods, PVCs, Services and
	// the PodDisruptionBudget alike.
	LabelCluster = "etcd_cluster"
	// LabelMember holds the member's name (which is its Pod's and PVC's name).
	LabelMember = "etcd_node"
	// LabelRetiredBy is on the PVC of an old member, in place of LabelCluster, while
	// an EtcdRestore keeps it for a roll-back and after: the value is the
	// EtcdRestore's uid. Such a PVC belongs to no member: etcd-operator neither makes a Pod
	// for it nor deletes it. The restore operator sets it, and gives the PVC back by
	// putting LabelCluster in its place again.
	LabelRetiredBy = GroupName + "/retired-by"
	// LabelOwner holds the EtcdCluster's uid. It is on every member's Pod, and the
	// cluster's Services and PodDisruptionBudget select by it: Pods that an earlier
	// EtcdCluster of the same name has left are not behind them. It is also on the PVCs of
	// a cluster whose storage.deletionPolicy is Retain, in place of an owner reference, so
	// that nothing deletes them with the EtcdCluster.
	LabelOwner = GroupName + "/owner"
	// LabelRole says what a member's Pod is now: seed, joiner, returning, learner, voter,
	// leaving, restarting, defragmenting or survivor. The client Service and the
	// PodDisruptionBudget select RoleVoter.
	LabelRole = "etcd_role"

	// LabelName, LabelInstance and LabelManagedBy are the labels that
	// Kubernetes recommends and that we set, with AppEtcd, the EtcdCluster's
	// name and ManagedBy as their values.
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// AppEtcd is the value of LabelApp and of LabelName.
	AppEtcd = "etcd"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "etcd-operator"
)

// Labels on the Jobs of backups and on their Pods, beside LabelApp, LabelName,
// LabelInstance and LabelManagedBy.
const (
	// LabelBackup holds the EtcdBackup's name; of one that is too long for a label,
	// a shortened form with a hash. AnnotationBackup holds all of it.
	LabelBackup = "etcd_backup"

	// AppEtcdBackup is the value of LabelApp and of LabelName on them.
	AppEtcdBackup = "etcd-backup"
	// ManagedByBackup is the value of LabelManagedBy on them.
	ManagedByBackup = "etcd-backup-operator"
)

// Labels on the Job of a restore and on its Pod, beside LabelApp, LabelName,
// LabelInstance and LabelManagedBy.
const (
	// LabelRestore holds the EtcdRestore's name; of one that is too long for a label,
	// a shortened form with a hash. AnnotationRestore holds all of it.
	LabelRestore = "etcd_restore"

	// AppEtcdRestore is the value of LabelApp and of LabelName on them.
	AppEtcdRestore = "etcd-restore"
	// ManagedByRestore is the value of LabelManagedBy on them.
	ManagedByRestore = "etcd-restore-operator"
)

// FinalizerRestore is on an EtcdRestore from before it asks for a fence until nothing
// of it is left to give back.
const FinalizerRestore = GroupName + "/restore"

// Values of LabelRole.
const (
	// RoleSeed is the first member of a new cluster, until its cluster id is known.
	RoleSeed = "seed"
	// RoleJoiner is a Pod that waits for its member to be added to the cluster.
	RoleJoiner = "joiner"
	// RoleReturning is the Pod of a member of the cluster that was recreated on
	// its volume and has not yet been seen healthy.
	RoleReturning = "returning"
	// RoleLearner is a member that catches up and has no vote yet.
	RoleLearner = "learner"
	// RoleVoter is a voting member that may serve clients.
	RoleVoter = "voter"
	// RoleLeaving is a member that is about to be removed: it gets no new
	// client connections.
	RoleLeaving = "leaving"
	// RoleRestarting is a voter whose container is about to be restarted, or is
	// being restarted, with another image: it gets no new client connections.
	RoleRestarting = "restarting"
	// RoleDefragmenting is a voter that is about to be defragmented, or is being
	// defragmented: it gets no new client connections.
	RoleDefragmenting = "defragmenting"
	// RoleSurvivor is a member of a cluster whose majority is lost for good, while the
	// cluster begins anew with a survivor's data: it gets no client connections, and its
	// data is kept until the new cluster has size healthy voters.
	RoleSurvivor = "survivor"
)

const (
	// AnnotationScope on an EtcdCluster, EtcdBackup or EtcdRestore, with the value
	// ScopeClusterwide, leaves it to an operator that runs with --cluster-wide.
	// Such an operator ignores every other, and an operator that watches one
	// namespace ignores the annotated ones.
	AnnotationScope = GroupName + "/scope"
	// ScopeClusterwide is the one value of AnnotationScope that has a meaning.
	ScopeClusterwide = "clusterwide"

	// AnnotationStartPermit on a member's Pod is the operator's permit to start etcd.
	// The launcher in the Pod reads it through the downward API before every
	// start of the container. Admission refuses it (as every annotation with
	// our prefix) in spec.pod.annotations.
	AnnotationStartPermit = GroupName + "/start-permit"

	// AnnotationRoleSince on a member's Pod is when LabelRole got its value, in the form
	// of RFC 3339; of a Pod that has the role it was made with there is none.
	AnnotationRoleSince = GroupName + "/role-since"
	// AnnotationDefragmented on a member's Pod is written before the member is
	// defragmented: when, in the form of RFC 3339, and the size of its database in bytes,
	// with a blank between. " done" follows when the member has answered.
	AnnotationDefragmented = GroupName + "/defragmented"
	// AnnotationImage on a member's Pod is the etcd image that the operator asked for.
	// What a registry mirror's webhook makes of it is not the operator's.
	AnnotationImage = GroupName + "/image"
	// AnnotationChangedFrom on a member's Pod is written together with another image:
	// the version that the etcd container ran until then, and that container's id,
	// with a blank between. While the Pod's status has the same id, the new image has
	// not been started yet.
	AnnotationChangedFrom = GroupName + "/changed-from"

	// AnnotationTemplate on a member's Pod is a hash of what the EtcdCluster's user had
	// written of the shape of Pods when it was made. A Pod without it is taken to be as
	// is wanted.
	AnnotationTemplate = GroupName + "/template"
	// AnnotationKeys on a member's Pod names the labels and annotations that it has from
	// spec.pod, as JSON, so that those which are not wanted any more are taken away.
	AnnotationKeys = GroupName + "/keys"
	// AnnotationRestart on an EtcdCluster asks for a restart of all its members, one at a
	// time, as soon as its value changes: any text, such as the time. Members without
	// volumes are replaced.
	AnnotationRestart = GroupName + "/restart"

	// AnnotationDefragment on an EtcdCluster asks for a round in which all its members are
	// defragmented, one at a time, as soon as its value changes: any text, such as the time.
	// status.maintenance.defragmentRequest answers when the round begins. Removing the
	// annotation ends the round after the member that is being defragmented, unless
	// spec.maintenance asks for rounds, too.
	AnnotationDefragment = GroupName + "/defragment"
	// AnnotationMoveLeader on an EtcdCluster asks, as soon as its value changes, to transfer
	// the leadership to the member whose name is its first word. Any text may follow, such as
	// the time, to ask for the same member again. status.maintenance.leaderRequest answers.
	AnnotationMoveLeader = GroupName + "/move-leader"

	// AnnotationTrust on a member's Pod is the hash of the CAs that it was made to
	// trust (status.tls.trust then).
	AnnotationTrust = GroupName + "/trust"
	// AnnotationRenew on an EtcdCluster whose certificates are issued for the user asks
	// for new ones, as soon as its value changes: any text, such as the time.
	AnnotationRenew = GroupName + "/renew-certificates"
	// AnnotationRotateCA on an EtcdCluster with TLS.auto asks for a new CA, as soon
	// as its value changes.
	AnnotationRotateCA = GroupName + "/rotate-ca"

	// AnnotationFence on an EtcdCluster asks etcd-operator to suspend its reconciliation.
	// The value is the uid of the EtcdRestore that asks. It may be there from the
	// EtcdCluster's creation on: then no member is made before the hand-over.
	//
	// status.fencedBy answers, as soon as nothing that etcd-operator has begun can
	// still take effect. Until then the fence is withdrawn by removing the annotation and
	// setting AnnotationFenceLifted (against the resourceVersion at which it was not
	// acknowledged). From then on
	// etcd-operator touches nothing of the cluster, whatever becomes of this annotation,
	// until it has adopted the seed that AnnotationSeeded names, or AnnotationFenceLifted
	// names the uid. While spec.paused or the condition NameConflict is true it neither
	// answers nor adopts nor resumes.
	//
	// A uid fences once: one whose seed was adopted (status.adoptedSeed), or that
	// AnnotationFenceLifted names, is passed over.
	AnnotationFence = GroupName + "/fence"
	// AnnotationSeeded on an EtcdCluster is the hand-over: <uid>/<Pod name>/<Pod uid>,
	// of the EtcdRestore whose fence it is and of the seed that it has made. It counts
	// only while status.fencedBy is that uid. etcd-operator adopts the seed once it
	// serves a cluster of its own, another than status.clusterID, as its only member;
	// its Pod (and its PVC, where members have one) must have LabelCluster and the
	// EtcdCluster as controller. One write of the status makes it the cluster:
	// bootstrap, clusterID and adoptedSeed name it, and fencedBy is empty again.
	//
	// Until that write the seed can be withdrawn or replaced: remove or replace this
	// annotation first, by a JSON patch that tests that /status/fencedBy is still the
	// uid, and touch the seed only after that.
	AnnotationSeeded = GroupName + "/seeded"
	// AnnotationFenceLifted on an EtcdCluster ends the fence of the uid that it names
	// without a hand-over: status.fencedBy is empty again, and etcd-operator resumes
	// with what is there, and heals it. It is stronger than AnnotationFence and
	// AnnotationSeeded of the same uid, and may stay. Only the restore that
	// status.fencedBy names sets it (a person may in its place, when it is gone), and
	// it is not done before status.fencedBy names it no longer. While nobody has the fence
	// and nobody else asks for it, a restore sets it that withdraws its request: what it
	// asked for, and what might land late, is passed over. Give the old members'
	// PVCs back, and delete the seed and its PVC, before setting it. A cluster that
	// never had a member begins empty after it: delete an EtcdCluster that was made
	// for the restore instead.
	AnnotationFenceLifted = GroupName + "/fence-lifted"
	// AnnotationReturnedBy on a member's PVC is the uid of the last EtcdRestore that was
	// rolled back after its fence had been acknowledged: that one no longer retires the
	// PVC, whatever of it lands late.
	AnnotationReturnedBy = GroupName + "/returned-by"

	// AnnotationAdoptVolumes on an EtcdCluster that has not begun asks etcd-operator to
	// adopt the volumes that an earlier EtcdCluster of its name has left
	// (storage.deletionPolicy Retain). The value is AdoptAny, or the uid of that
	// EtcdCluster as their LabelOwner tells it. It has no meaning once the cluster has
	// begun, and may stay.
	AnnotationAdoptVolumes = GroupName + "/adopt-volumes"
	// AdoptAny is the value of AnnotationAdoptVolumes for whichever volumes there are,
	// if all are of one EtcdCluster.
	AdoptAny = "true"
	// AnnotationFormerOwners on a member's PVC are the uids of the EtcdClusters whose it was
	// before it was adopted, with blanks between. What is on the volume is marked with the
	// uid of its EtcdCluster: data marked with one of these is the member's own all the same.
	AnnotationFormerOwners = GroupName + "/former-owners"
	// AnnotationGrowthRefused on a member's PVC is what the API server last said to its
	// growth: the size in bytes, when, and its words, with a blank between.
	AnnotationGrowthRefused = GroupName + "/growth-refused"
	// AnnotationProven on a member's Pod is what its etcd container was when it was last
	// seen to serve: how often it had been restarted, and its image, with a blank
	// between.
	AnnotationProven = GroupName + "/proven"

	// AnnotationRestore on the Job of a restore, on its Pod and on the seed's Pod is the
	// EtcdRestore's name.
	AnnotationRestore = GroupName + "/restore"
	// AnnotationRestorePermit on the seed's Pod is its permit, which the init container that
	// prepares and the launcher read through the downward API. It has three states:
	//
	// <uid of the EtcdRestore>/prepare: the snapshot may be fetched, checked and rebuilt,
	// beside the data directory. etcd does not start.
	//
	// <uid of the EtcdRestore>: the start permit. What was rebuilt becomes the data
	// directory, and etcd starts. It is given when no old member can serve clients any
	// more.
	//
	// Absent: revoked, before the hand-over. Nothing is restored a second time: a seed
	// whose disk is lost from then on has lost its data, like any other member.
	AnnotationRestorePermit = GroupName + "/restore-permit"
	// AnnotationSurvivorPermit is the same on the seed's Pod of a recovery from a survivor,
	// with the token in the EtcdCluster's status.recovery. On the seed's PVC it says for
	// which recovery that was made, until nothing is left of the cluster before it.
	AnnotationSurvivorPermit = GroupName + "/survivor-permit"
	// AnnotationRecover on an EtcdCluster, with the id of the cluster whose majority is
	// lost for good (its status.clusterID), lets it begin anew once with the data of its
	// most advanced survivor, as spec.recovery.quorumLoss: Survivor does every time. The
	// new cluster has another id, so the annotation has no meaning any more then.
	AnnotationRecover = GroupName + "/recover"
	// AnnotationRestoredBy on an EtcdCluster is the uid of the EtcdRestore that has made
	// it.
	AnnotationRestoredBy = GroupName + "/restored-by"

	// AnnotationBackup on the Job of a backup, and on its Pod, is the
	// EtcdBackup's name.
	AnnotationBackup = GroupName + "/backup"
	// AnnotationArchive on the Job that records the archive of an EtcdBackup is a hash of what
	// it was built from.
	AnnotationArchive = GroupName + "/archive"
	// AnnotationCopy on the Job that copies a backup is a hash of what it was built from, and
	// AnnotationEntry the name of the entry of status.history that it copies.
	AnnotationCopy  = GroupName + "/copy"
	AnnotationEntry = GroupName + "/entry"
	// AnnotationScheduled on the Job of a backup is when it was due, in UTC, in
	// the form of RFC 3339.
	AnnotationScheduled = GroupName + "/scheduled"
)
