package act_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// quota lets no more of a resource be created.
func (b *bench) quota(name corev1.ResourceName) *corev1.ResourceQuota {
	b.t.Helper()
	none := corev1.ResourceList{name: resource.MustParse("0")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: b.cluster.Namespace}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	apiservertest.Create(b.t, b.client, q)
	q.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none} // nobody else counts here
	apiservertest.SetStatus(b.t, b.client, q)
	return q
}

// rejections are what an error says that the API server has refused.
func rejections(t *testing.T, err error) []facts.Rejection {
	t.Helper()
	var refused *act.RejectedError
	if !errors.As(err, &refused) {
		t.Fatalf("the error is %v, want a refusal", err)
	}
	return refused.Rejections
}

// What the API server refuses is told by the effect, in words that name nothing that never
// existed; the volume that was made before is used by the next try.
func TestAPodThatIsRefused(t *testing.T) {
	b := newBench(t, withVolumes)
	q := b.quota(corev1.ResourcePods)
	pods := creating(action.NewPod{Name: "x-a", Role: facts.Joiner, Version: "3.6.16"}, action.NewPod{Name: "x-b", Role: facts.Joiner, Version: "3.6.16"})
	err := b.act(b.observe(), pods)
	got := rejections(t, err)
	if len(got) != 1 || got[0].Kind != "CreatePods" || got[0].Role != facts.Joiner || got[0].Name != "x-a" || got[0].Volume || got[0].Generation != b.cluster.Generation {
		t.Errorf("%+v were refused, want the Pod of x-a", got)
	}
	if !strings.Contains(got[0].Words, "exceeded quota: q") || strings.Contains(got[0].Words, "x-a") {
		t.Errorf("the words are %q", got[0].Words)
	}
	if !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") || b.exists(&corev1.PersistentVolumeClaim{}, "x-b") {
		t.Error("there is no volume x-a, or there is x-b: one is enough to be refused by")
	}
	apiservertest.Delete(t, b.client, q)
	if err := b.act(b.observe(), pods); err != nil {
		t.Errorf("the next try, with the volume that there is: %v", err)
	}
}

// Each member that returns is tried, whatever becomes of the others.
func TestPodsThatReturnAreAllTried(t *testing.T) {
	b := newBench(t, withVolumes)
	for _, name := range []string{"x-a", "x-b"} {
		apiservertest.Create(t, b.client, member.NewClaim(b.cluster, name))
	}
	b.quota(corev1.ResourcePods)
	got := rejections(t, b.act(b.observe(), creating(
		action.NewPod{Name: "x-a", Role: facts.Returning, Version: "3.6.16"}, action.NewPod{Name: "x-b", Role: facts.Returning, Version: "3.6.16"})))
	if len(got) != 2 || got[0].Name != "x-a" || got[1].Name != "x-b" {
		t.Errorf("%+v were refused, want x-a and x-b", got)
	}
}

// failing is a client whose Pods of these names are not created, but for other reasons.
type failing struct {
	client.Client
	by map[string]error
}

func (f failing) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if err := f.by[o.GetName()]; err != nil {
		return err
	}
	return f.Client.Create(ctx, o, opts...)
}

// If one member cannot return, the others still do. The error is uncertain if the member's Pod might still be
// created (S12).
func TestWhatKeepsAMemberFromReturning(t *testing.T) {
	pods := corev1.Resource("pods")
	rejected, taken := apierrors.NewForbidden(pods, "x", errors.New("exceeded quota")), apierrors.NewAlreadyExists(pods, "x")
	unanswered := errors.New("connection reset by peer")
	isRejected := func(err error) bool {
		e, is := errors.AsType[*act.RejectedError](err)
		return is && !e.Uncertain
	}
	isUncertain := func(err error) bool {
		e, is := errors.AsType[*act.RejectedError](err)
		return is && e.Uncertain
	}
	for name, row := range map[string]struct {
		reason  string
		by      map[string]error
		told    func(error) bool
		created bool
	}{
		"its name is taken": {
			"an earlier EtcdCluster's Pod is on a node that is cut off, perhaps for ever",
			map[string]error{"x-a": taken}, func(err error) bool { return errors.Is(err, act.ErrStale) && !isRejected(err) }, true,
		},
		"one is refused, and the name of another is taken": {
			"what was refused is remembered; the other is found again",
			map[string]error{"x-a": rejected, "x-b": taken}, isRejected, true,
		},
		"the name of one is taken, and another is refused": {
			"as above", map[string]error{"x-a": taken, "x-b": rejected}, isRejected, true,
		},
		"one is rejected, and the call for another is not answered": {
			"the second Pod might still be created: no fence is acknowledged until then",
			map[string]error{"x-a": rejected, "x-b": unanswered}, isUncertain, true,
		},
		"one is answered with an internal error": {
			"a webhook's patch does not apply, possibly forever; the Pod might exist",
			map[string]error{"x-a": apierrors.NewInternalError(errors.New("jsonpatch add operation does not apply"))}, isUncertain, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withVolumes)
			var returning []action.NewPod
			for _, name := range []string{"x-a", "x-b", "x-c"} {
				apiservertest.Create(t, b.client, member.NewClaim(b.cluster, name))
				returning = append(returning, action.NewPod{Name: name, Role: facts.Returning})
			}
			b.actor.Client = failing{b.client, row.by}
			if err := b.act(b.observe(), creating(returning...)); !row.told(err) {
				t.Errorf("%s: the error is %v", row.reason, err)
			}
			if got := b.exists(&corev1.Pod{}, "x-c"); got != row.created {
				t.Errorf("%s: x-c was created: %t, want %t", row.reason, got, row.created)
			}
		})
	}
}

func TestAVolumeThatIsRefused(t *testing.T) {
	b := newBench(t, withVolumes)
	b.quota(corev1.ResourcePersistentVolumeClaims)
	got := rejections(t, b.act(b.observe(), creating(action.NewPod{Name: "x-a", Role: facts.Joiner, Version: "3.6.16"})))
	if len(got) != 1 || !got[0].Volume {
		t.Errorf("%+v were refused, want a volume", got)
	}
}

// A volume that a restore has retired, or that is being deleted, is no new member's.
func TestANameThatIsTaken(t *testing.T) {
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"retired":       func(c *corev1.PersistentVolumeClaim) { c.Labels[v1beta2.LabelRetiredBy] = "r" },
		"being deleted": func(c *corev1.PersistentVolumeClaim) { c.Finalizers = []string{"example.com/hold"} },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withVolumes)
			claim := member.NewClaim(b.cluster, "x-a")
			change(claim)
			apiservertest.Create(t, b.client, claim)
			if len(claim.Finalizers) > 0 {
				apiservertest.Delete(t, b.client, claim)
			}
			err := b.act(b.observe(), creating(action.NewPod{Name: "x-a", Role: facts.Joiner, Version: "3.6.16"}))
			if !errors.Is(err, act.ErrNameTaken) || b.exists(&corev1.Pod{}, "x-a") {
				t.Errorf("the error is %v, want that the name is taken, and no Pod", err)
			}
		})
	}
}

// refused are the children that the API server has refused.
func (b *bench) refused(budget int, heldBack ...facts.Rejection) []facts.Rejection {
	b.t.Helper()
	return rejections(b.t, b.actor.Children(apiservertest.Context(b.t), b.cluster, budget, heldBack...))
}

// If a Service is rejected, the other children are still created. The Service is not tried while it is held
// back.
func TestServicesThatAreRefused(t *testing.T) {
	b := newBench(t)
	q := b.quota(corev1.ResourceServices)
	got := b.refused(2)
	if len(got) != 2 || got[0].Kind != facts.ApplyService || got[0].Name != "x" || !got[0].Absent || got[0].Generation != b.cluster.Generation || got[1].Name != "x-client" {
		t.Errorf("%+v were rejected, want the Services x and x-client, which do not exist", got)
	}
	if !strings.Contains(got[0].Words, "exceeded quota: q") {
		t.Errorf("the words are %q", got[0].Words)
	}
	if b.minAvailable() != 2 {
		t.Errorf("the budget is %d, want 2", b.minAvailable())
	}
	apiservertest.Delete(t, b.client, q)
	if err := b.actor.Children(apiservertest.Context(t), b.cluster, 2, got...); err != nil || b.exists(&corev1.Service{}, "x") {
		t.Errorf("error %v, want none, and that the Service is not tried", err)
	}
	b.mustHaveChildren(2)
	if !b.exists(&corev1.Service{}, "x") || !b.exists(&corev1.Service{}, "x-client") {
		t.Error("a Service is missing after the next try")
	}
}

// A budget that is refused keeps no Service from being made.
func TestABudgetThatIsRefused(t *testing.T) {
	b := newBench(t)
	q := b.quota("count/poddisruptionbudgets.policy")
	got := b.refused(2)
	if len(got) != 1 || got[0].Kind != facts.ApplyBudget || got[0].Name != "x" || !strings.Contains(got[0].Words, "exceeded quota: q") {
		t.Errorf("%+v were refused, want the budget x", got)
	}
	if !b.exists(&corev1.Service{}, "x") || !b.exists(&corev1.Service{}, "x-client") {
		t.Error("a Service is missing")
	}
	apiservertest.Delete(t, b.client, q)
	if err := b.actor.Children(apiservertest.Context(t), b.cluster, 2, got...); err != nil || b.minAvailable() != 0 {
		t.Errorf("error %v and a budget of %d, want that it is not tried", err, b.minAvailable())
	}
	b.mustHaveChildren(2)
	if b.minAvailable() != 2 {
		t.Errorf("the budget is %d after the next try, want 2", b.minAvailable())
	}
}

// A joiner whose Pod fails keeps its name, whatever the error is: a PVC with that name exists.
func TestJoinersNameIsRemembered(t *testing.T) {
	pods := corev1.Resource("pods")
	for name, answer := range map[string]error{
		"forbidden":      apierrors.NewForbidden(pods, "x-a", errors.New("exceeded quota")),
		"internal error": apierrors.NewInternalError(errors.New("jsonpatch add operation does not apply")),
		"unavailable":    apierrors.NewServiceUnavailable("no endpoints"),
		"timeout":        apierrors.NewTimeoutError("quota evaluation timed out", 0),
		"conflict":       apierrors.NewConflict(pods, "x-a", errors.New("denied by a webhook with code 409")),
		"no answer":      errors.New("connection reset by peer"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, withVolumes)
			b.actor.Client = failingPods{b.client, answer}
			got := rejections(t, b.act(b.observe(), creating(action.NewPod{Name: "x-a", Role: facts.Joiner, Version: "3.6.16"})))
			if len(got) != 1 || got[0].Name != "x-a" || got[0].Role != facts.Joiner || got[0].Volume {
				t.Errorf("got rejections %+v, want one of the Pod x-a", got)
			}
			if !b.exists(&corev1.PersistentVolumeClaim{}, "x-a") {
				t.Error("got no PVC x-a, want one")
			}
		})
	}
}

// failingPods fails to create Pods.
type failingPods struct {
	client.Client
	by error
}

func (f failingPods) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if _, ok := o.(*corev1.Pod); ok {
		return f.by
	}
	return f.Client.Create(ctx, o, opts...)
}

// rejectingPatches answers patches of one Pod with an error.
type rejectingPatches struct {
	client.Client
	name string
	by   error
}

func (r rejectingPatches) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if o.GetName() == r.name {
		return r.by
	}
	return r.Client.Patch(ctx, o, p, opts...)
}

// If one Pod does not get its role, the others still get theirs.
func TestEachRoleIsSetForItself(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner}, action.NewPod{Name: "x-b", Role: facts.Joiner})
	var roles []action.PodRole
	for _, name := range []string{"x-a", "x-b"} {
		roles = append(roles, action.PodRole{Name: name, UID: podIn(obs, name).UID, Role: facts.Voter})
	}
	b.actor.Client = rejectingPatches{b.client, "x-a", apierrors.NewInternalError(errors.New("failed to encrypt"))}
	got := rejections(t, b.act(obs, action.SetRoles{Roles: roles}))
	if len(got) != 1 || got[0].Kind != "SetRoles" || got[0].Name != "x-a" {
		t.Errorf("got rejections %+v, want one of the role of x-a", got)
	}
	if role := b.pod("x-b").Labels[v1beta2.LabelRole]; role != v1beta2.RoleVoter {
		t.Errorf("got role %q of x-b, want %q", role, v1beta2.RoleVoter)
	}
}

// An admission policy denies a patch with the same code as a failed precondition. The live Pod shows
// which of the two it was.
func TestDenialOfAPatch(t *testing.T) {
	denied := apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), "x-a", nil)
	for name, row := range map[string]struct {
		reason     string
		role       facts.Role
		isRejected bool
	}{
		"the Pod is as it was observed": {"a policy denies the patch", facts.Joiner, true},
		"the Pod has another role":      {"the precondition fails", facts.Learner, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner})
			podIn(obs, "x-a").Role = row.role
			b.actor.Client = rejectingPatches{b.client, "x-a", denied}
			err := b.act(obs, action.SetRoles{Roles: []action.PodRole{{Name: "x-a", UID: podIn(obs, "x-a").UID, Role: facts.Voter}}})
			if _, is := errors.AsType[*act.RejectedError](err); is != row.isRejected || errors.Is(err, act.ErrStale) == row.isRejected {
				t.Errorf("%s: got %v, want a rejection: %t", row.reason, err, row.isRejected)
			}
		})
	}
}

// A deadline that passes after a rejection does not hide it: what may still happen is uncertain.
func TestDeadlineAfterARejection(t *testing.T) {
	b := newBench(t)
	obs := b.make(action.NewPod{Name: "x-a", Role: facts.Joiner}, action.NewPod{Name: "x-b", Role: facts.Joiner})
	var roles []action.PodRole
	for _, name := range []string{"x-a", "x-b"} {
		roles = append(roles, action.PodRole{Name: name, UID: podIn(obs, name).UID, Role: facts.Voter})
	}
	hangs := &url.Error{Op: "Patch", URL: "https://10.0.0.1", Err: context.DeadlineExceeded}
	b.actor.Client = rejectingPatches{rejectingPatches{b.client, "x-b", context.DeadlineExceeded}, "x-a", hangs}
	err := b.act(obs, action.SetRoles{Roles: roles})
	if e, is := errors.AsType[*act.RejectedError](err); !is || !e.Uncertain || e.Rejections[0].Name != "x-a" {
		t.Errorf("got %v, want an uncertain rejection of x-a", err)
	}
}

// Only the peer Service gives new members their names.
func TestWhichServiceIsMissed(t *testing.T) {
	b := newBench(t)
	b.quota(corev1.ResourceServices)
	for _, r := range b.refused(facts.KeepBudget) {
		if want := r.Name == "x"; r.LacksService() != want {
			t.Errorf("Service %s: got missed by new members %t, want %t", r.Name, r.LacksService(), want)
		}
	}
}
