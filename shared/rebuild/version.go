package rebuild

import (
	"fmt"
	"slices"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// undecided is the cluster version of a cluster whose members have not all been seen yet.
const undecided = "3.0.0"

// version is the minor version whose data it is: that of the storage, which etcd writes
// from 3.6 on, or else that of the cluster.
func (in *inspection) version() (string, error) {
	text, ok := in.settings[keyStorageVersion]
	if !ok {
		text, ok = in.settings[keyClusterVersion]
	}
	if !ok && in.isBefore35() {
		return "", tooOld("3.4 or older")
	}
	if !ok || string(text) == undecided && !in.isBefore35() {
		return "", runner.Refuse(agent.ReasonUnknownVersion, "the snapshot does not say of which version of etcd it is, as it was taken before its cluster had agreed on one: restore one that was taken later")
	}
	v, err := semver.NewVersion(string(text))
	if err != nil {
		return "", damaged("%q is not a version", text)
	}
	minor := fmt.Sprintf("%d.%d", v.Major, v.Minor)
	if v.LessThan(*semver.New(etcdversion.Minors()[0] + ".0")) {
		return "", tooOld(minor)
	}
	if minors := etcdversion.Minors(); !slices.Contains(minors, minor) {
		return "", runner.Refuse(agent.ReasonUnknownVersion, "the snapshot is of etcd %s, and this operator restores those of %s to %s: install a newer operator", minor, minors[0], minors[len(minors)-1])
	}
	return minor, nil
}

// What etcd writes into the bucket meta from 3.5 on.
const (
	keyTerm      = "term"
	keyConfState = "confState"
)

// isBefore35 tells, of a database that does not say its version, that etcd 3.5 or later has
// never written to it (https://github.com/etcd-io/etcd/blob/main/server/storage/schema/schema.go).
func (in *inspection) isBefore35() bool {
	return in.settings[keyTerm] == nil && in.settings[keyConfState] == nil
}

// tooOld is the failure of a snapshot of an etcd before those that are supported.
func tooOld(version string) error {
	return runner.Refuse(agent.ReasonSnapshotTooOld, "the snapshot is of etcd %s, and etcd %s is the oldest that is supported: restore it with etcdctl of that version, upgrade that cluster to etcd %s, and take a new snapshot", version, etcdversion.Minors()[0], etcdversion.Minors()[0])
}
