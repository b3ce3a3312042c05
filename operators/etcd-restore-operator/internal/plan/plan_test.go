package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// decided is what the rows below compare of a Decision.
type decided struct {
	Action     Action
	Reason     string
	Phase      v1beta2.RestorePhase
	WaitingFor []string
	Events     []string
}

func s3() Source {
	return Source{Store: &v1beta2.StorePlace{Type: v1beta2.StorageS3, S3Source: v1beta2.S3Source{Path: "mybucket/etcd.backup", AWSSecret: "aws"}}}
}

func refs(names ...string) []Ref {
	var all []Ref
	for _, n := range names {
		all = append(all, Ref{n, "claim of " + n})
	}
	return all
}

// shows is a seed that is made and held against credentials.
func shows(c CreateSeed, credentials Credentials) CreateSeed {
	c.Credentials = credentials
	return c
}

// The rows stand in the order of the runbooks and their rules.
func TestPlan(t *testing.T) {
	const (
		pending   = v1beta2.RestorePending
		verifying = v1beta2.RestoreVerifying
		fencing   = v1beta2.RestoreFencing
		seedingIs = v1beta2.RestoreSeeding
		rolling   = v1beta2.RestoreRollingBack
		failed    = v1beta2.RestoreFailed
		completed = v1beta2.RestoreComplete
	)
	name := JobName(newRestore("c", "uid"))
	start := StartJob{Name: name, Source: s3()}
	seedRef := Ref{"c-seed", "seed-uid"}
	claimRef := Ref{"c-seed", "claim of c-seed"}
	create := CreateSeed{Name: "c-seed", Version: "3.6.16", Source: s3(), Want: snapshotOf(found()), Revision: 1_005_000_000, Bump: 1_000_000_000}
	stopping := func(p *Pod) { p.Deleting = born }
	leaving := func(names ...string) change {
		return func(s *scene) {
			for i := range s.Pods {
				if slices.Contains(names, s.Pods[i].Name) {
					stopping(&s.Pods[i])
				}
			}
		}
	}
	stopOld := func(p *Pod) {
		if !p.Seed {
			p.Deleting = born
		}
	}
	serve := func(p *Pod) { p.Ready = p.Ready || !p.Seed }
	emptyDir := func(s *scene) { s.Cluster.Spec.Pod = nil }
	fencedAt := func(s *scene) { s.Restore.Status.FenceTime = &metav1.Time{Time: born} }
	// askedLongAgo is when the fence was asked for a minute ago.
	askedLongAgo := func(s *scene) {
		s.Cluster.Status.ObservedGeneration = 1
		s.Restore.Status.FenceTime, s.Now = &metav1.Time{Time: born}, born.Add(slowToAnswer)
	}
	pods := func(f func(*Pod)) change {
		return func(s *scene) {
			for i := range s.Pods {
				f(&s.Pods[i])
			}
		}
	}
	others := func(before bool) change {
		return func(s *scene) { s.Others = []Other{{Name: "first", UID: "other", Before: before}} }
	}
	noCluster := func(s *scene) { s.Cluster = nil }
	fresh := spec(func(s *v1beta2.RestoreSpec) {
		s.EtcdCluster, s.ClusterTemplate = nil, &v1beta2.ClusterTemplate{Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.1"}}
	})
	made := annotate(v1beta2.AnnotationRestoredBy, "uid")
	accept := spec(func(s *v1beta2.RestoreSpec) { s.AcceptRunningOldMembers = true })
	paused := func(s *scene) { s.Cluster.Spec.Paused = true }
	finish := func(s *scene) { s.Cluster.Annotations[v1beta2.AnnotationFenceLifted] = "uid" }
	rows := map[string]struct {
		reason string
		o      Observation
		want   decided
	}{
		// Over.
		"predecessor's success": {
			reason: "what the archived operator has restored is not thrown away by restoring it again",
			o:      observe(status(func(s *v1beta2.RestoreStatus) { s.Succeeded = true })),
			want:   decided{Reason: "HandledByLegacyOperator"},
		},
		"predecessor's failure": {
			reason: "nor is one that failed done at a moment that nobody expects",
			o:      observe(status(func(s *v1beta2.RestoreStatus) { s.Reason = "no such bucket" })),
			want:   decided{Reason: "HandledByLegacyOperator"},
		},
		"failed, and the Job runs": {
			reason: "nobody needs it any more",
			o:      observe(phase(failed), job()),
			want:   decided{Action: DeleteJob{Name: name, UID: "job"}, Reason: "JobDeleted", Phase: failed},
		},
		"failed, and the Job is done": {
			reason: "it is kept for its log",
			o:      observe(phase(failed), job(reported)),
			want:   decided{Reason: "Finished", Phase: failed},
		},
		"failed, with the finalizer": {
			reason: "it can be deleted even when no operator runs",
			o:      observe(phase(failed), held),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: failed},
		},
		"complete": {
			reason: "it is never begun again, whatever the cluster says",
			o:      observe(phase(completed)),
			want:   decided{Reason: "Finished", Phase: completed},
		},

		// Forward.
		"no target": {
			reason: "nothing says which cluster",
			o:      observe(spec(func(s *v1beta2.RestoreSpec) { s.EtcdCluster = nil })),
			want:   decided{Reason: "TargetMissing", Phase: failed, Events: []string{"TargetMissing"}},
		},
		"a new cluster cannot have the restore's name": {
			reason: "members' host names begin with it",
			o:      observe(fresh, noCluster, func(s *scene) { s.Restore.Name = "9.c" }),
			want:   decided{Reason: "NameInvalid", Phase: failed, Events: []string{"NameInvalid"}},
		},
		"too slow": {
			reason: "nothing was touched, and it has just failed",
			o:      observe(verified, after(time.Minute), spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = 60 })),
			want:   decided{Reason: "TimedOut", Phase: failed, Events: []string{"TimedOut"}},
		},
		"too slow with the cluster": {
			reason: "all is given back first",
			o:      observe(fenced, after(time.Minute), spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = 60 })),
			want:   decided{Reason: "TimedOut", Phase: rolling, Events: []string{"TimedOut"}},
		},
		"no cluster yet": {
			reason: "it may be created after the restore",
			o:      observe(noCluster, after(59*time.Second)),
			want:   decided{Reason: "ClusterNotFound", Phase: pending, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterNotFound"}},
		},
		"no cluster": {
			reason: "it was not created within a minute",
			o:      observe(noCluster, phase(pending), after(time.Minute)),
			want:   decided{Reason: "ClusterNotFound", Phase: failed, Events: []string{"ClusterNotFound"}},
		},
		"no cluster, by a slow clock": {
			reason: "the API server says that the EtcdRestore is an hour old, and the operator has just seen it",
			o:      observe(noCluster, func(s *scene) { s.Restore.CreationTimestamp = metav1.NewTime(born.Add(-time.Hour)) }),
			want:   decided{Reason: "ClusterNotFound", Phase: pending, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterNotFound"}},
		},
		"no cluster, by a fast clock": {
			reason: "the API server says that the EtcdRestore is created in an hour, and the operator has seen it for a minute",
			o:      observe(noCluster, phase(pending), after(time.Minute), func(s *scene) { s.Restore.CreationTimestamp = metav1.NewTime(born.Add(time.Hour)) }),
			want:   decided{Reason: "ClusterNotFound", Phase: failed, Events: []string{"ClusterNotFound"}},
		},
		"cluster goes": {
			reason: "another one may come",
			o:      observe(func(s *scene) { s.Cluster.DeletionTimestamp = &metav1.Time{Time: born} }),
			want:   decided{Reason: "ClusterDeleting", Phase: pending, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterDeleting"}},
		},
		"new, and the name is taken": {
			reason: "somebody's cluster is not touched",
			o:      observe(fresh),
			want:   decided{Reason: "AlreadyExists", Phase: failed, Events: []string{"AlreadyExists"}},
		},
		"another cluster of the name": {
			reason: "the one that was fenced is gone, and with it all that was to give back",
			o:      observe(fenced, func(s *scene) { s.Cluster.UID = types.UID("another") }),
			want:   decided{Reason: "ClusterGone", Phase: rolling, Events: []string{"ClusterGone"}},
		},
		"new, and no template": {
			reason: "the EtcdCluster whose spec is asked for may be created yet",
			o: observe(noCluster, spec(func(s *v1beta2.RestoreSpec) {
				s.Target, s.EtcdCluster.Name = v1beta2.TargetNew, "t"
			})),
			want: decided{Reason: "ClusterNotFound", Phase: pending, WaitingFor: []string{"EtcdCluster t"}, Events: []string{"ClusterNotFound"}},
		},
		"verify": {
			reason: "before anything is touched",
			o:      observe(first),
			want:   decided{Action: start, Reason: "Verifying", Phase: verifying},
		},
		"the API server refuses the Job": {
			reason: "a quota may have room later",
			o:      observe(first, func(s *scene) { s.Refused = "exceeded quota" }),
			want:   decided{Reason: "Refused", Phase: verifying, Events: []string{"Refused"}},
		},
		"Job runs": {
			reason: "it is watched",
			o:      observe(first, phase(verifying), job()),
			want:   decided{Reason: "Verifying", Phase: verifying},
		},
		"Job's Pod waits": {
			reason: "a person must make the Secret",
			o:      observe(first, phase(verifying), job(func(j *Job) { j.Waiting = `secret "aws" not found` })),
			want:   decided{Reason: "PodNotStarting", Phase: verifying, Events: []string{"PodNotStarting"}},
		},
		"Job hangs": {
			reason: "Kubernetes itself would wait for ever for its node",
			o:      observe(first, phase(verifying), job(hangs), after(8*time.Minute)),
			want:   decided{Reason: "NodeLost", Phase: failed, Events: []string{"NodeLost"}},
		},
		"Job hangs at another try": {
			reason: "an earlier report does not end it",
			o:      observe(first, phase(verifying), job(reportedFailure(false), hangs), after(8*time.Minute)),
			want:   decided{Reason: "NodeLost", Phase: failed, Events: []string{"NodeLost"}},
		},
		"Job hangs, deleted": {
			reason: "no other of its name can be created",
			o:      observe(first, phase(verifying), job(hangs, func(j *Job) { j.Deleting = true }), after(8*time.Minute)),
			want:   decided{Reason: "NodeLost", Phase: failed, Events: []string{"NodeLost"}},
		},
		"Job does not hang yet": {
			reason: "its node may be back by then",
			o:      observe(first, phase(verifying), job(hangs), after(8*time.Minute-time.Second)),
			want:   decided{Reason: "Verifying", Phase: verifying},
		},
		"Job hangs, and has verified": {
			reason: "what it found counts, however it ends",
			o:      observe(first, phase(verifying), job(hangs, func(j *Job) { j.Result = &task.Result{Snapshot: found()} }), after(8*time.Minute)),
			want:   decided{Reason: "SnapshotVerified", Phase: verifying, Events: []string{"SnapshotVerified"}},
		},
		"Job tries again": {
			reason: "it may do better, and says why it has to",
			o:      observe(first, phase(verifying), job(reportedFailure(false))),
			want:   decided{Reason: "SnapshotNotFound", Phase: verifying, Events: []string{"SnapshotNotFound"}},
		},
		"Job has given up": {
			reason: "the last report says why",
			o:      observe(first, phase(verifying), job(reportedFailure(false), func(j *Job) { j.Done, j.Failed = true, true })),
			want:   decided{Reason: "SnapshotNotFound", Phase: failed, Events: []string{"SnapshotNotFound"}},
		},
		"no snapshot": {
			reason: "only a person can mend it",
			o:      observe(first, phase(verifying), job(reportedFailure(true))),
			want:   decided{Reason: "SnapshotNotFound", Phase: failed, Events: []string{"SnapshotNotFound"}},
		},
		"Job failed without a report": {
			reason: "the Job's reason is all that there is",
			o:      observe(first, phase(verifying), job(func(j *Job) { j.Done, j.Failed, j.FailReason = true, true, "OOMKilled" })),
			want:   decided{Reason: "OOMKilled", Phase: failed, Events: []string{"OOMKilled"}},
		},
		"Job succeeded without a report": {
			reason: "nobody knows what it has found",
			o:      observe(first, phase(verifying), job(func(j *Job) { j.Done, j.Result = true, &task.Result{} })),
			want:   decided{Reason: "ResultInvalid", Phase: failed, Events: []string{"ResultInvalid"}},
		},
		"somebody deletes the Job": {
			reason: "the next one has the same name",
			o:      observe(first, phase(verifying), job(func(j *Job) { j.Deleting = true })),
			want:   decided{Reason: "Verifying", Phase: verifying},
		},
		"report is lost": {
			reason: "to check again costs nothing but time",
			o:      observe(first, phase(verifying), job(func(j *Job) { j.Done = true })),
			want:   decided{Action: DeleteJob{Name: name, UID: "job"}, Reason: "ResultLost", Phase: verifying},
		},
		"verified": {
			reason: "it is recorded before anything follows from it",
			o:      observe(first, phase(verifying), job(reported)),
			want:   decided{Reason: "SnapshotVerified", Phase: verifying, Events: []string{"SnapshotVerified"}},
		},
		"another cluster's snapshot": {
			reason: "spec.clusterID asks for one only",
			o:      observe(first, phase(verifying), job(reported), spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = "00000000000000c2" })),
			want:   decided{Reason: task.ReasonWrongCluster, Phase: failed, Events: []string{task.ReasonWrongCluster}},
		},
		"wrong version": {
			reason: "the cluster's etcd could not start with it",
			o:      observe(first, verified, func(s *scene) { s.Cluster.Status.CurrentVersion = "3.5.21" }),
			want:   decided{Reason: "VersionMismatch", Phase: failed, Events: []string{"VersionMismatch"}},
		},
		"the cluster's version is none": {
			reason: "nobody can tell whether its etcd can read the snapshot",
			o:      observe(first, verified, func(s *scene) { s.Cluster.Status.CurrentVersion, s.Cluster.Spec.Version = "", "latest" }),
			want:   decided{Reason: "VersionUnknown", Phase: failed, Events: []string{"VersionUnknown"}},
		},
		"the snapshot's version is none": {
			reason: "nor whether it is data of a version that it knows",
			o:      observe(first, verified, status(func(s *v1beta2.RestoreStatus) { s.Snapshot.EtcdVersion = "" })),
			want:   decided{Reason: "VersionUnknown", Phase: failed, Events: []string{"VersionUnknown"}},
		},
		"small volumes": {
			reason: "the seed would fill its volume",
			o:      observe(first, verified, status(func(s *v1beta2.RestoreStatus) { s.Snapshot.DatabaseSize = 900 << 20 })),
			want:   decided{Reason: "VolumeTooSmall", Phase: failed, Events: []string{"VolumeTooSmall"}},
		},
		"small bump": {
			reason: "the cluster has come further than the snapshot raised by it",
			o:      observe(first, verified, spec(func(s *v1beta2.RestoreSpec) { s.RevisionBump = new(int64(1_000_000_000)) })),
			want:   decided{Reason: "RevisionBumpTooSmall", Phase: failed, Events: []string{"RevisionBumpTooSmall"}},
		},
		"large bump": {
			reason: "no revision is left beyond it",
			o:      observe(first, verified, spec(func(s *v1beta2.RestoreSpec) { s.RevisionBump = new(maxRevision) })),
			want:   decided{Reason: "RevisionTooHigh", Phase: failed, Events: []string{"RevisionTooHigh"}},
		},
		"an older restore": {
			reason: "the one that was created first goes first",
			o:      observe(verified, others(true)),
			want:   decided{Reason: "AnotherRestore", Phase: pending, WaitingFor: []string{"EtcdRestore first"}, Events: []string{"AnotherRestore"}},
		},
		"a younger restore": {
			reason: "it waits for this one",
			o:      observe(verified, others(false)),
			want:   decided{Action: AddFinalizer{}, Reason: "Fencing", Phase: verifying},
		},
		"a younger one was faster": {
			reason: "it holds the cluster already",
			o:      observe(verified, others(false), annotate(v1beta2.AnnotationFence, "other")),
			want:   decided{Reason: "AnotherRestore", Phase: pending, WaitingFor: []string{"EtcdRestore first"}, Events: []string{"AnotherRestore"}},
		},
		"an older one comes too late": {
			reason: "the fence is asked for: it waits in its turn",
			o:      observe(fenced, others(true)),
			want:   decided{Reason: "Preparing", Phase: seedingIs},
		},
		"somebody unknown holds it": {
			reason: "a person can say that it is gone",
			o:      observe(verified, func(s *scene) { s.Cluster.Status.FencedBy = "stranger" }),
			want:   decided{Reason: "AnotherRestore", Phase: pending, WaitingFor: []string{"EtcdRestore of uid stranger"}, Events: []string{"AnotherRestore"}},
		},
		"an old mark": {
			reason: "its fence was lifted",
			o:      observe(verified, annotate(v1beta2.AnnotationFence, "older"), annotate(v1beta2.AnnotationFenceLifted, "older")),
			want:   decided{Action: AddFinalizer{}, Reason: "Fencing", Phase: verifying},
		},
		"create the cluster": {
			reason: "born with the fence",
			o:      observe(verified, held, fresh, noCluster),
			want:   decided{Action: CreateCluster{Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.1"}}, Reason: "ClusterCreated", Phase: fencing},
		},
		"record the cluster": {
			reason: "another one of its name is not touched",
			o:      observe(verified, held),
			want:   decided{Reason: "Fencing", Phase: fencing},
		},
		"ask": {
			reason: "all that comes before is there",
			o:      observe(claimed),
			want:   decided{Action: AskFence{}, Reason: "Fencing", Phase: fencing},
		},
		"lifted by somebody": {
			reason: "a uid fences once",
			o:      observe(claimed, finish),
			want:   decided{Reason: "FenceLifted", Phase: rolling, Events: []string{"FenceLifted"}},
		},
		"not acknowledged": {
			reason: "nothing is touched",
			o:      observe(asked, members("c-1")),
			want:   decided{Reason: "Fencing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"paused": {
			reason: "etcd-operator does nothing, and only a person can change that",
			o:      observe(asked, paused),
			want:   decided{Reason: "ClusterPaused", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterPaused"}},
		},
		"certificates are wrong": {
			reason: "etcd-operator waits for a person, and what it says of them is passed on",
			o: observe(asked, func(s *scene) {
				s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionCertificatesReady, Status: metav1.ConditionFalse, Reason: "CertificatesMissing", Message: noSecret}}
			}),
			want: decided{Reason: "CertificatesMissing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesMissing"}},
		},
		"another object has the cluster's name": {
			reason: "etcd-operator does nothing until somebody removes it",
			o: observe(asked, func(s *scene) {
				s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionNameConflict, Status: metav1.ConditionTrue, Reason: "NameConflict", Message: "Service c belongs to something else"}}
			}),
			want: decided{Reason: "NameConflict", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"NameConflict"}},
		},
		"certificates are being issued": {
			reason: "that takes moments",
			o: observe(asked, func(s *scene) {
				s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionCertificatesReady, Status: metav1.ConditionFalse, Reason: "Any"}}
				s.Cluster.Status.TLS = &v1beta2.TLSStatus{Pending: true}
			}),
			want: decided{Reason: "Fencing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"they have written much before they are stopped first": {
			reason: "when they are stopped nobody can tell where time has come to",
			o:      observe(first, fenced, members("c-1"), asks(600_000_000)),
			want:   decided{Reason: "StoppingMembers", Phase: fencing},
		},
		"they may have, and tell nothing": {
			reason: "the cluster was fenced for six hours, such as while certificates were missing",
			o:      observe(first, fenced, members("c-1"), asks(0), after(6*time.Hour)),
			want:   decided{Reason: "StoppingMembers", Phase: fencing},
		},
		"no revision is left beyond what they have written": {
			reason: "nothing is stopped for that",
			o:      observe(first, fenced, members("c-1"), asks(maxRevision)),
			want:   decided{Reason: "RevisionTooHigh", Phase: rolling, Events: []string{"RevisionTooHigh"}},
		},
		"a seed found no room for days, and then they are stopped first": {
			reason: "its revision is not that of the next one",
			o:      observe(first, named, retired("c-3"), members("c-4"), asks(900_000_000)),
			want:   decided{Reason: "StoppingMembers", Phase: seedingIs},
		},
		"stop": {
			reason: "all at once: none serves when the seed does",
			o:      observe(first, fenced, members("c-1", "c-2"), asks(6_000_000)),
			want: decided{
				Action: StopPods{Pods: []Ref{{"c-1", "uid of c-1"}, {"c-2", "uid of c-2"}}}, Reason: "StoppingMembers", Phase: fencing,
				WaitingFor: []string{"Pod c-1", "Pod c-2"},
			},
		},
		"retire": {
			reason: "while they stop",
			o:      observe(first, fenced, members("c-1"), pods(stopping)),
			want:   decided{Action: RetireClaims{refs("c-1")}, Reason: "KeepingVolumes", Phase: fencing, WaitingFor: []string{"Pod c-1"}},
		},
		"old members stop": {
			reason: "their grace period",
			o:      observe(first, fenced, members("c-1"), pods(stopping), func(s *scene) { s.Claims = nil }, after(time.Second)),
			want:   decided{Reason: "StoppingMembers", Phase: fencing, WaitingFor: []string{"Pod c-1"}},
		},
		"old members do not stop": {
			reason: "their node does not answer: a person has to decide",
			o:      observe(first, fenced, members("c-1"), pods(stopping), func(s *scene) { s.Claims = nil }, after(slowToStop)),
			want:   decided{Reason: "OldMembersRunning", Phase: fencing, WaitingFor: []string{"Pod c-1"}, Events: []string{"OldMembersRunning"}},
		},
		"old members have stopped": {
			reason: "clients need not wait until their Pods are taken away",
			o:      observe(first, fenced, members("c-1"), pods(func(p *Pod) { p.Deleting, p.Stopped = born, true }), retired("c-1"), func(s *scene) { s.Claims = s.Claims[1:] }),
			want:   decided{Reason: "Preparing", Phase: seedingIs},
		},
		"they may run": {
			reason: "the user accepts it",
			o:      observe(first, fenced, members("c-1"), pods(stopping), retired("c-1"), func(s *scene) { s.Claims = s.Claims[1:] }, accept),
			want:   decided{Reason: "Preparing", Phase: seedingIs},
		},
		"no certificates yet": {
			reason: "members that serve are not stopped for a seed that could not start",
			o:      observe(fenced, members("c-1"), withTLS("")),
			want:   decided{Reason: "CertificatesPending", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"no certificates yet, and never looked at": {
			reason: "there is not even a status of them",
			o:      observe(fenced, withTLS(""), func(s *scene) { s.Cluster.Status.TLS = nil }),
			want:   decided{Reason: "CertificatesPending", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"certificates are missing": {
			reason: "a person must make them, and is told what etcd-operator says",
			o:      observe(fenced, members("c-1"), withTLS(""), certificates("False", "CertificatesMissing")),
			want:   decided{Reason: "CertificatesMissing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesMissing"}},
		},
		"certificates are issued for the first time": {
			reason: "the seed needs them, and etcd-operator says what keeps them",
			o:      observe(fenced, members("c-1"), withTLS(""), certificates("False", "CertificatesPending"), issuing),
			want:   decided{Reason: "CertificatesPending", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesPending"}},
		},
		"certificates have gone bad": {
			reason: "the seed would not start, and the old members may serve yet",
			o:      observe(fenced, members("c-1"), withTLS("x"), certificates("False", "CertificatesInvalid")),
			want:   decided{Reason: "CertificatesInvalid", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesInvalid"}},
		},
		"certificates are renewed": {
			reason: "those that are there serve",
			o:      observe(first, fenced, members("c-1"), withTLS("x"), certificates("False", "Any"), issuing, asks(0)),
			want:   decided{Action: StopPods{Pods: []Ref{{"c-1", "uid of c-1"}}}, Reason: "StoppingMembers", Phase: fencing, WaitingFor: []string{"Pod c-1"}},
		},
		"certificates are right": {
			reason: "the seed can start",
			o:      observe(first, fenced, members("c-1"), withTLS("x"), certificates("True", "CertificatesReady"), asks(0)),
			want:   decided{Action: StopPods{Pods: []Ref{{"c-1", "uid of c-1"}}}, Reason: "StoppingMembers", Phase: fencing, WaitingFor: []string{"Pod c-1"}},
		},
		"no TLS any more": {
			reason: "what was once said of certificates says nothing",
			o:      observe(first, fenced, members("c-1"), certificates("False", "CertificatesMissing"), asks(0)),
			want:   decided{Action: StopPods{Pods: []Ref{{"c-1", "uid of c-1"}}}, Reason: "StoppingMembers", Phase: fencing, WaitingFor: []string{"Pod c-1"}},
		},
		"certificates of a paused cluster": {
			reason: "nobody mends them until it is not",
			o:      observe(fenced, withTLS(""), certificates("False", "CertificatesMissing"), paused),
			want:   decided{Reason: "ClusterPaused", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterPaused"}},
		},
		"version is not known": {
			reason: "etcd-operator says it when it has looked at the cluster",
			o:      observe(fenced, func(s *scene) { s.Cluster.Status.CurrentVersion = "" }),
			want:   decided{Reason: "VersionPending", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"version is not supported": {
			reason: "etcd-operator would not run it; the user corrects it",
			o: observe(fenced, func(s *scene) {
				s.Cluster.Status.CurrentVersion, s.Cluster.Status.TargetVersion, s.Cluster.Spec.Version = "", "", "3.3.1"
			}),
			want: decided{Reason: "VersionUnsupported", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"VersionUnsupported"}},
		},
		"record the seed": {
			reason: "its name and revision, before either is used",
			o:      observe(fenced, retired("c-1")),
			want:   decided{Reason: "Preparing", Phase: seedingIs},
		},
		"the seed's name is taken": {
			reason: "the next look has another one",
			o:      observe(fenced, members("c-fresh")),
			want:   decided{Reason: "Preparing", Phase: verifying},
		},
		"somebody makes a Pod of the seed's name": {
			reason: "it is no seed of this restore, and another one follows",
			o:      observe(named, seedClaim, members("c-seed")),
			want:   decided{Action: DeleteSeedClaim{claimRef}, Reason: "SeedLost", Phase: verifying},
		},
		"the seed's volume": {
			reason: "before its Pod",
			o:      observe(named),
			want:   decided{Action: CreateSeedClaim{"c-seed"}, Reason: "Preparing", Phase: seedingIs},
		},
		"the seed": {
			reason: "exactly what was verified",
			o:      observe(named, seedClaim),
			want:   decided{Action: create, Reason: "Preparing", Phase: seedingIs},
		},
		"a Pod turns up, and members were to be stopped first": {
			reason: "it starts over",
			o:      observe(first, named, seedClaim, members("c-3"), asks(0)),
			want:   decided{Action: StopPods{Pods: []Ref{{"c-3", "uid of c-3"}}}, Reason: "StoppingMembers", Phase: seedingIs, WaitingFor: []string{"Pod c-3"}},
		},
		"a Pod turns up": {
			reason: "it serves until there is a seed in its place",
			o:      observe(named, seedClaim, members("c-3")),
			want:   decided{Action: create, Reason: "Preparing", Phase: verifying},
		},
		"prepared, and nobody serves": {
			reason: "there is nobody to be stopped",
			o:      observe(seeded(prepared)),
			want:   decided{Action: PermitStart{seedRef}, Reason: "SeedStarting", Phase: seedingIs},
		},

		// The seed, beside members that serve.
		"the first thing that is asked for": {
			reason: "the seed is made beside the members, of which etcd-operator knows",
			o:      observe(),
			want:   decided{Action: AddFinalizer{}, Reason: "Fencing"},
		},
		"name the seed": {
			reason: "no member is stopped before it is ready",
			o:      observe(fenced, members("c-1")),
			want:   decided{Reason: "Preparing", Phase: verifying},
		},
		"it is prepared beside the members": {
			reason: "they serve",
			o:      observe(beside()),
			want:   decided{Reason: "Preparing", Phase: verifying, WaitingFor: []string{"Pod c-seed"}},
		},
		"no room for it": {
			reason: "a person can have the members stopped first",
			o:      observe(beside(func(p *Pod) { p.Node, p.Waiting = "", "0/3 nodes are available" })),
			want:   decided{Reason: "SeedNotStarting", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotStarting"}},
		},
		"no room for it, and members are to be stopped first": {
			reason: "what it takes is for the Job",
			o:      observe(first, beside(func(p *Pod) { p.Node, p.Waiting = "", "0/3 nodes are available" })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"it is at work, and members are to be stopped first": {
			reason: "it is soon ready",
			o:      observe(first, beside()),
			want:   decided{Reason: "Preparing", Phase: verifying, WaitingFor: []string{"Pod c-seed"}},
		},
		"a bad snapshot": {
			reason: "all is given back, and no member was stopped",
			o: observe(beside(func(p *Pod) {
				p.Result = &task.Result{Failure: &agent.Failure{Reason: task.ReasonCorruptSnapshot, Message: corruptSnapshot, Permanent: true}}
			})),
			want: decided{Reason: task.ReasonCorruptSnapshot, Phase: rolling, Events: []string{task.ReasonCorruptSnapshot}},
		},
		"the store is silent, beside members": {
			reason: "it may come back",
			o: observe(beside(func(p *Pod) {
				p.Tries, p.Waiting, p.Result = 2, "CrashLoopBackOff", &task.Result{Failure: &agent.Failure{Reason: agent.ReasonStalled, Message: stalled}}
			})),
			want: decided{Reason: agent.ReasonStalled, Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{agent.ReasonStalled}},
		},
		"the store stays silent": {
			reason: "nobody heals the members meanwhile",
			o: observe(beside(func(p *Pod) {
				p.Tries, p.Waiting, p.Result = 3, "CrashLoopBackOff", &task.Result{Failure: &agent.Failure{Reason: agent.ReasonStalled, Message: stalled}}
			})),
			want: decided{Reason: agent.ReasonStalled, Phase: rolling, Events: []string{agent.ReasonStalled}},
		},
		"it dies without a word": {
			reason: "out of memory, for example",
			o:      observe(beside(func(p *Pod) { p.Tries, p.Waiting = 3, "CrashLoopBackOff" })),
			want:   decided{Reason: "PreparationFailed", Phase: rolling, Events: []string{"PreparationFailed"}},
		},
		"it is prepared": {
			reason: "what was found is recorded before anything follows from it",
			o:      observe(beside(prepared)),
			want:   decided{Reason: "SnapshotVerified", Phase: verifying, Events: []string{"SnapshotVerified"}},
		},
		"it is prepared, and says nothing": {
			reason: "nobody knows what it would start with",
			o:      observe(beside(func(p *Pod) { p.Prepared = true })),
			want:   decided{Reason: "ResultInvalid", Phase: rolling, Events: []string{"ResultInvalid"}},
		},
		"it begins too early": {
			reason: "clients would see time run backwards",
			o:      observe(beside(prepared, func(p *Pod) { p.Result.Revision = 1_004_999_999 })),
			want:   decided{Reason: "ResultInvalid", Phase: rolling, Events: []string{"ResultInvalid"}},
		},
		"it is prepared of another cluster's snapshot": {
			reason: "spec.clusterID asks for one only",
			o:      observe(beside(prepared), spec(func(s *v1beta2.RestoreSpec) { s.ClusterID = "00000000000000c2" })),
			want:   decided{Reason: task.ReasonWrongCluster, Phase: rolling, Events: []string{task.ReasonWrongCluster}},
		},
		"it is prepared of another version": {
			reason: "etcd could not start with it",
			o:      observe(proven, func(s *scene) { s.Cluster.Status.CurrentVersion = "3.5.21" }),
			want:   decided{Reason: "VersionMismatch", Phase: rolling, Events: []string{"VersionMismatch"}},
		},
		"it is larger than the quota": {
			reason: "etcd would refuse every write",
			o:      observe(proven, func(s *scene) { s.Restore.Status.Snapshot.DatabaseSize, s.Cluster.Spec.Pod = 2<<30, nil }),
			want:   decided{Reason: "QuotaTooSmall", Phase: rolling, Events: []string{"QuotaTooSmall"}},
		},
		"it is larger than the volumes": {
			reason: "not every volume is as small as it was asked for, and a larger one was asked for by nobody",
			o: observe(proven, func(s *scene) {
				s.Restore.Status.Snapshot.DatabaseSize = 900 << 20
			}),
			want: decided{Reason: "VolumeTooSmall", Phase: rolling, Events: []string{"VolumeTooSmall"}},
		},
		"a bump that does not suffice": {
			reason: "the members have come further",
			o:      observe(proven, spec(func(s *v1beta2.RestoreSpec) { s.RevisionBump = new(int64(1_000_000_000)) })),
			want:   decided{Reason: "RevisionBumpTooSmall", Phase: rolling, Events: []string{"RevisionBumpTooSmall"}},
		},
		"its launcher does not run yet": {
			reason: "clients do not wait for a container to start",
			o:      observe(proven, unlaunched()),
			want:   decided{Reason: "Preparing", Phase: verifying, WaitingFor: []string{"Pod c-seed"}},
		},
		"its launcher cannot run": {
			reason: "no member is stopped for a seed that does not start",
			o:      observe(proven, unlaunched(func(p *Pod) { p.Waiting = "CreateContainerConfigError: secret \"x\" not found" })),
			want:   decided{Reason: "SeedNotStarting", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotStarting"}},
		},
		"its launcher ends again and again": {
			reason: "its log says why",
			o:      observe(proven, unlaunched(func(p *Pod) { p.Restarts = 2 })),
			want:   decided{Reason: "SeedNotReady", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotReady"}},
		},
		"its launcher has ended too often": {
			reason: "members that serve are not repaired meanwhile",
			o:      observe(proven, unlaunched(func(p *Pod) { p.Restarts, p.Waiting = 3, "CrashLoopBackOff: back-off" })),
			want:   decided{Reason: "PreparationFailed", Phase: rolling, Events: []string{"PreparationFailed"}},
		},
		"it begins lower than is settled": {
			reason: "members were asked while it was made",
			o:      observe(proven, status(func(s *v1beta2.RestoreStatus) { s.Revision = 1_600_000_000 }), asks(5_000_000)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"how far are the members": {
			reason: "they have written since the seed got its revision",
			o:      observe(proven),
			want:   decided{Reason: "Preparing", Phase: verifying},
		},
		"they have come too far": {
			reason: "another seed begins further on",
			o:      observe(proven, asks(600_000_000)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"they may have come too far": {
			reason: "nobody tells, and it has taken seven hours",
			o:      observe(proven, asks(0), after(7*time.Hour)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"stop the members": {
			reason: "the seed is ready to start",
			o:      observe(proven, asks(5_000_000)),
			want: decided{
				Action: StopPods{Pods: []Ref{{"c-1", "uid of c-1"}, {"c-2", "uid of c-2"}}, Seed: seedRef}, Reason: "StoppingMembers", Phase: seedingIs,
				WaitingFor: []string{"Pod c-1", "Pod c-2"},
			},
		},
		"members stop, and the seed waits": {
			reason: "it must not run beside one",
			o:      observe(proven, pods(stopOld), func(s *scene) { s.Claims = s.Claims[2:] }),
			want:   decided{Reason: "StoppingMembers", Phase: seedingIs, WaitingFor: []string{"Pod c-1", "Pod c-2"}},
		},
		"the seed is lost beside members": {
			reason: "they serve on: another one is made",
			o:      observe(beside(), func(s *scene) { s.Pods = s.Pods[:2] }),
			want:   decided{Action: DeleteSeedClaim{claimRef}, Reason: "SeedLost", Phase: verifying},
		},

		// Data that is lost with its members.
		"nobody accepts the loss": {
			reason: "members without volumes serve, and nothing was asked for yet",
			o:      observe(emptyDir, members("c-1", "c-2"), pods(serve)),
			want:   decided{Reason: "DataLossNotAccepted", Phase: pending, WaitingFor: []string{"spec.acceptDataLoss"}, Events: []string{"DataLossNotAccepted"}},
		},
		"nobody accepts the loss, first": {
			reason: "nor in the old order",
			o:      observe(first, emptyDir, verified, members("c-1", "c-2"), pods(serve)),
			want:   decided{Reason: "DataLossNotAccepted", Phase: pending, WaitingFor: []string{"spec.acceptDataLoss"}, Events: []string{"DataLossNotAccepted"}},
		},
		"a quorum has come back meanwhile": {
			reason: "it is asked for again before a member is stopped",
			o:      observe(emptyDir, proven, asks(5_000_000), pods(serve), func(s *scene) { s.Claims = nil }),
			want:   decided{Reason: "DataLossNotAccepted", Phase: verifying, WaitingFor: []string{"spec.acceptDataLoss"}, Events: []string{"DataLossNotAccepted"}},
		},
		"the loss is accepted": {
			reason: "in writing",
			o:      observe(emptyDir, members("c-1", "c-2"), pods(serve), spec(func(s *v1beta2.RestoreSpec) { s.AcceptDataLoss = true })),
			want:   decided{Action: AddFinalizer{}, Reason: "Fencing"},
		},
		"etcd-operator says that they serve": {
			reason: "their Pods are not ready for a moment",
			o: observe(emptyDir, members("c-1"), func(s *scene) {
				s.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Serving"}}
			}),
			want: decided{Reason: "DataLossNotAccepted", Phase: pending, WaitingFor: []string{"spec.acceptDataLoss"}, Events: []string{"DataLossNotAccepted"}},
		},
		"nothing is left to lose": {
			reason: "no quorum serves, as when the predecessor's users restored; one that was destroyed a moment ago may still be called ready",
			o:      observe(emptyDir, members("c-1"), pods(serve)),
			want:   decided{Action: AddFinalizer{}, Reason: "Fencing"},
		},

		"the fence is another restore's": {
			reason: "only a fence of this uid lets it act",
			o:      observe(asked, func(s *scene) { s.Cluster.Status.FencedBy = "other" }),
			want:   decided{Reason: "Fencing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},

		// etcd-operator does not answer.
		"nobody has ever looked": {
			reason: "none runs in the namespace: one that runs with --cluster-wide would need the annotation",
			o:      observe(asked, askedLongAgo, func(s *scene) { s.Cluster.Status = v1beta2.ClusterStatus{} }),
			want:   decided{Reason: "OperatorMissing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"OperatorMissing"}},
		},
		"one of another scope has not": {
			reason: "the EtcdCluster is annotated for one that runs with --cluster-wide",
			o: observe(asked, askedLongAgo, annotate(v1beta2.AnnotationScope, v1beta2.ScopeClusterwide), func(s *scene) {
				s.Cluster.Status = v1beta2.ClusterStatus{}
			}),
			want: decided{Reason: "OperatorOtherScope", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"OperatorOtherScope"}},
		},
		"it may only be slow": {
			reason: "it ends what it has begun first",
			o:      observe(asked, askedLongAgo, after(slowToAnswer-time.Second)),
			want:   decided{Reason: "Fencing", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}},
		},
		"the archived operator has": {
			reason: "it writes no generation",
			o:      observe(asked, askedLongAgo, func(s *scene) { s.Cluster.Status = v1beta2.ClusterStatus{Phase: v1beta2.PhaseRunning} }),
			want:   decided{Reason: "OperatorTooOld", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"OperatorTooOld"}},
		},
		"one has, and does not answer": {
			reason: "it was taken away",
			o:      observe(asked, askedLongAgo),
			want:   decided{Reason: "OperatorNotAnswering", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"OperatorNotAnswering"}},
		},
		"it is paused": {
			reason: "the EtcdCluster says why nobody answers",
			o:      observe(asked, askedLongAgo, paused),
			want:   decided{Reason: "ClusterPaused", Phase: fencing, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"ClusterPaused"}},
		},
		"the snapshot has changed": {
			reason: "only what was verified is restored",
			o: observe(seeded(func(p *Pod) {
				p.Result = &task.Result{Failure: &agent.Failure{Reason: task.ReasonChanged, Message: changedSnapshot, Permanent: true}}
			})),
			want: decided{Reason: task.ReasonChanged, Phase: rolling, Events: []string{task.ReasonChanged}},
		},
		"the store is silent": {
			reason: "the kubelet starts the init container again",
			o: observe(seeded(func(p *Pod) {
				p.Result = &task.Result{Failure: &agent.Failure{Reason: agent.ReasonStalled, Message: stalled}}
			})),
			want: decided{Reason: agent.ReasonStalled, Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}, Events: []string{agent.ReasonStalled}},
		},
		"seed is gone": {
			reason: "its volume goes, too",
			o:      observe(seeded(), func(s *scene) { s.Pods = nil }),
			want:   decided{Action: DeleteSeedClaim{claimRef}, Reason: "SeedLost", Phase: seedingIs},
		},
		"seed stops": {
			reason: "its grace period",
			o:      observe(seeded(stopping), after(slowToStop-time.Second)),
			want:   decided{Reason: "SeedDeleted", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}},
		},
		"seed does not stop": {
			reason: "its node is lost: a person has to decide",
			o:      observe(seeded(stopping, func(p *Pod) { p.Node = "n" }), after(slowToStop)),
			want:   decided{Reason: "SeedNotStopping", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotStopping"}},
		},
		"seed does not stop, and may run": {
			reason: "the user accepts it",
			o:      observe(seeded(stopping), after(slowToStop), accept),
			want:   decided{Action: DeleteSeedClaim{claimRef}, Reason: "SeedLost", Phase: seedingIs},
		},
		"seed does not stop, and members are to be stopped first": {
			reason: "what it takes of its node would be for the Job",
			o:      observe(first, beside(stopping), after(slowToStop)),
			want:   decided{Reason: "SeedNotStopping", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotStopping"}},
		},
		"seed does not stop, may run, and members are to be stopped first": {
			reason: "nobody waits for its node",
			o:      observe(first, beside(stopping), after(slowToStop), accept),
			want:   decided{Action: start, Reason: "Verifying", Phase: verifying},
		},
		"seed and volume are gone": {
			reason: "another one has another name",
			o:      observe(seeded(), func(s *scene) { s.Pods, s.Claims = nil, nil }),
			want:   decided{Reason: "SeedLost", Phase: seedingIs},
		},
		"seed is evicted beside members": {
			reason: "the kubelet's words say why, and how often is remembered",
			o:      observe(beside(evicted(false))),
			want:   decided{Reason: "NodeOutOfDisk", Phase: verifying, Events: []string{"NodeOutOfDisk"}},
		},
		"seed was evicted a moment ago": {
			reason: "its node still says that it has room",
			o:      observe(beside(evicted(false)), evictions(1, "c-seed"), after(evictionPause-time.Second)),
			want:   decided{Reason: "NodeOutOfDisk", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"NodeOutOfDisk"}},
		},
		"seed was evicted": {
			reason: "another node may have room",
			o:      observe(beside(evicted(false)), evictions(1, "c-seed"), after(evictionPause)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"the second one was evicted a moment ago": {
			reason: "it waits for twice as long",
			o:      observe(beside(evicted(false)), evictions(2, "c-seed"), after(2*evictionPause-time.Second)),
			want:   decided{Reason: "NodeOutOfDisk", Phase: verifying, WaitingFor: []string{"Pod c-seed"}, Events: []string{"NodeOutOfDisk"}},
		},
		"three seeds were evicted before": {
			reason: "nobody would ever see it, and nothing is lost yet",
			o:      observe(beside(evicted(false)), evictions(3, "c-before")),
			want:   decided{Reason: "NodeOutOfDisk", Phase: rolling, Events: []string{"NodeOutOfDisk"}},
		},
		"three seeds were evicted, of a new cluster": {
			reason: "nothing is lost there either",
			o:      observe(fresh, made, seeded(evicted(false)), evictions(3, "c-before")),
			want:   decided{Reason: "NodeOutOfDisk", Phase: rolling, Events: []string{"NodeOutOfDisk"}},
		},
		"its node refuses the seed": {
			reason: "that is counted as an eviction is",
			o:      observe(beside(ended)),
			want:   decided{Reason: "SeedStopped", Phase: verifying, Events: []string{"SeedStopped"}},
		},
		"four nodes have refused seeds": {
			reason: "a fifth would, too, and nothing is lost yet",
			o:      observe(beside(ended), evictions(3, "c-before")),
			want:   decided{Reason: "SeedStopped", Phase: rolling, Events: []string{"SeedStopped"}},
		},
		"four nodes have refused seeds, and one member's node is lost": {
			reason: "the others serve on, and nothing is lost by giving up",
			o:      observe(beside(ended), members("c-3"), leaving("c-3"), evictions(3, "c-before")),
			want:   decided{Reason: "SeedStopped", Phase: rolling, Events: []string{"SeedStopped"}},
		},
		"four nodes have refused seeds, and most members are being stopped": {
			reason: "only another seed ends the outage",
			o:      observe(beside(ended), members("c-3"), leaving("c-2", "c-3"), evictions(3, "c-before")),
			want:   decided{Reason: "SeedStopped", Phase: verifying, Events: []string{"SeedStopped"}},
		},
		"the seed is preempted": {
			reason: "its Pod is gone in a moment, and counts before that",
			o:      observe(beside(ended, stopping)),
			want:   decided{Reason: "SeedStopped", Phase: verifying, Events: []string{"SeedStopped"}},
		},
		"the seed was preempted": {
			reason: "it is replaced once it is gone",
			o:      observe(beside(ended, stopping), evictions(1, "c-seed")),
			want:   decided{Reason: "SeedDeleted", Phase: verifying, WaitingFor: []string{"Pod c-seed"}},
		},
		"an earlier release has made the seed": {
			reason: "its launcher does not run before the start permit, so no member would ever be stopped",
			o:      observe(proven, unlaunched(func(p *Pod) { p.Outdated = true })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"the seed has another version than the cluster is to have": {
			reason: "a mistake in spec.version was corrected before the cluster began",
			o:      observe(proven, unlaunched(func(p *Pod) { p.Version = "3.3.1" })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"the seed has started with another version": {
			reason: "it may have served, and is upgraded once it is adopted",
			o:      observe(seeded(started, func(p *Pod) { p.Version = "3.5.35" })),
			want:   decided{Reason: "SeedStarting", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}},
		},
		"an earlier release has made the seed, and nobody serves": {
			reason: "it starts by its permit, as it did there",
			o:      observe(seeded(prepared, func(p *Pod) { p.Outdated, p.Launched = true, false })),
			want:   decided{Action: PermitStart{seedRef}, Reason: "SeedStarting", Phase: seedingIs},
		},
		"seed is evicted for a limit of its own": {
			reason: "another one would be, too",
			o:      observe(beside(evicted(true))),
			want:   decided{Reason: "ScratchSpaceExceeded", Phase: rolling, Events: []string{"ScratchSpaceExceeded"}},
		},
		"seed is evicted after the members were stopped": {
			reason: "the cluster is down until a seed runs, however many it takes",
			o:      observe(seeded(evicted(true)), evictions(7, "c-before")),
			want:   decided{Reason: "ScratchSpaceExceeded", Phase: seedingIs, Events: []string{"ScratchSpaceExceeded"}},
		},
		"seed is evicted while the members are being stopped": {
			reason: "one of them is lost already, and another seed brings its data back",
			o:      observe(beside(evicted(true)), func(s *scene) { s.Pods[0].Deleting = born }),
			want:   decided{Reason: "ScratchSpaceExceeded", Phase: verifying, Events: []string{"ScratchSpaceExceeded"}},
		},
		"the seventh seed was evicted": {
			reason: "the pause grows no longer",
			o:      observe(seeded(evicted(false)), evictions(7, "c-seed"), after(4*evictionPause)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: seedingIs},
		},
		"evicted, by a clock that was ahead": {
			reason: "nobody waits for years",
			o:      observe(beside(evicted(false)), evictions(1, "c-seed"), after(-time.Hour)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: verifying},
		},
		"seed has ended": {
			reason: "it never comes back by itself",
			o:      observe(seeded(ended), evictions(1, "c-seed"), after(evictionPause)),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: seedingIs},
		},
		"seed is lost after it was offered": {
			reason: "first the offer is withdrawn: it might be adopted",
			o:      observe(seeded(ready, noPermit, stopping), offered),
			want:   decided{Action: WithdrawSeed{}, Reason: "SeedWithdrawn", Phase: seedingIs},
		},
		"seed was set up anew without its permit": {
			reason: "its disk may be empty, and then it waits for ever",
			o:      observe(seeded(noPermit, func(p *Pod) { p.Result = &task.Result{Already: true} })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: seedingIs},
		},
		"seed's data was deleted after it had served": {
			reason: "its launcher waits for a permit that it does not get a second time",
			o:      observe(seeded(noPermit, func(p *Pod) { p.Emptied = true })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: seedingIs},
		},
		"seed's permit was removed before it started": {
			reason: "it is given to no seed a second time, and no data was deleted",
			o:      observe(seeded(noPermit, func(p *Pod) { p.Unstarted = true })),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: seedingIs},
		},
		"seed restores": {
			reason: "it tells how far it is",
			o:      observe(seeded()),
			want:   decided{Reason: "Preparing", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}},
		},
		"seed starts": {
			reason: "etcd loads its database",
			o:      observe(seeded(started)),
			want:   decided{Reason: "SeedStarting", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}},
		},
		"etcd of the seed ends again and again": {
			reason: "its log says why",
			o:      observe(seeded(started, func(p *Pod) { p.Restarts = 2 })),
			want:   decided{Reason: "SeedNotReady", Phase: seedingIs, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotReady"}},
		},
		"seed is ready": {
			reason: "from here on what is lost is lost",
			o:      observe(seeded(ready)),
			want:   decided{Action: WithdrawPermit{seedRef}, Reason: "SeedReady", Phase: seedingIs},
		},
		"the seed, and certificates that were lost": {
			reason: "its Pod would be another one than etcd-operator's",
			o:      observe(named, seedClaim, withTLS("")),
			want:   decided{Reason: "CertificatesPending", Phase: seedingIs, WaitingFor: []string{"EtcdCluster c"}},
		},
		"the seed, and certificates that have gone bad": {
			reason: "the old members are gone: the seed starts as soon as they are mended",
			o:      observe(named, seedClaim, withTLS("x"), certificates("False", "CertificatesInvalid")),
			want:   decided{Action: shows(create, Credentials{CommonName: "root"}), Reason: "Preparing", Phase: seedingIs},
		},
		"hand over": {
			reason: "by name and uid",
			o:      observe(seeded(ready, noPermit)),
			want:   decided{Action: HandOff{seedRef}, Reason: "SeedHandedOver", Phase: seedingIs},
		},
		"await the adoption": {
			reason: "until then all can be taken back",
			o:      observe(seeded(ready, noPermit), offered),
			want:   decided{Reason: "SeedHandedOver", Phase: seedingIs, WaitingFor: []string{"EtcdCluster c"}},
		},

		// Onward.
		"adopted": {
			reason: "that is success",
			o:      observe(adopted),
			want:   decided{Reason: "SeedAdopted", Phase: handedOff, Events: []string{"SeedAdopted"}},
		},
		"adopted while it was given up": {
			reason: "the adoption came first",
			o:      observe(adopted, givenUp),
			want:   decided{Reason: "SeedAdopted", Phase: handedOff, Events: []string{"SeedAdopted"}},
		},
		"adopted, and deleted": {
			reason: "no data is touched",
			o:      observe(handed, deleted),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: handedOff},
		},
		"grows": {
			reason: "the old volumes are kept",
			o:      observe(handed),
			want:   decided{Reason: "Growing", Phase: handedOff, WaitingFor: []string{"EtcdCluster c"}},
		},
		"etcd-operator can't ask the seed": {
			reason: "with certificates that are not right it adopts nobody",
			o:      observe(seeded(ready, noPermit), offered, withTLS("x"), certificates("False", "CertificatesInvalid")),
			want:   decided{Reason: "CertificatesInvalid", Phase: seedingIs, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesInvalid"}},
		},
		"can't grow": {
			reason: "new members need certificates",
			o:      observe(handed, withTLS("x"), certificates("False", "CertificatesMissing")),
			want:   decided{Reason: "CertificatesMissing", Phase: handedOff, WaitingFor: []string{"EtcdCluster c"}, Events: []string{"CertificatesMissing"}},
		},
		"a learner does not count": {
			reason: "it has no vote",
			o: observe(handed, serving("a", "b", "c"), func(s *scene) {
				s.Cluster.Status.MemberDetails[2].Role = v1beta2.MemberLearner
			}),
			want: decided{Reason: "Growing", Phase: handedOff, WaitingFor: []string{"EtcdCluster c"}},
		},
		"grown": {
			reason: "nobody needs the old volumes any more",
			o:      observe(handed, serving("a", "b", "c")),
			want:   decided{Action: DeleteRetired{refs("c-1", "c-2")}, Reason: "VolumesDeleted", Phase: handedOff},
		},
		"grown, and tidy": {
			reason: "it is complete",
			o:      observe(handed, serving("a", "b", "c"), func(s *scene) { s.Claims = nil }),
			want:   decided{Reason: "RestoreComplete", Phase: completed, Events: []string{"RestoreComplete"}},
		},
		"cluster deleted after the hand-over": {
			reason: "nothing is left to do",
			o:      observe(handed, noCluster),
			want:   decided{Reason: "ClusterGone", Phase: completed, Events: []string{"ClusterGone"}},
		},

		// Backward.
		"deleted early": {
			reason: "Kubernetes deletes what it owns",
			o:      observe(verified, deleted),
			want:   decided{Reason: "Deleting", Phase: verifying},
		},
		"deleted before the acknowledgement": {
			reason: "the fence is taken back",
			o:      observe(asked, deleted),
			want:   decided{Action: WithdrawFence{}, Reason: "FenceWithdrawn", Phase: rolling},
		},
		"deleted before the request shows": {
			reason: "it may land once nobody is there to withdraw it, unless the EtcdCluster has changed by then",
			o:      observe(claimed, fencedAt, deleted),
			want:   decided{Action: WithdrawFence{}, Reason: "FenceWithdrawn", Phase: rolling},
		},
		"deleted before the request shows, and the one before was lifted": {
			reason: "that mark is overwritten as the request would overwrite it",
			o:      observe(claimed, fencedAt, annotate(v1beta2.AnnotationFence, "other"), annotate(v1beta2.AnnotationFenceLifted, "other"), deleted),
			want:   decided{Action: WithdrawFence{}, Reason: "FenceWithdrawn", Phase: rolling},
		},
		"deleted before the request shows, and another has asked": {
			reason: "the EtcdCluster has changed: the request fails",
			o:      observe(claimed, fencedAt, annotate(v1beta2.AnnotationFence, "other"), deleted),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: fencing},
		},
		"deleted before the request shows, and another has the fence": {
			reason: "the EtcdCluster has changed: the request fails",
			o:      observe(claimed, fencedAt, func(s *scene) { s.Cluster.Status.FencedBy = "other" }, deleted),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: fencing},
		},
		"deleted, and the request was withdrawn": {
			reason: "it is withdrawn once",
			o:      observe(claimed, deleted),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: fencing},
		},
		"deleted with a seed that is offered": {
			reason: "first it must not be adopted any more",
			o:      observe(seeded(ready, noPermit), offered, deleted),
			want:   decided{Action: WithdrawSeed{}, Reason: "SeedWithdrawn", Phase: rolling},
		},
		"deleted with a new cluster": {
			reason: "it was made for this restore",
			o:      observe(fenced, made, fresh, deleted),
			want:   decided{Action: DeleteCluster{"cluster-uid"}, Reason: "ClusterDeleted", Phase: rolling},
		},
		"deleted with a seed": {
			reason: "it serves nobody",
			o:      observe(seeded(ready), deleted),
			want:   decided{Action: DeleteSeed{seedRef}, Reason: "SeedDeleted", Phase: rolling},
		},
		"deleted while the seed stops": {
			reason: "it must not run beside old members",
			o:      observe(seeded(ready, stopping), deleted),
			want:   decided{Reason: "SeedDeleted", Phase: rolling, WaitingFor: []string{"Pod c-seed"}},
		},
		"deleted, and the seed's node is lost": {
			reason: "only a person can say that it does not run",
			o:      observe(seeded(ready, stopping), deleted, after(slowToStop)),
			want:   decided{Reason: "SeedNotStopping", Phase: rolling, WaitingFor: []string{"Pod c-seed"}, Events: []string{"SeedNotStopping"}},
		},
		"deleted with the seed's volume": {
			reason: "it is no member's",
			o:      observe(named, seedClaim, deleted),
			want:   decided{Action: DeleteSeedClaim{claimRef}, Reason: "SeedDeleted", Phase: rolling},
		},
		"deleted with old volumes": {
			reason: "they are given back",
			o:      observe(named, deleted),
			want:   decided{Action: ReturnClaims{refs("c-1", "c-2")}, Reason: "VolumesReturned", Phase: rolling},
		},
		"deleted, and all is back": {
			reason: "now etcd-operator may look",
			o:      observe(fenced, deleted),
			want:   decided{Action: LiftFence{}, Reason: "FenceLifted", Phase: rolling},
		},
		"deleted, and lifted": {
			reason: "etcd-operator has to see it",
			o:      observe(fenced, deleted, finish),
			want:   decided{Reason: "FenceLifted", Phase: rolling, WaitingFor: []string{"EtcdCluster c"}},
		},
		"deleted, and given back": {
			reason: "nothing is left",
			o:      observe(claimed, deleted, finish),
			want:   decided{Action: RemoveFinalizer{}, Reason: "Released", Phase: fencing},
		},
		"failed, and given back": {
			reason: "with the reason from when that began",
			o:      observe(claimed, givenUp, finish),
			want:   decided{Reason: "TimedOut", Phase: failed, Events: []string{"TimedOut"}},
		},
		"failed, and the cluster is gone": {
			reason: "nothing can be given back",
			o:      observe(fenced, givenUp, noCluster),
			want:   decided{Reason: "TimedOut", Phase: failed, Events: []string{"TimedOut"}},
		},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(row.o)
			got := decided{Action: d.Action, Reason: d.Reason, Phase: d.Status.Phase, WaitingFor: d.Status.WaitingFor}
			for _, e := range d.Events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(row.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: %s\n%s", row.reason, d.Message, diff)
			}
			for _, broken := range oracle(row.o, d) {
				t.Errorf("%s: %s", row.reason, broken)
			}
		})
	}
}
