package crdtest

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

const (
	targetMessage   = "target must be set when EtcdCluster x has another name than this EtcdRestore: set target: InPlace to replace its data with the snapshot, or target: New to create EtcdCluster "
	itselfMessage   = "target must not be New when etcdCluster.name is the name of this EtcdRestore, because the new EtcdCluster gets that name: give this EtcdRestore another name, or set target: InPlace to replace the data of the existing EtcdCluster with the snapshot"
	lengthMessage   = "metadata.name must not have more than 52 characters, because the new EtcdCluster gets this name, and the names of members, Pods and DNS records append 11 more: choose a shorter name"
	nameMessage     = "metadata.name must be a valid name of a Service, because the new EtcdCluster and its Service get this name: choose lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
	bothMessage     = "etcdCluster must not be set together with clusterTemplate: set etcdCluster for an EtcdCluster of this namespace, or clusterTemplate for a new one with another spec"
	neitherMessage  = "no target is set: set etcdCluster.name to an EtcdCluster of this namespace, clusterTemplate to create a new one, or verifyOnly: true to check the snapshot without changing a cluster"
	newMessage      = "target must not be InPlace when clusterTemplate is set: set target: New, or set etcdCluster instead of clusterTemplate"
	sourceMessage   = "no snapshot is set: set backupRef.name to an EtcdBackup of this namespace, backupStorageType: S3 and s3, or backupStorageType: PVC and pvc"
	twoMessage      = "backupRef must not be set together with backupStorageType: remove backupRef, or remove backupStorageType and the store (such as s3 or pvc)"
	pathMessage     = "path must be a bucket and a key, such as mybucket/etcd.backup, without s3://"
	fileMessage     = "path must be the path of a file on the volume, such as backups/etcd.db, without a slash at either end, without .., and with at most 255 characters between slashes"
	idMessage       = "clusterID must be 16 lower-case hexadecimal digits: copy status.clusterID of the EtcdCluster"
	bumpMessage     = "revisionBump must be more than 0, because clients expect revisions to increase: set at least 1000000000, or remove it"
	leasedMessage   = "leasedKeys must not be set without revision or time, because it applies only to restores to a point in time: set revision or time, or remove leasedKeys"
	prefixesMessage = "prefixes must not be set for a restore in place, because all other keys of the cluster would be lost: set target: New, or clusterTemplate instead of etcdCluster, and copy the keys from the new cluster"
	asOfMessage     = "revision must be more than 0: set it to the last revision to keep, or remove it to restore the whole snapshot"
	labelEnding     = " is reserved for the operators (as are all labels of etcd.database.coreos.com/*): remove it, or use another key"
	noteEnding      = " is reserved for the operators (as are all annotations of etcd.database.coreos.com/* except scope): remove it, or use another key"
	podLabelEnding  = " is reserved for the operator and for Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*): remove it, or use another key"
	podNoteEnding   = " is reserved for the operator and for Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*): remove it, or use another key"
)

// of is a restore in place with this source, and made one to a cluster with this
// template.
func of(source string) string { return `{` + inPlace + `, ` + source + `}` }
func made(template string) string {
	return `{clusterTemplate: ` + template + `, ` + fromS3 + `}`
}

// Each row is one mistake, and all that the user is told about it.
func TestRefused(t *testing.T) {
	const toNew = `{etcdCluster: {name: x}, target: New, ` + fromS3 + `}`
	admissiontest.AllRefused(t, "EtcdRestore", map[string]admissiontest.Mistake{
		"other name":              {Reason: "to overwrite a cluster takes more than a name", Name: "y", Spec: `{etcdCluster: {name: x}, ` + fromS3 + `}`, Field: "spec.target", Message: targetMessage + "y"},
		"other name, empty":       {Reason: "an empty string counts as omitted", Name: "y", Spec: `{etcdCluster: {name: x}, target: "", ` + fromS3 + `}`, Field: "spec.target", Message: targetMessage + "y"},
		"New, equal names":        {Reason: "there can't be two of a name", Name: "x", Spec: toNew, Field: "spec.target", Message: itselfMessage},
		"New, long name":          {Reason: "a member's name would not be a DNS label", Name: strings.Repeat("e", 53), Spec: toNew, Message: lengthMessage},
		"New, dots":               {Reason: "a Service's name has no dots", Name: "a.b", Spec: toNew, Message: nameMessage},
		"template, long name":     {Reason: "a member's name would not be a DNS label", Name: strings.Repeat("e", 53), Spec: made(`{spec: {}}`), Message: lengthMessage},
		"template, digit":         {Reason: "a Service's name starts with a letter", Name: "1st", Spec: made(`{spec: {}}`), Message: nameMessage},
		"unknown target":          {Reason: "a typo must not mean InPlace", Spec: `{etcdCluster: {name: x}, target: new, ` + fromS3 + `}`, Field: "spec.target", Message: `supported values: "", "InPlace", "New"`},
		"template, InPlace":       {Reason: "which cluster?", Spec: `{` + template + `, target: InPlace, ` + fromS3 + `}`, Field: "spec.target", Message: newMessage},
		"cluster and template":    {Reason: "which cluster?", Spec: `{` + template + `, etcdCluster: {name: x}, target: New, ` + fromS3 + `}`, Field: "spec", Message: bothMessage},
		"no cluster":              {Reason: "which cluster?", Spec: `{` + fromS3 + `}`, Field: "spec", Message: neitherMessage},
		"startEtcd of a restore":  {Reason: "it starts its own", Spec: with(`startEtcd: {}`), Field: "spec.startEtcd", Message: "startEtcd must not be set without verifyOnly: true, because a restore starts etcd in its cluster: set verifyOnly: true, or remove startEtcd"},
		"startEtcd, another tag":  {Reason: "an image is the administrator's choice", Spec: `{verifyOnly: true, startEtcd: {version: 3.6.16@sha256}, ` + fromS3 + `}`, Field: "spec.startEtcd.version", Message: "version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"},
		"verifyOnly: false":       {Reason: "which cluster?", Spec: `{verifyOnly: false, ` + fromS3 + `}`, Field: "spec", Message: neitherMessage},
		"verifyOnly, no source":   {Reason: "what is verified?", Spec: `{verifyOnly: true}`, Field: "spec.backupStorageType", Message: sourceMessage},
		"empty etcdCluster":       {Reason: "it names nothing", Spec: `{etcdCluster: {name: ""}, target: InPlace, ` + fromS3 + `}`, Field: "spec.etcdCluster.name", Message: "name is empty: set it to the name of an EtcdCluster of this namespace"},
		"template without spec":   {Reason: "it may be a file cut short", Spec: made(`{metadata: {labels: {a: b}}}`), Field: "spec.clusterTemplate.spec", Message: "Required value"},
		"template, bad spec":      {Reason: "as an EtcdCluster is refused", Spec: made(`{spec: {version: "3.6"}}`), Field: "spec.clusterTemplate.spec.version", Message: "version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"},
		"template, two CAs":       {Reason: "as an EtcdCluster is refused", Spec: made(`{spec: {TLS: {auto: {}, certManager: {issuerRef: {name: ca}}}}}`), Field: "spec.clusterTemplate.spec.TLS", Message: "static, auto and certManager must not be set together: keep the source of the cluster's certificates, and remove the others"},
		"template, half of TLS":   {Reason: "the operators could not talk to the members", Spec: made(`{spec: {TLS: {static: {member: {serverSecret: s}}}}}`), Field: "spec.clusterTemplate.spec.TLS.static", Message: "operatorSecret and member.serverSecret must be set together, because the operator is a client of the members: set both to serve clients over TLS, or remove both"},
		"template, old TLS":       {Reason: "it is not safe any more", Spec: made(`{spec: {TLS: {auto: {}, minVersion: TLS1.1}}}`), Field: "spec.clusterTemplate.spec.TLS.minVersion", Message: "minVersion TLS1.1 is not supported: set TLS1.2 or TLS1.3"},
		"template, our mark":      {Reason: "a fence is for the operators to ask for", Spec: made(`{metadata: {annotations: {etcd.database.coreos.com/fence: x}}, spec: {}}`), Field: "spec.clusterTemplate.metadata.annotations", Message: "etcd.database.coreos.com/fence" + noteEnding},
		"template, our label":     {Reason: "labels of this prefix are ours", Spec: made(`{metadata: {labels: {etcd.database.coreos.com/scope: clusterwide}}, spec: {}}`), Field: "spec.clusterTemplate.metadata.labels", Message: "etcd.database.coreos.com/scope" + labelEnding},
		"no source":               {Reason: "what is restored?", Spec: `{` + inPlace + `}`, Field: "spec.backupStorageType", Message: sourceMessage},
		"empty type":              {Reason: "an empty string counts as omitted", Spec: of(`backupStorageType: ""`), Field: "spec.backupStorageType", Message: sourceMessage},
		"s3 without its type":     {Reason: "the predecessor asked for the type, too", Spec: of(`s3: {path: b-1/k}`), Field: "spec.backupStorageType", Message: sourceMessage},
		"backup and S3":           {Reason: "which one?", Spec: with(`backupRef: {name: b}`), Field: "spec.backupRef", Message: twoMessage},
		"backup and type":         {Reason: "which one?", Spec: of(`backupStorageType: S3, backupRef: {name: b}`), Field: "spec.backupRef", Message: twoMessage},
		"backup and s3":           {Reason: "which one?", Spec: of(`s3: {path: b-1/k}, backupRef: {name: b}`), Field: "spec.backupRef", Message: twoMessage},
		"backup and PVC":          {Reason: "which one?", Spec: of(fromPVC + `, backupRef: {name: b}`), Field: "spec.backupRef", Message: twoMessage},
		"empty backupRef":         {Reason: "it names nothing", Spec: of(`backupRef: {name: ""}`), Field: "spec.backupRef.name", Message: "name is empty: set it to the name of an EtcdBackup of this namespace"},
		"unknown type":            {Reason: "where from?", Spec: of(`backupStorageType: FTP`), Field: "spec.backupStorageType", Message: "backupStorageType FTP is not supported: set S3, OSS, ABS, GCS or PVC"},
		"lower-case type":         {Reason: "one thing has one name", Spec: of(`backupStorageType: pvc, pvc: {claimName: a, path: b}`), Field: "spec.backupStorageType", Message: "backupStorageType pvc is not supported: set S3, OSS, ABS, GCS or PVC"},
		"no abs":                  {Reason: "where in Azure?", Spec: of(`backupStorageType: ABS`), Field: "spec.abs", Message: "abs is missing for backupStorageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"},
		"ABS, neither":            {Reason: "where in Azure?", Spec: of(`backupStorageType: ABS, abs: {absSecret: x}`), Field: "spec.abs.path", Message: "path or prefix must be set: set path for one snapshot, such as mycontainer/etcd.backup, or prefix for the newest whose name begins with it, such as mycontainer/prod/"},
		"ABS, both":               {Reason: "which one?", Spec: of(`backupStorageType: ABS, abs: {path: box/k, prefix: box/k}`), Field: "spec.abs.prefix", Message: "prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"},
		"ABS, path":               {Reason: "a path is a container and a blob", Spec: of(`backupStorageType: ABS, abs: {path: key}`), Field: "spec.abs.path", Message: "path must be a container and a blob, such as mycontainer/etcd.backup, without abs://"},
		"ABS, prefix":             {Reason: "a prefix has a container", Spec: of(`backupStorageType: ABS, abs: {prefix: key}`), Field: "spec.abs.prefix", Message: "prefix must be a container and the beginning of blobs' names, such as mycontainer/prod/, or mycontainer/ for the whole container, without abs://"},
		"no gcs":                  {Reason: "where in Google Cloud Storage?", Spec: of(`backupStorageType: GCS`), Field: "spec.gcs", Message: "gcs is missing for backupStorageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"},
		"GCS, neither":            {Reason: "where in Google Cloud Storage?", Spec: of(`backupStorageType: GCS, gcs: {gcpSecret: x}`), Field: "spec.gcs.path", Message: "path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose name begins with it, such as mybucket/prod/"},
		"GCS, both":               {Reason: "which one?", Spec: of(`backupStorageType: GCS, gcs: {path: b-1/k, prefix: b-1/k}`), Field: "spec.gcs.prefix", Message: "prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"},
		"GCS, path":               {Reason: "a path is a bucket and an object", Spec: of(`backupStorageType: GCS, gcs: {path: key}`), Field: "spec.gcs.path", Message: "path must be a bucket and an object, such as mybucket/etcd.backup, without gcs://"},
		"GCS, prefix":             {Reason: "a prefix has a bucket", Spec: of(`backupStorageType: GCS, gcs: {prefix: key}`), Field: "spec.gcs.prefix", Message: "prefix must be a bucket and the beginning of objects' names, such as mybucket/prod/, or mybucket/ for the whole bucket, without gcs://"},
		"no oss":                  {Reason: "where in OSS?", Spec: of(`backupStorageType: OSS`), Field: "spec.oss", Message: "oss is missing for backupStorageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"},
		"OSS, neither":            {Reason: "where in OSS?", Spec: of(`backupStorageType: OSS, oss: {ossSecret: x}`), Field: "spec.oss.path", Message: "path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose key begins with it, such as mybucket/prod/"},
		"OSS, both":               {Reason: "which one?", Spec: of(`backupStorageType: OSS, oss: {path: b-1/k, prefix: b-1/k}`), Field: "spec.oss.prefix", Message: "prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"},
		"OSS, path":               {Reason: "a path is a bucket and a key", Spec: of(`backupStorageType: OSS, oss: {path: key}`), Field: "spec.oss.path", Message: "path must be a bucket and a key, such as mybucket/etcd.backup, without oss://"},
		"OSS, prefix":             {Reason: "a prefix has a bucket", Spec: of(`backupStorageType: OSS, oss: {prefix: key}`), Field: "spec.oss.prefix", Message: "prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without oss://"},
		"OSS, endpoint":           {Reason: "OSS has no path", Spec: of(`backupStorageType: OSS, oss: {path: b-1/k, endpoint: "https://x/y"}`), Field: "spec.oss.endpoint", Message: "endpoint must be the URL of OSS in a region, such as https://oss-cn-hangzhou.aliyuncs.com"},
		"OSS, CA":                 {Reason: "no Secret has such a name", Spec: of(`backupStorageType: OSS, oss: {path: b-1/k, caSecret: A_B}`), Field: "spec.oss.caSecret", Message: "caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"},
		"no s3":                   {Reason: "where in S3?", Spec: of(`backupStorageType: S3`), Field: "spec.s3", Message: "s3 is missing for backupStorageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"},
		"no pvc":                  {Reason: "where?", Spec: of(`backupStorageType: PVC`), Field: "spec.pvc", Message: "pvc is missing for backupStorageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"},
		"S3 with pvc":             {Reason: "which one?", Spec: with(`pvc: {claimName: a, path: b}`), Field: "spec.pvc", Message: "pvc must not be set when backupStorageType is S3: remove pvc, or set backupStorageType: PVC and remove s3"},
		"PVC with s3":             {Reason: "which one?", Spec: of(fromPVC + `, s3: {path: b-1/k}`), Field: "spec.s3", Message: "s3 must not be set when backupStorageType is PVC: remove s3, or set backupStorageType: S3 and remove pvc"},
		"path is a URL":           {Reason: "s3: is no bucket", Spec: s3(`path: "s3://bucket/key"`), Field: "spec.s3.path", Message: pathMessage},
		"bucket alone":            {Reason: "an object needs a key", Spec: s3(`path: bucket`), Field: "spec.s3.path", Message: pathMessage},
		"neither path nor prefix": {Reason: "what is restored?", Spec: s3(`awsSecret: aws`), Field: "spec.s3.path", Message: "path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose key begins with it, such as mybucket/prod/"},
		"empty prefix":            {Reason: "an empty string counts as omitted", Spec: s3(`prefix: ""`), Field: "spec.s3.path", Message: "path or prefix must be set: set path for one snapshot, such as mybucket/etcd.backup, or prefix for the newest whose key begins with it, such as mybucket/prod/"},
		"path and prefix":         {Reason: "which one?", Spec: s3(`path: b-1/k, prefix: b-1/`), Field: "spec.s3.prefix", Message: "prefix must not be set together with path: set path for the snapshot of that name, or prefix for the newest one"},
		"prefix is a URL":         {Reason: "s3: is no bucket", Spec: s3(`prefix: "s3://b-1/"`), Field: "spec.s3.prefix", Message: "prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without s3://"},
		"prefix, bucket alone":    {Reason: "it may be the beginning of a bucket's name", Spec: s3(`prefix: b-1`), Field: "spec.s3.prefix", Message: "prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without s3://"},
		"store is ftp":            {Reason: "S3 speaks http", Spec: s3(`path: b-1/k, endpoint: "ftp://x"`), Field: "spec.s3.endpoint", Message: "endpoint must be the URL of an S3 store, such as https://s3.example.com or http://minio.default:9000"},
		"out of the volume":       {Reason: "what is outside is not ours", Spec: pvc("../etc/passwd"), Field: "spec.pvc.path", Message: fileMessage},
		"longer than any file's":  {Reason: "file systems hold 255 bytes", Spec: pvc(strings.Repeat("x", 256)), Field: "spec.pvc.path", Message: fileMessage},
		"short id":                {Reason: "no cluster has it", Spec: with(`clusterID: c0ffee`), Field: "spec.clusterID", Message: idMessage},
		"decimal id":              {Reason: "etcdctl prints it so in JSON, and the status in hexadecimal digits", Spec: with(`clusterID: "54254525452545254"`), Field: "spec.clusterID", Message: idMessage},
		"id with 0x":              {Reason: "one thing is spelled in one way", Spec: with(`clusterID: "0x00c0ffee00c0ffee"`), Field: "spec.clusterID", Message: idMessage},
		"bump 0":                  {Reason: "watchers would see time run backwards", Spec: with(`revisionBump: 0`), Field: "spec.revisionBump", Message: bumpMessage},
		"negative bump":           {Reason: "watchers would see time run backwards", Spec: with(`revisionBump: -1`), Field: "spec.revisionBump", Message: bumpMessage},
		"revision 0":              {Reason: "there is no such revision", Spec: with(`revision: 0`), Field: "spec.revision", Message: asOfMessage},
		"negative revision":       {Reason: "there is no such revision", Spec: with(`revision: -1`), Field: "spec.revision", Message: asOfMessage},
		"revision and time":       {Reason: "which is meant?", Spec: with(`revision: 5, time: "2026-03-01T12:00:00Z"`), Field: "spec.time", Message: "time must not be set together with revision: set revision to the last revision to keep, or time to restore what the archive recorded until then"},
		"a time of day":           {Reason: "of which day, and where?", Spec: with(`time: "12:00"`), Field: "spec.time", Message: `spec.time in body must be of type date-time: "12:00"`},
		"keys of a lease":         {Reason: "a typo must not mean Drop", Spec: with(`revision: 5, leasedKeys: keep`), Field: "spec.leasedKeys", Message: `supported values: "", "Drop", "Keep"`},
		"leased keys alone":       {Reason: "without revision they are all restored", Spec: with(`leasedKeys: Keep`), Field: "spec.leasedKeys", Message: leasedMessage},
		"leased keys, dropped":    {Reason: "without revision they are all restored", Spec: with(`leasedKeys: Drop`), Field: "spec.leasedKeys", Message: leasedMessage},
		"prefixes in place":       {Reason: "all other keys would be lost", Spec: with(`prefixes: [app/]`), Field: "spec.prefixes", Message: prefixesMessage},
		"prefixes of itself":      {Reason: "an omitted target is InPlace", Name: "x", Spec: `{etcdCluster: {name: x}, prefixes: [app/], ` + fromS3 + `}`, Field: "spec.prefixes", Message: prefixesMessage},
		"an empty prefix":         {Reason: "all keys begin with it", Spec: `{` + template + `, prefixes: [app/, ""], ` + fromS3 + `}`, Field: "spec.prefixes", Message: "prefixes must not have an empty entry, because all keys begin with it: remove the entry, or remove prefixes to restore all keys"},
		"negative timeout":        {Reason: "time goes forward", Spec: with(`timeoutInSecond: -1`), Field: "spec.timeoutInSecond", Message: "should be greater than or equal to 0"},
		"label etcd_cluster":      {Reason: "the Pod would be taken for a member", Spec: with(`pod: {labels: {etcd_cluster: x}}`), Field: "spec.pod.labels", Message: "etcd_cluster" + podLabelEnding},
		"annotation":              {Reason: "it is ours", Spec: with(`pod: {annotations: {etcd.database.coreos.com/restore-permit: z}}`), Field: "spec.pod.annotations", Message: "etcd.database.coreos.com/restore-permit" + podNoteEnding},
	})
}

func TestMissingSpecIsRefused(t *testing.T) {
	admissiontest.MissingSpecRefused(t, "EtcdRestore")
}

func TestUnknownFieldIsRefused(t *testing.T) {
	admissiontest.UnknownFieldRefused(t, "EtcdRestore", with(`storageType: S3`), "spec.storageType")
}
