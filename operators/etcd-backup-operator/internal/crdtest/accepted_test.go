package crdtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

var predecessors = filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-*.yaml")

// Manifests that people already have are accepted as they stand, and every field of
// their spec is kept.
func TestManifestsAreAccepted(t *testing.T) {
	admissiontest.AcceptedAsTheyStand(t, predecessors)
}

// Every field of the predecessor's manifests has a place in our Go types, spelled as
// it was, and comes out again as it went in.
func TestGoTypesKeepThePredecessorsSpelling(t *testing.T) {
	admissiontest.KeptByGoTypes(t, predecessors, func() client.Object { return &v1beta2.EtcdBackup{} })
}

// What is common to most rows.
const (
	from = `etcdEndpoints: ["http://x-client:2379"]`
	toS3 = `storageType: S3, s3: {path: b-1/k, awsSecret: aws}`
	toPV = `storageType: PVC, pvc: {claimName: backups, path: etcd.db}`
)

// s3 is an S3 backup with more fields of s3, pvc one to a volume with this claim and
// path, and policy one to S3 with this policy.
func s3(fields string) string { return `{` + from + `, storageType: S3, s3: {` + fields + `}}` }
func pvc(claim, path string) string {
	return `{` + from + `, storageType: PVC, pvc: {claimName: "` + claim + `", path: "` + path + `"}}`
}
func policy(fields string) string {
	return `{` + from + `, ` + toS3 + `, backupPolicy: {` + fields + `}}`
}

func TestAccepted(t *testing.T) {
	admissiontest.Accepted(t, "EtcdBackup", map[string]admissiontest.Case{
		"S3":                   {Reason: "the plainest backup", Spec: `{` + from + `, ` + toS3 + `}`},
		"verification":         {Reason: "after each backup", Spec: with(`verification: {}`)},
		"verification, times":  {Reason: "each night, on any node", Spec: with(`verification: {schedule: "30 2 * * *", timeoutInSecond: 600, affinity: {}}`)},
		"archive":              {Reason: "snapshots are repeated", Spec: with(`backupPolicy: {schedule: "@daily"}, archive: {}`)},
		"archive, interval":    {Reason: "from a second to an hour", Spec: with(`backupPolicy: {backupIntervalInSecond: 3600}, archive: {interval: 1m30s}`)},
		"PVC":                  {Reason: "the plainest backup without an object store", Spec: `{` + from + `, ` + toPV + `}`},
		"clusterRef":           {Reason: "endpoints and TLS follow from the EtcdCluster", Spec: `{clusterRef: {name: x}, ` + toPV + `}`},
		"empty endpoints":      {Reason: "an empty list counts as omitted", Spec: `{clusterRef: {name: x}, etcdEndpoints: [], ` + toPV + `}`},
		"own user":             {Reason: "backups may have a user of their own", Spec: `{clusterRef: {name: x}, authSecret: etcd-backup, ` + toPV + `}`},
		"own certificate":      {Reason: "backups may have a certificate of their own", Spec: `{clusterRef: {name: x}, clientTLSSecret: backup-tls, ` + toPV + `}`},
		"longest name":         {Reason: "no object's name needs to be shorter for us", Name: strings.Repeat("e", 253), Spec: `{` + from + `, ` + toS3 + `}`},
		"https and IPv6":       {Reason: "an address is a host too", Spec: `{etcdEndpoints: ["https://[2001:db8::1]:2379", "https://10.0.0.1:2379/"], ` + toPV + `}`},
		"empty strings":        {Reason: "old clients send empty strings for what is omitted", Spec: `{` + from + `, clientTLSSecret: "", authSecret: "", compression: "", storageType: S3, backupPolicy: {schedule: "", concurrencyPolicy: ""}, s3: {path: b-1/k, awsSecret: "", endpoint: "", region: "", storageClass: "", serverSideEncryption: "", kmsKeyID: ""}}`},
		"no Secret":            {Reason: "workload identity needs none", Spec: s3(`path: b-1/k`)},
		"endpoint, no scheme":  {Reason: "the predecessor's SDK took it, as https", Spec: s3(`path: b-1/k, endpoint: "s3.example.com"`)},
		"endpoint with a path": {Reason: "some stores lie behind one", Spec: s3(`path: b-1/k, endpoint: "http://store.x:9000/s3"`)},
		"key with folders":     {Reason: "keys may hold slashes, at the end too", Spec: s3(`path: "my.bucket_1/a/b c/"`)},
		"encryption":           {Reason: "a key goes with KMS", Spec: s3(`path: b-1/k, serverSideEncryption: "aws:kms", kmsKeyID: "arn:aws:kms:eu-central-1:1:key/x", storageClass: STANDARD_IA, region: eu-central-1`)},
		"read at once":         {Reason: "this archive answers within milliseconds", Spec: s3(`path: b-1/k, storageClass: GLACIER_IR`)},
		"private store":        {Reason: "a CA of one's own, and a proxy", Spec: `{` + from + `, storageType: S3, s3: {path: b-1/k, caSecret: store-ca, tags: {team: a b, cost: ""}, checksums: WhenSupported}, pod: {env: [{name: HTTPS_PROXY, value: "http://proxy:3128"}, {name: no_proxy, value: ""}]}}`},
		"CAs in a ConfigMap":   {Reason: "certificates are no secret", Spec: s3(`path: b-1/k, caConfigMap: store-ca, caSecret: "", checksums: ""`)},
		"PVC with folders":     {Reason: "folders are made as needed", Spec: pvc("backups", "a/b.c/..d/etcd.db")},
		"ABS":                  {Reason: "a manifest of the predecessor", Spec: `{` + from + `, storageType: ABS, abs: {path: mycontainer/etcd.backup, absSecret: azure}}`},
		"ABS, unused":          {Reason: "old clients write what was omitted", Spec: `{` + from + `, ` + toS3 + `, abs: {path: "", absSecret: ""}}`},
		"ABS, identity":        {Reason: "a workload identity needs no Secret", Spec: `{` + from + `, storageType: ABS, abs: {path: mycontainer/etcd.backup, endpoint: "https://mine.blob.core.windows.net"}}`},
		"GCS":                  {Reason: "a manifest of the predecessor", Spec: `{` + from + `, storageType: GCS, gcs: {path: mybucket/etcd.backup, gcpSecret: google}}`},
		"GCS, unused":          {Reason: "old clients write what was omitted", Spec: `{` + from + `, ` + toS3 + `, gcs: {path: "", gcpSecret: ""}}`},
		"GCS, identity":        {Reason: "a workload identity needs no Secret", Spec: `{` + from + `, storageType: GCS, gcs: {path: mybucket/etcd.backup, endpoint: "https://storage.europe-west3.rep.googleapis.com"}}`},
		"OSS":                  {Reason: "a manifest of the predecessor", Spec: `{` + from + `, storageType: OSS, oss: {path: mybucket/etcd.backup, ossSecret: oss, endpoint: "http://oss-cn-hangzhou.aliyuncs.com"}}`},
		"other store's block":  {Reason: "the predecessor looked only at the block of its storageType", Spec: `{` + from + `, ` + toS3 + `, gcs: {path: b-1/k, gcpSecret: x}, abs: {}, oss: {}}`},
		"copy to S3":           {Reason: "another bucket", Spec: with(`copyTo: {storageType: S3, s3: {path: b-2/k, awsSecret: aws, endpoint: "https://minio.example.com"}}`)},
		"copy to OSS":          {Reason: "another cloud", Spec: with(`copyTo: {storageType: OSS, oss: {path: mybucket/etcd.backup, ossSecret: oss, endpoint: "http://oss-cn-hangzhou.aliyuncs.com"}}`)},
		"copy to ABS":          {Reason: "another cloud", Spec: with(`copyTo: {storageType: ABS, abs: {path: mycontainer/etcd.backup, absSecret: azure}}`)},
		"copy to GCS":          {Reason: "another cloud", Spec: with(`copyTo: {storageType: GCS, gcs: {path: mybucket/etcd.backup}}`)},
		"copy to PVC":          {Reason: "a volume", Spec: with(`copyTo: {storageType: PVC, pvc: {claimName: copies, path: dir/etcd.db}}`)},
		"everything once":      {Reason: "all of a one-shot backup", Spec: `{` + from + `, ` + toS3 + `, suspend: true, overwrite: false, overwritePolicy: SameCluster, ttlSecondsAfterFinished: 0, compression: zstd, recordHash: Always, backupPolicy: {timeoutInSecond: 600}}`},
		"retention, once":      {Reason: "the predecessor took it, and it means nothing", Spec: policy(`maxBackups: 4`)},
		"interval":             {Reason: "as the predecessor's", Spec: policy(`backupIntervalInSecond: 125, maxBackups: 4, minBackups: 2, maxAge: 168h, concurrencyPolicy: Replace, startingDeadlineSeconds: 0`)},
		"schedule":             {Reason: "cron", Spec: policy(`schedule: "*/5 0-23/2 ? JAN-DEC mon,Tue,5"`)},
		"schedule in a zone":   {Reason: "robfig/cron's own way to say so", Spec: policy(`schedule: "CRON_TZ=Europe/Berlin 30 3 * * 1-5"`)},
		"schedule by name":     {Reason: "robfig/cron's descriptors", Spec: policy(`schedule: "@weekly"`)},
		"every":                {Reason: "robfig/cron's descriptors", Spec: policy(`schedule: "@every 1h30m"`)},
		"schedule, interval 0": {Reason: "0 is no interval", Spec: policy(`schedule: "@daily", backupIntervalInSecond: 0`)},
		"pod": {Reason: "the Pod is the user's to place", Spec: `{` + from + `, ` + toS3 + `, pod: {labels: {team: a, azure.workload.identity/use: "true"}, annotations: {a: b}, resources: {requests: {cpu: 50m}, limits: {memory: 1Gi}}, nodeSelector: {a: b},
			tolerations: [{operator: Exists}], affinity: {}, priorityClassName: low, serviceAccountName: backup, securityContext: {fsGroup: 5}, imagePullSecrets: [{name: pull}]}}`},
	})
}

// Nothing is written into the user's object.
func TestNoDefaults(t *testing.T) {
	spec := `{` + from + `, ` + toS3 + `, backupPolicy: {}, pod: {}}`
	admissiontest.Stored(t, "EtcdBackup", spec, spec)
}

// What the predecessor's Go types write as status, on whichever path.
func TestOldClientStatusIsAccepted(t *testing.T) {
	var typed v1beta2.EtcdBackup
	admissiontest.OldClientsStatus(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-old-client.yaml"), &typed)
	if typed.Status.Succeeded || typed.Status.LastSuccessDate != nil {
		t.Errorf("our Go types read %+v", typed.Status)
	}
}

// A status with every field, at its limits, is stored as it is written.
func TestStatusIsStored(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdBackup", apiservertest.Namespace(t), "", `{`+from+`, `+toS3+`}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	var typed v1beta2.EtcdBackup
	typed.Namespace, typed.Name = u.GetNamespace(), u.GetName()
	apiservertest.Read(t, c, &typed)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))
	record := v1beta2.BackupRecord{
		Name: "job", ScheduledTime: &now, StartTime: &now, CompletionTime: &now, Succeeded: true,
		Reason: "r", Message: "m", Location: "s3://b-1/k", Size: 1 << 40, SHA256: "s", Revision: 1 << 60, ClusterID: "c",
	}
	want := v1beta2.BackupStatus{
		Succeeded: true, Reason: "x", EtcdVersion: "3.6.16", EtcdRevision: 1 << 60, LastSuccessDate: &now,
		Phase: v1beta2.BackupRunning, ObservedGeneration: 1,
		Conditions: []metav1.Condition{{Type: v1beta2.ConditionComplete, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: now}},
		Snapshot: &v1beta2.BackupSnapshot{
			Location: "s3://b-1/k", Size: 1 << 40, ReadableSize: "1.0 TiB", SHA256: "s", Revision: 1 << 60, ClusterID: "c", MemberID: "m",
			EtcdVersion: "3.6.16", Compression: v1beta2.CompressionZstd, Duration: &metav1.Duration{Duration: 1500 * time.Millisecond}, CompletionTime: &now,
		},
		LastScheduleTime: &now, NextScheduleTime: &now, MissedRuns: 3,
		Clock:  &v1beta2.BackupClock{Schedule: "every 2m5s", After: now},
		Active: []v1beta2.ActiveBackup{{Name: "job", ScheduledTime: now}},
	}
	for range v1beta2.MaxHistory {
		want.History = append(want.History, record)
	}
	typed.Status = *want.DeepCopy()
	apiservertest.SetStatus(t, c, &typed)
	apiservertest.Read(t, c, &typed)
	if diff := cmp.Diff(want, typed.Status); diff != "" {
		t.Errorf("the status (-written +stored):\n%s", diff)
	}
}
