package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/simulated"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// This file is a restore's seed as the shipped code makes it: its agent, simulated at what comes
// of it, and what its Pod tells.

// errUnreachable is what is heard of an address at which nothing listens.
var errUnreachable = errors.New("connection refused")

// agentTask is what the agent of a seed is told; nil in a Pod that has none.
func (p *pod) agentTask() *simulated.Task {
	if p.snapshot == "" || p.object == nil {
		return nil
	}
	return simulated.TaskOf(p.object)
}

// prepareSeed is the seed's agent, which makes a data dir beside the data dir. It reports whether
// the other containers may start.
func (w *world) prepareSeed(r *run) bool {
	if r.initialised {
		return true
	}
	p := w.pod(r.name)
	if p == nil || p.uid != r.uid {
		return false
	}
	t := p.agentTask()
	if t == nil || r.fetching == 0 && !w.calm {
		r.fetching, r.due = 1, w.now+w.delay(20*time.Second)
		return t == nil
	}
	result := simulated.Result{Started: epoch.Add(w.now), Finished: epoch.Add(w.now)}
	switch d := r.disk; {
	case d.restored || r.restorePermit == "":
		result.Already = true
	case d.prepared == nil:
		if f := w.agentFails(); f != nil {
			result.Failure = f
			break
		}
		w.prepareData(r, t)
		fallthrough
	default:
		result.Snapshot = w.snapshotOf(p.snapshot)
		result.Revision = w.births[d.prepared.birth].revision
	}
	r.agent, r.fetching = simulated.Message(result), 0
	if result.Failure != nil {
		w.say("the agent of seed %s fails: %s", r.name, result.Failure.Message)
		r.tries++
		r.state, r.due = crashed, w.now+min(longestBackoff, 10*time.Second<<min(r.tries, 3))
		return false
	}
	w.say("the agent of seed %s is done: %s", r.name, r.agent)
	r.initialised = true
	return true
}

// agentFails is why an agent does not get its snapshot; nil if it does.
func (w *world) agentFails() *agent.Failure {
	switch {
	case w.calm || w.settling || !w.random.chance(15):
		return nil
	case w.random.chance(20):
		return &agent.Failure{Reason: v1beta2.ReasonCorruptSnapshot, Message: "the snapshot is corrupt", Permanent: true}
	}
	return &agent.Failure{Reason: v1beta2.RestoreReasonSnapshotNotFound, Message: "the store does not answer"}
}

// snapshotOf is what an agent tells of a restore's snapshot.
func (w *world) snapshotOf(uid string) *simulated.Snapshot {
	i := slices.IndexFunc(w.restores, func(r *restore) bool { return r.uid == uid })
	return &simulated.Snapshot{
		Location: "s3://bucket/snapshot", Size: 1 << 20, SHA256: strings.Repeat("a", 64), DatabaseSize: 1 << 20, Revision: 1000, OldestRevision: 1, TotalKeys: 10,
		EtcdVersion: fmt.Sprintf("3.%d", w.restores[i].snapshotVersion),
	}
}

// prepareData makes the data dir of a new cluster with one member.
func (w *world) prepareData(r *run, t *simulated.Task) {
	w.serial++
	b := birth{member: r.name, uid: r.uid, token: t.Member.Token, cluster: hash(r.name, r.snapshot, fmt.Sprint(w.serial), "cluster"), restored: true, minor: minorOf(r.version)}
	b.revision = max(t.Member.Revision, w.snapshotOf(r.snapshot).Revision+t.Member.Bump)
	if w.main >= 0 && w.births[w.main].authAt > 0 {
		b.authAt = 1 // the snapshot has it
	}
	w.births = append(w.births, b)
	id := hash(r.name, r.snapshot, fmt.Sprint(w.serial))
	d := &data{birth: len(w.births) - 1, cluster: b.cluster, id: id, name: r.name}
	d.log = []entry{w.entry(entry{kind: addVoter, id: id, name: r.name, term: 1}, nil)}
	d.term, d.committed, d.told, d.stored = 1, 1, b.minor, b.minor
	r.disk.prepared = d
}

func (h *host) IsRestorePermitted() (bool, error) {
	h.pause()
	return h.r.restorePermit != "" && h.r.restorePermit == h.r.snapshot, nil
}

func (h *host) CheckPrepared() error {
	if h.r.disk.prepared == nil {
		return errNothingPrepared
	}
	return nil
}

func (h *host) Publish() error {
	h.pause()
	d := h.r.disk
	if d.prepared == nil {
		return errNothingPrepared
	}
	d.data, d.prepared, d.restored = d.prepared, nil, true
	h.w.say("%s makes the data dir of what was prepared", h.r.name)
	h.w.checkHistory(d.data)
	h.w.apply(h.r)
	return nil
}

func (*host) FinishPublishing() error { return nil }

var errNothingPrepared = errors.New("nothing is prepared")

// showSeed turns the status of a Pod into that of a restore's seed.
func showSeed(o *corev1.Pod, p *pod) {
	if p.agentTask() == nil || p.node < 0 {
		return
	}
	done := corev1.ContainerStateTerminated{Reason: "Completed"}
	image := corev1.ContainerStatus{Name: simulated.ContainerImage, State: corev1.ContainerState{Terminated: &done}}
	restore := corev1.ContainerStatus{Name: simulated.ContainerRestore, RestartCount: int32(p.tries)}
	if p.prepared {
		restore.State.Terminated = &corev1.ContainerStateTerminated{Reason: "Completed", Message: p.agent}
	} else {
		etcd := &o.Status.ContainerStatuses[0]
		restore.State.Running = &corev1.ContainerStateRunning{StartedAt: timeAt(p.created)}
		switch {
		case p.trouble != "" && p.tries == 0:
			image, restore.State = corev1.ContainerStatus{Name: image.Name, State: etcd.State}, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		case p.trouble != "":
			restore.State = etcd.State
		}
		if p.tries > 0 {
			restore.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: p.agent}
		}
		etcd.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		o.Status.Phase = corev1.PodPending
	}
	o.Status.InitContainerStatuses = []corev1.ContainerStatus{image, restore}
}

// RoundTrip is what etcd-restore-operator asks in Pods: a seed's launcher, which it does in its
// turn, and members for their revision, which it does all at once and so while nothing happens.
func (s *restorer) RoundTrip(q *http.Request) (answer *http.Response, err error) {
	ip, _, err := net.SplitHostPort(q.URL.Host)
	if err != nil {
		return nil, err
	}
	tell := func(code int, body []byte) {
		answer = &http.Response{StatusCode: code, Body: io.NopCloser(bytes.NewReader(body)), Request: q}
	}
	switch q.URL.Path {
	case launcher.StatePath:
		err = s.call(q.Context(), "asking the launcher at "+ip, false, func() error {
			switch r := s.w.runAtIP(ip); {
			case r == nil || r.state == waiting && r.said.State == "" || r.state != waiting && r.etcd == nil:
				return errUnreachable
			case r.state != waiting:
				tell(http.StatusNotFound, nil)
			default:
				said, err := json.Marshal(r.said)
				if err != nil {
					return err
				}
				tell(http.StatusOK, said)
			}
			return nil
		})
		if err != nil {
			return nil, err // the reply may be lost
		}
		return answer, nil
	case "/metrics":
		if r := s.w.runAtIP(ip); r != nil && r.etcd != nil && r.etcd.serves {
			tell(http.StatusOK, fmt.Appendf(nil, "etcd_debugging_mvcc_current_revision %d\n", s.w.revisionOf(r)))
			return answer, nil
		}
	}
	return nil, errUnreachable
}

// runAtIP is what runs at an address; nil if nothing is heard there.
func (w *world) runAtIP(ip string) *run {
	for _, r := range w.runs {
		if r.address != never && w.now >= r.address && address(r.uid) == ip && w.nodeRuns(r.node) && w.step >= w.nodes[r.node].cut {
			return r
		}
	}
	return nil
}

// revisionOf is the revision that a member has come to.
func (w *world) revisionOf(r *run) int64 {
	d := r.disk.data
	if d.applied == 0 {
		return 1
	}
	return w.births[d.birth].revision + int64(d.log[d.applied-1].index)
}
