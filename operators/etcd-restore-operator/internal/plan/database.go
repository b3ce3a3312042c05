package plan

import (
	"fmt"
	"strconv"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// defaultQuota is the size that a database may grow to where nothing else is set: etcd's
	// own default (https://etcd.io/docs/v3.6/dev-guide/limit/), in bytes.
	defaultQuota = int64(2 << 30)
	// quotaSlack is what a restored database must be able to grow by before etcd refuses
	// writes: 1 MiB, for what etcd itself writes while the cluster grows.
	quotaSlack = int64(1 << 20)
	// cutSlack is what the database may grow by, beside that, when it is cut at a revision
	// (see package rebuild).
	cutSlack = int64(16 << 20)
	// fewRevisions is the highest revision that is reported of a cluster with less than a
	// thousand, and of one that nothing was ever written to.
	fewRevisions = int64(2_000)
)

// checkQuota refuses a database that etcd would take no writes on.
func (v *view) checkQuota() *refusal {
	quota, need := quotaOf(v.clusterSpec()), sum(v.databaseSize(), quotaSlack)
	if v.isPointInTime() {
		need = sum(need, cutSlack)
	}
	if quota == 0 || quota >= need {
		return nil
	}
	return &refusal{v1beta2.RestoreReasonQuotaTooSmall, fmt.Sprintf(
		"quota too small: the snapshot's database has %s, and the quota of EtcdCluster %s is %s, beyond which etcd rejects writes; set its spec.etcd.quotaBackendBytes to at least %d, and create another EtcdRestore",
		v1beta2.ReadableSize(v.databaseSize()), v.name, v1beta2.ReadableSize(quota), need)}
}

// databaseSize is how large the database is, in bytes, with what the archive adds to it.
func (v *view) databaseSize() int64 {
	return max(v.last.Snapshot.DatabaseSize, v.last.Snapshot.DatabaseSizeAtRevision)
}

// quotaOf is the size in bytes that a member's database may grow to; 0 if there is no limit,
// or if it is not known. What pod.etcdEnv says takes precedence.
func quotaOf(spec *v1beta2.ClusterSpec) int64 {
	if spec.Pod != nil {
		for _, e := range spec.Pod.EtcdEnv {
			if e.Name != member.EnvQuota {
				continue
			}
			n, err := strconv.ParseInt(e.Value, 10, 64)
			switch {
			case err != nil || n < 0:
				return 0
			case n == 0:
				return defaultQuota
			}
			return n
		}
	}
	if spec.Etcd != nil && spec.Etcd.QuotaBackendBytes != nil {
		return spec.Etcd.QuotaBackendBytes.Value()
	}
	return defaultQuota
}

// checkEmpty refuses a snapshot without a key that would replace a cluster which has held
// some, and one without a key under the prefixes, unless that is written down.
func (v *view) checkEmpty() *refusal {
	keys, what := v.last.Snapshot.TotalKeys, ""
	if n := v.last.Snapshot.KeysAtRevision; n != nil {
		keys, what = *n, v.asAsked(v.target())
	}
	if r := v.last.Restored; r != nil {
		keys, what = r.TotalKeys, v.asAsked(v.target())
	}
	if keys > 0 || v.spec.AllowEmptySnapshot {
		return nil
	}
	if len(v.spec.Prefixes) > 0 && what != "" {
		return &refusal{task.ReasonEmptySnapshot, fmt.Sprintf(
			"snapshot %s has no key%s: create another EtcdRestore with other prefixes, another revision or another snapshot, or with allowEmptySnapshot: true", v.last.Snapshot.Location, what)}
	}
	if !v.hasHeldKeys() {
		return nil
	}
	return &refusal{task.ReasonEmptySnapshot, fmt.Sprintf(
		"snapshot %s is empty%s, and the keys of EtcdCluster %s would be lost: restore another snapshot, or create another EtcdRestore with allowEmptySnapshot: true",
		v.last.Snapshot.Location, what, v.name)}
}

// hasHeldKeys reports whether something was written to the cluster that is restored in
// place, as far as etcd-operator knows.
func (v *view) hasHeldKeys() bool {
	if !v.there || v.made {
		return false
	}
	st := &v.Cluster.Status
	return st.Written || st.HighestRevision > fewRevisions || st.Consistency != nil && st.Consistency.Revision > 1
}
