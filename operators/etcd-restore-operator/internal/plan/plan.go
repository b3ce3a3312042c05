package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// How soon to look again. What Kubernetes changes is reported by watches, so most of
// this is a fallback.
const (
	// next is after an action or a record: a watch shows it sooner.
	next = 250 * time.Millisecond
	// fetching is while a snapshot is fetched: only the agent itself tells how far it is.
	fetching = 2 * time.Second
	// launching is while a launcher starts, which nothing reports but the launcher itself.
	launching = time.Second
	// learning is while an API server might not know of a new permission yet.
	learning = 5 * time.Second
	// retry is after the API server has refused an action: a quota might have room by then.
	retry = 30 * time.Second
	// idle is the slow fallback of a restore that waits.
	idle = time.Minute
)

// step is what a rule says: an action, something to record, or a wait.
type step struct {
	phase           v1beta2.RestorePhase
	action          Action
	reason, message string
	// record changes the status; nil if there is nothing to remember.
	record func(*v1beta2.RestoreStatus)
	// waitingFor names what is waited for.
	waitingFor []string
	// requeueAfter is after how long to look again.
	requeueAfter time.Duration
	// progress is true while an agent fetches, revision when members are to be asked for
	// theirs first.
	progress, revision bool
	// warn is true for a state that users should know of, tell for one that is news.
	warn, tell bool
	// quiet leaves the status as it is.
	quiet bool
}

// do is the step that carries out an action.
func do(phase v1beta2.RestorePhase, a Action, reason, message string) *step {
	return &step{phase: phase, action: a, reason: reason, message: message, requeueAfter: next}
}

// record is the step that writes down what must be known before an effect.
func record(phase v1beta2.RestorePhase, reason, message string, f func(*v1beta2.RestoreStatus)) *step {
	return &step{phase: phase, reason: reason, message: message, record: f, requeueAfter: next}
}

// wait is a state that lasts until something changes.
func wait(phase v1beta2.RestorePhase, reason, message string, waitingFor ...string) *step {
	return &step{phase: phase, reason: reason, message: message, waitingFor: waitingFor, requeueAfter: idle}
}

// warn is such a state that users should know of.
func warn(phase v1beta2.RestorePhase, reason, message string, waitingFor ...string) *step {
	s := wait(phase, reason, message, waitingFor...)
	s.warn = true
	return s
}

// quietly leaves the status as it is.
func (s *step) quietly() *step {
	s.quiet = true
	return s
}

// news has an event of its own.
func (s *step) news() *step {
	s.tell = true
	return s
}

// rule returns the step that it asks for, or nil if the next rule is to be tried.
type rule func(*view) *step

// A restore follows one of six runbooks: these five, or that of verifyonly.go. In each, the
// first rule that has something to say decides: order is behaviour.
var (
	// forward leads from the snapshot to the hand-over. The seed is ready to start before a
	// member is stopped.
	forward = []rule{
		// Is there anything to do at all?
		refuse,
		timeOut,
		checkCreator,
		findCluster,
		findTemplate,
		findSource,
		pinNewest,

		// Nothing is done before the cluster is ours.
		takeTurn,
		awaitConsent,
		addFinalizer,
		createCluster,
		recordCluster,
		askFence,
		awaitFence,
		inDoubt,
		awaitCertificates,
		awaitVersion,

		// One seed, prepared while the old members serve,
		seedEnded,
		dropSeed,
		recordSeed,
		createSeedClaim,
		createSeed,
		seedFailed,
		awaitPrepared,
		recordPrepared,
		checkPrepared,
		awaitLauncher,
		checkReached,
		awaitConsent,

		// which are stopped when it is known to be good. Nobody else may serve clients.
		stopPods,
		retireClaims,
		awaitPods,

		// It starts, until it is adopted.
		permitStart,
		awaitSeed,
		withdrawPermit,
		handOff,
		awaitAdoption,
	}

	// stopFirst leads there for nodes, or a quota, that cannot hold the seed beside the
	// members: these are stopped when a Job has checked the snapshot.
	stopFirst = []rule{
		refuse,
		timeOut,
		findCluster,
		findTemplate,
		findSource,
		pinNewest,

		// Nothing is touched before the snapshot is known to be good,
		makeWay,
		startJob,
		awaitJob,
		recordSnapshot,
		checkSnapshot,

		// and nothing before the cluster is ours.
		takeTurn,
		awaitConsent,
		addFinalizer,
		recordCluster,
		askFence,
		awaitFence,
		inDoubt,
		awaitCertificates,
		awaitConsent,

		// Nobody else may serve clients, or has seen where the cluster begins.
		recordReached,
		stopPods,
		retireClaims,
		awaitPods,
		awaitVersion,

		// One seed, until it is adopted.
		seedEnded,
		dropSeed,
		recordSeed,
		createSeedClaim,
		createSeed,
		seedFailed,
		awaitPrepared,
		recordPrepared,
		permitStart,
		awaitSeed,
		withdrawPermit,
		handOff,
		awaitAdoption,
	}

	// backward rolls back what was done, the last first.
	backward = []rule{
		dismissUntouched,
		withdrawFence,
		returnInDoubt,
		withdrawSeed,
		deleteCluster,
		deleteSeed,
		deleteSeedClaim,
		returnClaims,
		liftFence,
		awaitLift,
		rolledBack,
	}

	// onward follows a cluster that was handed over, until it has its size.
	onward = []rule{
		release,
		recordAdoption,
		clusterGone,
		awaitMembers,
		deleteRetired,
		complete,
	}

	// over is when nothing is left to do.
	over = []rule{
		handledByLegacyOperator,
		stopJob,
		removeFinalizer,
		rest,
	}
)

// Plan decides the next step for one EtcdRestore. It never panics, whatever the
// Observation, and it returns the same Decision for the same Observation.
func Plan(o Observation) Decision {
	v := newView(o)
	for _, r := range v.runbook() {
		if s := r(v); s != nil {
			return v.decide(s)
		}
	}
	return v.decide(rest(v)) // not reached: the last of each runbook always answers
}

func (v *view) runbook() []rule {
	switch {
	case v.hasEnded():
		return over
	case v.spec.VerifyOnly:
		return verifying
	case v.adopted:
		return onward
	case v.deleted || v.last.Phase == v1beta2.RestoreRollingBack:
		return backward
	case v.stopsFirst():
		return stopFirst
	}
	return forward
}

func (v *view) decide(s *step) Decision {
	if s.action != nil && v.Refused != "" {
		// Nothing was done: the same is tried again later.
		refused := warn(s.phase, v1beta2.RestoreReasonRefused, fmt.Sprintf("cannot create %s, retried every %s: %s%s", v.created(s.action), retry, conditiontext.Clip(v.Refused), v.offerFirst(s.action)))
		refused.requeueAfter, refused.quiet, refused.waitingFor = retry, s.quiet, s.waitingFor
		s = refused
	}
	return Decision{
		Action:       s.action,
		Reason:       s.reason,
		Message:      s.message,
		Events:       v.events(s),
		RequeueAfter: v.requeueAfter(s),
		AskProgress:  s.progress,
		AskRevision:  s.revision,
		Status:       v.status(s),
	}
}

// created is the object that an action creates; the API server refuses no other.
func (v *view) created(a Action) string {
	switch a := a.(type) {
	case StartJob:
		return "Job " + a.Name
	case CreateCluster:
		return "EtcdCluster " + v.name
	case CreateSeedClaim:
		return "PVC " + a.Name
	case CreateSeed:
		return "Pod " + a.Name
	default:
		return "objects"
	}
}

// requeueAfter is the time until something may be different without a watch.
func (v *view) requeueAfter(s *step) time.Duration {
	after := s.requeueAfter
	if s.progress {
		after = min(after, fetching)
	}
	if left := v.wake.Sub(v.Now); !v.wake.IsZero() && left > 0 && after > 0 {
		after = min(after, max(left, time.Millisecond))
	}
	return after
}

// events are what the status newly tells. A step with an action has the event of that.
func (v *view) events(s *step) []Event {
	if s.action != nil || s.quiet || (!s.tell && !s.warn) || v.told(s) {
		return nil
	}
	return []Event{{Warning: s.warn, Reason: s.reason, Message: s.message}}
}

// told is true when the last status says the same: whether it is news is all that follows.
func (v *view) told(s *step) bool {
	for _, c := range v.last.Conditions {
		if c.Reason == s.reason && c.Message == plaintext.Line(s.message) {
			return true
		}
	}
	return false
}
