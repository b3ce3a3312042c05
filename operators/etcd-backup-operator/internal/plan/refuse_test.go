package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

type (
	specOf   = v1beta2.BackupSpec
	policyOf = v1beta2.BackupPolicy
)

func TestRefusals(t *testing.T) {
	s3 := func(f func(*v1beta2.S3Source)) change { return spec(func(s *specOf) { f(s.S3) }) }
	pvc := func(claim, path string) change {
		return spec(func(s *specOf) {
			s.StorageType, s.S3, s.PVC = v1beta2.StoragePVC, nil, &v1beta2.PVCSource{ClaimName: claim, Path: path}
		})
	}
	storage := func(kind v1beta2.StorageType) change { return spec(func(s *specOf) { s.StorageType = kind }) }
	from := func(endpoints ...string) change { return spec(func(s *specOf) { s.EtcdEndpoints = endpoints }) }
	rows := map[string]struct {
		reason string
		change change
		want   string // the reason
		says   string // a part of the message
	}{
		"no storageType":      {"nothing says where to", storage(""), "StorageUnknown", "set S3, OSS, ABS, GCS or PVC"},
		"unknown storageType": {"the predecessor died of it", storage("Tape"), "StorageUnknown", `"Tape" is not supported`},
		"wrong case":          {"it is not guessed", storage("s3"), "StorageUnknown", `"s3" is not supported`},
		"no abs":              {"where?", storage("ABS"), "StorageMissing", "spec.abs.absSecret"},
		"ABS, no key":         {"a path is a container and a blob", spec(func(s *specOf) { s.StorageType, s.ABS = "ABS", &v1beta2.ABSSource{Path: "key"} }), "PathInvalid", "without abs://"},
		"ABS, endpoint":       {"it is no URL", spec(func(s *specOf) { s.StorageType, s.ABS = "ABS", &v1beta2.ABSSource{Path: "box/key", Endpoint: "a b"} }), "StoreEndpointInvalid", "spec.abs.endpoint"},
		"no gcs":              {"where?", storage("GCS"), "StorageMissing", "spec.gcs.gcpSecret"},
		"GCS, no key":         {"a path is a bucket and an object", spec(func(s *specOf) { s.StorageType, s.GCS = "GCS", &v1beta2.GCSSource{Path: "key"} }), "PathInvalid", "without gcs://"},
		"GCS, endpoint":       {"it is no URL", spec(func(s *specOf) { s.StorageType, s.GCS = "GCS", &v1beta2.GCSSource{Path: "box/key", Endpoint: "a b"} }), "StoreEndpointInvalid", "spec.gcs.endpoint"},
		"no oss":              {"where?", storage("OSS"), "StorageMissing", "spec.oss.ossSecret"},
		"OSS, no key":         {"a path is a bucket and a key", spec(func(s *specOf) { s.StorageType, s.OSS = "OSS", &v1beta2.OSSSource{Path: "key"} }), "PathInvalid", "without oss://"},
		"OSS, endpoint":       {"it is no URL", spec(func(s *specOf) { s.StorageType, s.OSS = "OSS", &v1beta2.OSSSource{Path: "bucket/key", Endpoint: "a b"} }), "StoreEndpointInvalid", "spec.oss.endpoint"},
		"S3 without its block": {
			"the predecessor panicked", spec(func(s *specOf) { s.S3 = nil }), "StorageMissing", "set spec.s3.path",
		},
		"PVC without its block":  {"the same", storage(v1beta2.StoragePVC), "StorageMissing", "set spec.pvc.claimName"},
		"path without a key":     {"a bucket alone is no place", s3(func(s *v1beta2.S3Source) { s.Path = "mybucket" }), "PathInvalid", "must be a bucket and a key, such as mybucket/etcd.backup"},
		"path with nothing":      {"nor is this", s3(func(s *v1beta2.S3Source) { s.Path = "mybucket/" }), "PathInvalid", "a bucket and a key"},
		"path with a scheme":     {"a common mistake", s3(func(s *v1beta2.S3Source) { s.Path = "s3://mybucket/key" }), "PathInvalid", "without s3://"},
		"path too long":          {"the store would refuse it", s3(func(s *v1beta2.S3Source) { s.Path = "b1b/" + strings.Repeat("k", 2000) }), "PathInvalid", "a bucket and a key"},
		"store's endpoint":       {"not a URL", s3(func(s *v1beta2.S3Source) { s.Endpoint = "ftp://minio" }), "StoreEndpointInvalid", "must be the URL of a store, such as https://"},
		"archive":                {"a restore could not read it", s3(func(s *v1beta2.S3Source) { s.StorageClass = "deep_archive" }), "StorageClassArchived", "set GLACIER_IR"},
		"claim's name":           {"no such claim can exist", pvc("My Claim", "etcd.db"), "ClaimInvalid", "lower-case"},
		"PVC path upwards":       {"out of the volume", pvc("claim", "../etcd.db"), "PathInvalid", "without .."},
		"PVC path from the top":  {"not relative", pvc("claim", "/etcd.db"), "PathInvalid", "a file on the volume"},
		"PVC path of a folder":   {"not a file", pvc("claim", "backups/"), "PathInvalid", "without a slash at either end"},
		"copy without its block": {"where to?", spec(func(s *specOf) { s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageGCS} }), "StorageMissing", "set spec.copyTo.gcs.path, such as mybucket/etcd.backup, and spec.copyTo.gcs.gcpSecret"},
		"copy, storageType":      {"nothing says where to", spec(func(s *specOf) { s.CopyTo = &v1beta2.BackupCopy{StorageType: "Tape"} }), "StorageUnknown", `spec.copyTo.storageType "Tape" is not supported`},
		"copy, path": {"a path is a bucket and a key", spec(func(s *specOf) {
			s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: "key"}}
		}), "PathInvalid", "spec.copyTo.s3.path must be a bucket and a key"},
		"copy, the same place": {"it would replace the backup by itself", spec(func(s *specOf) { s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageS3, S3: s.S3} }), "CopyIsSource", "set it to another store or path"},
		"PVC path of nothing":  {"not a file", pvc("claim", ""), "PathInvalid", "backups/etcd.db"},
		"no source":            {"nothing says where from", from(), "SourceMissing", "no source is set"},
		"both sources": {
			"which of them?", spec(func(s *specOf) { s.ClusterRef = &v1beta2.ClusterReference{Name: "c"} }), "SourceAmbiguous", "spec.clusterRef must not be set together with spec.etcdEndpoints",
		},
		"cluster without a name": {
			"no cluster has that name", spec(func(s *specOf) { s.EtcdEndpoints, s.ClusterRef = nil, &v1beta2.ClusterReference{} }), "SourceMissing", "clusterRef.name is empty",
		},
		"no scheme":        {"http and https are not guessed", from("http://a:2379", "b:2379"), "EndpointInvalid", "etcdEndpoints[1]"},
		"another scheme":   {"etcd speaks neither", from("unix://a:2379"), "EndpointInvalid", "http://example-client:2379"},
		"no port":          {"80 is never right", from("http://a"), "EndpointInvalid", "etcdEndpoints[0]"},
		"port of 0":        {"no port", from("http://a:0"), "EndpointInvalid", "etcdEndpoints[0]"},
		"port too high":    {"no port", from("http://a:65536"), "EndpointInvalid", "etcdEndpoints[0]"},
		"a password":       {"it would be copied to where all can read it", from("http://root:secret@a:2379"), "EndpointInvalid", "etcdEndpoints[0]"},
		"a path":           {"etcd has none", from("http://a:2379/v3"), "EndpointInvalid", "etcdEndpoints[0]"},
		"empty endpoint":   {"a forgotten one", from(""), "EndpointInvalid", "etcdEndpoints[0]"},
		"not an IPv6":      {"the URL can't be read", from("http://[::::]:2379"), "EndpointInvalid", "etcdEndpoints[0]"},
		"too many":         {"no cluster has as many members", from(make([]string, 65)...), "EndpointInvalid", "at most 64"},
		"negative timeout": {"no time is that short", policy(func(p *policyOf) { p.TimeoutInSecond = -1 }), "PolicyInvalid", "timeoutInSecond is -1: set 0 or more"},
		"negative interval": {
			"time goes forward", policy(func(p *policyOf) { p.BackupIntervalInSecond = -60 }), "PolicyInvalid", "backupIntervalInSecond is -60",
		},
		"negative number":     {"none is 0", policy(func(p *policyOf) { p.MaxBackups = -1 }), "PolicyInvalid", "maxBackups is -1"},
		"negative deadline":   {"it would never start", policy(func(p *policyOf) { p.StartingDeadlineSeconds = new(int64(-1)) }), "PolicyInvalid", "startingDeadlineSeconds is -1"},
		"no age":              {"it would delete all", policy(func(p *policyOf) { p.MaxAge = &metav1.Duration{} }), "PolicyInvalid", "maxAge is 0s"},
		"unknown concurrency": {"it is not guessed", concurrency("Queue"), "PolicyInvalid", `"Queue" is not supported`},
		"negative ttl":        {"it would vanish before it ended", spec(func(s *specOf) { s.TTLSecondsAfterFinished = new(int32(-1)) }), "PolicyInvalid", "ttlSecondsAfterFinished is -1"},
		"unknown compression": {"it is not guessed", spec(func(s *specOf) { s.Compression = "gzip" }), "CompressionUnknown", "set none or zstd"},
		"two schedules":       {"which of them?", policy(func(p *policyOf) { p.Schedule, p.BackupIntervalInSecond = "@daily", 60 }), "ScheduleInvalid", "must not be set together with spec.backupPolicy.backupIntervalInSecond"},
		"words":               {"no cron expression", cron("every night"), "ScheduleInvalid", "such as 0 */6 * * *"},
		"zone alone":          {"the cron library panics on it", cron("CRON_TZ=UTC"), "ScheduleInvalid", "follows the time zone"},
		"unknown zone":        {"a typing mistake", cron("CRON_TZ=Europe/Atlantis 0 0 * * *"), "ScheduleInvalid", `"Europe/Atlantis" is not the name of a time zone`},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(r.change)
			d := noted(o)
			got := decided{Action: d.Action, Reason: d.Reason, RequeueAfter: d.RequeueAfter, Phase: d.Status.Phase}
			for _, e := range d.Events {
				got.Events = append(got.Events, e.Reason)
			}
			want := decided{Reason: r.want, Phase: v1beta2.BackupFailed, Events: []string{r.want}}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s\n%s", r.reason, diff, d.Message)
			}
			if !strings.Contains(d.Message, r.says) || strings.Contains(d.Message, "secret") {
				t.Errorf("%s: %q does not say %q", r.reason, d.Message, r.says)
			}
			if want := r.want + ": " + d.Message; d.Status.Reason != want {
				t.Errorf("status.Reason is %q, want %q", d.Status.Reason, want)
			}
			if c := find(t, d.Status.Conditions, "Failed"); c.Status != metav1.ConditionTrue || c.Reason != r.want || c.Message != d.Message {
				t.Errorf("condition Failed is %+v", c)
			}
			for _, broken := range append(oracle(o, d), oracleSize(o, d)...) {
				t.Error(broken)
			}
			goesOn(t, d.Status)
		})
	}
}

// goesOn checks that a refused backup says so once, and starts when its spec is mended.
func goesOn(t *testing.T, refused v1beta2.BackupStatus) {
	t.Helper()
	mended := observe(after(time.Hour), status(func(s *v1beta2.BackupStatus) { *s = refused }))
	d := noted(mended)
	if _, ok := d.Action.(StartJob); !ok || d.Status.Reason != "" || d.Status.Phase != v1beta2.BackupRunning {
		t.Errorf("mended, it says %s: %s, and Reason is %q", d.Reason, d.Message, d.Status.Reason)
	}
	if c := find(t, d.Status.Conditions, "Failed"); c.Status != metav1.ConditionFalse {
		t.Errorf("mended, the condition Failed is %+v", c)
	}
}

// A refusal, like every other state, is told in an event when it begins, and not again.
func TestEventsOnce(t *testing.T) {
	for label, c := range map[string]change{
		"refused":           spec(func(s *specOf) { s.S3 = nil }),
		"no cluster":        cluster(nil),
		"Pod waits":         started(0, isWaiting),
		"repeated, waiting": func(s *scene) { every(time.Hour)(s); cluster(nil)(s) },
	} {
		t.Run(label, func(t *testing.T) {
			first := noted(observe(c))
			if len(first.Events) != 1 {
				t.Fatalf("events: %+v", first.Events)
			}
			second := noted(observe(c, status(func(s *v1beta2.BackupStatus) { *s = first.Status })))
			if len(second.Events) != 0 {
				t.Errorf("again: %+v", second.Events)
			}
			if diff := cmp.Diff(first.Status, second.Status); diff != "" {
				t.Errorf("the status is written again:\n%s", diff)
			}
		})
	}
}

// What admission accepts is not refused here.
func TestAccepted(t *testing.T) {
	for label, c := range map[string]change{
		"plain":                   func(*scene) {},
		"trailing slash":          spec(func(s *specOf) { s.EtcdEndpoints = []string{"http://a:2379/"} }),
		"IPv6":                    spec(func(s *specOf) { s.EtcdEndpoints = []string{"https://[fd00::1]:2379"} }),
		"http with a certificate": spec(func(s *specOf) { s.ClientTLSSecret = "tls" }),
		"key with a slash":        spec(func(s *specOf) { s.S3.Path = "mybucket/backups/" }),
		"store without a scheme":  spec(func(s *specOf) { s.S3.Endpoint = "minio.default:9000" }),
		"unused blocks":           spec(func(s *specOf) { s.ABS = &v1beta2.ABSSource{} }),
		"zstd":                    spec(func(s *specOf) { s.Compression = v1beta2.CompressionZstd }),
		"none":                    spec(func(s *specOf) { s.Compression = v1beta2.CompressionNone }),
		"PVC": spec(func(s *specOf) {
			s.StorageType, s.S3, s.PVC = v1beta2.StoragePVC, nil, &v1beta2.PVCSource{ClaimName: "backups", Path: "a..b/etcd.db"}
		}),
		"empty policy": policy(func(*policyOf) {}),
		"longest":      policy(func(p *policyOf) { p.TimeoutInSecond, p.BackupIntervalInSecond = 1<<62, 1<<62 }),
		"zone":         cron(" CRON_TZ=Europe/Berlin  30 3 * * 1-5 "),
		"descriptor":   cron("@every 90s"),
	} {
		t.Run(label, func(t *testing.T) {
			if d := noted(observe(c)); d.Status.Phase == v1beta2.BackupFailed {
				t.Errorf("refused: %s: %s", d.Reason, d.Message)
			}
		})
	}
}
