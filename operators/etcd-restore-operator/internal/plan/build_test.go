package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// born is when the EtcdRestores of the tests were created.
var born = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// scene builds an Observation.
type scene struct{ Observation }

// change is something that a row has different.
type change func(*scene)

// observe is a restore in place that was just created, of a cluster of three members
// with volumes, with changes.
func observe(changes ...change) Observation {
	s := &scene{Observation{
		Now:       born,
		Restore:   newRestore("c", "uid"),
		Cluster:   newCluster("c", "cluster-uid", true),
		FreshName: "c-fresh",
		Creator:   creator.Check{Passed: true},
	}}
	for _, c := range changes {
		c(s)
	}
	return s.Observation
}

func newRestore(name, uid string) *v1beta2.EtcdRestore {
	return &v1beta2.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(uid), Generation: 1, CreationTimestamp: metav1.NewTime(born)},
		Spec: v1beta2.RestoreSpec{
			EtcdCluster:       &v1beta2.ClusterReference{Name: name},
			BackupStorageType: v1beta2.StorageS3,
			S3:                &v1beta2.S3Source{Path: "mybucket/etcd.backup", AWSSecret: "aws"},
		},
	}
}

func newCluster(name, uid string, persistent bool) *v1beta2.EtcdCluster {
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(uid), Annotations: map[string]string{}},
		Spec:       v1beta2.ClusterSpec{Size: 3},
		Status:     v1beta2.ClusterStatus{CurrentVersion: "3.6.16", HighestRevision: 5_000_000},
	}
	if persistent {
		c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}}
	}
	return c
}

// found is what the agent finds in the snapshot of the tests.
func found() *task.Snapshot {
	return &task.Snapshot{
		Location: "s3://mybucket/etcd.backup", Size: 25 << 20, SHA256: "abc", ETag: "etag", DatabaseSize: 26 << 20,
		Revision: 42, TotalKeys: 7, EtcdVersion: "3.6", ClusterID: "00000000000000c1",
	}
}

// creators is what is known of the rights of the creator.
func creators(c creator.Check) change { return func(s *scene) { s.Creator = c } }

func spec(f func(*v1beta2.RestoreSpec)) change {
	return func(s *scene) { f(&s.Restore.Spec) }
}

func status(f func(*v1beta2.RestoreStatus)) change {
	return func(s *scene) { f(&s.Restore.Status) }
}

// after is how long after the creation it is now.
func after(d time.Duration) change {
	return func(s *scene) { s.Now = born.Add(d) }
}

func phase(p v1beta2.RestorePhase) change {
	return status(func(s *v1beta2.RestoreStatus) {
		s.Phase, s.StartTime = p, &metav1.Time{Time: born}
	})
}

func deleted(s *scene) { s.Restore.DeletionTimestamp = &metav1.Time{Time: born} }

func held(s *scene) { s.Restore.Finalizers = []string{v1beta2.FinalizerRestore} }

// job has the Job, with changes.
func job(changes ...func(*Job)) change {
	return func(s *scene) {
		s.Job = &Job{Name: JobName(s.Restore), UID: "job"}
		for _, c := range changes {
			c(s.Job)
		}
	}
}

// hangs is a Job whose Pod's node is lost, which is certain after eight minutes.
func hangs(j *Job) {
	j.Deadline, j.HangReason, j.HangMessage = born.Add(8*time.Minute), "NodeLost", "repair the node n of Pod p"
}

func reported(j *Job) { j.Done, j.Result = true, &task.Result{Snapshot: found()} }

func reportedFailure(permanent bool) func(*Job) {
	return func(j *Job) {
		j.Result = &task.Result{Failure: &agent.Failure{Reason: "SnapshotNotFound", Message: "there is no object etcd.backup", Permanent: permanent}}
	}
}

// verified has a snapshot that was checked.
func verified(s *scene) {
	phase(v1beta2.RestoreVerifying)(s)
	s.Restore.Status.Snapshot = snapshotOf(found())
}

// claimed has all that comes before the fence is asked for.
func claimed(s *scene) {
	verified(s)
	held(s)
	phase(v1beta2.RestoreFencing)(s)
	s.Restore.Status.Cluster, s.Restore.Status.ClusterUID = "c", "cluster-uid"
}

func annotate(key, value string) change {
	return func(s *scene) { s.Cluster.Annotations[key] = value }
}

// asked has the fence asked for.
func asked(s *scene) {
	claimed(s)
	annotate(v1beta2.AnnotationFence, "uid")(s)
}

// fenced has it acknowledged.
func fenced(s *scene) {
	asked(s)
	s.Cluster.Status.FencedBy = "uid"
}

// members has Pods of members, with their claims.
func members(names ...string) change {
	return func(s *scene) {
		for _, n := range names {
			s.Pods = append(s.Pods, Pod{Name: n, UID: "uid of " + n, Node: "node-" + n})
			s.Claims = append(s.Claims, Claim{Name: n, UID: "claim of " + n})
		}
	}
}

// retired has claims that were put aside.
func retired(names ...string) change {
	return func(s *scene) {
		for _, n := range names {
			s.Claims = append(s.Claims, Claim{Name: n, UID: "claim of " + n, Retired: true})
		}
	}
}

// named has the seed's name in the status.
func named(s *scene) {
	fenced(s)
	retired("c-1", "c-2")(s)
	phase(v1beta2.RestoreSeeding)(s)
	s.Restore.Status.SeedMember, s.Restore.Status.Revision = "c-seed", 1_005_000_000
}

func seedClaim(s *scene) { s.Claims = append(s.Claims, Claim{Name: "c-seed", UID: "claim of c-seed"}) }

// seeded has the seed's Pod, with changes.
func seeded(changes ...func(*Pod)) change {
	return func(s *scene) {
		named(s)
		seedClaim(s)
		p := Pod{Name: "c-seed", UID: "seed-uid", Seed: true, Permit: PermitToPrepare}
		for _, c := range changes {
			c(&p)
		}
		s.Pods = append(s.Pods, p)
		s.Restore.Status.SeedUID = "seed-uid"
	}
}

// prepared has its database rebuilt, and started the start permit.
func prepared(p *Pod) {
	p.Prepared, p.Launched, p.Result = true, true, &task.Result{Snapshot: found(), Revision: 1_005_000_000}
}

func started(p *Pod) { prepared(p); p.Permit = PermitToStart }

func ready(p *Pod) { started(p); p.Ready = true }

// evicted has the kubelet stop the seed's Pod for lack of a resource of its node, or of its
// own.
func evicted(permanent bool) func(*Pod) {
	return func(p *Pod) {
		f := &agent.Failure{Reason: "NodeOutOfDisk", Message: "the Pod c-seed was evicted, since its node node ran short of disk space: raise spec.pod.resources.requests.ephemeral-storage in EtcdCluster c (The node was low on resource: ephemeral-storage.)"}
		if permanent {
			f = &agent.Failure{Reason: "ScratchSpaceExceeded", Message: "the Pod c-seed was evicted, since it needs more disk space than it may use: raise spec.pod.resources.limits.ephemeral-storage in EtcdCluster c (Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.)", Permanent: true}
		}
		p.Ended = f
	}
}

// ended has its node refuse it.
func ended(p *Pod) {
	p.Ended = &agent.Failure{Reason: v1beta2.RestoreReasonSeedStopped, Message: "the Pod " + p.Name + " was stopped on node node: OutOfcpu: Node didn't have enough resource: cpu"}
}

// evictions has that counted when the restore was created.
func evictions(n int32, last string) change {
	return status(func(s *v1beta2.RestoreStatus) {
		s.SeedEvictions = &v1beta2.SeedEvictions{Count: n, Seed: last, Time: metav1.Time{Time: born}}
	})
}

// first has the old members stopped first.
func first(s *scene) { s.Restore.Spec.StopMembers = v1beta2.StopMembersFirst }

// beside has the seed's Pod beside old members that serve, and no snapshot that is known.
func beside(changes ...func(*Pod)) change {
	return func(s *scene) {
		fenced(s)
		s.Restore.Status.Snapshot = nil
		members("c-1", "c-2")(s)
		seedClaim(s)
		phase(v1beta2.RestoreVerifying)(s)
		s.Restore.Status.SeedMember, s.Restore.Status.SeedUID, s.Restore.Status.Revision = "c-seed", "seed-uid", 1_005_000_000
		p := Pod{Name: "c-seed", UID: "seed-uid", Seed: true, Permit: PermitToPrepare, Node: "node"}
		for _, c := range changes {
			c(&p)
		}
		s.Pods = append(s.Pods, p)
	}
}

// proven is beside with a seed that is prepared, and recorded.
func proven(s *scene) {
	beside(prepared)(s)
	s.Restore.Status.Snapshot = snapshotOf(found())
}

// unlaunched has its launcher not run, with more changes.
func unlaunched(changes ...func(*Pod)) change {
	return func(s *scene) {
		p := &s.Pods[len(s.Pods)-1]
		p.Launched = false
		for _, c := range changes {
			c(p)
		}
	}
}

// asks has the members asked, of which one has told this revision.
func asks(reported int64) change {
	return func(s *scene) { s.Asked, s.Reported = true, reported }
}

// withTLS has the cluster's certificates come from the operator, which has told what
// members trust, unless trust is empty.
func withTLS(trust string) change {
	return func(s *scene) {
		s.Cluster.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
		s.Cluster.Status.TLS = &v1beta2.TLSStatus{Trust: trust}
	}
}

// certificates has what etcd-operator says of them.
func certificates(is metav1.ConditionStatus, reason string) change {
	return func(s *scene) {
		s.Cluster.Status.Conditions = append(s.Cluster.Status.Conditions, metav1.Condition{
			Type: v1beta2.ConditionCertificatesReady, Status: is, Reason: reason, Message: noSecret,
		})
	}
}

// issuing has etcd-operator wait for certificates that no person has to do anything for.
func issuing(s *scene) { s.Cluster.Status.TLS.Pending = true }

func noPermit(p *Pod) { p.Permit = PermitNone }

// offered has the seed handed over.
func offered(s *scene) {
	delete(s.Cluster.Annotations, v1beta2.AnnotationFence)
	annotate(v1beta2.AnnotationSeeded, "uid/c-seed/seed-uid")(s)
}

// adopted has the seed adopted.
func adopted(s *scene) {
	seeded(ready, noPermit)(s)
	offered(s)
	s.Cluster.Status.FencedBy = ""
	s.Cluster.Status.AdoptedSeed = &v1beta2.AdoptedSeed{Restore: "uid", Pod: "c-seed", PodUID: "seed-uid"}
	serving("c-seed")(s)
}

// serving has voters that serve.
func serving(names ...string) change {
	return func(s *scene) {
		s.Cluster.Status.Members.Ready, s.Cluster.Status.MemberDetails = names, nil
		for _, n := range names {
			s.Cluster.Status.MemberDetails = append(s.Cluster.Status.MemberDetails, v1beta2.MemberDetail{Name: n, Role: v1beta2.MemberVoter})
		}
	}
}

// handed has the adoption recorded.
func handed(s *scene) {
	adopted(s)
	phase(v1beta2.RestoreHandedOff)(s)
	s.Restore.Status.Succeeded, s.Restore.Status.HandOffTime = true, &metav1.Time{Time: born}
}

// givenUp is rolled back.
func givenUp(s *scene) {
	phase(v1beta2.RestoreRollingBack)(s)
	setFailure(&s.Restore.Status, "TimedOut", "the restore took longer than spec.timeoutInSecond allows: raise it, or remove it for no limit")
}

func find(t *testing.T, all []metav1.Condition, kind string) metav1.Condition {
	t.Helper()
	for _, c := range all {
		if c.Type == kind {
			return c
		}
	}
	t.Fatalf("there is no condition %s", kind)
	return metav1.Condition{}
}

// What the agent says (see testdata/messages.golden of package agent), and etcd-operator.
const (
	corruptSnapshot = "the snapshot is corrupt: it ends after 3 B, which are not a database and its sha256: restore another snapshot, or store this one again if the original is intact"
	changedSnapshot = "s3://mybucket/etcd.backup is no longer the snapshot that was verified (its size in bytes is 20480, and was 40960): create another EtcdRestore to restore what is there now"
	stalled         = "the transfer made no progress and was cut (get, s3://mybucket/etcd.backup: context deadline exceeded)"
	noSecret        = "Secret etcd-peer-tls does not exist: create it with the keys peer.crt, peer.key and peer-ca.crt (or tls.crt, tls.key and ca.crt)"
)
