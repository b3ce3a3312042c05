package crdtest

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
)

const (
	endpointMessage = "the endpoint must be a URL with scheme, host and port, such as http://example-client:2379, or with https:// if the members use TLS"
	bothMessage     = "clusterRef must not be set together with etcdEndpoints: set clusterRef for an EtcdCluster of this namespace, or etcdEndpoints for any other etcd"
	neitherMessage  = "no source is set: set clusterRef.name for an EtcdCluster of this namespace, or etcdEndpoints, such as [http://example-client:2379]"
	pathMessage     = "path must be a bucket and a key, such as mybucket/etcd.backup, without s3://"
	storeMessage    = "endpoint must be the URL of an S3 store, such as https://s3.example.com or http://minio.default:9000"
	keyMessage      = "kmsKeyID must not be set unless serverSideEncryption is aws:kms or aws:kms:dsse: set serverSideEncryption, or remove kmsKeyID"
	claimMessage    = "claimName must be the name of a PVC of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups"
	fileMessage     = "path must be the path of a file on the volume, such as backups/etcd.db, without a slash at either end, without .., and with at most 255 characters between slashes"
	cronMessage     = "schedule must be a cron expression of five fields (minute, hour, day of the month, month, day of the week), such as 0 */6 * * *, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5"
	longPathMessage = "path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"
	ageMessage      = "maxAge must be a duration of at least 1s with its unit, such as 12h, 168h (a week) or 1h30m"
	archiveMessage  = "interval must be a duration from 1s to 1h with its unit, such as 10s or 1m30s"
	zeroMessage     = "should be greater than or equal to 0"
	labelEnding     = " is reserved for the operator and for Kubernetes (as are app, etcd_*, app.kubernetes.io/* and batch.kubernetes.io/*): remove it, or use another key"
	archiveEnding   = ", because a restore would wait hours for its objects: set GLACIER_IR or STANDARD_IA"
	variableEnding  = " is not supported: use only HTTPS_PROXY, HTTP_PROXY and NO_PROXY (also in lower case), AWS_REGION, AWS_DEFAULT_REGION, AWS_EC2_METADATA_DISABLED, AWS_ROLE_SESSION_NAME, AWS_STS_REGIONAL_ENDPOINTS, AWS_USE_DUALSTACK_ENDPOINT, AWS_USE_FIPS_ENDPOINT, GOGC, GOMAXPROCS and TZ; for credentials and CAs, set awsSecret, caSecret or caConfigMap"
	nameEnding      = " of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	noteEnding      = " is reserved for the operator and for Kubernetes (as are etcd.database.coreos.com/* and batch.kubernetes.io/*): remove it, or use another key"
)

// endpoint is a backup of one endpoint.
func endpoint(url string) string { return `{etcdEndpoints: ["` + url + `"], ` + toS3 + `}` }

// with is a backup with one more field.
func with(field string) string { return `{` + from + `, ` + toS3 + `, ` + field + `}` }

// env is a backup whose Pod has these variables.
func env(variables string) string { return with(`pod: {env: [` + variables + `]}`) }

// Each row is one mistake, and all that the user is told about it.
func TestRefused(t *testing.T) {
	admissiontest.AllRefused(t, "EtcdBackup", map[string]admissiontest.Mistake{
		"no source":            {Reason: "there is nothing to back up", Spec: `{` + toS3 + `}`, Field: "spec", Message: neitherMessage},
		"empty endpoints":      {Reason: "there is nothing to back up", Spec: `{etcdEndpoints: [], ` + toS3 + `}`, Field: "spec", Message: neitherMessage},
		"verification, words":  {Reason: "when?", Spec: with(`verification: {schedule: nightly}`), Field: "spec.verification.schedule", Message: cronMessage},
		"copy, no type":        {Reason: "where to?", Spec: with(`copyTo: {s3: {path: b-1/k}}`), Field: "spec.copyTo.storageType", Message: "Required value"},
		"copy, unknown type":   {Reason: "where to?", Spec: with(`copyTo: {storageType: FTP}`), Field: "spec.copyTo.storageType", Message: "storageType FTP is not supported: set S3, OSS, ABS, GCS or PVC"},
		"copy, no s3":          {Reason: "where in S3?", Spec: with(`copyTo: {storageType: S3}`), Field: "spec.copyTo.s3", Message: "s3 is missing for storageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"},
		"copy, no oss":         {Reason: "where in OSS?", Spec: with(`copyTo: {storageType: OSS}`), Field: "spec.copyTo.oss", Message: "oss is missing for storageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"},
		"copy, no abs":         {Reason: "where in Azure?", Spec: with(`copyTo: {storageType: ABS}`), Field: "spec.copyTo.abs", Message: "abs is missing for storageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"},
		"copy, no gcs":         {Reason: "where in Google Cloud Storage?", Spec: with(`copyTo: {storageType: GCS}`), Field: "spec.copyTo.gcs", Message: "gcs is missing for storageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"},
		"copy, no pvc":         {Reason: "on which volume?", Spec: with(`copyTo: {storageType: PVC}`), Field: "spec.copyTo.pvc", Message: "pvc is missing for storageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"},
		"copy, both":           {Reason: "which one is meant?", Spec: with(`copyTo: {storageType: S3, s3: {path: b-1/k}, pvc: {claimName: c, path: p}}`), Field: "spec.copyTo.pvc", Message: "pvc must not be set when storageType is S3: remove pvc, or set storageType: PVC and remove s3"},
		"copy, prefix":         {Reason: "a backup has one path", Spec: with(`copyTo: {storageType: S3, s3: {prefix: b-1/k}}`), Field: "spec.copyTo.s3.prefix", Message: "prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"},
		"copy, GCS, no path":   {Reason: "where in Google Cloud Storage?", Spec: with(`copyTo: {storageType: GCS, gcs: {gcpSecret: x}}`), Field: "spec.copyTo.gcs.path", Message: "path is missing: set it to a bucket and an object, such as mybucket/etcd.backup"},
		"copy, long path":      {Reason: "a repeated backup adds to it", Spec: with(`copyTo: {storageType: PVC, pvc: {claimName: c, path: ` + strings.Repeat("k/", 501) + `k}}`), Field: "spec.copyTo.pvc.path", Message: longPathMessage},
		"archive of one":       {Reason: "it begins at repeated snapshots", Spec: with(`archive: {}`), Field: "spec.archive", Message: "archive must not be set for a single backup, because an archive starts from repeated backups: set backupPolicy.schedule or backupPolicy.backupIntervalInSecond"},
		"archive, no unit":     {Reason: "seconds or minutes?", Spec: with(`backupPolicy: {schedule: "@daily"}, archive: {interval: "10"}`), Field: "spec.archive.interval", Message: archiveMessage},
		"archive, too often":   {Reason: "each interval makes an object", Spec: with(`backupPolicy: {schedule: "@daily"}, archive: {interval: 500ms}`), Field: "spec.archive.interval", Message: archiveMessage},
		"archive, too rarely":  {Reason: "a snapshot does as well", Spec: with(`backupPolicy: {schedule: "@daily"}, archive: {interval: 2h}`), Field: "spec.archive.interval", Message: archiveMessage},
		"two sources":          {Reason: "they may differ", Spec: with(`clusterRef: {name: x}`), Field: "spec", Message: bothMessage},
		"empty clusterRef":     {Reason: "it names nothing", Spec: `{clusterRef: {name: ""}, ` + toS3 + `}`, Field: "spec.clusterRef.name", Message: "name is empty: set it to the name of an EtcdCluster of this namespace"},
		"endpoint, no scheme":  {Reason: "TLS or not?", Spec: endpoint("x-client:2379"), Field: "spec.etcdEndpoints[0]", Message: endpointMessage},
		"endpoint, no port":    {Reason: "etcd has no default port in URLs", Spec: endpoint("http://x-client"), Field: "spec.etcdEndpoints[0]", Message: endpointMessage},
		"endpoint, other":      {Reason: "a scheme that etcd does not speak", Spec: endpoint("unix://x:2379"), Field: "spec.etcdEndpoints[0]", Message: endpointMessage},
		"Secret's name":        {Reason: "no Secret has such a name", Spec: with(`authSecret: Root_Secret`), Field: "spec.authSecret", Message: "authSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-root"},
		"endpoint, path":       {Reason: "etcd has no paths", Spec: endpoint("http://x:2379/v3"), Field: "spec.etcdEndpoints[0]", Message: endpointMessage},
		"endpoint, user":       {Reason: "no secrets in a spec", Spec: endpoint("http://a:b@x:2379"), Field: "spec.etcdEndpoints[0]", Message: endpointMessage},
		"no storage type":      {Reason: "where to?", Spec: `{` + from + `, s3: {path: b-1/k}}`, Field: "spec.storageType", Message: "Required value"},
		"unknown storage type": {Reason: "where to?", Spec: `{` + from + `, storageType: FTP}`, Field: "spec.storageType", Message: "storageType FTP is not supported: set S3, OSS, ABS, GCS or PVC"},
		"lower-case type":      {Reason: "one thing has one name", Spec: `{` + from + `, storageType: s3, s3: {path: b-1/k}}`, Field: "spec.storageType", Message: "storageType s3 is not supported: set S3, OSS, ABS, GCS or PVC"},
		"no abs":               {Reason: "where in Azure?", Spec: `{` + from + `, storageType: ABS}`, Field: "spec.abs", Message: "abs is missing for storageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret"},
		"ABS, no path":         {Reason: "where in Azure?", Spec: `{` + from + `, storageType: ABS, abs: {absSecret: x}}`, Field: "spec.abs.path", Message: "path is missing: set it to a container and a blob, such as mycontainer/etcd.backup"},
		"ABS, empty path":      {Reason: "where in Azure?", Spec: `{` + from + `, storageType: ABS, abs: {path: "", absSecret: x}}`, Field: "spec.abs.path", Message: "path is missing: set it to a container and a blob, such as mycontainer/etcd.backup"},
		"ABS, no container":    {Reason: "a path is a container and a blob", Spec: `{` + from + `, storageType: ABS, abs: {path: key}}`, Field: "spec.abs.path", Message: "path must be a container and a blob, such as mycontainer/etcd.backup, without abs://"},
		"ABS, container":       {Reason: "Azure has no upper case", Spec: `{` + from + `, storageType: ABS, abs: {path: Box/key}}`, Field: "spec.abs.path", Message: "path must be a container and a blob, such as mycontainer/etcd.backup, without abs://"},
		"ABS, prefix":          {Reason: "a backup has one path", Spec: `{` + from + `, storageType: ABS, abs: {prefix: box/k}}`, Field: "spec.abs.prefix", Message: "prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"},
		"ABS, long path":       {Reason: "a repeated backup adds to it", Spec: `{` + from + `, storageType: ABS, abs: {path: box/` + strings.Repeat("k", 1000) + `}}`, Field: "spec.abs.path", Message: "path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"},
		"ABS, endpoint":        {Reason: "it is no URL", Spec: `{` + from + `, storageType: ABS, abs: {path: box/k, endpoint: "a b"}}`, Field: "spec.abs.endpoint", Message: "endpoint must be the URL of a storage account, such as https://myaccount.blob.core.windows.net"},
		"ABS, CA":              {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: ABS, abs: {path: box/k, caSecret: A_B}}`, Field: "spec.abs.caSecret", Message: "caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"},
		"no gcs":               {Reason: "where in Google Cloud Storage?", Spec: `{` + from + `, storageType: GCS}`, Field: "spec.gcs", Message: "gcs is missing for storageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret"},
		"GCS, no path":         {Reason: "where in Google Cloud Storage?", Spec: `{` + from + `, storageType: GCS, gcs: {gcpSecret: x}}`, Field: "spec.gcs.path", Message: "path is missing: set it to a bucket and an object, such as mybucket/etcd.backup"},
		"GCS, empty path":      {Reason: "where in Google Cloud Storage?", Spec: `{` + from + `, storageType: GCS, gcs: {path: "", gcpSecret: x}}`, Field: "spec.gcs.path", Message: "path is missing: set it to a bucket and an object, such as mybucket/etcd.backup"},
		"GCS, no bucket":       {Reason: "a path is a bucket and an object", Spec: `{` + from + `, storageType: GCS, gcs: {path: key}}`, Field: "spec.gcs.path", Message: "path must be a bucket and an object, such as mybucket/etcd.backup, without gcs://"},
		"GCS, bucket":          {Reason: "Google has no upper case", Spec: `{` + from + `, storageType: GCS, gcs: {path: B-1/key}}`, Field: "spec.gcs.path", Message: "path must be a bucket and an object, such as mybucket/etcd.backup, without gcs://"},
		"GCS, prefix":          {Reason: "a backup has one path", Spec: `{` + from + `, storageType: GCS, gcs: {prefix: b-1/k}}`, Field: "spec.gcs.prefix", Message: "prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"},
		"GCS, long path":       {Reason: "a repeated backup adds to it", Spec: `{` + from + `, storageType: GCS, gcs: {path: b-1/` + strings.Repeat("k", 1000) + `}}`, Field: "spec.gcs.path", Message: "path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"},
		"GCS, endpoint":        {Reason: "it has a path", Spec: `{` + from + `, storageType: GCS, gcs: {path: b-1/k, endpoint: "https://x/y"}}`, Field: "spec.gcs.endpoint", Message: "endpoint must be the URL of a store, without a path, such as https://storage.googleapis.com"},
		"GCS, CA":              {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: GCS, gcs: {path: b-1/k, caSecret: A_B}}`, Field: "spec.gcs.caSecret", Message: "caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"},
		"no oss":               {Reason: "where in OSS?", Spec: `{` + from + `, storageType: OSS}`, Field: "spec.oss", Message: "oss is missing for storageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret"},
		"OSS, no path":         {Reason: "where in OSS?", Spec: `{` + from + `, storageType: OSS, oss: {ossSecret: x}}`, Field: "spec.oss.path", Message: "path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"},
		"OSS, no bucket":       {Reason: "a path is a bucket and a key", Spec: `{` + from + `, storageType: OSS, oss: {path: key}}`, Field: "spec.oss.path", Message: "path must be a bucket and a key, such as mybucket/etcd.backup, without oss://"},
		"OSS, prefix":          {Reason: "a backup has one path", Spec: `{` + from + `, storageType: OSS, oss: {prefix: b-1/k}}`, Field: "spec.oss.prefix", Message: "prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"},
		"OSS, long path":       {Reason: "a repeated backup adds to it", Spec: `{` + from + `, storageType: OSS, oss: {path: b-1/` + strings.Repeat("k", 1000) + `}}`, Field: "spec.oss.path", Message: "path must not have more than 1000 characters, because repeated backups append up to 51 more: set a shorter path"},
		"OSS, endpoint":        {Reason: "OSS has no path", Spec: `{` + from + `, storageType: OSS, oss: {path: b-1/k, endpoint: "https://x/y"}}`, Field: "spec.oss.endpoint", Message: "endpoint must be the URL of OSS in a region, such as https://oss-cn-hangzhou.aliyuncs.com"},
		"OSS, CA":              {Reason: "no Secret has such a name", Spec: `{` + from + `, storageType: OSS, oss: {path: b-1/k, caSecret: A_B}}`, Field: "spec.oss.caSecret", Message: "caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"},
		"no s3":                {Reason: "where in S3?", Spec: `{` + from + `, storageType: S3}`, Field: "spec.s3", Message: "s3 is missing for storageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"},
		"no pvc":               {Reason: "where?", Spec: `{` + from + `, storageType: PVC}`, Field: "spec.pvc", Message: "pvc is missing for storageType PVC: set pvc.claimName and pvc.path, such as backups/etcd.db"},
		"S3 with pvc":          {Reason: "which one?", Spec: with(`pvc: {claimName: a, path: b}`), Field: "spec.pvc", Message: "pvc must not be set when storageType is S3: remove pvc, or set storageType: PVC and remove s3"},
		"PVC with s3":          {Reason: "which one?", Spec: `{` + from + `, ` + toPV + `, s3: {path: b-1/k}}`, Field: "spec.s3", Message: "s3 must not be set when storageType is PVC: remove s3, or set storageType: S3 and remove pvc"},
		"no path":              {Reason: "where in S3?", Spec: s3(`awsSecret: aws`), Field: "spec.s3.path", Message: "path is missing: set it to a bucket and a key, such as mybucket/etcd.backup"},
		"prefix":               {Reason: "it is for restores", Spec: s3(`prefix: b-1/`), Field: "spec.s3.prefix", Message: "prefix must not be set, because it selects a snapshot to restore: remove it, and set path, with which the keys of repeated backups begin"},
		"bucket alone":         {Reason: "an object needs a key", Spec: s3(`path: bucket`), Field: "spec.s3.path", Message: pathMessage},
		"empty key":            {Reason: "an object needs a key", Spec: s3(`path: bucket/`), Field: "spec.s3.path", Message: pathMessage},
		"path is a URL":        {Reason: "s3: is no bucket", Spec: s3(`path: "s3://bucket/key"`), Field: "spec.s3.path", Message: pathMessage},
		"slash in front":       {Reason: "no bucket", Spec: s3(`path: /bucket/key`), Field: "spec.s3.path", Message: pathMessage},
		"newline in the key":   {Reason: "it would break listings", Spec: s3(`path: "bucket/a\nb"`), Field: "spec.s3.path", Message: pathMessage},
		"store is ftp":         {Reason: "S3 speaks http", Spec: s3(`path: b-1/k, endpoint: "ftp://x"`), Field: "spec.s3.endpoint", Message: storeMessage},
		"store with a query":   {Reason: "it would be lost", Spec: s3(`path: b-1/k, endpoint: "http://x/?a=b"`), Field: "spec.s3.endpoint", Message: storeMessage},
		"region with a blank":  {Reason: "it becomes a part of a host name", Spec: s3(`path: b-1/k, region: "eu central"`), Field: "spec.s3.region", Message: "region must consist of letters, digits, dashes, underscores and dots, such as eu-central-1"},
		"storage class":        {Reason: "it becomes a header", Spec: s3(`path: b-1/k, storageClass: "STANDARD IA"`), Field: "spec.s3.storageClass", Message: "storageClass must consist of letters, digits, dashes and underscores, such as STANDARD_IA"},
		"region":               {Reason: "it becomes a part of host names", Spec: s3(`path: b-1/k, region: "eu central"`), Field: "spec.s3.region", Message: "region must consist of letters, digits, dashes, underscores and dots, such as eu-central-1"},
		"archive":              {Reason: "a restore could not read it", Spec: s3(`path: b-1/k, storageClass: GLACIER`), Field: "spec.s3.storageClass", Message: "storageClass must not be GLACIER" + archiveEnding},
		"deep archive":         {Reason: "nor this, however it is written", Spec: s3(`path: b-1/k, storageClass: Deep_Archive`), Field: "spec.s3.storageClass", Message: "storageClass must not be Deep_Archive" + archiveEnding},
		"two CAs":              {Reason: "which one?", Spec: s3(`path: b-1/k, caSecret: a, caConfigMap: b`), Field: "spec.s3", Message: "caSecret must not be set together with caConfigMap: remove one of them; a ConfigMap can hold the certificates of several CAs"},
		"CA's Secret":          {Reason: "no Secret has such a name", Spec: s3(`path: b-1/k, caSecret: Store_CA`), Field: "spec.s3.caSecret", Message: "caSecret must be the name of a Secret" + nameEnding},
		"CA's ConfigMap":       {Reason: "no ConfigMap has such a name", Spec: s3(`path: b-1/k, caConfigMap: a/b`), Field: "spec.s3.caConfigMap", Message: "caConfigMap must be the name of a ConfigMap" + nameEnding},
		"checksums":            {Reason: "a typo must not mean none", Spec: s3(`path: b-1/k, checksums: when_supported`), Field: "spec.s3.checksums", Message: `supported values: "", "WhenSupported", "WhenRequired"`},
		"tag of ours":          {Reason: "it would be overwritten", Spec: s3(`path: b-1/k, tags: {sha256: x}`), Field: "spec.s3.tags", Message: "sha256 is reserved for the operator and for the store (as are sha256, size and aws:*): remove it, or use another key"},
		"long tag":             {Reason: "the store refuses it", Spec: s3(`path: b-1/k, tags: {a: "` + strings.Repeat("x", 257) + `"}`), Field: "spec.s3.tags", Message: "each tag must have a key of 1 to 128 characters and a value of at most 256 characters: set a shorter key or value"},
		"our variable":         {Reason: "the task is not the user's to write", Spec: env(`{name: ETCD_BACKUP_TASK, value: x}`), Field: "spec.pod.env[0].name", Message: "ETCD_BACKUP_TASK" + variableEnding},
		"trust":                {Reason: "etcd's certificates would be checked against it, too", Spec: env(`{name: SSL_CERT_FILE, value: /x}`), Field: "spec.pod.env[0].name", Message: "SSL_CERT_FILE" + variableEnding},
		"token file":           {Reason: "the SDK sends its content to whom another variable names", Spec: env(`{name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /etc/etcd-backup/auth/password}`), Field: "spec.pod.env[0].name", Message: "AWS_WEB_IDENTITY_TOKEN_FILE" + variableEnding},
		"a variable twice":     {Reason: "which one?", Spec: env(`{name: TZ, value: a}, {name: TZ, value: b}`), Field: "spec.pod.env[1]", Message: `Duplicate value: {"name":"TZ"}`},
		"no value":             {Reason: "there is no valueFrom to take its place", Spec: env(`{name: HTTPS_PROXY}`), Field: "spec.pod.env[0].value", Message: "Required value"},
		"encryption":           {Reason: "the object would be stored without it", Spec: s3(`path: b-1/k, serverSideEncryption: AES`), Field: "spec.s3.serverSideEncryption", Message: `supported values: "", "AES256", "aws:kms", "aws:kms:dsse"`},
		"key, no encryption":   {Reason: "the key would not be used", Spec: s3(`path: b-1/k, kmsKeyID: x`), Field: "spec.s3", Message: keyMessage},
		"key, other":           {Reason: "the key would not be used", Spec: s3(`path: b-1/k, serverSideEncryption: AES256, kmsKeyID: x`), Field: "spec.s3", Message: keyMessage},
		"claim":                {Reason: "no such claim can be", Spec: pvc("My_Claim", "a"), Field: "spec.pvc.claimName", Message: claimMessage},
		"absolute file":        {Reason: "it is relative to the volume", Spec: pvc("a", "/etcd.db"), Field: "spec.pvc.path", Message: fileMessage},
		"folder":               {Reason: "a backup is a file", Spec: pvc("a", "backups/"), Field: "spec.pvc.path", Message: fileMessage},
		"out of the volume":    {Reason: "what is outside is not ours", Spec: pvc("a", "a/../../etc/passwd"), Field: "spec.pvc.path", Message: fileMessage},
		"dot":                  {Reason: "a backup is a file", Spec: pvc("a", "."), Field: "spec.pvc.path", Message: fileMessage},
		"empty file":           {Reason: "a backup is a file", Spec: pvc("a", ""), Field: "spec.pvc.path", Message: fileMessage},
		"long file name":       {Reason: "file systems hold 255 bytes, and revision and time are added", Spec: pvc("a", strings.Repeat("x", 201)), Field: "spec.pvc.path", Message: "path must not have a file name of more than 200 characters, because repeated backups append up to 51 more and file systems allow 255: set a shorter name"},
		"long path":            {Reason: "revision and time are added", Spec: pvc("a", strings.Repeat("x/", 500)+"x"), Field: "spec.pvc.path", Message: longPathMessage},
		"long key":             {Reason: "revision and time are added", Spec: s3(`path: b-1/` + strings.Repeat("x", 997)), Field: "spec.s3.path", Message: longPathMessage},
		"schedule, interval":   {Reason: "which one?", Spec: policy(`schedule: "@daily", backupIntervalInSecond: 60`), Field: "spec.backupPolicy", Message: "schedule must not be set together with backupIntervalInSecond: remove one of them"},
		"schedule of words":    {Reason: "robfig/cron reads none", Spec: policy(`schedule: every day`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
		"schedule of four":     {Reason: "a field is missing", Spec: policy(`schedule: "0 3 * *"`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
		"schedule of six":      {Reason: "there are no seconds", Spec: policy(`schedule: "0 0 3 * * *"`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
		"unknown descriptor":   {Reason: "robfig/cron does not know it", Spec: policy(`schedule: "@noon"`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
		"every what":           {Reason: "a duration has a unit", Spec: policy(`schedule: "@every 5"`), Field: "spec.backupPolicy.schedule", Message: cronMessage},
		"negative interval":    {Reason: "time goes forward", Spec: policy(`backupIntervalInSecond: -1`), Field: "spec.backupPolicy.backupIntervalInSecond", Message: zeroMessage},
		"negative timeout":     {Reason: "time goes forward", Spec: policy(`timeoutInSecond: -1`), Field: "spec.backupPolicy.timeoutInSecond", Message: zeroMessage},
		"negative minimum":     {Reason: "fewer than none", Spec: policy(`minBackups: -1`), Field: "spec.backupPolicy.minBackups", Message: zeroMessage},
		"negative count":       {Reason: "fewer than none", Spec: policy(`maxBackups: -1`), Field: "spec.backupPolicy.maxBackups", Message: zeroMessage},
		"negative deadline":    {Reason: "time goes forward", Spec: policy(`startingDeadlineSeconds: -1`), Field: "spec.backupPolicy.startingDeadlineSeconds", Message: zeroMessage},
		"negative ttl":         {Reason: "time goes forward", Spec: with(`ttlSecondsAfterFinished: -1`), Field: "spec.ttlSecondsAfterFinished", Message: zeroMessage},
		"age in days":          {Reason: "Go's durations have none", Spec: policy(`maxAge: 7d`), Field: "spec.backupPolicy.maxAge", Message: ageMessage},
		"age 0":                {Reason: "nothing would be kept", Spec: policy(`maxAge: 0s`), Field: "spec.backupPolicy.maxAge", Message: ageMessage},
		"overwrite policy":     {Reason: "a typo must not mean Always", Spec: with(`overwritePolicy: always`), Field: "spec.overwritePolicy", Message: `supported values: "", "SameCluster", "Always"`},
		"concurrency policy":   {Reason: "a typo must not mean Allow", Spec: policy(`concurrencyPolicy: forbid`), Field: "spec.backupPolicy.concurrencyPolicy", Message: `supported values: "", "Forbid", "Allow", "Replace"`},
		"compression":          {Reason: "nobody could unpack it", Spec: with(`compression: gzip`), Field: "spec.compression", Message: `supported values: "", "none", "zstd"`},
		"hash":                 {Reason: "a typo must not mean Auto", Spec: with(`recordHash: never`), Field: "spec.recordHash", Message: `supported values: "", "Auto", "Always", "Never"`},
		"label app":            {Reason: "the operator would not find its Pod", Spec: with(`pod: {labels: {app: mine}}`), Field: "spec.pod.labels", Message: "app" + labelEnding},
		"label etcd_cluster":   {Reason: "the Pod would be taken for a member", Spec: with(`pod: {labels: {etcd_cluster: x}}`), Field: "spec.pod.labels", Message: "etcd_cluster" + labelEnding},
		"label of Jobs":        {Reason: "the Job would not find its Pod", Spec: with(`pod: {labels: {batch.kubernetes.io/job-name: x}}`), Field: "spec.pod.labels", Message: "batch.kubernetes.io/job-name" + labelEnding},
		"annotation":           {Reason: "it is ours", Spec: with(`pod: {annotations: {etcd.database.coreos.com/x: z}}`), Field: "spec.pod.annotations", Message: "etcd.database.coreos.com/x" + noteEnding},
	})
}

func TestMissingSpecIsRefused(t *testing.T) {
	admissiontest.MissingSpecRefused(t, "EtcdBackup")
}

func TestUnknownFieldIsRefused(t *testing.T) {
	admissiontest.UnknownFieldRefused(t, "EtcdBackup", with(`storageClass: fast`), "spec.storageClass")
}

// A variable's value comes from no Secret: whoever creates the backup might have no
// right to read it.
func TestValueFromIsRefused(t *testing.T) {
	admissiontest.UnknownFieldRefused(t, "EtcdBackup", env(`{name: HTTPS_PROXY, value: "", valueFrom: {secretKeyRef: {name: postgres, key: password}}}`), "spec.pod.env[0].valueFrom")
}
