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
)

// This file ties the model of the operator to the code that ships. In the same world both must
// observe the same; and of the same decision, if nothing happens meanwhile, the same must
// come, whether it is carried out or a precondition does not hold.

// modelled is what the model observes in the place of the shipped code, but for the answers of
// members.
func (s *shipped) modelled() *plan.Observation {
	o, _ := s.w.observe(s.op)
	return &o
}

// compareObservation fails if the shipped code has observed something else than the model.
func (s *shipped) compareObservation(o *plan.Observation) {
	m := s.model
	if m == nil { // no member was asked, so that nothing has happened since it began to look
		m = s.modelled()
	}
	for _, name := range o.Conflicts {
		if strings.HasPrefix(name, "Service ") { // of which the model has none
			m.Conflicts = append(m.Conflicts, name)
		}
	}
	slices.Sort(m.Conflicts)
	for i := range m.Pods {
		p := &m.Pods[i]
		if a, ok := s.told[p.Name]; ok {
			p.Answer = a
		}
		if p.ReadySince.IsZero() && i < len(o.Pods) && o.Pods[i].From == "" {
			p.From = "" // a container that is reported late is taken for one that came after the change
		}
	}
	if diff := cmp.Diff(m, o, likeness...); diff != "" {
		s.w.fail("Model", "the shipped code observes something else than the model:\n%s", diff)
	}
}

// likeness leaves out what the model has no part of.
var likeness = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.EquateApproxTime(time.Second), // the API server has whole seconds
	cmpopts.IgnoreFields(plan.Observation{}, "Now", "Since", "FreshNames", "FreshToken", "Rejections", "Comparison", "Growth", "ForeignBudget"),
	cmpopts.IgnoreFields(plan.Cluster{}, "Namespace", "PeerURLFormat", "Template", "LastStatus", "Existed", "RootSecret", "Finalizers", "Consistency", "Maintenance"),
	cmpopts.IgnoreFields(plan.Pod{}, "IP", "Template", "Created", "Creating", "RoleSince"),
	cmpopts.IgnoreFields(plan.Exit{}, "Words"),
	cmpopts.IgnoreFields(plan.Answer{}, "Trouble", "Blocked", "Quota", "Write"),
	cmpopts.IgnoreFields(plan.Claim{}, "Refusal"),
}

// statusLikeness leaves out what act.Report adds to a status, and keeps of the one before: the
// names of Services, the times of conditions and their order.
var statusLikeness = []cmp.Option{
	cmpopts.EquateEmpty(),
	cmpopts.EquateApproxTime(time.Second),
	cmpopts.IgnoreFields(v1beta2.ClusterStatus{}, "ServiceName", "ClientPort", "Selector"),
	cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"),
	cmpopts.SortSlices(func(a, b metav1.Condition) bool { return a.Type < b.Type }),
}

// predict is what the model makes of the world by the decision of the shipped code.
func (s *shipped) predict(o plan.Observation, d plan.Decision) string {
	w := s.w.clone()
	op := w.operators[slices.Index(s.w.operators, s.op)]
	op.version = op.cluster.version
	if reflect.DeepEqual(op.cluster.status.Recovery, w.cluster.status.Recovery) {
		o.Cluster.Recovery = w.cluster.recovery // the model compares by identity
	}
	t := &todo{seen: o, decision: d, disturbed: w.disturbed}
	if !d.SkipChildren {
		_ = w.setBudget(&o.Cluster, d.Budget) // what is there meanwhile shows
	}
	for n, more := 1, d.Action != nil; more; n++ {
		var err error
		if more, err = w.effect(op, t, n); err != nil && !errors.Is(err, errRefused) {
			break // as act does
		}
	}
	for _, p := range w.pods {
		if s.w.pod(p.name) == nil { // the template that the model's are of is told by a variable
			p.template = op.cluster.wantedTemplate()
		}
		if p.permit != nil { // nor does an Observation tell what only saves time
			p.permit = &plan.StartPermit{Attempt: p.permit.Attempt, New: p.permit.New, Members: p.permit.Members}
		}
	}
	return w.told()
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
	if s.predicted == "" {
		return
	}
	d := s.op.todo.decision
	if d.Action == nil && s.err == nil && s.fresh {
		if diff := cmp.Diff(d.Status, *s.w.cluster.status, statusLikeness...); diff != "" {
			s.w.fail("Model", "the status that is written is not the one that was decided on:\n%s", diff)
		}
	}
	if diff := cmp.Diff(strings.Split(s.predicted, "\n"), strings.Split(s.w.told(), "\n")); diff != "" {
		s.w.fail("Model", "something else comes of %s than the model makes of it:\n%s", describe(d), diff)
	}
}
