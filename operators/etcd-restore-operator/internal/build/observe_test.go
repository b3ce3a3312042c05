package build

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/member"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

var born = time.Date(2026, 1, 2, 3, 30, 0, 0, time.UTC)

// at is n seconds after all was made.
func at(n int) metav1.Time { return metav1.NewTime(born.Add(time.Duration(n) * time.Second)) }

func text(t *testing.T, r task.Result) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func running(name string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

func waiting(name, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func over(name string, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}}
}

// again is a container that has ended and waits to be started again.
func again(name string, code int32, message string) corev1.ContainerStatus {
	s := waiting(name, "CrashLoopBackOff", "back-off 10s restarting failed container")
	s.LastTerminationState = over(name, code, message).State
	return s
}

// Of the Job: what its Pods have reported. See package agentpod for the words.
func TestObserveJob(t *testing.T) {
	good := task.Result{Started: born, Finished: born, Snapshot: &task.Snapshot{Location: "s3://b/k", Size: 5}}
	bad := task.Result{Started: born, Finished: born, Failure: &agent.Failure{Reason: "CorruptSnapshot", Message: "m", Permanent: true}}
	complete := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: at(9)}
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "BackoffLimitExceeded", Message: "words", LastTransitionTime: at(9)}
	cases := map[string]struct {
		reason     string
		containers []corev1.ContainerStatus
		conditions []batchv1.JobCondition
		deleting   bool
		want       plan.Job
	}{
		"runs":     {reason: "as it should be", containers: []corev1.ContainerStatus{running(task.ContainerVerify)}},
		"verified": {reason: "the Pod tells before the Job does", containers: []corev1.ContainerStatus{over(task.ContainerVerify, 0, text(t, good))}, want: plan.Job{Result: &good}},
		"complete": {reason: "the Job has noticed", containers: []corev1.ContainerStatus{over(task.ContainerVerify, 0, text(t, good))}, conditions: []batchv1.JobCondition{complete}, want: plan.Job{Done: true, Result: &good}},
		"refused": {reason: "the agent's words", containers: []corev1.ContainerStatus{over(task.ContainerVerify, 2, text(t, bad))}, conditions: []batchv1.JobCondition{failed},
			want: plan.Job{Done: true, Failed: true, Result: &bad, FailReason: failed.Reason, FailMessage: "the Pod pod ended with exit code 2 and without a report: see its log"}},
		"no image": {reason: "the kubelet's words", containers: []corev1.ContainerStatus{waiting(task.ContainerVerify, "ErrImagePull", "not found")}, want: plan.Job{Waiting: "ErrImagePull: not found"}},
		"killed":   {reason: "it may have died in the middle of its report", containers: []corev1.ContainerStatus{over(task.ContainerVerify, 137, text(t, good))}},
		"deleted":  {reason: "its Pod is not waited for", containers: []corev1.ContainerStatus{waiting(task.ContainerVerify, "ErrImagePull", "not found")}, deleting: true, want: plan.Job{Deleting: true}},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			j := job(t, restore(t, "s3.restore.yaml"))
			j.UID, j.CreationTimestamp, j.Status.Conditions = "uid", at(0), tc.conditions
			if tc.deleting {
				j.DeletionTimestamp = new(at(5))
			}
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", CreationTimestamp: at(1)}}
			pod.Status.Phase = corev1.PodPending
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}}
			pod.Status.ContainerStatuses = tc.containers
			got, _ := ObserveJob(j, []corev1.Pod{pod}, &sighting.Look{Now: at(10).Time})
			want := tc.want
			want.Name, want.UID = j.Name, "uid"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A Job whose Pod stays on a lost node hangs from a moment on that the planner can wait for.
func TestObserveJobOnALostNode(t *testing.T) {
	j := job(t, restore(t, "s3.restore.yaml"))
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod", CreationTimestamp: at(1), DeletionTimestamp: new(at(40))}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	pod.Status.Phase = corev1.PodRunning
	got, _ := ObserveJob(j, []corev1.Pod{pod}, &sighting.Look{Now: at(50).Time})
	if !got.Deadline.Equal(at(160).Time) || got.HangReason != "NodeLost" || !strings.Contains(got.HangMessage, "node-1") {
		t.Errorf("the Job is %+v", got)
	}
}

func TestObserveSeed(t *testing.T) {
	done := task.Result{Started: born, Finished: born}
	already := task.Result{Started: born, Finished: born, Already: true}
	lost := task.Result{Started: born, Finished: born, Failure: &agent.Failure{Reason: "Stalled", Message: "m"}}
	cases := map[string]struct {
		reason  string
		change  func(*corev1.Pod)
		want    plan.Pod // without what all have
		waiting string   // a part of Waiting
	}{
		"unscheduled": {"the scheduler's words", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node is free"}}
		}, plan.Pod{Permit: plan.PermitToPrepare}, "no node is free"},
		"killed after its report": {"its exit code says that it has not restored", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 137, text(t, done))}
		}, plan.Pod{Permit: plan.PermitToPrepare}, ""},
		"launcher's image": {"the kubelet's words of any container", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerLauncher, "ErrImagePull", "not found"), waiting(task.ContainerRestore, "PodInitializing", "")}
		}, plan.Pod{Permit: plan.PermitToPrepare}, "ErrImagePull: not found"},
		"volume": {"the kubelet says nothing in the status", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerLauncher, "PodInitializing", "")}
		}, plan.Pod{Permit: plan.PermitToPrepare}, "the volume of PVC backups"},
		"restores": {"it is at work", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(member.ContainerLauncher, 0, ""), running(task.ContainerRestore)}
		}, plan.Pod{Permit: plan.PermitToPrepare}, ""},
		"tries again": {"what it has told last", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(member.ContainerLauncher, 0, ""), again(task.ContainerRestore, 1, text(t, lost))}
		}, plan.Pod{Permit: plan.PermitToPrepare, Result: &lost}, "CrashLoopBackOff"},
		"image": {"the node can't have etcd's image", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(member.ContainerLauncher, 0, ""), waiting(task.ContainerImage, "ErrImagePull", "no such tag")}
		}, plan.Pod{Permit: plan.PermitToPrepare}, "no such tag"},
		"prepared": {"its launcher is about to start", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Result: &done}, ""},
		"prepared, and etcd's container cannot be made": {"no member is stopped for it", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting(member.ContainerEtcd, "CreateContainerConfigError", "no such Secret")}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Result: &done}, "no such Secret"},
		"launched": {"it waits for its start permit", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(member.ContainerEtcd)}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Launched: true, Result: &done}, ""},
		"set up anew without a permit": {"nothing is restored any more", func(p *corev1.Pod) {
			delete(p.Annotations, v1beta2.AnnotationRestorePermit)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, already))}
		}, plan.Pod{Prepared: true, Result: &already}, ""},
		"restored": {"etcd starts", func(p *corev1.Pod) {
			p.Annotations[v1beta2.AnnotationRestorePermit] = string(restore(t, "pvc.restore.yaml").UID)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(member.ContainerEtcd)}
		}, plan.Pod{Permit: plan.PermitToStart, Prepared: true, Launched: true, Result: &done}, ""},
		"serves": {"its permit was withdrawn, and it is this restore's all the same", func(p *corev1.Pod) {
			delete(p.Annotations, v1beta2.AnnotationRestorePermit)
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(member.ContainerEtcd)}
			p.Status.ContainerStatuses[0].RestartCount = 2
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, plan.Pod{Ready: true, Prepared: true, Launched: true, Restarts: 2, Result: &done}, ""},
		"begun anew by its launcher": {"the launcher waited long, and left etcd its whole time", func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.Phase = corev1.PodRunning
			s := running(member.ContainerEtcd)
			s.RestartCount, s.LastTerminationState = 1, over(member.ContainerEtcd, 0, "").State
			p.Status.ContainerStatuses = []corev1.ContainerStatus{s}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Launched: true, Result: &done}, ""},
		"ended": {"it never comes back", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, plan.Pod{Permit: plan.PermitToPrepare, Ended: &agent.Failure{
			Reason: "SeedStopped", Message: "the Pod example-abcdefghij ended on node node without a reason: see its events with kubectl events --for pod/example-abcdefghij",
		}}, ""},
		"refused": {"its node has less room than the scheduler thought", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "OutOfcpu", "Node didn't have enough resource: cpu, requested: 100, used: 1950, capacity: 2000"
		}, plan.Pod{Permit: plan.PermitToPrepare, Ended: &agent.Failure{
			Reason: "SeedStopped", Message: "the Pod example-abcdefghij was stopped on node node: OutOfcpu: Node didn't have enough resource: cpu, requested: 100, used: 1950, capacity: 2000; make room on that node, or change spec.pod of EtcdCluster example",
		}}, ""},
		"shut down": {"its node was switched off in good order", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Terminated", "Pod was terminated in response to imminent node shutdown."
		}, plan.Pod{Permit: plan.PermitToPrepare, Ended: &agent.Failure{
			Reason: "SeedStopped", Message: "the Pod example-abcdefghij was stopped on node node: Terminated: Pod was terminated in response to imminent node shutdown; make room on that node, or change spec.pod of EtcdCluster example",
		}}, ""},
		"preempted": {"it is deleted already, for another Pod", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(60)), new(int64(30))
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", Message: "default-scheduler: preempting to accommodate a higher priority pod"}}
		}, plan.Pod{Permit: plan.PermitToPrepare, Deleting: at(30).Time, Ended: &agent.Failure{
			Reason: "SeedStopped", Message: "the Pod example-abcdefghij was preempted by a Pod of higher priority: set spec.pod.priorityClassName in EtcdCluster example (default-scheduler: preempting to accommodate a higher priority pod)",
		}}, ""},
		"of an earlier release": {"its last init container waits for the start permit", func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "await"})
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done)), running("await")}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Result: &done, Outdated: true}, ""},
		"evicted": {"the kubelet's words, and the field to raise", func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: ephemeral-storage. "
		}, plan.Pod{Permit: plan.PermitToPrepare, Ended: &agent.Failure{
			Reason: "NodeOutOfDisk", Message: "the Pod example-abcdefghij was evicted, since its node node ran short of disk space: raise spec.pod.resources.requests.ephemeral-storage in EtcdCluster example (The node was low on resource: ephemeral-storage.)",
		}}, ""},
		"deleted": {"since when, not until when", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(60)), new(int64(30))
		}, plan.Pod{Permit: plan.PermitToPrepare, Deleting: at(30).Time}, ""},
		"stopped": {"its node says that nothing of it runs", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(60)), new(int64(30))
			p.Status.Phase = corev1.PodFailed
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{over(member.ContainerEtcd, 137, "")}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Result: &done, Deleting: at(30).Time, Stopped: true}, ""},
		"declared to have failed": {"the control plane has not heard of its node, where etcd may run", func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = new(at(60)), new(int64(30))
			p.Status.Phase = corev1.PodFailed
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{over(task.ContainerRestore, 0, text(t, done))}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{running(member.ContainerEtcd)}
		}, plan.Pod{Permit: plan.PermitToPrepare, Prepared: true, Launched: true, Result: &done, Deleting: at(30).Time}, ""},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			r := restore(t, "pvc.restore.yaml")
			p := seed(t, r, cluster(t, "pvc.restore.yaml"))
			p.UID, p.CreationTimestamp, p.Spec.NodeName = "uid", at(0), "node"
			p.Status.Phase = corev1.PodPending
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: at(1)}}
			tc.change(p)
			got, _ := ObservePod(r, p, &sighting.Look{Now: at(20).Time})
			if (got.Waiting == "") != (tc.waiting == "") || !strings.Contains(got.Waiting, tc.waiting) {
				t.Errorf("Waiting is %q, want something with %q: %s", got.Waiting, tc.waiting, tc.reason)
			}
			want := tc.want
			want.Name, want.UID, want.Version, want.Node, want.Seed, want.Waiting = p.Name, "uid", "3.6.16", "node", true, got.Waiting
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A seed is known by the uid of its restore: one of an earlier restore of the same name
// is a member like others.
func TestSeedIsThatOfTheUID(t *testing.T) {
	r := restore(t, "s3.restore.yaml")
	c := cluster(t, "s3.restore.yaml")
	p := seed(t, r, c)
	later := r.DeepCopy()
	later.UID = "another"
	if seen, _ := ObservePod(later, p, &sighting.Look{Now: born}); seen.Seed || seen.Permit != plan.PermitNone {
		t.Errorf("the seed of an earlier restore is seen as %+v", seen)
	}
	other, err := member.NewPod(c, member.Options{Name: "x", Version: "3.6.16", LauncherImage: image, Role: v1beta2.RoleVoter})
	if err != nil {
		t.Fatal(err)
	}
	if seen, _ := ObservePod(r, other, &sighting.Look{Now: born}); seen.Seed {
		t.Error("a member is taken for a seed")
	}
}

// An agent is asked for its progress only while it runs and has an address.
func TestWorks(t *testing.T) {
	cases := map[string]struct {
		status corev1.PodStatus
		want   bool
	}{
		"verifies":   {corev1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{running(task.ContainerVerify)}}, true},
		"restores":   {corev1.PodStatus{PodIP: "10.0.0.1", InitContainerStatuses: []corev1.ContainerStatus{running(task.ContainerRestore)}}, true},
		"no address": {corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{running(task.ContainerRestore)}}, false},
		"is over":    {corev1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{over(task.ContainerVerify, 0, "")}}, false},
		"etcd":       {corev1.PodStatus{PodIP: "10.0.0.1", ContainerStatuses: []corev1.ContainerStatus{running(member.ContainerEtcd)}}, false},
	}
	for label, tc := range cases {
		if got := Works(&corev1.Pod{Status: tc.status}); got != tc.want {
			t.Errorf("%s: %t, want %t", label, got, tc.want)
		}
	}
}
