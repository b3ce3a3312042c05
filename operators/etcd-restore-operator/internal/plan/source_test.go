package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// backup refers to the EtcdBackup b, which is there unless f is nil.
func backup(f func(*v1beta2.EtcdBackup)) change {
	return func(s *scene) {
		spec := &s.Restore.Spec
		spec.BackupStorageType, spec.S3, spec.BackupRef = "", nil, &v1beta2.BackupReference{Name: "b"}
		if f == nil {
			return
		}
		s.Backup = &v1beta2.EtcdBackup{
			ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"},
			Spec: v1beta2.BackupSpec{
				StorageType:  v1beta2.StorageS3,
				S3:           &v1beta2.S3Source{Path: "mybucket/etcd", AWSSecret: "aws", Endpoint: "http://minio:9000", ForcePathStyle: true},
				BackupPolicy: &v1beta2.BackupPolicy{BackupIntervalInSecond: 60},
				Pod:          &v1beta2.AgentPod{ServiceAccountName: "backups"},
			},
		}
		f(s.Backup)
	}
}

func entry(name string) change {
	return func(s *scene) { s.Restore.Spec.BackupRef.Entry = name }
}

// newest has a newest good backup at a location.
func newest(location string) func(*v1beta2.EtcdBackup) {
	return func(b *v1beta2.EtcdBackup) {
		b.Status.Snapshot = &v1beta2.BackupSnapshot{Location: location, SHA256: "abc", Size: 25 << 20, ClusterID: "00000000000000c1"}
	}
}

func TestSource(t *testing.T) {
	at := func(path string) Source {
		return Source{Store: &v1beta2.StorePlace{Type: v1beta2.StorageS3, S3Source: v1beta2.S3Source{Path: path, AWSSecret: "aws", Endpoint: "http://minio:9000", ForcePathStyle: true}}, ServiceAccountName: "backups"}
	}
	history := func(b *v1beta2.EtcdBackup) {
		newest("s3://mybucket/etcd_v9")(b)
		b.Status.History = []v1beta2.BackupRecord{
			{Name: "b-3", Succeeded: true, Location: "s3://mybucket/etcd_v9"},
			{Name: "b-2", Reason: "NoSpace", Message: "the bucket is full"},
			{Name: "b-1", Succeeded: true, Location: "s3://mybucket/folder/etcd_v1"},
		}
		b.Status.Active = []v1beta2.ActiveBackup{{Name: "b-4"}}
	}
	rows := map[string]struct {
		reason string
		o      Observation
		want   Source // of a StartJob
		says   string // the reason, if there is none
	}{
		"of ABS": {
			reason: "the store's type is the location's",
			o: observe(first, backup(func(b *v1beta2.EtcdBackup) {
				newest("abs://box/etcd_v9")(b)
				b.Spec.StorageType, b.Spec.ABS = v1beta2.StorageABS, &v1beta2.ABSSource{Path: "box/etcd", ABSSecret: "azure", Endpoint: "https://mine.blob.core.windows.net"}
			})),
			want: Source{Store: &v1beta2.StorePlace{Type: v1beta2.StorageABS, S3Source: v1beta2.S3Source{Path: "box/etcd_v9", AWSSecret: "azure", Endpoint: "https://mine.blob.core.windows.net"}}, ServiceAccountName: "backups"},
		},
		"of GCS": {
			reason: "the store's type is the location's",
			o: observe(first, backup(func(b *v1beta2.EtcdBackup) {
				newest("gcs://mybucket/etcd_v9")(b)
				b.Spec.StorageType, b.Spec.GCS = v1beta2.StorageGCS, &v1beta2.GCSSource{Path: "mybucket/etcd", GCPSecret: "google", Endpoint: "https://storage.example.com"}
			})),
			want: Source{Store: &v1beta2.StorePlace{Type: v1beta2.StorageGCS, S3Source: v1beta2.S3Source{Path: "mybucket/etcd_v9", AWSSecret: "google", Endpoint: "https://storage.example.com"}}, ServiceAccountName: "backups"},
		},
		"of OSS": {
			reason: "the store's type is the location's",
			o: observe(first, backup(func(b *v1beta2.EtcdBackup) {
				newest("oss://mybucket/etcd_v9")(b)
				b.Spec.StorageType, b.Spec.OSS = v1beta2.StorageOSS, &v1beta2.OSSSource{Path: "mybucket/etcd", OSSSecret: "oss", Endpoint: "https://oss-cn-beijing.aliyuncs.com"}
			})),
			want: Source{Store: &v1beta2.StorePlace{Type: v1beta2.StorageOSS, S3Source: v1beta2.S3Source{Path: "mybucket/etcd_v9", AWSSecret: "oss", Endpoint: "https://oss-cn-beijing.aliyuncs.com"}}, ServiceAccountName: "backups"},
		},
		"own":             {reason: "the spec says it all", o: observe(first), want: s3()},
		"service account": {reason: "for a cloud's identity", o: observe(first, spec(func(s *v1beta2.RestoreSpec) { s.Pod = &v1beta2.AgentPod{ServiceAccountName: "me"} })), want: Source{Store: s3().Store, ServiceAccountName: "me"}},
		"volume": {
			reason: "the claim and the path",
			o: observe(first, spec(func(s *v1beta2.RestoreSpec) {
				s.BackupStorageType, s.S3, s.PVC = v1beta2.StoragePVC, nil, &v1beta2.PVCSource{ClaimName: "backups", Path: "a/etcd.db"}
			})),
			want: Source{PVC: &v1beta2.PVCSource{ClaimName: "backups", Path: "a/etcd.db"}},
		},
		"no EtcdBackup":       {reason: "it may be created yet", o: observe(first, backup(nil)), says: "BackupNotFound"},
		"newest":              {reason: "with the settings and the account of the EtcdBackup", o: observe(first, backup(history)), want: at("mybucket/etcd_v9")},
		"entry by name":       {reason: "the Job's", o: observe(first, backup(history), entry("b-1")), want: at("mybucket/folder/etcd_v1")},
		"entry by location":   {reason: "the object's", o: observe(first, backup(history), entry("etcd_v1")), want: at("mybucket/folder/etcd_v1")},
		"entry that failed":   {reason: "there is nothing to restore", o: observe(first, backup(history), entry("b-2")), says: "EntryFailed"},
		"entry that runs":     {reason: "it is waited for", o: observe(first, backup(history), entry("b-4")), says: "BackupNotReady"},
		"entry that is not":   {reason: "a cache may lag", o: observe(first, backup(history), entry("b-9")), says: "EntryNotFound"},
		"nothing stored yet":  {reason: "it will be", o: observe(first, backup(func(*v1beta2.EtcdBackup) {})), says: "BackupNotReady"},
		"nothing ever stored": {reason: "it never will be", o: observe(first, backup(func(b *v1beta2.EtcdBackup) { b.Status.Phase = v1beta2.BackupFailed })), says: "BackupFailed"},
		"predecessor's": {
			reason: "it is where its spec says",
			o: observe(first, backup(func(b *v1beta2.EtcdBackup) {
				b.Spec.BackupPolicy, b.Status.Succeeded = nil, true
			})),
			want: at("mybucket/etcd"),
		},
		"on a volume": {
			reason: "the location tells all",
			o:      observe(first, backup(newest("pvc://backups/folder/etcd.db"))),
			want:   Source{PVC: &v1beta2.PVCSource{ClaimName: "backups", Path: "folder/etcd.db"}, ServiceAccountName: "backups"},
		},
		"spec was edited": {
			reason: "nothing says how the old store is reached",
			o: observe(first, backup(func(b *v1beta2.EtcdBackup) {
				newest("s3://mybucket/etcd_v9")(b)
				b.Spec.S3 = nil
			})),
			says: "BackupStorageUnknown",
		},
		"nonsense": {reason: "a path that leads out of the volume", o: observe(first, backup(newest("pvc://backups/../x"))), says: "BackupStorageUnknown"},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(row.o)
			job, _ := d.Action.(StartJob)
			if row.says != "" {
				if d.Reason != row.says || d.Action != nil {
					t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
				}
				return
			}
			if diff := cmp.Diff(row.want, job.Source); diff != "" {
				t.Errorf("%s: %s\n%s", row.reason, d.Message, diff)
			}
		})
	}
}

// The seed gets what was verified, also if the EtcdBackup has stored newer ones.
func TestSourceIsPinned(t *testing.T) {
	o := observe(first, named, seedClaim, backup(newest("s3://mybucket/etcd_v10")))
	o.Restore.Status.Snapshot.Location = "s3://mybucket/etcd_v9"
	seed, _ := noted(o).Action.(CreateSeed)
	if seed.Source.Store == nil || seed.Source.Store.Path != "mybucket/etcd_v9" || seed.Source.ServiceAccountName != "backups" {
		t.Errorf("the seed is made from %+v", seed.Source)
	}
}

// What an EtcdBackup has stored must be what lies there.
func TestIdentity(t *testing.T) {
	rows := map[string]struct {
		reason string
		change func(*v1beta2.EtcdBackup)
		want   string
	}{
		"the same":          {"it is restored", func(*v1beta2.EtcdBackup) {}, "SnapshotVerified"},
		"another digest":    {"somebody has replaced it", func(b *v1beta2.EtcdBackup) { b.Status.Snapshot.SHA256 = "def" }, task.ReasonChanged},
		"another size":      {"somebody has cut it", func(b *v1beta2.EtcdBackup) { b.Status.Snapshot.Size = 1 }, task.ReasonChanged},
		"another cluster":   {"it is not what it says", func(b *v1beta2.EtcdBackup) { b.Status.Snapshot.ClusterID = "00000000000000c2" }, task.ReasonWrongCluster},
		"nothing is known":  {"the predecessor recorded nothing", func(b *v1beta2.EtcdBackup) { *b.Status.Snapshot = v1beta2.BackupSnapshot{Location: found().Location} }, "SnapshotVerified"},
		"newer ones follow": {"the history tells of older ones", older("abc"), "SnapshotVerified"},
		"an older one":      {"the history tells of it", older("def"), task.ReasonChanged},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(first, phase(v1beta2.RestoreVerifying), job(reported), backup(newest(found().Location)))
			row.change(o.Backup)
			if d := noted(o); d.Reason != row.want {
				t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
			}
		})
	}
}

// Nothing in a file on a volume tells which cluster it is of; the EtcdBackup does.
func TestClusterIDIsTheBackups(t *testing.T) {
	rows := map[string]struct {
		asked, want string
	}{
		"of any":             {"", "SnapshotVerified"},
		"of this cluster":    {"00000000000000c1", "SnapshotVerified"},
		"of another cluster": {"00000000000000c2", task.ReasonWrongCluster},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(first, phase(v1beta2.RestoreVerifying), job(reported), backup(newest(found().Location)))
			o.Job.Result.Snapshot.ClusterID, o.Restore.Spec.ClusterID = "", row.asked
			d := noted(o)
			if d.Reason != row.want {
				t.Fatalf("%s: %s", d.Reason, d.Message)
			}
			if s := d.Status.Snapshot; s != nil && s.ClusterID != "00000000000000c1" {
				t.Errorf("the snapshot is of %q", s.ClusterID)
			}
		})
	}
}

// older has what was verified in the history.
func older(sha256 string) func(*v1beta2.EtcdBackup) {
	return func(b *v1beta2.EtcdBackup) {
		b.Status.Snapshot.Location = "s3://mybucket/newer"
		b.Status.History = []v1beta2.BackupRecord{{Name: "b-1", Succeeded: true, Location: found().Location, SHA256: sha256, Size: 25 << 20}}
	}
}
