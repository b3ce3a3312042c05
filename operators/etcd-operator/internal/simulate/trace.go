package simulate

import (
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// story is what happened, a line each. A line that says what the last two said is
// counted, not repeated.
type story struct {
	lines    []string
	last     [2]string
	repeated int
}

func (s *story) add(step int, now time.Duration, text string) {
	if text == s.last[0] || text == s.last[1] {
		s.repeated++
		return
	}
	if s.repeated > 0 {
		s.lines = append(s.lines, fmt.Sprintf("                  ... and so on, %d times", s.repeated))
		s.repeated = 0
	}
	s.last = [2]string{s.last[1], text}
	s.lines = append(s.lines, fmt.Sprintf("step %3d %7.1fs  %s", step, now.Seconds(), text))
}

// describe tells an action in a line.
func describe(d plan.Decision) string {
	if d.Action == nil {
		return "nothing"
	}
	s := fmt.Sprintf("%+v", d.Action)
	switch a := d.Action.(type) {
	case action.CreatePods:
		var all []string
		for _, p := range a.Pods {
			all = append(all, fmt.Sprintf("%s as %s", p.Name, p.Role))
		}
		s = strings.Join(all, ", ")
	case action.SetRoles:
		var all []string
		for _, r := range a.Roles {
			all = append(all, fmt.Sprintf("%s=%s", r.Name, r.Role))
		}
		s = strings.Join(all, ", ")
	case action.GrantStartPermit:
		s = fmt.Sprintf("%s attempt %d for %v", a.Name, a.StartPermit.Attempt, a.StartPermit.Members)
	case action.ChangeImage:
		s = fmt.Sprintf("%s to %s:v%s", a.Name, a.Repository, a.Version)
	case action.DisarmAlarm:
		s = fmt.Sprintf("%s of %x", a.Alarm, a.MemberID)
	case action.Compact:
		s = fmt.Sprintf("to %d", a.Revision)
	case action.BeginDefragment:
		s = ""
	case action.Defragment:
		s = a.Name
	case action.AddLearner:
		s = fmt.Sprintf("%s to %s", a.Name, describeMembers(a.Members))
	case action.Promote:
		s = fmt.Sprintf("%s of %s", a.Name, describeMembers(a.Members))
	case action.RemoveMember:
		s = fmt.Sprintf("%s from %s", a.Name, describeMembers(a.Members))
	case action.DeletePod:
		s = fmt.Sprintf("%s (%s)", a.Name, a.UID)
	case action.DeleteClaim:
		s = fmt.Sprintf("%s (%s)", a.Name, a.UID)
	default: // as it is printed
	}
	return action.KindOf(d.Action) + " " + s
}

func describeMembers(members []facts.Member) string {
	var all []string
	for _, m := range members {
		s := m.Name
		if m.Learner {
			s += "(learner)"
		}
		if !m.Started {
			s += "(unstarted)"
		}
		all = append(all, s)
	}
	return "[" + strings.Join(all, " ") + "]"
}
