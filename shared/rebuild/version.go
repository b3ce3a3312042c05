package rebuild

import (
	"fmt"
	"slices"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// minors are those whose data can be restored.
var minors = []string{"3.5", "3.6", "3.7"}

// version is the minor version whose data it is: that of the storage, which etcd writes
// from 3.6 on, or else that of the cluster.
func (in *inspection) version() (string, error) {
	text, ok := in.settings[keyStorageVersion]
	if !ok {
		text, ok = in.settings[keyClusterVersion]
	}
	if !ok {
		return "", runner.Refuse(agent.ReasonUnknownVersion, "the snapshot does not say of which version of etcd it is, as it was taken before its cluster had agreed on one: restore one that was taken later")
	}
	v, err := semver.NewVersion(string(text))
	if err != nil {
		return "", damaged("%q is not a version", text)
	}
	minor := fmt.Sprintf("%d.%d", v.Major, v.Minor)
	if !slices.Contains(minors, minor) {
		return "", runner.Refuse(agent.ReasonUnknownVersion, "the snapshot is of etcd %s, and this operator restores those of %s to %s: if it is older, restore it elsewhere with etcdutl, upgrade that cluster and take another; if it is newer, install a newer operator", minor, minors[0], minors[len(minors)-1])
	}
	return minor, nil
}
