package plan

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// What admission refuses is refused here as well, for objects that are older than the
// CRD's rules: each text below is a pattern of the CRD.
var (
	endpointPattern      = regexp.MustCompile(`^https?://([-._A-Za-z0-9]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})/?$`)
	storePathPattern     = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\x00-\x1f\x7f]+$`)
	storeEndpointPattern = regexp.MustCompile(`^(https?://)?([-._A-Za-z0-9]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[^?#\s]*)?$`)
	claimPattern         = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	pvcPathPattern       = regexp.MustCompile(`^([^/\x00-\x1f\x7f]{1,200}/)*[^/\x00-\x1f\x7f]{1,200}$`)
	dotsPattern          = regexp.MustCompile(`(^|/)[.][.]?(/|$)`)
)

const (
	// maxPath and maxEndpoints are the CRD's limits.
	maxPath      = 1000
	maxEndpoints = 64
	maxPort      = 65535
)

// check returns what is wrong with a spec, or nil, and its schedule if it has one. An
// https endpoint without clientTLSSecret is right: its certificate may be signed by an
// CA that everybody knows.
func check(spec *v1beta2.BackupSpec) (schedule.Schedule, *step) {
	for _, c := range []func(*v1beta2.BackupSpec) *step{checkStorage, checkCopy, checkSource, checkPassword, checkPolicy, checkRest} {
		if s := c(spec); s != nil {
			return schedule.Schedule{}, s
		}
	}
	return checkSchedule(spec)
}

func checkStorage(spec *v1beta2.BackupSpec) *step {
	switch spec.StorageType {
	case v1beta2.StorageS3, v1beta2.StorageOSS, v1beta2.StorageABS, v1beta2.StorageGCS:
		return checkStore(spec.StorageType, spec.Store())
	case v1beta2.StoragePVC:
		return checkPVC(spec.PVC)
	case "":
		return warn(v1beta2.BackupReasonStorageUnknown, "spec.storageType is empty: set S3, OSS, ABS, GCS or PVC")
	}
	return warn(v1beta2.BackupReasonStorageUnknown, fmt.Sprintf("spec.storageType %s is not supported: set S3, OSS, ABS, GCS or PVC", conditiontext.Quote(string(spec.StorageType))))
}

// missingStore says what to set for a type of store.
var missingStore = map[v1beta2.StorageType]string{
	v1beta2.StorageS3:  "spec.s3 is missing for spec.storageType S3: set spec.s3.path, such as mybucket/etcd.backup, and spec.s3.awsSecret",
	v1beta2.StorageOSS: "spec.oss is missing for spec.storageType OSS: set spec.oss.path, such as mybucket/etcd.backup, spec.oss.endpoint and spec.oss.ossSecret",
	v1beta2.StorageABS: "spec.abs is missing for spec.storageType ABS: set spec.abs.path, such as mycontainer/etcd.backup, and spec.abs.absSecret",
	v1beta2.StorageGCS: "spec.gcs is missing for spec.storageType GCS: set spec.gcs.path, such as mybucket/etcd.backup, and spec.gcs.gcpSecret",
}

func checkStore(kind v1beta2.StorageType, place *v1beta2.StorePlace) *step {
	switch {
	case place == nil:
		return warn(v1beta2.BackupReasonStorageMissing, missingStore[kind])
	case !storePathPattern.MatchString(place.Path) || len(place.Path) > maxPath:
		return warn(v1beta2.BackupReasonPathInvalid, fmt.Sprintf("spec.%s.path must be a bucket and a key, such as mybucket/etcd.backup, without %s", place.Field(), kind.Scheme()))
	case place.Endpoint != "" && !storeEndpointPattern.MatchString(place.Endpoint):
		return warn(v1beta2.BackupReasonStoreEndpointInvalid, fmt.Sprintf("spec.%s.endpoint must be the URL of a store, such as https://s3.example.com, https://oss-cn-hangzhou.aliyuncs.com, https://myaccount.blob.core.windows.net, https://storage.googleapis.com or http://minio.default:9000", place.Field()))
	case slices.Contains(archives, strings.ToUpper(place.StorageClass)):
		return warn(v1beta2.BackupReasonStorageClassArchived, fmt.Sprintf(
			"spec.s3.storageClass must not be %s, because a restore would wait hours for its objects: set GLACIER_IR or STANDARD_IA", place.StorageClass))
	}
	return nil
}

// archives are the storage classes of which an object must be restored from the archive
// before it can be read.
var archives = []string{"GLACIER", "DEEP_ARCHIVE"}

func checkPVC(pvc *v1beta2.PVCSource) *step {
	switch {
	case pvc == nil:
		return warn(v1beta2.BackupReasonStorageMissing, "spec.pvc is missing for spec.storageType PVC: set spec.pvc.claimName and spec.pvc.path, such as backups/etcd.db")
	case !claimPattern.MatchString(pvc.ClaimName):
		return warn(v1beta2.BackupReasonClaimInvalid, "spec.pvc.claimName must be the name of a PVC of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups")
	case !pvcPathPattern.MatchString(pvc.Path) || dotsPattern.MatchString(pvc.Path) || len(pvc.Path) > maxPath:
		return warn(v1beta2.BackupReasonPathInvalid, "spec.pvc.path must be the path of a file on the volume, such as backups/etcd.db, without a slash at either end and without ..")
	}
	return nil
}

// checkCopy checks the second place as the first: what is wrong is told of its fields.
func checkCopy(spec *v1beta2.BackupSpec) *step {
	c := spec.Copy()
	if c == nil {
		return nil
	}
	if s := checkStorage(c); s != nil {
		s.message = strings.ReplaceAll(s.message, "spec.", "spec.copyTo.")
		return s
	}
	if storeOf(c) == storeOf(spec) {
		return warn(v1beta2.BackupReasonCopyIsSource, "spec.copyTo is where the backup itself is stored: set it to another store or path")
	}
	return nil
}

func checkSource(spec *v1beta2.BackupSpec) *step {
	switch {
	case spec.ClusterRef != nil && len(spec.EtcdEndpoints) > 0:
		return warn(v1beta2.BackupReasonSourceAmbiguous, "spec.clusterRef must not be set together with spec.etcdEndpoints: set clusterRef for an EtcdCluster of this namespace, or etcdEndpoints for any other etcd")
	case spec.ClusterRef != nil && spec.ClusterRef.Name == "":
		return warn(v1beta2.BackupReasonSourceMissing, "spec.clusterRef.name is empty: set it to the name of an EtcdCluster of this namespace")
	case spec.ClusterRef == nil && len(spec.EtcdEndpoints) == 0:
		return warn(v1beta2.BackupReasonSourceMissing, "no source is set: set spec.clusterRef.name for an EtcdCluster of this namespace, or spec.etcdEndpoints, such as [http://example-client:2379]")
	case len(spec.EtcdEndpoints) > maxEndpoints:
		return warn(v1beta2.BackupReasonEndpointInvalid, fmt.Sprintf("spec.etcdEndpoints has %d entries: set at most %d", len(spec.EtcdEndpoints), maxEndpoints))
	}
	for i, e := range spec.EtcdEndpoints {
		if !isEndpoint(e) {
			return warn(v1beta2.BackupReasonEndpointInvalid, fmt.Sprintf(
				"spec.etcdEndpoints[%d] must be a URL with scheme, host and port, such as http://example-client:2379, or with https:// if the members use TLS", i))
		}
	}
	return nil
}

// isEndpoint has no room for a password before the host: the text is copied to places
// where one must not be.
func isEndpoint(text string) bool {
	parts := endpointPattern.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	if _, err := url.Parse(text); err != nil {
		return false
	}
	port, err := strconv.Atoi(parts[2])
	return err == nil && port > 0 && port <= maxPort
}

func checkPolicy(spec *v1beta2.BackupSpec) *step {
	p := spec.BackupPolicy
	if p == nil {
		return nil
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"timeoutInSecond", p.TimeoutInSecond},
		{"backupIntervalInSecond", p.BackupIntervalInSecond},
		{"maxBackups", int64(p.MaxBackups)},
		{"startingDeadlineSeconds", value(p.StartingDeadlineSeconds)},
	} {
		if n.value < 0 {
			return warn(v1beta2.BackupReasonPolicyInvalid, fmt.Sprintf("spec.backupPolicy.%s is %d: set 0 or more", n.name, n.value))
		}
	}
	if p.MaxAge != nil && p.MaxAge.Duration <= 0 {
		return warn(v1beta2.BackupReasonPolicyInvalid, fmt.Sprintf("spec.backupPolicy.maxAge is %s: set a duration of at least 1s, such as 168h (a week)", p.MaxAge.Duration))
	}
	switch spec.Concurrency() {
	case v1beta2.ForbidConcurrent, v1beta2.AllowConcurrent, v1beta2.ReplaceConcurrent:
		return nil
	}
	return warn(v1beta2.BackupReasonPolicyInvalid, fmt.Sprintf("spec.backupPolicy.concurrencyPolicy %s is not supported: set Forbid, Allow or Replace", conditiontext.Quote(string(spec.Concurrency()))))
}

func checkRest(spec *v1beta2.BackupSpec) *step {
	if ttl := value(spec.TTLSecondsAfterFinished); ttl < 0 {
		return warn(v1beta2.BackupReasonPolicyInvalid, fmt.Sprintf("spec.ttlSecondsAfterFinished is %d: set 0 or more", ttl))
	}
	switch spec.Packing() {
	case "", v1beta2.CompressionNone, v1beta2.CompressionZstd:
		return nil
	}
	return warn(v1beta2.BackupReasonCompressionUnknown, fmt.Sprintf("spec.compression %s is not supported: set none or zstd", conditiontext.Quote(string(spec.Compression))))
}

func checkSchedule(spec *v1beta2.BackupSpec) (schedule.Schedule, *step) {
	switch {
	case spec.Schedule() != "" && spec.Interval() > 0:
		return schedule.Schedule{}, warn(v1beta2.BackupReasonScheduleInvalid, "spec.backupPolicy.schedule must not be set together with spec.backupPolicy.backupIntervalInSecond: remove one of them")
	case spec.Interval() > 0:
		return schedule.Every(spec.Interval()), nil
	case spec.Schedule() == "":
		return schedule.Schedule{}, nil
	}
	s, err := schedule.Parse(spec.Schedule())
	if err != nil {
		return schedule.Schedule{}, warn(v1beta2.BackupReasonScheduleInvalid, fmt.Sprintf(
			"spec.backupPolicy.schedule is not a cron expression: %s; set a cron expression such as 0 */6 * * *, @daily or CRON_TZ=Europe/Berlin 30 3 * * 1-5", conditiontext.Clip(err.Error())))
	}
	return s, nil
}

// value is a number that may be left out, or 0.
func value[N int32 | int64](n *N) int64 {
	if n == nil {
		return 0
	}
	return int64(*n)
}
