package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file makes the API server permanently reject one verb, on one kind of object or on one object, with any
// code. It checks that the rejection holds up only what needs the effect.

// onlyWhatNeedsIt names the invariant: a rejection holds up only what needs the effect, is reported, and causes
// few requests.
const onlyWhatNeedsIt = "Rejection"

const (
	// rejectedSteps is the number of steps with a rejection after faults have stopped: about 40 minutes. Writes
	// are counted only in the last steps (quiet).
	rejectedSteps = 600
	quiet         = 10 * time.Minute
	// mostWrites limits the writes per minute in a lasting situation.
	mostWrites = 6
	// rejectedText is part of the API server's answer, so the operator's reports must contain it.
	rejectedText = "rejected for good"
)

// rejection describes what the API server rejects.
type rejection struct {
	// call is the prefix of the rejected calls, for example "patching Pod ". name is the name of the object, or
	// empty for all objects.
	call, name string
	code       int32
	// from is the step at which the rejection starts.
	from int
	// met is the time of the last rejected call, or never. event is true if an event has reported the
	// rejection.
	met   time.Duration
	event bool
	// writes lists the times of all requests of the operator that change an object, or etcd.
	writes []time.Duration
}

var (
	rejectedCalls = []string{
		"creating Pod ", "creating PVC ", "creating Secret ", "patching Pod ", "patching PVC ", "patching Secret ", "deleting *v1.Pod ",
		"deleting *v1.PersistentVolumeClaim ", "deleting *v1.PodDisruptionBudget ", "applying Service ", "applying PodDisruptionBudget ", "writing the status",
		"reading *v1.Secret ", "reading *v1.Pod ", "reading *v1.PersistentVolumeClaim ", "listing *v1.PersistentVolumeClaimList", "listing *v1.PodList",
	}
	rejectedCodes = []int32{
		http.StatusBadRequest, http.StatusForbidden, http.StatusConflict, http.StatusUnprocessableEntity, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
	}
)

// randomRejection returns a random rejection for a run.
func randomRejection(seed int64, steps int) *rejection {
	r := newRandom(uint64(seed), 29)
	x := &rejection{call: pick(&r, rejectedCalls...), code: pick(&r, rejectedCodes...), from: r.below(steps), met: never}
	if strings.HasPrefix(x.call, "applying Service") && r.chance(50) {
		x.name = pick(&r, clusterName, clusterName+"-client")
	}
	return x
}

// rejects returns the API server's error if it rejects the call, or nil.
func (w *world) rejects(call string) error {
	x := w.rejection
	if x == nil || w.step < x.from || !strings.HasPrefix(call, x.call) {
		return nil
	}
	name := strings.TrimPrefix(call, x.call)
	if x.name == "" && strings.Contains(x.call, "Pod ") && w.step%2 == 0 && w.main >= 0 && w.memberNamed(name) != nil {
		x.name = name // from now on, reject only calls for this object
	}
	if x.name != "" && x.name != name {
		return nil
	}
	x.met = w.now
	w.say("the API server answers %d to %s", x.code, call)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: x.code, Reason: reasons[x.code], Message: rejectedText, Details: &metav1.StatusDetails{},
	}}
}

// reasons maps each code to the API server's reason for it.
var reasons = map[int32]metav1.StatusReason{
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusConflict: metav1.StatusReasonConflict,
	http.StatusUnprocessableEntity: metav1.StatusReasonInvalid, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusGatewayTimeout: metav1.StatusReasonTimeout,
}

// settleRejected stops the faults, but not the rejection, and checks the result.
func (w *world) settleRejected() {
	x := w.rejection
	defer func() { w.rejection = nil }()
	w.stopFaults()
	w.settling = true
	x.from = min(x.from, w.step)
	if w.cfg.Persistent { // all members return, and every PVC is written
		w.edit(func(c *etcdCluster) { c.retain = !c.retain })
		for i, p := range w.pods {
			if p.node >= 0 && !p.finished && i%2 == 0 {
				w.finishPod(p)
			}
		}
		for _, p := range slices.Clone(w.pods) {
			if !p.finished && p.persistent {
				w.dropPod(p)
			}
		}
		w.disturbed++
		w.uncordonForRoom()
		w.publish()
	}
	for i := 0; i < rejectedSteps && w.broken == nil; i++ {
		w.advance()
		w.obeyAdvice()
		if i > rejectedSteps/3 {
			w.obey()
		}
	}
	if w.broken != nil || w.main < 0 || w.majorityLost || w.cluster.deleting {
		return
	}
	if view := w.births[w.main].view; w.intact(view) < quorum(countVoters(view)) {
		return // no cluster is left
	}
	recent := slices.DeleteFunc(slices.Clone(x.writes), func(at time.Duration) bool { return at < w.now-quiet })
	if most := mostWrites * int(quiet/time.Minute); len(recent) > most {
		w.fail(onlyWhatNeedsIt, "%s is rejected with %d: there were %d writes in %s, want at most %d", x, x.code, len(recent), quiet, most)
	}
	if wrong := w.unreached(); wrong != "" {
		d := w.operators[0].last
		w.fail(onlyWhatNeedsIt, "%s is rejected with %d: %s; the planner says %s: %s", x, x.code, wrong, d.Reason, d.Message)
	}
	if x.met != never && x.met >= w.now-2*facts.LongestPause && !w.isReported() {
		d := w.operators[0].last
		w.fail(onlyWhatNeedsIt, "%s is rejected with %d, and nothing reports it (event: %t); the planner says %s: %s", x, x.code, x.event, d.Reason, d.Message)
	}
}

func (x *rejection) String() string { return strings.TrimSpace(x.call + x.name) }

// takesTurns reports whether a Pod is unschedulable. Without a quorum, such Pods take turns of a few minutes
// each.
func (w *world) takesTurns() bool {
	return slices.ContainsFunc(w.pods, func(p *pod) bool { return p.node < 0 })
}

// isReported reports whether the status contains the API server's answer, and an event has contained it.
func (w *world) isReported() bool {
	inStatus := slices.ContainsFunc(w.cluster.status.Conditions, func(c metav1.Condition) bool { return w.rejection.isIn(c.Message) })
	return w.rejection.event && (inStatus || w.rejection.call == "writing the status")
}

// isIn reports whether a text reports the rejection. Another try of the same request might have failed for another
// reason, and that reason is reported: its deadline passed, or the cache was outdated.
func (x *rejection) isIn(text string) bool {
	return strings.Contains(text, rejectedText) || strings.Contains(text, "context deadline exceeded") ||
		(x.code == http.StatusConflict && strings.Contains(text, "observed state is stale"))
}

// holdsUp reports whether x rejects one of these calls for an object.
func (x *rejection) holdsUp(name string, calls ...string) bool {
	return slices.Contains(calls, strings.TrimSpace(x.call)) && (x.name == "" || x.name == name)
}

// unreached describes what the operator has not done although it needs no rejected effect; empty if nothing.
func (w *world) unreached() string {
	x := w.rejection
	view := w.births[w.main].view
	for _, m := range view {
		p, c := w.pod(m.Name), w.claim(m.Name)
		if p == nil && c != nil && !c.deleting && m.Started && !w.takesTurns() && !x.holdsUp(m.Name, "creating Pod", "reading *v1.PersistentVolumeClaim", "reading *v1.Pod", "listing *v1.PodList") {
			return "a member has a PVC and no Pod: " + m.Name
		}
		isServing := p != nil && p.deleting == never && !m.Learner && w.ready(p) && !x.holdsUp("", "reading *v1.Pod", "listing *v1.PodList")
		if isServing && p.role != facts.Voter && !x.holdsUp(m.Name, "patching Pod") {
			return fmt.Sprintf("a voter serves and is not behind the client Service: %s is %s", m.Name, p.role)
		}
	}
	needed := !slices.Contains([]string{"deleting *v1.PersistentVolumeClaim ", "deleting *v1.PodDisruptionBudget ", "patching PVC "}, x.call) && x.name != clusterName+"-client"
	if voters := countVoters(view); !needed && voters != w.cluster.size && !w.crowdedOut() {
		return fmt.Sprintf("there are %d voters instead of %d: %s", voters, w.cluster.size, describeMembers(view))
	}
	return ""
}

// events records whether an event reports the rejection.
type events struct{ *shipped }

func (e events) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) {
	if x := e.w.rejection; x != nil && x.isIn(fmt.Sprintf(note, args...)) {
		x.event = true
	}
}
