package v1beta2

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What an omitted field stands for.
const (
	// DefaultRepository is where the etcd image comes from, without its tag.
	DefaultRepository = "quay.io/coreos/etcd"
	// DefaultSize is the number of members: the smallest that survives the loss
	// of one.
	DefaultSize = 3
	// DefaultRootUser is etcd's user of a Secret of credentials that names none.
	DefaultRootUser = "root"
	// DefaultMemberTimeout is how long a member's node may be gone before the
	// member is replaced.
	DefaultMemberTimeout = 5 * time.Minute
)

const (
	// MaxSize is the most members a cluster may have. Each further one slows
	// every write, and etcd's own documentation advises against more than seven
	// (https://etcd.io/docs/v3.6/faq/#what-is-maximum-cluster-size).
	MaxSize = 7
	// MaxNameLength is the longest name of an EtcdCluster: a member's name adds
	// a dash and ten characters, and a DNS label holds 63 less the dot.
	MaxNameLength = 52
	// MinPodDisruptionBudgetSize is the smallest cluster that gets a
	// PodDisruptionBudget by default. With one or two members quorum is all of
	// them, so a budget would block every drain of a node for ever.
	MinPodDisruptionBudgetSize = 3
)

// ImageRepository is the image to run without its tag: Repository, or
// DefaultRepository if that is empty.
func (s *ClusterSpec) ImageRepository() string {
	if s.Repository == "" {
		return DefaultRepository
	}
	return s.Repository
}

// EtcdVersion is Version without its optional leading "v", or "" if the version
// is left to the operator.
func (s *ClusterSpec) EtcdVersion() string {
	return strings.TrimPrefix(s.Version, "v")
}

// MemberTimeout is Recovery.MemberTimeout, or DefaultMemberTimeout.
func (s *ClusterSpec) MemberTimeout() time.Duration {
	if s.Recovery == nil || s.Recovery.MemberTimeout == nil {
		return DefaultMemberTimeout
	}
	return s.Recovery.MemberTimeout.Duration
}

// RootSecret is Auth.RootSecret, or "" if there is none.
func (s *ClusterSpec) RootSecret() string {
	if s.Auth == nil {
		return ""
	}
	return s.Auth.RootSecret
}

// AllowedStores are the places in which backups can be stored; none for any place.
func (s *ClusterSpec) AllowedStores() []string {
	if s.Backup == nil {
		return nil
	}
	return s.Backup.AllowedStores
}

// WantsPodDisruptionBudget says whether the cluster is to have one: what
// PodDisruptionBudget says, and if it says nothing, whether there are at least
// MinPodDisruptionBudgetSize members.
func (s *ClusterSpec) WantsPodDisruptionBudget() bool {
	if s.PodDisruptionBudget != nil {
		return *s.PodDisruptionBudget
	}
	return s.Size >= MinPodDisruptionBudgetSize
}

// ClientServiceType is Service.Type, or ClusterIP.
func (s *ClusterSpec) ClientServiceType() corev1.ServiceType {
	if s.Service == nil || s.Service.Type == "" {
		return corev1.ServiceTypeClusterIP
	}
	return s.Service.Type
}

// Persistent says whether every member has a volume of its own that outlives
// its Pod.
func (s *ClusterSpec) Persistent() bool {
	return s.Pod != nil && s.Pod.PersistentVolumeClaimSpec != nil
}

// RetainsVolumes says whether the members' volumes outlive the EtcdCluster.
func (s *ClusterSpec) RetainsVolumes() bool {
	return s.Storage != nil && s.Storage.DeletionPolicy == VolumesRetain
}

// maxSeconds is the longest time that a time.Duration holds.
const maxSeconds = int64((1<<63 - 1) / time.Second)

// seconds is n seconds, at most what a time.Duration holds and at least 0.
func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), maxSeconds)) * time.Second
}
