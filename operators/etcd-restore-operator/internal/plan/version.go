package plan

import (
	"fmt"
	"strings"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// minor is a minor release of etcd, such as 3.6.
type minor struct{ major, minor int }

// parseMinor reads "3.6", "3.6.16" and "v3.6.16-rc.0".
func parseMinor(s string) (minor, bool) {
	s = strings.TrimPrefix(s, "v")
	if strings.Count(s, ".") == 1 {
		s += ".0"
	}
	v, err := semver.NewVersion(s)
	if err != nil {
		return minor{}, false
	}
	return minor{int(v.Major), int(v.Minor)}, true
}

func (m minor) String() string { return fmt.Sprintf("%d.%d", m.major, m.minor) }

// reads reports whether an etcd of a minor release can start with data of another: of
// its own or of the one before (https://etcd.io/docs/v3.6/upgrades/upgrading-etcd/).
func (m minor) reads(data minor) bool {
	return m.major == data.major && (m.minor == data.minor || m.minor == data.minor+1)
}

// version is what the seed has to run; empty if that is not known yet.
func (v *view) version() string {
	if v.there {
		st := &v.Cluster.Status
		if st.CurrentVersion != "" {
			return strings.TrimPrefix(st.CurrentVersion, "v")
		}
		if st.TargetVersion != "" {
			return strings.TrimPrefix(st.TargetVersion, "v")
		}
	}
	return v.clusterSpec().EtcdVersion()
}

// checkVersion says why the cluster's etcd cannot read the snapshot; nil if it can, or if
// its version is not known yet.
func (v *view) checkVersion() *refusal {
	target := v.version()
	if target == "" {
		return nil
	}
	t, ok := parseMinor(target)
	if !ok {
		return &refusal{v1beta2.RestoreReasonVersionUnknown, fmt.Sprintf("EtcdCluster %s has the etcd version %s, which is not a version: correct its spec.version", v.name, conditiontext.Quote(target))}
	}
	d, ok := parseMinor(v.last.Snapshot.EtcdVersion)
	if !ok {
		return &refusal{v1beta2.RestoreReasonVersionUnknown, fmt.Sprintf("the snapshot has the etcd version %s, which is not a version: restore another snapshot", conditiontext.Quote(v.last.Snapshot.EtcdVersion))}
	}
	if !t.reads(d) {
		return &refusal{v1beta2.RestoreReasonVersionMismatch, fmt.Sprintf(
			"cannot restore a snapshot of etcd %s to EtcdCluster %s, which runs %s: a snapshot is restored to its own minor version, or to the next one; restore it to a new cluster of etcd %s (clusterTemplate with version %s.x), and upgrade that",
			d, v.name, target, d, d)}
	}
	return nil
}
