package simulate

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file ties the model of the operator to the code that ships. In the same world both must
// observe the same; and of the same decision, if nothing happens meanwhile, the same must
// come, whether it is carried out or a precondition does not hold.

// likened is how a reconcile is compared with the model.
type likened struct {
	// model is what the model observed in its place, when members were about to be asked, and
	// told what they said; observed is true once that was compared.
	model    *facts.Observation
	told     map[string]facts.Answer
	observed bool
	// undisturbed has its decision carried out at once, without mishaps, to compare what comes of
	// it with what the model makes of it: predicted; empty before the decision.
	undisturbed bool
	predicted   string
	// fresh is true when the decision rests on the status as it is.
	fresh bool
}

// modelled is what the model observes in the place of the shipped code, but for the answers of
// members.
func (s *shipped) modelled() *facts.Observation {
	o, _ := s.w.observe(s.op)
	return &o
}

// compareObservation fails if the shipped code has observed something else than the model.
func (s *shipped) compareObservation(o *facts.Observation) {
	m := s.likened.model
	if m == nil { // no member was asked, so that nothing has happened since it began to look
		m = s.modelled()
	}
	m.Rejections = o.Rejections // the model represents them differently
	for _, name := range o.Conflicts {
		if strings.HasPrefix(name, "Service ") { // of which the model has none
			m.Conflicts = append(m.Conflicts, name)
		}
	}
	slices.Sort(m.Conflicts)
	for i := range m.Pods {
		p := &m.Pods[i]
		if a, ok := s.likened.told[p.Name]; ok {
			p.Answer = a
		}
		if i < len(o.Pods) && o.Pods[i].Answer.Write == (facts.Write{}) {
			p.Answer.Write = facts.Write{} // it asks only the seed that is handed over for one
		}
	}
	is, made := inOwnWords(o), inOwnWords(m)
	if alike(reflect.ValueOf(made), reflect.ValueOf(is)) {
		return
	}
	if diff := cmp.Diff(made, is, likeness...); diff != "" {
		s.w.fail("Model", "the shipped code observes something else than the model:\n%s", diff)
	}
}

// inOwnWords tells of an Observation's texts, which each side has its own of, only what rules ask of
// them: whether a Pod is of the spec's template, and whether a cluster has existed before.
func inOwnWords(o *facts.Observation) *facts.Observation {
	c := *o
	c.Pods = slices.Clone(o.Pods)
	for i := range c.Pods {
		switch p := &c.Pods[i]; p.Template {
		case "":
		case o.Cluster.Template:
			p.Template = "the spec's"
		default:
			p.Template = "another"
		}
	}
	c.Cluster.Template = ""
	if cl := &c.Cluster; cl.Existed != "" {
		cl.Existed = "it has"
		if cl.Bootstrap != nil || cl.ClusterID != 0 || cl.Fence.By != "" || len(c.Pods) > 0 {
			cl.Existed = "" // nobody asks
		}
	}
	return &c
}

// notCompared lists the fields that the model lacks, fills with its own names and words, or represents
// differently. Keepers beside the Observer fill Comparison and Growth. Runs with TLS, or with databases that
// fill up, are not compared. The times of roles, and the reasons why members do not answer, have no meaning in
// the model. The times of other states are corrected to when the operator first saw them.
var notCompared = map[reflect.Type][]string{
	reflect.TypeFor[facts.Observation](): {"Now", "Since", "FreshNames", "FreshToken", "Comparison", "Growth", "ForeignBudget"},
	reflect.TypeFor[facts.Cluster]():     {"Namespace", "PeerURLFormat", "LastStatus", "RootSecret", "Finalizers", "Consistency", "Maintenance"},
	reflect.TypeFor[facts.Pod]():         {"IP", "Creating", "RoleSince", "Seen", "UnreadyDated", "NodeLostSince", "DeletingSince", "UnreadySince", "RunningSince", "ReadySince"},
	reflect.TypeFor[facts.Exit]():        {"Words"},
	reflect.TypeFor[facts.Answer]():      {"Trouble", "Blocked", "Refusing", "Quota"},
	reflect.TypeFor[facts.Claim]():       {"Refusal"},
	reflect.TypeFor[facts.Rejection]():   {"Words"},
	// Of a status that is written (see statusLikeness).
	reflect.TypeFor[v1beta2.ClusterStatus](): {"ServiceName", "ClientPort", "Selector"},
	reflect.TypeFor[metav1.Condition]():      {"LastTransitionTime"},
}

// likeness leaves that out.
var likeness = func() []cmp.Option {
	options := []cmp.Option{
		cmpopts.EquateEmpty(),
		cmpopts.EquateApproxTime(time.Second), // the API server has whole seconds
	}
	for t, fields := range notCompared {
		options = append(options, cmpopts.IgnoreFields(reflect.Zero(t).Interface(), fields...))
	}
	return options
}()

// statusLikeness leaves out what act.Report adds to a status, and keeps of the one before: the
// names of Services, the times of conditions and their order.
var statusLikeness = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.EquateApproxTime(time.Second),
	cmpopts.IgnoreFields(v1beta2.ClusterStatus{}, notCompared[reflect.TypeFor[v1beta2.ClusterStatus]()]...),
	cmpopts.IgnoreFields(metav1.Condition{}, notCompared[reflect.TypeFor[metav1.Condition]()]...),
	cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type }),
}

// inOrder is a status with its conditions in the order of their types.
func inOrder(st *v1beta2.ClusterStatus) *v1beta2.ClusterStatus {
	c := *st
	c.Conditions = slices.Clone(st.Conditions)
	slices.SortFunc(c.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return &c
}

// predict is what the model makes of the world by the decision of the shipped code.
func (s *shipped) predict(o facts.Observation, d plan.Decision) string {
	w := s.w.clone()
	op := w.operators[slices.Index(s.w.operators, s.op)]
	op.version = op.cluster.version
	if reflect.DeepEqual(op.cluster.status.Recovery, w.cluster.status.Recovery) {
		o.Cluster.Recovery = w.cluster.recovery // the model compares by identity
	}
	op.rejections = o.Rejections
	t := &todo{seen: o, decision: d, disturbed: w.disturbed}
	if !d.SkipChildren {
		_ = w.setBudget(&o.Cluster, d.Budget) // what is there meanwhile shows
	}
	var err error
	op.todo = t
	for n, more := 1, d.Action != nil; more && err == nil; n++ { // as act does
		more, err = w.effect(op, t, n)
		if w.isPassedOver(op, n, err) || (isOfSeveral(d.Action) && errors.Is(err, errConflict)) {
			err = nil
		}
	}
	if d.Action != nil && (err == nil && !t.refused || errors.Is(err, errTaken)) {
		op.rejections = action.Accept(op.rejections, d.Action)
	}
	for _, p := range w.pods {
		if s.w.pod(p.name) == nil { // the template that the model's are of is told by a variable
			p.template = op.cluster.wantedTemplate()
		}
		if p.permit != nil { // nor does an Observation tell what only saves time
			p.permit = &facts.StartPermit{Attempt: p.permit.Attempt, New: p.permit.New, Members: p.permit.Members, Elsewhere: p.permit.Elsewhere}
		}
	}
	return w.told()
}

// isOfSeveral reports whether an action changes several objects, and a conflict about one of them stops no other.
func isOfSeveral(a action.Action) bool {
	switch a.(type) {
	case action.SetRoles, action.RevokeStartPermits, action.KeepClaims:
		return true
	default:
		return false
	}
}

// told is what Kubernetes is like, and how often etcd was asked for a change. What etcd makes of
// that depends on which member is asked, and each side asks the one that it likes.
func (w *world) told() string {
	t := &teller{w: w}
	t.kubernetes()
	t.put("changes asked of etcd:", w.asked)
	return t.b.String()
}

// compareEffect fails if something else has come of a decision than the model makes of it.
func (s *shipped) compareEffect() {
	if s.likened.predicted == "" {
		return
	}
	d := s.op.todo.decision
	seen := &s.op.todo.seen
	isHeldBack := d.Outcome == action.QuorumLost && s.w.hasUnseenClaim(seen, toldMembers(seen)) // see act.NoneUnseen
	if d.Action == nil && s.err == nil && s.likened.fresh && !isHeldBack {
		decided, written := inOrder(&d.Status), inOrder(s.w.cluster.status)
		if !alike(reflect.ValueOf(decided), reflect.ValueOf(written)) {
			if diff := cmp.Diff(d.Status, *s.w.cluster.status, statusLikeness...); diff != "" {
				s.w.fail("Model", "the status that is written is not the one that was decided on:\n%s", diff)
			}
		}
	}
	told := s.w.told()
	if told == s.likened.predicted {
		return
	}
	if diff := cmp.Diff(strings.Split(s.likened.predicted, "\n"), strings.Split(told, "\n")); diff != "" {
		s.w.fail("Model", "something else comes of %s than the model makes of it:\n%s", describe(d), diff)
	}
}
