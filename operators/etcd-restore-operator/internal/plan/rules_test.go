package plan

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

func TestJobName(t *testing.T) {
	rows := map[string]struct{ name, uid, want string }{
		"short":         {"c", "uid", "c-"},
		"another uid":   {"c", "uid2", "c-"},
		"dots":          {"a.b.c", "uid", "a-b-c-"},
		"long":          {strings.Repeat("x", 200), "uid", strings.Repeat("x", 52) + "-"},
		"long, a dash":  {strings.Repeat("x", 51) + "-y", "uid", strings.Repeat("x", 51) + "-"},
		"ends in a dot": {"a.", "uid", "a-"},
	}
	seen := map[string]string{}
	for label, row := range rows {
		r := newRestore(row.name, row.uid)
		got := JobName(r)
		if len(got) > maxJobName || !strings.HasPrefix(got, row.want) || strings.Contains(got, "--") {
			t.Errorf("%s: %s", label, got)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the name %s", label, other, got)
		}
		seen[got] = label
		if JobName(r) != got {
			t.Errorf("%s: another name the second time", label)
		}
	}
}

func TestVersion(t *testing.T) {
	rows := map[string]struct {
		reason, data, target string
		want                 string // the refusal's reason
	}{
		"the same":   {"3.6 reads 3.6", "3.6", "3.6.16", ""},
		"one higher": {"3.6 upgrades 3.5", "3.5", "3.6.16", ""},
		"newest":     {"3.7 upgrades 3.6", "3.6", "3.7.0-rc.1", ""},
		"two higher": {"3.7 does not know 3.5", "3.5", "3.7.3", "VersionMismatch"},
		"lower":      {"3.5 does not know 3.6", "3.6", "3.5.21", "VersionMismatch"},
		"with a v":   {"as spec.version may have it", "3.6", "v3.6.16", ""},
		"unknown":    {"nobody has said it yet", "3.6", "", ""},
		"nonsense":   {"no version at all", "3.6", "latest", "VersionUnknown"},
		"no data":    {"the agent did not tell", "", "3.6.16", "VersionUnknown"},
		"another":    {"etcd 4 is not known", "3.6", "4.6.0", "VersionMismatch"},
		"ten":        {"a number, and no text", "3.9", "3.10.0", ""},
	}
	for label, row := range rows {
		o := observe(verified)
		o.Restore.Status.Snapshot.EtcdVersion, o.Cluster.Status.CurrentVersion = row.data, row.target
		got := ""
		if r := newView(o).checkVersion(); r != nil {
			got = r.reason
		}
		if got != row.want {
			t.Errorf("%s: %s: %q", label, row.reason, got)
		}
	}
}

// The version that the cluster runs counts, then that it is to run, then its spec.
func TestTargetVersion(t *testing.T) {
	o := observe(verified)
	c := o.Cluster
	c.Status.CurrentVersion, c.Status.TargetVersion, c.Spec.Version = "3.5.21", "3.6.16", "v3.7.3"
	for _, want := range []string{"3.5.21", "3.6.16", "3.7.3"} {
		if got := newView(o).version(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if c.Status.CurrentVersion == "" {
			c.Status.TargetVersion = ""
		}
		c.Status.CurrentVersion = ""
	}
}

func TestRevision(t *testing.T) {
	rows := map[string]struct {
		reason            string
		snapshot, highest int64
		bump              *int64
		want              int64 // 0: refused
	}{
		"the cluster has come further": {"clients have seen that", 42, 5_000_000, nil, 1_005_000_000},
		"the snapshot has":             {"it is of another cluster", 7_000_000, 5_000_000, nil, 1_007_000_000},
		"nothing was reported":         {"the snapshot is all that is known", 42, 0, nil, 1_000_000_042},
		"second restore":               {"it goes on forward", 42, 1_005_500_000, nil, 2_005_500_000},
		"larger bump":                  {"it is asked for", 42, 5_000_000, new(int64(3e9)), 3_000_000_042},
		"a bump that does not suffice": {"the larger counts once the cluster is ours", 42, 5_000_000, new(int64(1e9)), 1_005_000_000},
		"as high as can be":            {"nothing overflows", 42, math.MaxInt64, nil, 0},
		"a snapshot as high":           {"nothing overflows", math.MaxInt64, 0, nil, 0},
		"a bump as high":               {"nothing overflows", 42, 0, new(int64(math.MaxInt64)), 0},
		"negative":                     {"nobody says that", -5, -7, nil, 1_000_000_000},
	}
	for label, row := range rows {
		o := observe(fenced)
		o.Restore.Status.Snapshot.Revision, o.Cluster.Status.HighestRevision = row.snapshot, row.highest
		o.Restore.Spec.RevisionBump = row.bump
		got, ok := newView(o).revision()
		if got != row.want || ok != (row.want != 0) {
			t.Errorf("%s: %s: %d", label, row.reason, got)
		}
		d := noted(o)
		if refused := d.Reason == "RevisionTooHigh"; refused != (row.want == 0) || (!refused && d.Status.Revision != row.want) {
			t.Errorf("%s: %s: %s: %d", label, row.reason, d.Reason, d.Status.Revision)
		}
	}
}

// What is not known of the revisions is said.
func TestUnknownRevision(t *testing.T) {
	o := observe(fenced)
	o.Cluster.Status.HighestRevision = 0
	if c := find(t, noted(o).Status.Conditions, v1beta2.ConditionFenced); !strings.Contains(c.Message, "highest revision is not known") {
		t.Errorf("%+v", c)
	}
}

func TestVolume(t *testing.T) {
	const gib = int64(1 << 30)
	rows := map[string]struct {
		reason         string
		size, database int64
		packed         v1beta2.Compression
		pvc            bool
		fits           bool
	}{
		"small":              {reason: "1 GiB is plenty", size: 25 << 20, database: 26 << 20, fits: true},
		"more than half":     {reason: "the volume never holds two copies", size: 600 << 20, database: 600 << 20, fits: true},
		"just fits":          {reason: "with etcd's log", size: 864 << 20, database: 864 << 20, fits: true},
		"a MiB too large":    {reason: "the log has no room", size: 865 << 20, database: 865 << 20},
		"from a volume":      {reason: "it is copied as from a store", size: 864 << 20, database: 864 << 20, pvc: true, fits: true},
		"packed on a volume": {reason: "it is unpacked to where it stays", size: 10 << 20, database: 865 << 20, packed: v1beta2.CompressionZstd, pvc: true},
		"beyond all":         {reason: "nothing overflows", size: math.MaxInt64, database: math.MaxInt64},
		"negative":           {reason: "nobody says that", size: -gib, database: -gib, fits: true},
	}
	for label, row := range rows {
		o := observe(first, verified)
		if row.pvc {
			o.Restore.Spec.BackupStorageType, o.Restore.Spec.PVC = v1beta2.StoragePVC, &v1beta2.PVCSource{ClaimName: "backups", Path: "etcd.db"}
		}
		s := o.Restore.Status.Snapshot
		s.Size, s.DatabaseSize, s.Compression = row.size, row.database, row.packed
		d := noted(o)
		if (d.Reason != "VolumeTooSmall") != row.fits {
			t.Errorf("%s: %s: %s: %s", label, row.reason, d.Reason, d.Message)
		}
		if !row.fits && !strings.Contains(d.Message, "resources.requests.storage to at least ") {
			t.Errorf("%s: nothing says what to do: %s", label, d.Message)
		}
	}
}

// Under prefixes a volume holds the snapshot's database and that of the keys at the same time.
func TestVolumeOfPrefixes(t *testing.T) {
	for size, fits := range map[int64]bool{424 << 20: true, 425 << 20: false, math.MaxInt64: false} {
		o := observe(verified)
		o.Restore.Spec.Prefixes = []string{"a"}
		o.Restore.Status.Snapshot.DatabaseSize = size
		r := newView(o).checkVolume()
		if r != nil {
			messages.Note("Event "+r.reason, r.message)
		}
		if (r == nil) != fits || r != nil && !strings.Contains(r.message, "as much for the keys under spec.prefixes") {
			t.Errorf("%d bytes: got %+v", size, r)
		}
	}
}

// A database of 5 GiB restores to volumes of 10 GiB, and what is asked for suffices.
func TestVolumeOfTheIssue(t *testing.T) {
	o := observe(first, verified)
	o.Cluster.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse("8Gi"))}
	storage := o.Cluster.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests
	o.Restore.Status.Snapshot.DatabaseSize = 5 << 30
	storage["storage"] = resource.MustParse("10Gi")
	if d := noted(o); d.Reason == "VolumeTooSmall" {
		t.Error(d.Message)
	}
	storage["storage"] = resource.MustParse("5Gi")
	d := noted(o)
	_, asked, _ := strings.Cut(d.Message, "to at least ")
	asked, _, _ = strings.Cut(asked, ",")
	if d.Reason != "VolumeTooSmall" || asked != "5280Mi" {
		t.Fatalf("%s: %s", d.Reason, d.Message)
	}
	storage["storage"] = resource.MustParse(asked)
	if d := noted(o); d.Reason == "VolumeTooSmall" {
		t.Error(d.Message)
	}
}

func TestRefuse(t *testing.T) {
	rows := map[string]struct {
		reason string
		spec   func(*v1beta2.RestoreSpec)
		want   string
	}{
		"prefixes in place":  {"all other keys would be lost", func(s *v1beta2.RestoreSpec) { s.Prefixes = []string{"a"} }, "TargetAmbiguous"},
		"both":               {"which one?", func(s *v1beta2.RestoreSpec) { s.ClusterTemplate = &v1beta2.ClusterTemplate{} }, "TargetAmbiguous"},
		"no name":            {"of which cluster?", func(s *v1beta2.RestoreSpec) { s.EtcdCluster.Name = "" }, "TargetMissing"},
		"names differ":       {"in place or new?", func(s *v1beta2.RestoreSpec) { s.EtcdCluster.Name = "other" }, "TargetMissing"},
		"new, same name":     {"it is there already", func(s *v1beta2.RestoreSpec) { s.Target = v1beta2.TargetNew }, "TargetAmbiguous"},
		"template, in place": {"one excludes the other", func(s *v1beta2.RestoreSpec) { *s = template(*s); s.Target = v1beta2.TargetInPlace }, "TargetAmbiguous"},
		"unknown target":     {"what is meant?", func(s *v1beta2.RestoreSpec) { s.Target = "Beside" }, "TargetUnknown"},
		"no storage":         {"from where?", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = "" }, "StorageMissing"},
		"tape":               {"never", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = "Tape" }, "StorageUnknown"},
		"S3 without s3":      {"which bucket?", func(s *v1beta2.RestoreSpec) { s.S3 = nil }, "StorageMissing"},
		"ABS without abs":    {"which container?", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = v1beta2.StorageABS }, "StorageMissing"},
		"GCS without gcs":    {"which bucket?", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = v1beta2.StorageGCS }, "StorageMissing"},
		"OSS without oss":    {"which bucket?", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = v1beta2.StorageOSS }, "StorageMissing"},
		"no key":             {"which object?", func(s *v1beta2.RestoreSpec) { s.S3.Path = "mybucket" }, "PathInvalid"},
		"PVC without pvc":    {"which claim?", func(s *v1beta2.RestoreSpec) { s.BackupStorageType = v1beta2.StoragePVC }, "StorageMissing"},
		"out of the volume": {"a path that leads out", func(s *v1beta2.RestoreSpec) {
			s.BackupStorageType, s.PVC = v1beta2.StoragePVC, &v1beta2.PVCSource{ClaimName: "b", Path: "../x"}
		}, "PathInvalid"},
		"no claim's name": {"not a name", func(s *v1beta2.RestoreSpec) {
			s.BackupStorageType, s.PVC = v1beta2.StoragePVC, &v1beta2.PVCSource{ClaimName: "B", Path: "x"}
		}, "ClaimInvalid"},
		"backupRef and S3": {"which one?", func(s *v1beta2.RestoreSpec) { s.BackupRef = &v1beta2.BackupReference{Name: "b"} }, "StorageAmbiguous"},
		"backupRef, no name": {"which EtcdBackup?", func(s *v1beta2.RestoreSpec) {
			s.BackupStorageType, s.BackupRef = "", &v1beta2.BackupReference{}
		}, "StorageMissing"},
		"cluster id":       {"not an id", func(s *v1beta2.RestoreSpec) { s.ClusterID = "c1" }, "ClusterIDInvalid"},
		"tiny bump":        {"time would run backwards", func(s *v1beta2.RestoreSpec) { s.RevisionBump = new(int64(1000)) }, "RevisionBumpTooSmall"},
		"negative timeout": {"it is over before it begins", func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = -1 }, "TimeoutInvalid"},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(spec(row.spec))
			d := noted(o)
			if d.Reason != row.want || d.Action != nil || d.Status.Phase != v1beta2.RestoreFailed {
				t.Errorf("%s: %s: %s: %s", row.reason, d.Status.Phase, d.Reason, d.Message)
			}
			if d.Status.Reason != row.want+": "+d.Message || d.Status.CompletionTime == nil {
				t.Errorf("%s: reason %q at %v", row.reason, d.Status.Reason, d.Status.CompletionTime)
			}
		})
	}
}

func template(s v1beta2.RestoreSpec) v1beta2.RestoreSpec {
	s.EtcdCluster, s.ClusterTemplate = nil, &v1beta2.ClusterTemplate{}
	return s
}

// A new cluster gets the other's spec, and what goes with where it is looked after.
func TestNewCluster(t *testing.T) {
	o := observe(verified, held, func(s *scene) {
		s.Restore.Name, s.Restore.Spec.Target, s.Cluster = "n", v1beta2.TargetNew, nil
		s.Restore.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
		s.Template = newCluster("c", "template", true)
		s.Template.Labels = map[string]string{"team": "a"}
		s.Template.Spec.Paused = true
	})
	got, _ := noted(o).Action.(CreateCluster)
	want := CreateCluster{Annotations: map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}, Spec: *o.Template.Spec.DeepCopy()}
	want.Spec.Paused, want.Spec.Version = false, "3.6.16"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	o.Restore.Spec = template(o.Restore.Spec)
	o.Restore.Spec.ClusterTemplate.Metadata = v1beta2.TemplateMetadata{
		Labels:      map[string]string{"team": "b", v1beta2.LabelRetiredBy: "x"},
		Annotations: map[string]string{"note": "hello", v1beta2.AnnotationFenceLifted: "uid", v1beta2.AnnotationScope: "mine"},
	}
	o.Restore.Spec.ClusterTemplate.Spec = v1beta2.ClusterSpec{Size: 1, Paused: true}
	got, _ = noted(o).Action.(CreateCluster)
	want = CreateCluster{
		Labels: map[string]string{"team": "b"}, Annotations: map[string]string{"note": "hello", v1beta2.AnnotationScope: "mine"},
		Spec: v1beta2.ClusterSpec{Size: 1, Paused: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestProgress(t *testing.T) {
	told := func(fetched, total int64) change {
		return func(s *scene) { s.Progress = &task.Progress{Fetched: fetched, Total: total} }
	}
	before := status(func(s *v1beta2.RestoreStatus) { s.Progress = "1.0 MiB of 2.0 MiB" })
	rows := map[string]struct {
		reason string
		o      Observation
		want   string
		asks   bool
	}{
		"of a known size":   {"as a person reads it", observe(first, phase(v1beta2.RestoreVerifying), job(), told(104<<20, 361<<20)), "104.0 MiB of 361.0 MiB", true},
		"of an unknown one": {"the store does not say", observe(first, phase(v1beta2.RestoreVerifying), job(), told(104<<20, 0)), "104.0 MiB", true},
		"not told this time": {"the agent was busy: what it said stands",
			observe(first, phase(v1beta2.RestoreVerifying), job(), before), "1.0 MiB of 2.0 MiB", true},
		"verified":          {"nothing is fetched any more", observe(first, phase(v1beta2.RestoreVerifying), job(reported), before), "", false},
		"beside members":    {"it is fetched once", observe(beside(), told(1<<20, 2<<20)), "1.0 MiB of 2.0 MiB", true},
		"seed":              {"it is fetched once more", observe(seeded(), told(1<<20, 2<<20)), "1.0 MiB of 2.0 MiB", true},
		"seed has restored": {"nothing is fetched any more", observe(seeded(ready), before), "", false},
		"another phase":     {"it begins anew", observe(seeded(), phase(v1beta2.RestoreFencing), before), "", true},
	}
	for label, row := range rows {
		d := noted(row.o)
		if d.Status.Progress != row.want || d.AskProgress != row.asks || (row.asks && d.RequeueAfter > fetching) {
			t.Errorf("%s: %s: %q, asks %t, again %s", label, row.reason, d.Status.Progress, d.AskProgress, d.RequeueAfter)
		}
	}
}

// The conditions are always the same five, and say what is true.
func TestConditions(t *testing.T) {
	rows := map[string]struct {
		o                                                Observation
		verified, fenced, handedOff, completed, hasEnded bool
	}{
		"begins":    {o: observe(first)},
		"verified":  {o: observe(verified, held), verified: true},
		"fenced":    {o: observe(fenced), verified: true, fenced: true},
		"seeds":     {o: observe(seeded()), verified: true, fenced: true},
		"adopted":   {o: observe(adopted), verified: true, handedOff: true},
		"complete":  {o: observe(handed, serving("a", "b", "c"), func(s *scene) { s.Claims = nil }), verified: true, handedOff: true, completed: true},
		"goes back": {o: observe(fenced, givenUp), verified: true, fenced: true},
		"failed":    {o: observe(claimed, givenUp), verified: true, hasEnded: true},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(row.o)
			var got, want []string
			for _, c := range d.Status.Conditions {
				got = append(got, c.Type+" "+string(c.Status))
				if c.ObservedGeneration != 1 || !c.LastTransitionTime.IsZero() {
					t.Errorf("%+v", c)
				}
			}
			for _, c := range []struct {
				kind string
				is   bool
			}{
				{v1beta2.ConditionVerified, row.verified}, {v1beta2.ConditionFenced, row.fenced}, {v1beta2.ConditionHandedOff, row.handedOff},
				{v1beta2.ConditionComplete, row.completed}, {v1beta2.ConditionFailed, row.hasEnded},
			} {
				is := metav1.ConditionFalse
				if c.is {
					is = metav1.ConditionTrue
				}
				want = append(want, c.kind+" "+string(is))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s\n%s", d.Reason, d.Message, diff)
			}
		})
	}
}

// What is written is what a person asks for.
func TestStatus(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: born.Add(d)} }
	rows := map[string]struct {
		reason string
		o      Observation
		want   v1beta2.RestoreStatus // without conditions
	}{
		"begins": {
			reason: "when it began, and with what",
			o:      observe(first, after(1500*time.Millisecond)),
			want:   v1beta2.RestoreStatus{Phase: v1beta2.RestoreVerifying, ObservedGeneration: 1, Cluster: "c", StartTime: at(time.Second)},
		},
		"verified": {
			reason: "the snapshot, as it was checked",
			o:      observe(first, phase(v1beta2.RestoreVerifying), job(reported)),
			want:   v1beta2.RestoreStatus{Phase: v1beta2.RestoreVerifying, ObservedGeneration: 1, Cluster: "c", StartTime: at(0), Snapshot: snapshotOf(found())},
		},
		"seeds": {
			reason: "the seed's Pod, too",
			o:      observe(seeded(), status(func(s *v1beta2.RestoreStatus) { s.SeedUID = "" })),
			want: v1beta2.RestoreStatus{
				Phase: v1beta2.RestoreSeeding, ObservedGeneration: 1, Cluster: "c", ClusterUID: "cluster-uid", StartTime: at(0), Snapshot: snapshotOf(found()),
				SeedMember: "c-seed", SeedUID: "seed-uid", Revision: 1_005_000_000, WaitingFor: []string{"Pod c-seed"},
			},
		},
		"another seed": {
			reason: "the lost one might have served up to any revision of its own",
			o: observe(seeded(), func(s *scene) {
				s.Pods, s.Claims, s.Restore.Status.Revision = nil, nil, 9_000_000_000
			}),
			want: v1beta2.RestoreStatus{
				Phase: v1beta2.RestoreSeeding, ObservedGeneration: 1, Cluster: "c", ClusterUID: "cluster-uid", StartTime: at(0), Snapshot: snapshotOf(found()),
				SeedMember: "c-fresh", Revision: 10_000_000_000,
			},
		},
		"adopted": {
			reason: "that is success, and no reason is left",
			o:      observe(adopted, givenUp, after(time.Minute)),
			want: v1beta2.RestoreStatus{
				Succeeded: true, Phase: v1beta2.RestoreHandedOff, ObservedGeneration: 1, Cluster: "c", ClusterUID: "cluster-uid", StartTime: at(0), Snapshot: snapshotOf(found()),
				SeedMember: "c-seed", SeedUID: "seed-uid", Revision: 1_005_000_000, HandOffTime: at(time.Minute),
			},
		},
		"deleted": {
			reason: "why it goes back",
			o:      observe(fenced, deleted),
			want: v1beta2.RestoreStatus{
				Reason:  "Deleted: the EtcdRestore was deleted before its seed was adopted: the cluster returns to its old members",
				Failure: &v1beta2.RestoreFailure{Reason: "Deleted", Message: "the EtcdRestore was deleted before its seed was adopted: the cluster returns to its old members"},
				Phase:   v1beta2.RestoreRollingBack, ObservedGeneration: 1, Cluster: "c", ClusterUID: "cluster-uid", StartTime: at(0), Snapshot: snapshotOf(found()),
			},
		},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			got := noted(row.o).Status
			if diff := cmp.Diff(row.want, got, cmpopts.IgnoreFields(v1beta2.RestoreStatus{}, "Conditions"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s:\n%s", row.reason, diff)
			}
		})
	}
}

// A restore that waits writes nothing, whenever it is looked at.
func TestIdleWritesNothing(t *testing.T) {
	for label, c := range map[string]change{
		"preparing": beside(),
		"pending":   func(s *scene) { verified(s); s.Others = []Other{{Name: "o", UID: "o", Before: true}} },
		"verifying": func(s *scene) { first(s); phase(v1beta2.RestoreVerifying)(s); job()(s) },
		"fencing":   asked,
		"seeding":   seeded(),
		"adoption":  func(s *scene) { seeded(ready, noPermit)(s); offered(s) },
		"handedOff": handed,
		"complete":  phase(v1beta2.RestoreComplete),
	} {
		o := observe(c)
		o.Restore.Status = noted(o).Status
		for _, d := range []time.Duration{0, time.Second, time.Minute, time.Hour} {
			o.Now = born.Add(d)
			if diff := cmp.Diff(o.Restore.Status, noted(o).Status); diff != "" {
				t.Errorf("%s after %s:\n%s", label, d, diff)
			}
		}
	}
}

// A restore that is deleted on its way has failed for that, whatever its reason said before.
func TestDeletedOnItsWay(t *testing.T) {
	st := noted(observe(fenced, deleted, status(func(s *v1beta2.RestoreStatus) { s.Reason = "left by somebody" }))).Status
	if st.Failure == nil || st.Failure.Reason != "Deleted" || st.Reason != "Deleted: "+st.Failure.Message {
		t.Errorf("%q: %+v", st.Reason, st.Failure)
	}
}

// A person is told once.
func TestEventOnce(t *testing.T) {
	o := observe(asked, func(s *scene) { s.Cluster.Spec.Paused = true })
	d := noted(o)
	if len(d.Events) != 1 || !d.Events[0].Warning {
		t.Fatalf("%+v", d.Events)
	}
	o.Restore.Status = d.Status
	if d = noted(o); len(d.Events) != 0 {
		t.Errorf("%+v", d.Events)
	}
}

// The clock wakes the planner when something is due by it.
func TestAgain(t *testing.T) {
	for label, row := range map[string]struct {
		o    Observation
		want time.Duration
	}{
		"a cluster that may come":  {observe(func(s *scene) { s.Cluster = nil }, phase(v1beta2.RestorePending), after(50*time.Second)), 10 * time.Second},
		"the timeout":              {observe(asked, spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = 30 }), after(10*time.Second)), 20 * time.Second},
		"nothing":                  {observe(asked), idle},
		"over":                     {observe(phase(v1beta2.RestoreComplete)), 0},
		"a timeout of for ever":    {observe(asked, spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = math.MaxInt64 })), idle},
		"a Job that would hang":    {observe(first, phase(v1beta2.RestoreVerifying), job(hangs), after(8*time.Minute-time.Second)), time.Second},
		"what the API has refused": {observe(first, func(s *scene) { s.Refused = "quota" }), retry},
	} {
		if got := noted(row.o).RequeueAfter; got != row.want {
			t.Errorf("%s: again after %s, want %s", label, got, row.want)
		}
	}
}

// Texts from elsewhere can't break the status.
func TestForeignTexts(t *testing.T) {
	o := observe(first, phase(v1beta2.RestoreVerifying), job(func(j *Job) {
		j.Result = &task.Result{Failure: &agent.Failure{Reason: "no: reason", Message: strings.Repeat("\xff€", 9000), Permanent: true}}
	}))
	d := Plan(o)
	if d.Reason != "RestoreFailed" || len(d.Status.Reason) > 2*conditiontext.MaxText {
		t.Errorf("%s: %d bytes", d.Reason, len(d.Status.Reason))
	}
	for recorded, want := range map[v1beta2.RestoreFailure]string{{Reason: "TimedOut", Message: "a: b"}: "TimedOut", {}: "RestoreFailed", {Reason: "a b"}: "RestoreFailed"} {
		v := newView(observe(status(func(s *v1beta2.RestoreStatus) { s.Failure = &recorded })))
		if reason, message := v.recordedFailure(); reason != want || message == "" {
			t.Errorf("%+v: %q: %q", recorded, reason, message)
		}
	}
}

// Where things are that the controller looks for.
func TestNames(t *testing.T) {
	r := newRestore("r", "uid")
	r.Spec.EtcdCluster.Name = "c"
	if ClusterName(r) != "c" || TemplateName(r) != "" || BackupName(r) != "" {
		t.Errorf("in place: %q, %q, %q", ClusterName(r), TemplateName(r), BackupName(r))
	}
	r.Spec.Target, r.Spec.BackupRef = v1beta2.TargetNew, &v1beta2.BackupReference{Name: "b"}
	if ClusterName(r) != "r" || TemplateName(r) != "c" || BackupName(r) != "b" {
		t.Errorf("new: %q, %q, %q", ClusterName(r), TemplateName(r), BackupName(r))
	}
	r.Spec = template(r.Spec)
	if ClusterName(r) != "r" || TemplateName(r) != "" {
		t.Errorf("template: %q, %q", ClusterName(r), TemplateName(r))
	}
	r.Status.Cluster, r.UID = "settled", types.UID("other")
	if ClusterName(r) != "settled" {
		t.Errorf("settled: %q", ClusterName(r))
	}
}
