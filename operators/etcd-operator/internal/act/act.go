// Package act carries out one plan.Action, idempotently.
//
// Every effect carries its precondition, so that repetition is harmless and so is a
// second operator (S11): the EtcdCluster is read live immediately before each effect (it
// must not be fenced either, S12), Pods and claims are touched by uid, a member change is
// made only while etcd's own linearizable member list is still the one that it was
// decided on, and Pods are created only while a live list of them is. The list of the
// preconditions is in preconditions.go. If one does not hold, nothing is done, the error is ErrStale, and the cluster is to be
// observed again.
//
// A crash at any line is safe: each action leaves either nothing or a state that
// the next Observation shows.
package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// ErrStale means that the world is not any more as it was observed. Nothing was
// done.
var ErrStale = errors.New("observed state is stale")

// errUnread means that the EtcdCluster could not be read: nothing can be done about any object.
var errUnread = errors.New("read EtcdCluster")

// errNoted means that the object contains the reason of a failure. The next Observation reads the reason there.
var errNoted = errors.New("noted on the object")

// ErrNameTaken means that a volume of a new member's name exists and can't be used: it is
// someone else's, or being deleted, or a restore has retired it. Another name is to be tried.
var ErrNameTaken = errors.New("the name is taken")

// deadline bounds one action. Membership changes take a round of raft; an API
// server that takes longer is down.
const deadline = 10 * time.Second

// Actor carries actions out.
type Actor struct {
	// Client writes.
	Client client.Client
	// Live reads from the API server, not from a cache.
	Live client.Reader
	// Etcd changes memberships.
	Etcd Etcd
	// Comparisons compares members' data.
	Comparisons Comparisons
	// LauncherImage is the image of the init container that installs the launcher.
	LauncherImage string
}

// Act carries out one action of the decision that was made on obs for c. Report carries out the actions that
// only record something in the status (plan.Records), and fails if the EtcdCluster has changed at all.
//
// Act returns a RejectedError if a request fails at the API server. It annotates a PVC that must not be
// expanded, instead of returning an error.
func (a *Actor) Act(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, decided action.Action) error {
	err := a.act(ctx, c, obs, decided)
	if errors.As(err, new(*RejectedError)) || errors.Is(err, errNoted) || !isRejection(err) {
		return err
	}
	return rejected(c, action.Effects(decided)[0], err)
}

func (a *Actor) act(ctx context.Context, c *v1beta2.EtcdCluster, obs *facts.Observation, decided action.Action) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if !action.IsOfFence(decided) {
		if err := a.unchanged(ctx, c, BeforeAction); err != nil {
			return err
		}
	}
	switch x := decided.(type) {
	case action.AcknowledgeFence, action.LiftFence:
		return nil
	case action.AdoptSeed:
		return a.canAdoptSeed(ctx, c, x)
	case action.RecordBootstrap:
		return a.noOtherClaims(ctx, c, x)
	case action.LatchClusterID, action.RecordVersion, action.BeginDefragment, action.AnswerLeaderRequest, action.EndRecovery, action.RecordConsistency:
		return nil
	case action.CompareData:
		a.compareData(ctx, c, obs, x)
		return nil
	case action.Compact:
		return a.compact(ctx, c, obs, x)
	case action.DisarmAlarm:
		return a.disarmAlarm(ctx, c, obs, x)
	case action.Defragment:
		return a.defragment(ctx, c, obs, x)
	case action.RecordSurvivor:
		return a.sameHolders(ctx, c, obs)
	case action.AdoptSurvivor:
		return a.canAdoptSurvivor(ctx, c, obs, x)
	case action.RevokeSurvivorPermit:
		return a.revokeSurvivorPermit(ctx, c, x)
	case action.DropSeed:
		return a.dropSeed(ctx, c, x)
	case action.CreatePods:
		return a.createPods(ctx, c, obs, x)
	case action.SetRoles:
		return a.setRoles(ctx, c, obs, x)
	case action.GrantStartPermit:
		return a.grantStartPermit(ctx, c, x)
	case action.RevokeStartPermits:
		return a.revokeStartPermits(ctx, c, x)
	case action.AddLearner:
		return a.addLearner(ctx, c, obs, x)
	case action.Promote:
		return a.promote(ctx, c, obs, x)
	case action.RemoveMember:
		return a.removeMember(ctx, c, obs, x)
	case action.TransferLeadership:
		return a.transferLeadership(ctx, c, obs, x)
	case action.EnableDowngrade:
		return a.enableDowngrade(ctx, c, obs, x)
	case action.CancelDowngrade:
		return a.cancelDowngrade(ctx, c, obs)
	case action.AdvanceLog:
		return a.advanceLog(ctx, c, obs, x)
	case action.ChangeImage:
		return a.changeImage(ctx, c, obs, x)
	case action.RecreatePod:
		return a.recreatePod(ctx, c, obs, x)
	case action.DeletePod:
		return a.deletePod(ctx, c, obs, x)
	case action.DeleteClaim:
		return a.deleteClaim(ctx, c, obs, x)
	case action.GrowClaim:
		return a.growClaim(ctx, c, obs, x)
	case action.KeepClaims:
		return a.keepClaims(ctx, c, x)
	case action.TakeClaims:
		return a.takeClaims(ctx, c, x)
	}
	return fmt.Errorf("action %s is not known", action.KindOf(decided))
}

// unchanged reads the EtcdCluster live, right before what, and compares what decisions
// rest on.
func (a *Actor) unchanged(ctx context.Context, c *v1beta2.EtcdCluster, before Precondition) error {
	var live v1beta2.EtcdCluster
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), &live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	if what := difference(&live, c); refuses(before, what != "") {
		return fmt.Errorf("%w: the EtcdCluster %s", ErrStale, what)
	}
	return nil
}

// difference is what has become of an EtcdCluster; empty if nothing that decisions rest on.
// No effect is decided on while a fence stands, so one that stands now is new.
func difference(live, c *v1beta2.EtcdCluster) string {
	f := observe.Fence(live)
	switch {
	case refuses(SameCluster, live.UID != c.UID): // one that is gone has none
		return "no longer exists"
	case refuses(SameSpec, live.Generation != c.Generation || live.DeletionTimestamp.IsZero() != c.DeletionTimestamp.IsZero()),
		refuses(SameClusterID, live.Status.ClusterID != c.Status.ClusterID),
		refuses(SameBootstrap, bootstrapOf(live) != bootstrapOf(c)),
		refuses(SameRecovery, !equality.Semantic.DeepEqual(live.Status.Recovery, c.Status.Recovery)),
		refuses(SameVersions, live.Status.CurrentVersion != c.Status.CurrentVersion || live.Status.TargetVersion != c.Status.TargetVersion):
		return "has changed"
	case refuses(NotFenced, f.Stands()):
		return "is fenced"
	}
	return ""
}

func bootstrapOf(c *v1beta2.EtcdCluster) v1beta2.BootstrapStatus {
	if c.Status.Bootstrap == nil {
		return v1beta2.BootstrapStatus{}
	}
	return *c.Status.Bootstrap
}

// staleIf turns an error that shows a failed precondition into ErrStale.
func staleIf(p Precondition, failed func(error) bool, err error, what string) error {
	if err != nil && refuses(p, failed(err)) {
		return fmt.Errorf("%w: %s: %w", ErrStale, what, err)
	}
	return wrap(err, what)
}

// deleteIf deletes an object if it still has that uid and, unless it is empty, that
// resource version.
func (a *Actor) deleteIf(ctx context.Context, p Precondition, o client.Object, uid types.UID, version, what string) error {
	var as client.Preconditions
	if demands(p) {
		as.UID = &uid
		if version != "" {
			as.ResourceVersion = &version
		}
	}
	err := a.Client.Delete(ctx, o, as)
	if apierrors.IsNotFound(err) {
		p = StillThere
	}
	return staleIf(p, goneOrOther, err, what)
}

func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
