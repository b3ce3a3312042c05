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

var predecessors = filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdrestore-*.yaml")

// Manifests that people already have are accepted as they stand, and every field of
// their spec is kept.
func TestManifestsAreAccepted(t *testing.T) {
	admissiontest.AcceptedAsTheyStand(t, predecessors)
}

// Every field of the predecessor's manifests has a place in our Go types, spelled as
// it was, and comes out again as it went in.
func TestGoTypesKeepThePredecessorsSpelling(t *testing.T) {
	admissiontest.KeptByGoTypes(t, predecessors, func() client.Object { return &v1beta2.EtcdRestore{} })
}

// What is common to most rows.
const (
	inPlace  = `etcdCluster: {name: x}, target: InPlace`
	template = `clusterTemplate: {spec: {size: 3}}`
	fromS3   = `backupStorageType: S3, s3: {path: b-1/k, awsSecret: aws}`
	fromPVC  = `backupStorageType: PVC, pvc: {claimName: backups, path: etcd.db}`
)

// s3 is a restore in place from S3 with these fields of s3, and pvc one from a volume
// with this path.
func s3(fields string) string {
	return `{` + inPlace + `, backupStorageType: S3, s3: {` + fields + `}}`
}
func pvc(path string) string {
	return `{` + inPlace + `, backupStorageType: PVC, pvc: {claimName: backups, path: "` + path + `"}}`
}

// with is a restore in place with one more field.
func with(field string) string { return `{` + inPlace + `, ` + fromS3 + `, ` + field + `}` }

func TestAccepted(t *testing.T) {
	longest := strings.Repeat("e", v1beta2.MaxNameLength)
	admissiontest.Accepted(t, "EtcdRestore", map[string]admissiontest.Case{
		"equal names":            {Reason: "as with the predecessor: in place", Name: "same", Spec: `{etcdCluster: {name: same}, ` + fromS3 + `}`},
		"equal names, InPlace":   {Reason: "it says what is meant anyhow", Name: "same-2", Spec: `{etcdCluster: {name: same-2}, target: InPlace, ` + fromS3 + `}`},
		"other name, InPlace":    {Reason: "the name of a restore is the user's", Spec: `{` + inPlace + `, ` + fromS3 + `}`},
		"other name, New":        {Reason: "a new cluster of this name", Name: "copy", Spec: `{etcdCluster: {name: x}, target: New, ` + fromS3 + `}`},
		"prefix":                 {Reason: "the newest of many", Spec: s3(`prefix: b-1/prod/, awsSecret: aws`)},
		"prefix, whole bucket":   {Reason: "the day after a loss nothing more may be known", Spec: `{verifyOnly: true, backupStorageType: S3, s3: {prefix: b-1/}}`},
		"path, empty prefix":     {Reason: "an empty string counts as omitted", Spec: s3(`path: b-1/k, prefix: ""`)},
		"startEtcd":              {Reason: "of the version that is recorded", Spec: `{verifyOnly: true, startEtcd: {}, backupRef: {name: b}}`},
		"startEtcd, version":     {Reason: "nobody else knows it", Spec: `{verifyOnly: true, startEtcd: {version: v3.6.16}, ` + fromS3 + `}`},
		"verifyOnly":             {Reason: "it needs no cluster", Spec: `{verifyOnly: true, ` + fromS3 + `}`},
		"verifyOnly, any name":   {Reason: "no cluster gets the name", Name: "1." + strings.Repeat("e", 100), Spec: `{verifyOnly: true, ` + fromPVC + `}`},
		"verifyOnly, a cluster":  {Reason: "a manifest is tried out before it is used", Spec: with(`verifyOnly: true`)},
		"template":               {Reason: "no cluster needs to exist", Name: "from-template", Spec: `{` + template + `, ` + fromS3 + `}`},
		"template, New":          {Reason: "it says what is meant anyhow", Name: "from-template-2", Spec: `{` + template + `, target: New, ` + fromS3 + `}`},
		"empty template":         {Reason: "every field of a cluster has a default", Name: "from-template-3", Spec: `{clusterTemplate: {spec: {}}, ` + fromS3 + `}`},
		"template, metadata":     {Reason: "labels and annotations are the user's, and scope chooses the operator", Name: "from-template-4", Spec: `{clusterTemplate: {metadata: {labels: {team: a, app: b}, annotations: {etcd.database.coreos.com/scope: clusterwide, a: b}}, spec: {}}, ` + fromS3 + `}`},
		"template, auto TLS":     {Reason: "a cluster gets TLS, or loses it, by way of a new one", Name: "from-template-5", Spec: `{clusterTemplate: {spec: {TLS: {auto: {certificateLifetime: 24h, caOverlap: 1h, serverNames: [etcd.example.com]}, minVersion: TLS1.3}}}, ` + fromS3 + `}`},
		"template, static TLS":   {Reason: "the predecessor's Secrets, of the new name", Name: "from-template-6", Spec: `{clusterTemplate: {spec: {TLS: {static: {member: {peerSecret: p, serverSecret: s}, operatorSecret: o}}}}, ` + fromS3 + `}`},
		"template, cert-manager": {Reason: "an issuer of the namespace", Name: "from-template-7", Spec: `{clusterTemplate: {spec: {TLS: {certManager: {issuerRef: {name: ca}}}}}, ` + fromS3 + `}`},
		"time":                   {Reason: "any second of an archive", Spec: with(`time: "2026-03-01T13:00:00+01:00", leasedKeys: Keep`)},
		"prefixes":               {Reason: "one tenant's data is taken back by hand", Name: "from-template-8", Spec: `{` + template + `, revision: 5, prefixes: [app/tenant-7/, "` + strings.Repeat("x", 1024) + `"], ` + fromS3 + `}`},
		"prefixes, New":          {Reason: "with the spec of another cluster", Name: "prefixes-new", Spec: `{etcdCluster: {name: x}, target: New, prefixes: [a], ` + fromS3 + `}`},
		"prefixes, verifyOnly":   {Reason: "the keys under them are counted", Spec: `{verifyOnly: true, prefixes: [a], ` + fromS3 + `}`},
		"no prefixes":            {Reason: "an empty list counts as omitted", Spec: with(`prefixes: []`)},
		"PVC":                    {Reason: "no object store is needed", Spec: `{` + inPlace + `, ` + fromPVC + `}`},
		"backup":                 {Reason: "place and credentials follow from the EtcdBackup", Spec: `{` + inPlace + `, backupRef: {name: b}}`},
		"backup, entry":          {Reason: "one of a repeated backup's", Spec: `{` + inPlace + `, backupRef: {name: b, entry: b-123}}`},
		"longest name":           {Reason: "nothing is called like a restore in place", Name: strings.Repeat("e", 253), Spec: `{` + inPlace + `, ` + fromS3 + `}`},
		"name with dots":         {Reason: "nothing is called like a restore in place", Name: "1.example.com", Spec: `{` + inPlace + `, ` + fromS3 + `}`},
		"longest name, New":      {Reason: "52 characters leave room for a member's suffix", Name: longest, Spec: `{etcdCluster: {name: x}, target: New, ` + fromS3 + `}`},
		"empty strings":          {Reason: "old clients send empty strings for what is omitted", Name: "empty", Spec: `{etcdCluster: {name: empty}, target: "", clusterID: "", backupStorageType: S3, s3: {path: b-1/k, awsSecret: "", endpoint: "", forcePathStyle: false, region: "", storageClass: "", serverSideEncryption: "", kmsKeyID: ""}}`},
		"empty type, backup":     {Reason: "old clients send empty strings for what is omitted", Spec: `{` + inPlace + `, backupStorageType: "", backupRef: {name: b, entry: ""}}`},
		"ABS":                    {Reason: "a manifest of the predecessor", Spec: of(`backupStorageType: ABS, abs: {path: mycontainer/etcd.backup, absSecret: azure}`)},
		"ABS, the newest":        {Reason: "as with S3", Spec: of(`backupStorageType: ABS, abs: {prefix: mycontainer/prod/}`)},
		"GCS":                    {Reason: "a manifest of the predecessor", Spec: of(`backupStorageType: GCS, gcs: {path: mybucket/etcd.backup, gcpSecret: google}`)},
		"GCS, the newest":        {Reason: "as with S3", Spec: of(`backupStorageType: GCS, gcs: {prefix: mybucket/prod/}`)},
		"OSS":                    {Reason: "a manifest of the predecessor", Spec: of(`backupStorageType: OSS, oss: {path: mybucket/etcd.backup, ossSecret: oss, endpoint: "http://oss-cn-hangzhou.aliyuncs.com"}`)},
		"OSS, the newest":        {Reason: "as with S3", Spec: of(`backupStorageType: OSS, oss: {prefix: mybucket/prod/}`)},
		"other store's block":    {Reason: "the predecessor looked only at the block of its backupStorageType", Spec: with(`gcs: {path: b-1/k, gcpSecret: x}, abs: {}, oss: {}`)},
		"repeated backup's key":  {Reason: "a backup's longest key, and what is added to it", Spec: s3(`path: "b-1/` + strings.Repeat("x", 996) + `_v9223372036854775807_2006-01-02-15:04:05"`)},
		"repeated backup's file": {Reason: "a backup's longest file name, and what is added to it", Spec: pvc("a/" + strings.Repeat("x", 200) + "_v9223372036854775807_2006-01-02-15:04:05")},
		"everything": {Reason: "all that a restore may say", Spec: with(`clusterID: 00c0ffee00c0ffee, revisionBump: 2000000000, skipHashCheck: true, acceptRunningOldMembers: true, acceptDataLoss: true, stopMembers: First, timeoutInSecond: 600,
			pod: {labels: {team: a}, annotations: {a: b}, resources: {requests: {cpu: 50m}, limits: {memory: 1Gi}}, nodeSelector: {a: b}, tolerations: [{operator: Exists}], affinity: {},
			priorityClassName: high, serviceAccountName: restore, securityContext: {fsGroup: 5}, imagePullSecrets: [{name: pull}]}`)},
	})
}

// Nothing is written into the user's object but what an EtcdCluster gets.
func TestNoDefaults(t *testing.T) {
	spec := `{` + inPlace + `, ` + fromS3 + `, pod: {}}`
	admissiontest.Stored(t, "EtcdRestore", spec, spec)
	admissiontest.Stored(t, "EtcdRestore", `{clusterTemplate: {spec: {}}, `+fromS3+`}`, `{`+template+`, `+fromS3+`}`)
}

// What the predecessor's Go types write as status, on whichever path.
func TestOldClientStatusIsAccepted(t *testing.T) {
	var typed v1beta2.EtcdRestore
	admissiontest.OldClientsStatus(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdrestore-old-client.yaml"), &typed)
	if typed.Status.Succeeded || typed.Status.Phase != v1beta2.RestoreNone {
		t.Errorf("our Go types read %+v", typed.Status)
	}
}

// A status with every field, at its limits, is stored as it is written.
func TestStatusIsStored(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdRestore", apiservertest.Namespace(t), "", `{`+inPlace+`, `+fromS3+`}`)
	if err := c.Create(apiservertest.Context(t), u); err != nil {
		t.Fatal(err)
	}
	var typed v1beta2.EtcdRestore
	typed.Namespace, typed.Name = u.GetNamespace(), u.GetName()
	apiservertest.Read(t, c, &typed)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local))
	phases := []v1beta2.RestorePhase{
		v1beta2.RestoreNone, v1beta2.RestorePending, v1beta2.RestoreVerifying, v1beta2.RestoreFencing, v1beta2.RestoreSeeding,
		v1beta2.RestoreHandedOff, v1beta2.RestoreComplete, v1beta2.RestoreRollingBack, v1beta2.RestoreFailed,
	}
	for _, phase := range phases {
		want := v1beta2.RestoreStatus{
			Succeeded: true, Reason: "x", Phase: phase, ObservedGeneration: 1,
			Conditions: []metav1.Condition{{Type: v1beta2.ConditionHandedOff, Status: metav1.ConditionTrue, Reason: "R", LastTransitionTime: now}},
			Cluster:    "x", ClusterUID: "u",
			Snapshot: &v1beta2.RestoreSnapshot{
				Location: "s3://b-1/k", Size: 1 << 40, ReadableSize: "1.0 TiB", DatabaseSize: 1 << 41, SHA256: "s", ETag: `"e"`, Revision: 1 << 60,
				TotalKeys: 1 << 50, EtcdVersion: "3.6", ClusterID: "c", Compression: v1beta2.CompressionZstd,
			},
			Progress: "1 B of 2 B", WaitingFor: []string{"Pod x-aaaaaaaaaa"}, SeedMember: "x-bbbbbbbbbb", SeedUID: "v", Revision: 1<<60 + 1000000000,
			StartTime: &now, HandOffTime: &now, CompletionTime: &now,
		}
		typed.Status = *want.DeepCopy()
		apiservertest.SetStatus(t, c, &typed)
		apiservertest.Read(t, c, &typed)
		if diff := cmp.Diff(want, typed.Status); diff != "" {
			t.Errorf("the status (-written +stored):\n%s", diff)
		}
	}
}
