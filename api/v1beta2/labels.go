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
	// LabelRole says what a member's Pod is now: one of the Role constants.
	// The client Service and the PodDisruptionBudget select RoleVoter.
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
)

const (
	// AnnotationScope on an EtcdCluster, with the value ScopeClusterwide,
	// leaves it to an operator that runs with --cluster-wide. Such an operator
	// ignores every other EtcdCluster, and an operator that watches one
	// namespace ignores the annotated ones.
	AnnotationScope = GroupName + "/scope"
	// ScopeClusterwide is the one value of AnnotationScope that has a meaning.
	ScopeClusterwide = "clusterwide"

	// AnnotationStart on a member's Pod is the operator's leave to start etcd.
	// The launcher in the Pod reads it through the downward API before every
	// start of the container. Admission refuses it (as every annotation with
	// our prefix) in spec.pod.annotations.
	AnnotationStart = GroupName + "/start"
)
