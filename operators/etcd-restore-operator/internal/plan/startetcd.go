package plan

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// What a verification has besides that starts etcd (spec.startEtcd).

func (v *view) startsEtcd() bool { return v.spec.VerifyOnly && v.spec.StartEtcd != nil }

// KeepsOffMembers reports whether the Pod of a verification is to run where no member of an
// EtcdCluster does: it reads and writes a whole database.
func KeepsOffMembers(r *v1beta2.EtcdRestore) bool {
	return r.Spec.VerifyOnly && r.Spec.StartEtcd != nil && (r.Spec.Pod == nil || r.Spec.Pod.Affinity == nil)
}

// servedOf is what is written of an etcd that was started; nil if none was.
func servedOf(s *task.Served) *v1beta2.ServedState {
	if s == nil {
		return nil
	}
	return &v1beta2.ServedState{EtcdVersion: conditiontext.Clip(s.EtcdVersion), TotalKeys: max(s.TotalKeys, 0)}
}

// checkServed refuses to call a snapshot good by an etcd to which it would not be restored: one of
// an older release may serve it and lack what it does not know.
func (v *view) checkServed(s *v1beta2.RestoreSnapshot, served *v1beta2.ServedState) *refusal {
	if !v.startsEtcd() {
		return nil
	}
	if served == nil {
		return &refusal{v1beta2.RestoreReasonResultInvalid, fmt.Sprintf("Job %s did not report what etcd served: run agent and operator in the same version", v.Job.Name)}
	}
	etcd, known := parseMinor(served.EtcdVersion)
	data, ok := parseMinor(s.EtcdVersion)
	if known && ok && etcd.reads(data) {
		return nil
	}
	return &refusal{v1beta2.RestoreReasonVersionMismatch, fmt.Sprintf(
		"a snapshot of etcd %s is restored to its own minor version, or to the next one, and not to etcd %s, which was started on it: set startEtcd.version in another EtcdRestore to that of the backed-up cluster", s.EtcdVersion, served.EtcdVersion)}
}

// etcdToStart is the version of the etcd that a verification starts: what the spec says, or what
// the EtcdBackup tells of the source; empty if nobody tells.
func (v *view) etcdToStart() string {
	version := strings.TrimPrefix(cmp.Or(v.spec.StartEtcd.Version, v.recordedVersion), "v")
	if _, err := semver.NewVersion(version); err != nil { // it becomes the tag of an image
		return ""
	}
	return version
}

// keepsOff is what to do about a Pod that finds no node; empty if its nodes are not bounded by us.
func (v *view) keepsOff() string {
	if !KeepsOffMembers(v.Restore) {
		return ""
	}
	return " (it keeps off nodes that ran members of an EtcdCluster when the Job was created: to permit it there, set pod.affinity: {} in another EtcdRestore)"
}
