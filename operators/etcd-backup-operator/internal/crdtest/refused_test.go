package crdtest

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	endpointMessage   = "an endpoint is a URL with scheme, host and port: write it as http://example-client:2379, or https:// if the members serve by TLS"
	bothMessage       = "etcdEndpoints and clusterRef are both set: leave clusterRef alone for an EtcdCluster of this namespace, or etcdEndpoints for any other etcd"
	neitherMessage    = "neither etcdEndpoints nor clusterRef is set: write clusterRef.name for an EtcdCluster of this namespace, or etcdEndpoints, such as [http://example-client:2379]"
	unsupportedEnding = " is not supported yet: write S3 (for any store that speaks it, by s3.endpoint) or PVC"
	pathMessage       = "path is a bucket and a key: write it as mybucket/etcd.backup, without s3://"
	storeMessage      = "endpoint is the URL of an S3 store: write it as https://s3.example.com or http://minio.default:9000"
	keyMessage        = "kmsKeyID is set and serverSideEncryption does not use it: write serverSideEncryption: aws:kms, or remove kmsKeyID"
	claimMessage      = "claimName is not the name of a PersistentVolumeClaim: write lower-case letters, digits and dashes, such as etcd-backups"
	fileMessage       = "path is that of a file, relative to the volume: write it as backups/etcd.db, without a slash at either end and without .., and with at most 200 characters between slashes"
	cronMessage       = "schedule is a cron expression of five fields (minute, hour, day of the month, month, day of the week): write it as 0 */6 * * *, @daily, or CRON_TZ=Europe/Berlin 30 3 * * 1-5"
	ageMessage        = "maxAge is a duration of at least 1s: write it with its unit, such as 12h, 168h (a week) or 1h30m"
	zeroMessage       = "should be greater than or equal to 0"
	labelEnding       = " is set by the operator or by Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*); remove it or use another key"
	noteEnding        = " is set by the operator or by Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*); remove it or use another key"
)

// endpoint is a backup of one endpoint.
func endpoint(url string) string { return `{etcdEndpoints: ["` + url + `"], ` + toS3 + `}` }

// with is a backup with one more field.
func with(field string) string { return `{` + from + `, ` + toS3 + `, ` + field + `}` }

// Each row is one mistake, and all that the user is told about it.
func TestRefused(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	cases := map[string]struct {
		reason  string
		spec    string
		field   string // where the mistake is
		message string // the end of what is said about it
	}{
		"no source":            {reason: "there is nothing to back up", spec: `{` + toS3 + `}`, field: "spec", message: neitherMessage},
		"empty endpoints":      {reason: "there is nothing to back up", spec: `{etcdEndpoints: [], ` + toS3 + `}`, field: "spec", message: neitherMessage},
		"two sources":          {reason: "they may differ", spec: with(`clusterRef: {name: x}`), field: "spec", message: bothMessage},
		"empty clusterRef":     {reason: "it names nothing", spec: `{clusterRef: {name: ""}, ` + toS3 + `}`, field: "spec.clusterRef.name", message: "name is empty: write the name of an EtcdCluster of this namespace"},
		"endpoint, no scheme":  {reason: "TLS or not?", spec: endpoint("x-client:2379"), field: "spec.etcdEndpoints[0]", message: endpointMessage},
		"endpoint, no port":    {reason: "etcd has no default port in URLs", spec: endpoint("http://x-client"), field: "spec.etcdEndpoints[0]", message: endpointMessage},
		"endpoint, other":      {reason: "a scheme that etcd does not speak", spec: endpoint("unix://x:2379"), field: "spec.etcdEndpoints[0]", message: endpointMessage},
		"endpoint, path":       {reason: "etcd has no paths", spec: endpoint("http://x:2379/v3"), field: "spec.etcdEndpoints[0]", message: endpointMessage},
		"endpoint, user":       {reason: "no secrets in a spec", spec: endpoint("http://a:b@x:2379"), field: "spec.etcdEndpoints[0]", message: endpointMessage},
		"no storage type":      {reason: "where to?", spec: `{` + from + `, s3: {path: b-1/k}}`, field: "spec.storageType", message: "Required value"},
		"unknown storage type": {reason: "where to?", spec: `{` + from + `, storageType: FTP}`, field: "spec.storageType", message: "storageType FTP is not known: write S3 or PVC"},
		"lower-case type":      {reason: "one thing has one name", spec: `{` + from + `, storageType: s3, s3: {path: b-1/k}}`, field: "spec.storageType", message: "storageType s3 is not known: write S3 or PVC"},
		"ABS":                  {reason: "nobody could carry it out", spec: `{` + from + `, storageType: ABS, abs: {path: b/k, absSecret: x}}`, field: "spec.storageType", message: "storageType ABS" + unsupportedEnding},
		"GCS":                  {reason: "nobody could carry it out", spec: `{` + from + `, storageType: GCS, gcs: {path: b/k, gcpSecret: x}}`, field: "spec.storageType", message: "storageType GCS" + unsupportedEnding},
		"OSS":                  {reason: "nobody could carry it out", spec: `{` + from + `, storageType: OSS, oss: {path: b/k, ossSecret: x, endpoint: "http://x"}}`, field: "spec.storageType", message: "storageType OSS" + unsupportedEnding},
		"no s3":                {reason: "where in S3?", spec: `{` + from + `, storageType: S3}`, field: "spec.s3", message: "storageType is S3: write s3.path, such as mybucket/etcd.backup, and s3.awsSecret"},
		"no pvc":               {reason: "where?", spec: `{` + from + `, storageType: PVC}`, field: "spec.pvc", message: "storageType is PVC: write pvc.claimName and pvc.path, such as backups/etcd.db"},
		"S3 with pvc":          {reason: "which one?", spec: with(`pvc: {claimName: a, path: b}`), field: "spec.pvc", message: "storageType is S3: remove pvc, or write storageType: PVC and remove s3"},
		"PVC with s3":          {reason: "which one?", spec: `{` + from + `, ` + toPV + `, s3: {path: b-1/k}}`, field: "spec.s3", message: "storageType is PVC: remove s3, or write storageType: S3 and remove pvc"},
		"no path":              {reason: "where in S3?", spec: s3(`awsSecret: aws`), field: "spec.s3.path", message: "Required value"},
		"bucket alone":         {reason: "an object needs a key", spec: s3(`path: bucket`), field: "spec.s3.path", message: pathMessage},
		"empty key":            {reason: "an object needs a key", spec: s3(`path: bucket/`), field: "spec.s3.path", message: pathMessage},
		"path is a URL":        {reason: "s3: is no bucket", spec: s3(`path: "s3://bucket/key"`), field: "spec.s3.path", message: pathMessage},
		"slash in front":       {reason: "no bucket", spec: s3(`path: /bucket/key`), field: "spec.s3.path", message: pathMessage},
		"newline in the key":   {reason: "it would break listings", spec: s3(`path: "bucket/a\nb"`), field: "spec.s3.path", message: pathMessage},
		"store is ftp":         {reason: "S3 speaks http", spec: s3(`path: b-1/k, endpoint: "ftp://x"`), field: "spec.s3.endpoint", message: storeMessage},
		"store with a query":   {reason: "it would be lost", spec: s3(`path: b-1/k, endpoint: "http://x/?a=b"`), field: "spec.s3.endpoint", message: storeMessage},
		"region with a blank":  {reason: "it becomes a part of a host name", spec: s3(`path: b-1/k, region: "eu central"`), field: "spec.s3.region", message: "write it as eu-central-1"},
		"storage class":        {reason: "it becomes a header", spec: s3(`path: b-1/k, storageClass: "STANDARD IA"`), field: "spec.s3.storageClass", message: "write it as STANDARD_IA"},
		"encryption":           {reason: "the object would be stored without it", spec: s3(`path: b-1/k, serverSideEncryption: AES`), field: "spec.s3.serverSideEncryption", message: `supported values: "", "AES256", "aws:kms", "aws:kms:dsse"`},
		"key, no encryption":   {reason: "the key would not be used", spec: s3(`path: b-1/k, kmsKeyID: x`), field: "spec.s3", message: keyMessage},
		"key, other":           {reason: "the key would not be used", spec: s3(`path: b-1/k, serverSideEncryption: AES256, kmsKeyID: x`), field: "spec.s3", message: keyMessage},
		"claim":                {reason: "no such claim can be", spec: pvc("My_Claim", "a"), field: "spec.pvc.claimName", message: claimMessage},
		"absolute file":        {reason: "it is relative to the volume", spec: pvc("a", "/etcd.db"), field: "spec.pvc.path", message: fileMessage},
		"folder":               {reason: "a backup is a file", spec: pvc("a", "backups/"), field: "spec.pvc.path", message: fileMessage},
		"out of the volume":    {reason: "what is outside is not ours", spec: pvc("a", "a/../../etc/passwd"), field: "spec.pvc.path", message: fileMessage},
		"dot":                  {reason: "a backup is a file", spec: pvc("a", "."), field: "spec.pvc.path", message: fileMessage},
		"empty file":           {reason: "a backup is a file", spec: pvc("a", ""), field: "spec.pvc.path", message: fileMessage},
		"long file name":       {reason: "file systems hold 255 bytes, and revision and time are added", spec: pvc("a", strings.Repeat("x", 201)), field: "spec.pvc.path", message: fileMessage},
		"schedule, interval":   {reason: "which one?", spec: policy(`schedule: "@daily", backupIntervalInSecond: 60`), field: "spec.backupPolicy", message: "schedule and backupIntervalInSecond are both set: remove one of them"},
		"schedule of words":    {reason: "robfig/cron reads none", spec: policy(`schedule: every day`), field: "spec.backupPolicy.schedule", message: cronMessage},
		"schedule of four":     {reason: "a field is missing", spec: policy(`schedule: "0 3 * *"`), field: "spec.backupPolicy.schedule", message: cronMessage},
		"schedule of six":      {reason: "there are no seconds", spec: policy(`schedule: "0 0 3 * * *"`), field: "spec.backupPolicy.schedule", message: cronMessage},
		"unknown descriptor":   {reason: "robfig/cron does not know it", spec: policy(`schedule: "@noon"`), field: "spec.backupPolicy.schedule", message: cronMessage},
		"every what":           {reason: "a duration has a unit", spec: policy(`schedule: "@every 5"`), field: "spec.backupPolicy.schedule", message: cronMessage},
		"negative interval":    {reason: "time goes forward", spec: policy(`backupIntervalInSecond: -1`), field: "spec.backupPolicy.backupIntervalInSecond", message: zeroMessage},
		"negative timeout":     {reason: "time goes forward", spec: policy(`timeoutInSecond: -1`), field: "spec.backupPolicy.timeoutInSecond", message: zeroMessage},
		"negative count":       {reason: "fewer than none", spec: policy(`maxBackups: -1`), field: "spec.backupPolicy.maxBackups", message: zeroMessage},
		"negative deadline":    {reason: "time goes forward", spec: policy(`startingDeadlineSeconds: -1`), field: "spec.backupPolicy.startingDeadlineSeconds", message: zeroMessage},
		"negative ttl":         {reason: "time goes forward", spec: with(`ttlSecondsAfterFinished: -1`), field: "spec.ttlSecondsAfterFinished", message: zeroMessage},
		"age in days":          {reason: "Go's durations have none", spec: policy(`maxAge: 7d`), field: "spec.backupPolicy.maxAge", message: ageMessage},
		"age 0":                {reason: "nothing would be kept", spec: policy(`maxAge: 0s`), field: "spec.backupPolicy.maxAge", message: ageMessage},
		"concurrency policy":   {reason: "a typo must not mean Allow", spec: policy(`concurrencyPolicy: forbid`), field: "spec.backupPolicy.concurrencyPolicy", message: `supported values: "", "Forbid", "Allow", "Replace"`},
		"compression":          {reason: "nobody could unpack it", spec: with(`compression: gzip`), field: "spec.compression", message: `supported values: "", "none", "zstd"`},
		"label app":            {reason: "the operator would not find its Pod", spec: with(`pod: {labels: {app: mine}}`), field: "spec.pod.labels", message: "app" + labelEnding},
		"label etcd_cluster":   {reason: "the Pod would be taken for a member", spec: with(`pod: {labels: {etcd_cluster: x}}`), field: "spec.pod.labels", message: "etcd_cluster" + labelEnding},
		"label of Jobs":        {reason: "the Job would not find its Pod", spec: with(`pod: {labels: {batch.kubernetes.io/job-name: x}}`), field: "spec.pod.labels", message: "batch.kubernetes.io/job-name" + labelEnding},
		"annotation":           {reason: "it is ours", spec: with(`pod: {annotations: {etcd.database.coreos.com/x: z}}`), field: "spec.pod.annotations", message: "etcd.database.coreos.com/x" + noteEnding},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			u := admissiontest.Object(t, "EtcdBackup", namespace, "", tc.spec)
			admissiontest.Refused(t, c.Create(apiservertest.Context(t), u), tc.field, tc.message, tc.reason)
		})
	}
}

func TestMissingSpecIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdBackup", apiservertest.Namespace(t), "", `{}`)
	delete(u.Object, "spec")
	admissiontest.Refused(t, c.Create(apiservertest.Context(t), u), "spec", "Required value", "it may be a file cut short")
}

func TestUnknownFieldIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	u := admissiontest.Object(t, "EtcdBackup", apiservertest.Namespace(t), "", with(`storageClass: fast`))
	err := c.Create(apiservertest.Context(t), u)
	if want := `unknown field "spec.storageClass"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %q", err, want)
	}
}
