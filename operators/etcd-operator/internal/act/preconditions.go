package act

// Precondition is one of the checks that act makes right before an effect, because the
// world might no longer be as it was observed. If it fails nothing is done, and the cluster
// is observed again. The simulation counts how often each has failed, and shows what comes
// of it when one is left out.
type Precondition string

// The EtcdCluster, read live, is the one that was observed (S11, S12).
const (
	SameCluster   Precondition = "the EtcdCluster is there, and is the one that was observed"
	SameSpec      Precondition = "the EtcdCluster's spec has not changed, nor is it being deleted since"
	SameClusterID Precondition = "no other cluster id is latched"
	SameBootstrap Precondition = "no other beginning is recorded"
	SameRecovery  Precondition = "no recovery has begun, gone on or ended"
	SameVersions  Precondition = "no other version is recorded"
	NotFenced     Precondition = "no restore has fenced the EtcdCluster"
)

// It is looked at before each action, and once more before each effect that comes after
// another call.
const (
	BeforeAction     Precondition = "the EtcdCluster has not changed before the action"
	BeforePod        Precondition = "the EtcdCluster has not changed before a Pod is created"
	BeforeVolume     Precondition = "the EtcdCluster has not changed before a PVC is created"
	BeforeEtcd       Precondition = "the EtcdCluster has not changed after etcd was asked for its member list"
	BeforeImage      Precondition = "the EtcdCluster has not changed before a Pod gets another image"
	BeforeRecreation Precondition = "the EtcdCluster has not changed before a member's Pod is deleted to be recreated"
	BeforeRole       Precondition = "the EtcdCluster has not changed before the role of each Pod is changed"
	BeforePermit     Precondition = "the EtcdCluster has not changed after the Pod that gets a start permit was read (S2)"
	BeforeRevocation Precondition = "the EtcdCluster has not changed before each start permit is revoked"
	BeforeDowngrade  Precondition = "the EtcdCluster has not changed before etcd's downgrade is enabled or cancelled"
	BeforeGrowth     Precondition = "the EtcdCluster has not changed before a PVC is expanded"
	BeforeKeeping    Precondition = "the EtcdCluster has not changed before each PVC is retained, or is no longer"
	BeforeTaking     Precondition = "the EtcdCluster has not changed before each PVC of an earlier one is adopted"
	BeforeChild      Precondition = "the EtcdCluster has not changed before a Service or the PodDisruptionBudget is applied"
	BeforeNoBudget   Precondition = "the EtcdCluster has not changed before the PodDisruptionBudget is deleted"
	BeforeLabels     Precondition = "the EtcdCluster has not changed before labels of a Pod or PVC are restored"
)

// etcd's members, asked with linearizable consistency.
const (
	SameMembers Precondition = "the member list is the one that was decided on (S3, S4)"
	LeadsNot    Precondition = "the member that is to leave, or is blocked, does not lead (S8)"
	QuorumStays Precondition = "those who stay when a member is removed answer, and are a quorum (S4)"
	Downgrade   Precondition = "etcd takes the downgrade, or has one to cancel"
)

// The Pods of the cluster, read live.
const (
	Observed          Precondition = "the Pod that is named was observed"
	SameNames         Precondition = "the cluster has Pods of the observed names only, before others are created (S11)"
	SamePods          Precondition = "each Pod was observed, and is as it was then (S4, S6)"
	AllPods           Precondition = "none of the observed Pods is gone"
	NoUnseenPod       Precondition = "no member has a Pod that lists do not show (S9)"
	NoUnseenClaim     Precondition = "no member has a PVC that lists do not show (S9)"
	NoDoubtfulPod     Precondition = "no member has a Pod whose owner is in doubt (S9)"
	NoDoubtfulClaim   Precondition = "no member has a PVC whose owner is in doubt (S9, S12)"
	RemovedPod        Precondition = "the Pod of the member that is removed is the observed one, or there is none"
	RemovedPermit     Precondition = "the Pod of the member that is removed has the start permit that it had (S4)"
	RemovedNotBack    Precondition = "the Pod of the member that is removed has neither become ready nor found a node (S4)"
	NoPodOfClaim      Precondition = "no Pod has the name of a PVC that is deleted (S7)"
	SeedIsThere       Precondition = "the seed that a restore has handed over is there (S12)"
	SeedIsAlone       Precondition = "no other Pod might serve beside the seed that a restore has handed over (S1)"
	StillThere        Precondition = "the object that is changed or deleted still exists"
	NameIsFree        Precondition = "no Pod of a new member's name exists"
	ImageAsRead       Precondition = "the Pod that gets another image is as it was read (S6)"
	DefragmentAsRead  Precondition = "the Pod that is marked as being defragmented is as it was read (S6)"
	LabelsAsRead      Precondition = "the Pod that is labelled is as it was read"
	RecreationAsRead  Precondition = "the Pod that is deleted to be recreated is as it was read (S6)"
	SameRole          Precondition = "the Pod whose role is changed is the observed one, by uid, and has the role that it had"
	PermitOfSamePod   Precondition = "the Pod that gets a start permit is the observed one, by uid (S2)"
	PermitAsRead      Precondition = "the Pod that gets a start permit is as it was read (S2)"
	RevocationOfPod   Precondition = "the Pod whose start permit is revoked is the observed one, by uid"
	DefragmentOfPod   Precondition = "the Pod that is marked as defragmented is the observed one, by uid"
	DeletionOfSamePod Precondition = "the Pod that is deleted is the observed one, by uid (S7)"
)

// Volumes, read live.
const (
	NoOtherClaims   Precondition = "no other PVC has the cluster's name when a beginning is recorded (S1)"
	ClaimIsMembers  Precondition = "the PVC is the cluster's, and no restore has retired it (S7, S12)"
	SameClaim       Precondition = "the PVC is the observed one, by uid"
	ClaimAsRead     Precondition = "the PVC is as it was read when it is deleted (S7)"
	PatchedAsRead   Precondition = "the PVC is as it was read when it is changed"
	ClaimIsOurs     Precondition = "a PVC that a new Pod finds is the cluster's (S12)"
	ClaimIsUsable   Precondition = "a PVC that a new member finds is not retired or being deleted"
	GrowsAlone      Precondition = "no other PVC is being expanded (S6)"
	GrowsAsObserved Precondition = "the PVC that is expanded is the observed one, of that size"
	GrowsBesideSame Precondition = "each Pod is as it was observed when a PVC is expanded (S6)"
	TakenIsThere    Precondition = "a PVC that is adopted is not being deleted"
	TakenIsRetained Precondition = "a PVC that is adopted is retained, of the EtcdCluster that the spec names (S12)"
)

// What a survivor's seed and the members that it replaces are (S13).
const (
	SameHolders      Precondition = "each Pod that may hold data was observed"
	SameHolderClaims Precondition = "each PVC that may hold data was observed"
	AllHolderClaims  Precondition = "none of the observed PVCs is gone"
	NoOtherServes    Precondition = "no Pod but the seed gets clients when it is adopted"
	SurvivorsSeed    Precondition = "the seed that is adopted is there"
	SeedNotAdopted   Precondition = "the cluster has not begun with the seed that is deleted"
	SeedPod          Precondition = "the Pod of the name of a seed that is deleted is the seed"
	SeedOfUID        Precondition = "the Pod of a seed that is deleted is the observed one, by uid"
	SeedExists       Precondition = "the Pod or the PVC of a seed that is deleted was observed"
	SeedClaim        Precondition = "the PVC of the name of a seed that is deleted is the seed's"
	RevocationOfSeed Precondition = "the seed whose permit is revoked is the observed one, by uid"
)

// Children of the EtcdCluster, and its status.
const (
	ServiceIsOurs Precondition = "the Service is the cluster's (S12)"
	BudgetIsOurs  Precondition = "the PodDisruptionBudget is the cluster's (S12)"
	BudgetAsRead  Precondition = "the PodDisruptionBudget that is deleted is the one that was read, by uid"
	StatusAsRead  Precondition = "the EtcdCluster is as it was read when its status is written (S1, S11)"
)
