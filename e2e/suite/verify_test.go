package suite

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestVerifyExamples: a snapshot is checked by its name, and the newest of a bucket with
// a list of what is there, and etcd is started on one, while no cluster notices. Then that newest one is restored, as
// on the day after everything was lost.
func TestVerifyExamples(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	s.applyExample("cluster.yaml", asItIs)
	c := s.existing("example")
	c.settles(3, oneMinute)
	w := c.writes()
	of := func(b *v1beta2.EtcdBackup) { b.Spec.ClusterRef = &v1beta2.ClusterReference{Name: "example"} }
	s.backup("once", w.Writer, st.at("example/etcd.backup"), of).isStored(oneMinute)
	s.backup("again", w.Writer, st.at("example/etcd"), of, harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 5})).
		becomes("stored, and due again", oneMinute, harness.BackupCondition(v1beta2.ConditionComplete, true, "BackupSucceeded"))
	s.kubectl("patch", "etcdbk", "again", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	before := c.State().Cluster

	for _, file := range exampleFiles(t, "verify-*.yaml") {
		s.applyExample(file, st.added)
	}
	// What is stored is proved by itself, too.
	s.applyExample("backup-verified.yaml", st.added)
	s.kubectl("patch", "etcdbk", "example-verified", "--type=merge", "-p", `{"spec":{"backupPolicy":{"schedule":null,"backupIntervalInSecond":3600}}}`)
	for _, name := range []string{"check", "what-is-left", "start"} {
		r := s.existingRestore(name)
		r.becomes("verified", twoMinutes, harness.RestoreVerified)
	}
	checked, started := s.existingRestore("check").State().Restore.Status, s.existingRestore("start").State().Restore.Status
	if started.Served == nil || started.Served.EtcdVersion != before.Status.CurrentVersion || started.Served.TotalKeys != checked.Snapshot.TotalKeys {
		t.Errorf("etcd has served %+v, and the snapshot is %+v", started.Served, checked.Snapshot)
	}
	s.existingBackup("example-verified", w.Writer, st.at("example-verified/etcd.backup")).becomes("verified", twoMinutes, harness.BackupCondition(v1beta2.ConditionVerified, true, v1beta2.BackupReasonVerified))
	found := s.existingRestore("what-is-left").State().Restore.Status
	if found.Catalogue == nil || found.Catalogue.Total == 0 || found.Catalogue.OtherObjects == 0 || found.Catalogue.Newest[0].Location != found.Snapshot.Location ||
		found.Catalogue.Newest[0].ClusterID != before.Status.ClusterID {
		t.Errorf("the catalogue is %+v, and the snapshot %+v", found.Catalogue, found.Snapshot)
	}
	if now := c.State().Cluster; now.Status.FencedBy != "" || now.Generation != before.Generation || len(now.Annotations) != len(before.Annotations) {
		t.Errorf("the EtcdCluster was touched: %+v", now)
	}
	w.lostNothing(3)

	newest := s.restore("newest", func(r *v1beta2.EtcdRestore) {
		r.Spec.ClusterTemplate = &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 1}}
		r.Spec.BackupStorageType = v1beta2.StorageS3
		r.Spec.S3 = &v1beta2.S3Source{Prefix: bucket + "/example/", AWSSecret: "aws", Endpoint: st.Endpoint, ForcePathStyle: true}
		r.Spec.ClusterID = before.Status.ClusterID
	})
	status := newest.completes(fourMinutes)
	if status.Snapshot.ClusterID != before.Status.ClusterID || !strings.HasPrefix(status.Snapshot.Location, "s3://"+bucket+"/example/etcd_v") {
		t.Errorf("the snapshot is %+v", status.Snapshot)
	}
}
