package crdtest

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

var predecessors = filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-*.yaml")

// Manifests that people already have are accepted as they stand, and every field of
// their spec is kept.
func TestManifestsAreAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	for _, path := range admissiontest.Glob(t, predecessors) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			manifest := admissiontest.Manifest(t, path)
			manifest.SetNamespace(apiservertest.Namespace(t))
			stored := manifest.DeepCopy()
			if err := c.Create(apiservertest.Context(t), stored); err != nil {
				t.Fatalf("refused: %v", err)
			}
			if diff := cmp.Diff(manifest.Object["spec"], stored.Object["spec"]); diff != "" {
				t.Errorf("the spec was changed (-written +stored):\n%s", diff)
			}
		})
	}
}

// Every field of the predecessor's manifests has a place in our Go types, spelled as
// it was, and comes out again as it went in.
func TestGoTypesKeepThePredecessorsSpelling(t *testing.T) {
	for _, path := range admissiontest.Glob(t, predecessors) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			manifest := admissiontest.Manifest(t, path)
			var typed v1beta2.EtcdBackup
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, &typed, true); err != nil {
				t.Fatal(err)
			}
			back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed)
			if err != nil {
				t.Fatal(err)
			}
			want, _, _ := unstructured.NestedMap(manifest.Object, "spec")
			if s3, ok := want["s3"].(map[string]any); ok {
				for field, value := range s3 {
					if value == "" || value == false {
						delete(s3, field) // means the same as if it were omitted
					}
				}
			}
			if diff := cmp.Diff(want, back["spec"]); diff != "" {
				t.Errorf("the spec through our Go types (-written +read):\n%s", diff)
			}
		})
	}
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
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	cases := map[string]struct {
		reason string
		name   string
		spec   string
	}{
		"S3":                   {reason: "the plainest backup", spec: `{` + from + `, ` + toS3 + `}`},
		"PVC":                  {reason: "the plainest backup without an object store", spec: `{` + from + `, ` + toPV + `}`},
		"clusterRef":           {reason: "endpoints and TLS follow from the EtcdCluster", spec: `{clusterRef: {name: x}, ` + toPV + `}`},
		"empty endpoints":      {reason: "an empty list counts as omitted", spec: `{clusterRef: {name: x}, etcdEndpoints: [], ` + toPV + `}`},
		"own certificate":      {reason: "backups may have a certificate of their own", spec: `{clusterRef: {name: x}, clientTLSSecret: backup-tls, ` + toPV + `}`},
		"longest name":         {reason: "no object's name needs to be shorter for us", name: strings.Repeat("e", 253), spec: `{` + from + `, ` + toS3 + `}`},
		"https and IPv6":       {reason: "an address is a host too", spec: `{etcdEndpoints: ["https://[2001:db8::1]:2379", "https://10.0.0.1:2379/"], ` + toPV + `}`},
		"empty strings":        {reason: "old clients send empty strings for what is omitted", spec: `{` + from + `, clientTLSSecret: "", compression: "", storageType: S3, backupPolicy: {schedule: "", concurrencyPolicy: ""}, s3: {path: b-1/k, awsSecret: "", endpoint: "", region: "", storageClass: "", serverSideEncryption: "", kmsKeyID: ""}}`},
		"no Secret":            {reason: "workload identity needs none", spec: s3(`path: b-1/k`)},
		"endpoint, no scheme":  {reason: "the predecessor's SDK took it, as https", spec: s3(`path: b-1/k, endpoint: "s3.example.com"`)},
		"endpoint with a path": {reason: "some stores lie behind one", spec: s3(`path: b-1/k, endpoint: "http://store.x:9000/s3"`)},
		"key with folders":     {reason: "keys may hold slashes, at the end too", spec: s3(`path: "my.bucket_1/a/b c/"`)},
		"encryption":           {reason: "a key goes with KMS", spec: s3(`path: b-1/k, serverSideEncryption: "aws:kms", kmsKeyID: "arn:aws:kms:eu-central-1:1:key/x", storageClass: STANDARD_IA, region: eu-central-1`)},
		"PVC with folders":     {reason: "folders are made as needed", spec: pvc("backups", "a/b.c/..d/etcd.db")},
		"other store's block":  {reason: "the predecessor looked only at the block of its storageType", spec: `{` + from + `, ` + toS3 + `, gcs: {path: b/k, gcpSecret: x}, abs: {}, oss: {}}`},
		"everything once":      {reason: "all of a one-shot backup", spec: `{` + from + `, ` + toS3 + `, suspend: true, overwrite: false, ttlSecondsAfterFinished: 0, compression: zstd, backupPolicy: {timeoutInSecond: 600}}`},
		"retention, once":      {reason: "the predecessor took it, and it means nothing", spec: policy(`maxBackups: 4`)},
		"interval":             {reason: "as the predecessor's", spec: policy(`backupIntervalInSecond: 125, maxBackups: 4, maxAge: 168h, concurrencyPolicy: Replace, startingDeadlineSeconds: 0`)},
		"schedule":             {reason: "cron", spec: policy(`schedule: "*/5 0-23/2 ? JAN-DEC mon,Tue,5"`)},
		"schedule in a zone":   {reason: "robfig/cron's own way to say so", spec: policy(`schedule: "CRON_TZ=Europe/Berlin 30 3 * * 1-5"`)},
		"schedule by name":     {reason: "robfig/cron's descriptors", spec: policy(`schedule: "@weekly"`)},
		"every":                {reason: "robfig/cron's descriptors", spec: policy(`schedule: "@every 1h30m"`)},
		"schedule, interval 0": {reason: "0 is no interval", spec: policy(`schedule: "@daily", backupIntervalInSecond: 0`)},
		"pod": {reason: "the Pod is the user's to place", spec: `{` + from + `, ` + toS3 + `, pod: {labels: {team: a, azure.workload.identity/use: "true"}, annotations: {a: b}, resources: {requests: {cpu: 50m}, limits: {memory: 1Gi}}, nodeSelector: {a: b},
			tolerations: [{operator: Exists}], affinity: {}, priorityClassName: low, serviceAccountName: backup, securityContext: {fsGroup: 5}, imagePullSecrets: [{name: pull}]}}`},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			u := admissiontest.Object(t, "EtcdBackup", namespace, tc.name, tc.spec)
			if err := c.Create(apiservertest.Context(t), u); err != nil {
				t.Errorf("%s, but it was refused: %v", tc.reason, err)
			}
		})
	}
}

// Nothing is written into the user's object.
func TestNoDefaults(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdBackup", apiservertest.Namespace(t), "defaults", `{`+from+`, `+toS3+`, backupPolicy: {}, pod: {}}`)
	want := u.DeepCopy().Object["spec"]
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, u.Object["spec"]); diff != "" {
		t.Errorf("the spec was changed (-written +stored):\n%s", diff)
	}
}

// What the predecessor's Go types write as status, on whichever path.
func TestOldClientStatusIsAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Manifest(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdbackup-old-client.yaml"))
	status := u.Object["status"]
	u.SetNamespace(apiservertest.Namespace(t))
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatalf("create: %v", err)
	}
	if _, found, _ := unstructured.NestedMap(u.Object, "status"); found {
		t.Error("a status sent on create was stored: only the operator may write it")
	}
	u.Object["status"] = status
	if err := c.Status().Update(apiservertest.Context(t), u); err != nil {
		t.Errorf("update of the status: %v", err)
	}
	var typed v1beta2.EtcdBackup
	typed.Namespace, typed.Name = u.GetNamespace(), u.GetName()
	apiservertest.Read(t, c, &typed)
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
