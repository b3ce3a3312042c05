package act

// Precondition is one of the checks that act makes right before an effect, because the
// world might no longer be as it was observed. If it fails nothing is done, and the
// EtcdRestore is observed again. The simulation of etcd-operator, which runs this code, counts
// how often each has failed, and shows what comes of it when one is left out.
type Precondition string

// The EtcdRestore and the EtcdCluster, read live (S11, S12).
const (
	SameRestore     Precondition = "the EtcdRestore is there, and is as it was observed"
	SameCluster     Precondition = "the EtcdCluster is there, and is the one that was observed"
	Fenced          Precondition = "etcd-operator has left the EtcdCluster to this restore"
	NotAcknowledged Precondition = "the fence that is withdrawn is not acknowledged"
	WhileFenced     Precondition = "the mark on the EtcdCluster is changed while it is left to this restore"
	MarkedAsRead    Precondition = "the EtcdCluster on which a fence is asked for, or withdrawn, is as it was read"
)

// Its Pods and volumes, read live (S2, S7, S12).
const (
	Prepared          Precondition = "the seed is ready to start when members are stopped for it"
	Alone             Precondition = "no other Pod of the cluster might run when the seed gets its start permit"
	PermitOfSamePod   Precondition = "the seed that gets its start permit is the observed one, by uid, and is not being deleted"
	RevocationOfPod   Precondition = "the seed whose permit is revoked is the observed one, by uid"
	NoSeed            Precondition = "no seed of this restore is left when its fence is lifted"
	SeedNotOffered    Precondition = "the seed that is deleted is not handed over"
	VolumeNotOffered  Precondition = "the volume that is deleted is not that of the seed that is handed over"
	DeletionOfSame    Precondition = "the object that is deleted is the observed one, by uid"
	ClaimIsClusters   Precondition = "the PVC is the observed one, by uid, and the cluster's"
	LabelledAsRead    Precondition = "the PVC whose label is changed is as it was read"
	NotReturned       Precondition = "the PVC that is retired was not returned by this restore before"
	DeletedIsRetired  Precondition = "the PVC that is deleted was retired by this restore"
	RetiredAsRead     Precondition = "the retired PVC that is deleted is as it was read"
	CertificatesExist Precondition = "the CAs that the seed is to trust are known"
)
