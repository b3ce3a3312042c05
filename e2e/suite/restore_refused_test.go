package suite

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/snapshotcheck"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// TestRestoresThatFail: what can't be restored is found out before anything of the
// cluster is touched, which goes on to serve its clients.
func TestRestoresThatFail(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	s.must(env.Client.Create(s.ctx, harness.StoreCredentials(s.ns, "wrong", "somebody", "else")))
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	s.backup("backup", w.Writer, st.at("good.db"), harness.OfCluster(c.Name)).isStored(oneMinute)
	damaged := func(how snapshotcheck.Damage) harness.RestoreOption {
		t.Helper()
		s.must(st.DamageObject(s.ctx, bucket, "good.db", string(how), how))
		return st.at(string(how)).from
	}
	pods, cluster := c.State().UIDs(), c.State().Cluster
	w.noticed(aBlink)

	// They all check at once what they find, before anything of the cluster is touched.
	inPlace, good := func(r *v1beta2.EtcdRestore) { harness.InPlace(c.Name)(r); harness.MembersFirst(r) }, st.at("good.db").from
	refused := map[*restore]string{}
	refuse := func(reason string, options ...harness.RestoreOption) {
		t.Helper()
		refused[s.restore(fmt.Sprintf("refused-%d", len(refused)), options...)] = reason
	}
	noCluster := s.restore("no-cluster", harness.InPlace("later"), good)
	noBackup := s.restore("no-backup", inPlace, harness.FromBackup("later"))
	refuse("CorruptSnapshot", inPlace, damaged(snapshotcheck.CutShort))
	refuse("CorruptSnapshot", inPlace, damaged(snapshotcheck.BitFlipped))
	refuse("CorruptSnapshot", inPlace, damaged(snapshotcheck.Replaced))
	refuse("CorruptSnapshot", inPlace, damaged(snapshotcheck.Emptied))
	refuse("NoHash", inPlace, damaged(snapshotcheck.Bare))
	refuse("SnapshotNotFound", inPlace, st.at("no-such-key").from)
	refuse("BucketNotFound", inPlace, st.by(st.Endpoint, "no-such-bucket/key").from)
	refuse("CredentialsInvalid", inPlace, good, harness.RestoredWith("wrong"))
	refuse("WrongCluster", inPlace, good, harness.OfClusterID("0123456789abcdef"))
	refuse("VersionMismatch", good, harness.AsTemplate(harness.Size(1), harness.Version(etcdversion.All()[0])))
	refuse("VolumeTooSmall", good, harness.AsTemplate(harness.Size(1), harness.Volumes, volumesOf("1Mi")))
	refuse("QuotaTooSmall", good, harness.AsTemplate(harness.Size(1), quotaOf("64Ki")))
	for r, reason := range refused {
		r.isRefused(twoMinutes, reason)
	}
	noCluster.isRefused(twoMinutes, "ClusterNotFound", "later")
	noBackup.isRefused(twoMinutes, "BackupNotFound", "later")

	c.stays("as it was", time.Second, harness.All(harness.Settled(3), samePods(pods)))
	if now := c.State().Cluster; now.Status.FencedBy != "" || now.Annotations[v1beta2.AnnotationFence] != "" || now.Status.ClusterID != cluster.Status.ClusterID {
		t.Errorf("the cluster was touched: %+v, %+v", now.Annotations, now.Status)
	}
	for r := range refused {
		if made := s.existing(r.Name).State(); made.Cluster != nil {
			t.Errorf("an EtcdCluster %s was made", r.Name)
		}
	}
	w.noticedNoFailure(anElection) // a dozen Pods start at once
	w.lostNothing(3)
}

// volumesOf gives members volumes of that size.
func quotaOf(size string) harness.Option {
	return func(c *v1beta2.EtcdCluster) {
		c.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse(size))}
	}
}

func volumesOf(size string) harness.Option {
	return func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse(size)
	}
}
