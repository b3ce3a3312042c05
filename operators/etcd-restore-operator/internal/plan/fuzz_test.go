package plan

import (
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// FuzzPlan gives Plan Observations that no world would produce. It never panics, and
// what it decides is in order by the Observation alone.
func FuzzPlan(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed, "s3://mybucket/key", "3.6.16")
	}
	f.Add(int64(1), "pvc://", "v3")
	f.Add(int64(2), "pvc://claim/../x", "3.99999999999999999999.1")
	f.Fuzz(tryObservation)
}

// TestObservations is more of the same.
func TestObservations(t *testing.T) {
	for seed := range int64(20_000) {
		tryObservation(t, seed, "s3://mybucket/etcd.backup", "3.6.16")
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func tryObservation(t *testing.T, seed int64, location, version string) {
	o := randomObservation(rand.New(rand.NewSource(seed)), location, version)
	before, cluster := o.Restore.DeepCopy(), o.Cluster.DeepCopy()
	d := Plan(o)
	for _, broken := range oracle(o, d) {
		t.Errorf("%s\n%+v\n%+v", broken, o, d)
	}
	if diff := cmp.Diff(before, o.Restore) + cmp.Diff(cluster, o.Cluster); diff != "" {
		t.Errorf("Plan changed what it was given:\n%s", diff)
	}
	if diff := cmp.Diff(d, Plan(o)); diff != "" {
		t.Errorf("Plan says something else the second time:\n%s", diff)
	}
	rests(t, o)
}

// rests checks that the status comes to rest by itself: a restore that nothing happens to
// writes nothing.
func rests(t *testing.T, o Observation) {
	for range 8 {
		d := Plan(o)
		if d.Action != nil || cmp.Equal(d.Status, o.Restore.Status) {
			return
		}
		o.Restore = o.Restore.DeepCopy()
		o.Restore.Status = d.Status
	}
	t.Errorf("the status is written again and again: %+v", o.Restore.Status)
}

// No Observation at all is one.
func TestNothing(t *testing.T) {
	if d := Plan(Observation{}); d.Action != nil || d.Reason != "TargetMissing" {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
}

func randomObservation(r *rand.Rand, location, version string) Observation {
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	// Most begin as something that may be, and are then changed.
	bases := []change{func(*scene) {}, job(), job(reported), verified, claimed, asked, fenced, named, seeded(), seeded(ready), beside(), beside(prepared), proven, seeded(ready, noPermit), adopted, handed}
	o := observe(bases[r.Intn(len(bases))])
	o.Now = born.Add(time.Duration(r.Intn(200)-20) * time.Second)
	spec, st := &o.Restore.Spec, &o.Restore.Status
	if maybe(5) {
		randomSpec(r, spec)
	}
	if maybe(4) {
		o.Backup = randomBackup(r, location)
	}
	if maybe(6) {
		deleted(&scene{o})
		o.Restore.DeletionTimestamp = &metav1.Time{Time: born}
	}
	if maybe(6) {
		o.Restore.Finalizers = nil
	}
	if maybe(4) {
		held(&scene{o})
		o.Restore.Finalizers = []string{v1beta2.FinalizerRestore}
	}
	if maybe(20) {
		o.Restore.CreationTimestamp = metav1.Time{}
	}
	if maybe(4) {
		phases := []v1beta2.RestorePhase{"", "Pending", "Verifying", "Fencing", "Seeding", "HandedOff", "Complete", "RollingBack", "Failed"}
		st.Phase = phases[r.Intn(len(phases))]
	}
	if maybe(8) {
		st.Reason = []string{"TimedOut: too slow", "nothing", ": ", "\xff"}[r.Intn(4)]
		if r.Intn(2) == 0 {
			st.Failure = &v1beta2.RestoreFailure{Reason: []string{"TimedOut", "no: reason", ""}[r.Intn(3)], Message: []string{"too slow", "\xff", ""}[r.Intn(3)]}
		}
	}
	if maybe(20) {
		st.Succeeded = true
	}
	if maybe(10) && st.Snapshot != nil {
		st.Snapshot.EtcdVersion = version
		st.Snapshot.Location = location
	}
	if maybe(10) && st.Snapshot != nil && st.Revision == 0 {
		st.Snapshot.Revision = r.Int63()
	}
	if maybe(12) && o.Restore.Status.Snapshot != nil {
		st.Snapshot.DatabaseSize = r.Int63() - r.Int63()
	}
	if maybe(10) {
		st.SeedUID = ""
	}
	if maybe(4) {
		o.Restore.Spec.StartEtcd = &v1beta2.StartEtcd{Version: []string{"", "3.6.16", "x@y"}[r.Intn(3)]}
	}
	o.Creator = []creator.Check{{Passed: true}, {Missing: "there is no policy"}, {Unknown: "\xff"}, {}}[r.Intn(4)]
	o.FreshName = []string{"c-fresh", "", "c-seed"}[r.Intn(3)]
	randomCluster(r, &o, version)
	randomParts(r, &o)
	return o
}

func randomSpec(r *rand.Rand, spec *v1beta2.RestoreSpec) {
	switch r.Intn(9) {
	case 0:
		spec.EtcdCluster = nil
	case 1:
		spec.Target = []v1beta2.RestoreTarget{"New", "InPlace", "Elsewhere"}[r.Intn(3)]
	case 2:
		spec.EtcdCluster, spec.ClusterTemplate = nil, &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Version: "3.6.1"}}
	case 3:
		spec.BackupStorageType = []v1beta2.StorageType{"", "PVC", "OSS", "ABS", "GCS", "Tape"}[r.Intn(6)]
	case 4:
		spec.BackupStorageType, spec.S3, spec.BackupRef = "", nil, &v1beta2.BackupReference{Name: "b", Entry: []string{"", "e1", "key"}[r.Intn(3)]}
	case 5:
		spec.RevisionBump = new(r.Int63() - r.Int63())
	case 6:
		spec.TimeoutInSecond = []int64{1, 60, -1, 1<<63 - 1}[r.Intn(4)]
	case 7:
		spec.AcceptRunningOldMembers = true
	case 8:
		spec.PVC, spec.BackupStorageType = &v1beta2.PVCSource{ClaimName: "backups", Path: "a/b"}, v1beta2.StoragePVC
	}
}

func randomBackup(r *rand.Rand, location string) *v1beta2.EtcdBackup {
	b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "ns"}}
	if r.Intn(3) > 0 {
		b.Spec.StorageType, b.Spec.S3 = v1beta2.StorageS3, &v1beta2.S3Source{Path: "mybucket/key", AWSSecret: "aws"}
	}
	if r.Intn(2) == 0 {
		b.Status.Snapshot = &v1beta2.BackupSnapshot{Location: location, SHA256: "abc", Size: int64(r.Intn(2)) * 25 << 20}
	}
	for i := range r.Intn(4) {
		b.Status.History = append(b.Status.History, v1beta2.BackupRecord{Name: []string{"e0", "e1", "e2", ""}[i], Location: location, Succeeded: r.Intn(2) == 0})
	}
	b.Status.Succeeded = r.Intn(3) == 0
	b.Status.Phase = []v1beta2.BackupPhase{"", "Running", "Failed"}[r.Intn(3)]
	return b
}

func randomCluster(r *rand.Rand, o *Observation, version string) {
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	c := o.Cluster
	uids := []string{"", "uid", "other"}
	for _, key := range []string{v1beta2.AnnotationFence, v1beta2.AnnotationFenceLifted, v1beta2.AnnotationRestoredBy} {
		if maybe(8) {
			c.Annotations[key] = uids[r.Intn(3)]
		}
	}
	if maybe(10) {
		c.Annotations[v1beta2.AnnotationSeeded] = []string{"", "uid/c-seed/seed-uid", "uid/c-seed/older", "other/x/y", "uid/", "nonsense"}[r.Intn(6)]
	}
	if maybe(8) {
		c.Status.FencedBy = uids[r.Intn(3)]
	}
	if maybe(10) {
		c.Status.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: uids[1+r.Intn(2)]}
	}
	if maybe(8) {
		c.Status.CurrentVersion = []string{version, ""}[r.Intn(2)]
	}
	if maybe(10) {
		c.Status.HighestRevision = r.Int63() - r.Int63()
	}
	if maybe(10) {
		c.Spec = v1beta2.ClusterSpec{Size: r.Intn(3), Paused: maybe(2)}
	}
	if maybe(10) {
		c.UID = types.UID("another")
	}
	if maybe(15) {
		c.DeletionTimestamp = &metav1.Time{Time: born}
	}
	if maybe(10) {
		c.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionCertificatesReady, Status: metav1.ConditionFalse, Reason: "CertificatesMissing"}, {Type: v1beta2.ConditionNameConflict, Status: metav1.ConditionTrue}}
	}
	if maybe(6) {
		serving("a", "b", "c")(&scene{*o})
	}
	if maybe(4) {
		c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
		c.Status.TLS = []*v1beta2.TLSStatus{nil, {}, {Trust: "x"}, {Trust: "x", Pending: true}}[r.Intn(4)]
	}
	if maybe(8) {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: v1beta2.ConditionCertificatesReady, Status: []metav1.ConditionStatus{"True", "False"}[r.Intn(2)], Reason: []string{"CertificatesMissing", "CertificatesPending", "not CamelCase"}[r.Intn(3)], Message: "\xff",
		})
	}
	if maybe(8) {
		o.Template = newCluster("t", "template", maybe(2))
	}
	if maybe(8) {
		o.Others = []Other{{Name: "o", UID: "other", Before: maybe(2)}}
	}
	if maybe(12) {
		o.Cluster = nil
	}
	if maybe(15) {
		o.Refused = "exceeded quota"
	}
}

func randomParts(r *rand.Rand, o *Observation) {
	maybe := func(n int) bool { return r.Intn(n) == 0 }
	for _, n := range []string{"c-1", "c-2", "c-old", "c-seed"} {
		if maybe(6) {
			p := Pod{Name: n, UID: "uid of " + n, Seed: maybe(2), Ready: maybe(2), Permit: Permit(r.Intn(3)), Prepared: maybe(2), Tries: r.Intn(6), Launched: maybe(2), Outdated: maybe(6), Emptied: maybe(8), Unstarted: maybe(8)}
			if p.Seed && maybe(6) {
				ended(&p)
			}
			if maybe(2) {
				p.Deleting = born.Add(time.Duration(r.Intn(300)-100) * time.Second)
			}
			o.Pods = append(o.Pods, p)
		}
		if maybe(6) {
			o.Claims = append(o.Claims, Claim{Name: n, UID: "claim of " + n, Retired: maybe(2), Deleting: maybe(5)})
		}
	}
	seen := map[string]bool{}
	unique := func(name string) bool { // a name is there once
		defer func() { seen[name] = true }()
		return seen[name]
	}
	o.Pods = slices.DeleteFunc(o.Pods, func(p Pod) bool { return unique("Pod " + p.Name) })
	o.Claims = slices.DeleteFunc(o.Claims, func(c Claim) bool { return unique("claim " + c.Name) })
	for i := range o.Pods {
		switch r.Intn(20) {
		case 0:
			o.Pods[i].Result = &task.Result{Failure: &agent.Failure{Reason: "not CamelCase", Message: "\xff", Permanent: maybe(2)}}
		case 1:
			o.Pods[i].Result = &task.Result{Already: true}
		case 2:
			o.Pods[i].Waiting = "ContainerCreating"
		case 3:
			o.Pods[i].UID = "another uid of " + o.Pods[i].Name
		}
	}
	if j := o.Job; j != nil {
		j.Deleting, j.Done, j.Failed = maybe(8), maybe(2), maybe(4)
		if maybe(4) {
			j.Deadline, j.HangReason = o.Now.Add(time.Duration(r.Int63()-r.Int63())), "NodeLost"
		}
		switch r.Intn(5) {
		case 0:
			j.Result = &task.Result{}
		case 1:
			j.Result = &task.Result{Failure: &agent.Failure{Permanent: maybe(2)}}
		}
	}
	if maybe(4) {
		o.Progress = &task.Progress{Fetched: r.Int63() - r.Int63(), Total: r.Int63() - r.Int63()}
	}
}
