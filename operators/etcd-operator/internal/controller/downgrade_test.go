package controller_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// A cluster goes back a minor at a time by etcd's downgrade API, under load, in the Pods
// that it has, and keeps all that was written.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	versions := etcdtest.Versions()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[2] })
	b.untilVersion(c, 3, versions[2])
	before := b.pods(c)
	addr := b.serves(c)
	written := 0
	for _, version := range []string{versions[1], versions[0]} {
		end := b.writes(addr)
		began := time.Now()
		b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = version })
		b.untilVersion(c, 3, version)
		acked, failed := end()
		t.Logf("back to %s in %s; %d writes were acknowledged, and %d failed: %v", version, time.Since(began).Round(time.Millisecond), acked, len(failed), failed)
		if dropped := len(failed) <= mostDropped && !slices.ContainsFunc(failed, isOther); !dropped || acked == 0 {
			t.Errorf("%d writes failed on the way back to %s, and %d were acknowledged", len(failed), version, acked)
		}
		written = max(written, acked)
		if n := b.keys(addr); n < written {
			t.Errorf("there are %d keys after the way back to %s, and %d were acknowledged", n, version, written)
		}
	}
	for i, p := range b.pods(c) {
		if p.UID != before[i].UID || p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter {
			t.Errorf("Pod %s (%s) is a %s; there was %s (%s)", p.Name, p.UID, p.Labels[v1beta2.LabelRole], before[i].Name, before[i].UID)
		}
	}
	b.wantEvents("UpgradeStarted", "LoweringClusterVersion", "UpgradingMember", "MemberUpgraded", "UpgradeFinished")

	// And up again: nothing of the downgrade is left.
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[1] })
	b.untilVersion(c, 3, versions[1])
}

// A user who changes his mind half-way gets all members back to the later minor, and then
// down again; etcd's downgrade is cancelled on the way. With volumes.
func TestADowngradeThatIsTakenBack(t *testing.T) {
	t.Parallel()
	versions := etcdtest.Versions()
	for i, from := range versions[1:] {
		to := versions[i]
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			podtest.StartKubelet(t, b.client, b.namespace)
			c := b.create("x", 3, func(c *v1beta2.EtcdCluster) {
				c.Spec.Version = from
				c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: member.EnvSnapshotCount, Value: "100"}}}
			}, withVolumes)
			b.untilVersion(c, 3, from)
			set := func(version string) { b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = version }) }
			set(to)
			b.until(c, "a member to have come to the earlier minor", func(s *v1beta2.ClusterStatus) bool {
				return slices.ContainsFunc(s.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Version == to })
			})
			end := b.writes(b.serves(c))
			set(from)
			b.untilVersion(c, 3, from)
			if acked, failed := end(); acked == 0 || slices.ContainsFunc(failed, isOther) {
				t.Errorf("%d writes were acknowledged, and %d failed: %v", acked, len(failed), failed)
			}
			b.wantEvents("UpgradeRedirected", "DowngradeCancelled")
			set(to)
			b.untilVersion(c, 3, to)
		})
	}
}
