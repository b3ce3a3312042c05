package member

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// MaxLearners is etcd's --max-learners in every member that we make: the six
// that the first growth of the largest cluster, seven members, adds at once.
//
// It is one constant, never a setting. Each member checks the limit for itself
// when it applies an addition, so members with different limits end up with
// different member lists, for good. etcd 3.6 and later have the limit as a
// setting; 3.5 only warns about the variable, and its limit is 1.
const MaxLearners = 6

// EnvMaxLearners is the variable that sets it. Not a flag, because 3.5 refuses to
// start on a flag that it does not know, and only warns about a variable.
const EnvMaxLearners = "ETCD_MAX_LEARNERS"

// EnvSnapshotCount is the variable, of the user's, that says after how many log entries
// etcd makes a snapshot.
const EnvSnapshotCount = "ETCD_SNAPSHOT_COUNT"

// EnvCompaction is the variable, of the user's, that says how much of the history etcd keeps
// when it compacts by itself, and EnvCompactionMode the one that says of what.
const (
	EnvCompaction     = "ETCD_AUTO_COMPACTION_RETENTION"
	EnvCompactionMode = "ETCD_AUTO_COMPACTION_MODE"
)

// EnvQuota is the variable, of the user's, that says how many bytes etcd's database may
// grow to.
const EnvQuota = "ETCD_QUOTA_BACKEND_BYTES"

// reservedEnv are the variables of etcd that decide what a member is, where its
// data lies and whom it believes, and those of TLS. Admission refuses the same
// ones (see spec.pod.etcdEnv in package v1beta2). Those with a flag in [NewPod]
// would make etcd exit: it takes no setting both as flag and as variable.
var (
	reservedEnv = []string{
		"ETCD_NAME",
		"ETCD_DATA_DIR",
		"ETCD_WAL_DIR",     // the launcher looks for the log in the data dir
		"ETCD_CONFIG_FILE", // makes etcd ignore every flag and variable
		"ETCD_FORCE_NEW_CLUSTER",
		"ETCD_STRICT_RECONFIG_CHECK",
		EnvMaxLearners,
		"ETCD_EXPERIMENTAL_MAX_LEARNERS",
	}
	reservedEnvPrefixes = []string{
		"ETCD_LISTEN_",
		"ETCD_ADVERTISE_",
		"ETCD_INITIAL_",
		"ETCD_FORCE_NEW_CLUSTER_",
		"ETCD_DISCOVERY",
	}
	tlsEnv = []string{
		"ETCD_CA_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "ETCD_TRUSTED_CA_FILE", "ETCD_AUTO_TLS",
	}
	tlsEnvPrefixes = []string{
		"ETCD_PEER_", "ETCD_EXPERIMENTAL_PEER_", "ETCD_CLIENT_CERT_", "ETCD_CLIENT_KEY_", "ETCD_CLIENT_CRL_",
	}
)

// ValidateEnv returns an error for the first variable that is not the user's to
// set, saying what to do instead.
func ValidateEnv(env []corev1.EnvVar) error {
	for i, e := range env {
		field := fmt.Sprintf("spec.pod.etcdEnv[%d]", i)
		if isOneOf(e.Name, tlsEnv, tlsEnvPrefixes) {
			return fmt.Errorf("%s: %s configures TLS: remove it, and write in spec.TLS where the certificates come from", field, e.Name)
		}
		if isOneOf(e.Name, reservedEnv, reservedEnvPrefixes) {
			return fmt.Errorf("%s: %s must not be set, because the operator sets the identity, the addresses and the data folder of each member: remove it", field, e.Name)
		}
	}
	return nil
}

func isOneOf(name string, names, prefixes []string) bool {
	return slices.Contains(names, name) ||
		slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
