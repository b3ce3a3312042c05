package act

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// S4: members 1 to 3 are voters, member 4 is not, and member 3 will be removed.
func TestIsQuorumWithout(t *testing.T) {
	x := action.RemoveMember{ID: 3, Members: []facts.Member{{ID: 1}, {ID: 2}, {ID: 3}, {ID: 4, Learner: true}}}
	follows := func(id uint64) etcdclient.Answer { return etcdclient.Answer{Reached: true, MemberID: id, Leader: 1} }
	for name, tc := range map[string]struct {
		answers []etcdclient.Answer
		want    bool
		reason  string
	}{
		"both others follow":       {[]etcdclient.Answer{follows(1), follows(2)}, true, "2 of 2"},
		"one has no leader":        {[]etcdclient.Answer{follows(1), {Reached: true, MemberID: 2}}, false, "1 of 2: the other might be partitioned"},
		"one is not reached":       {[]etcdclient.Answer{follows(1), {MemberID: 2, Leader: 1}}, false, "1 of 2"},
		"one and the learner":      {[]etcdclient.Answer{follows(1), follows(4)}, false, "1 of 2: a learner does not vote"},
		"one and the removed":      {[]etcdclient.Answer{follows(1), follows(3)}, false, "1 of 2: member 3 is being removed"},
		"a member of another list": {[]etcdclient.Answer{follows(1), follows(5)}, false, "1 of 2"},
	} {
		answers := map[string]etcdclient.Answer{}
		for i, a := range tc.answers {
			answers[string(rune('a'+i))] = a
		}
		if got := isQuorumWithout(x, answers); got != tc.want {
			t.Errorf("%s: a quorum stays: %t, want %t: %s", name, got, tc.want, tc.reason)
		}
	}
}

func TestIsHolder(t *testing.T) {
	seen := &facts.Pod{Name: "x-a", UID: "1"}
	now := metav1.Now()
	for name, tc := range map[string]struct {
		live metav1.ObjectMeta
		want bool
	}{
		"as observed":   {metav1.ObjectMeta{UID: "1"}, true},
		"replaced":      {metav1.ObjectMeta{UID: "2"}, false},
		"being deleted": {metav1.ObjectMeta{UID: "1", DeletionTimestamp: &now}, false},
	} {
		if got := isHolder(&corev1.Pod{ObjectMeta: tc.live}, seen); got != tc.want {
			t.Errorf("%s: isHolder is %t, want %t", name, got, tc.want)
		}
	}
}

func TestRejectionsAndRefusals(t *testing.T) {
	denied := errors.New("denied")
	forbidden, conflict := apierrors.NewForbidden(schema.GroupResource{}, "x", denied), apierrors.NewConflict(schema.GroupResource{}, "x", denied)
	internal := apierrors.NewInternalError(denied)
	for name, row := range map[string]struct {
		err error
		// rejection: the effect is remembered and tried again later. refused: it had no effect.
		rejection, refused bool
		reason             string
	}{
		"forbidden":               {forbidden, true, true, "admission runs before anything is stored"},
		"an internal error":       {internal, true, false, "it can come after the effect"},
		"a webhook fails":         {apierrors.NewInternalError(errors.New("failed calling webhook")), true, true, "admission runs before anything is stored"},
		"a request timeout":       {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 408}}, true, false, "the effect can still happen"},
		"a deadline":              {&url.Error{Err: context.DeadlineExceeded}, true, false, "the effect can still happen"},
		"a lost connection":       {&url.Error{Err: errors.New("connection reset")}, false, false, "there is no answer, and the next try is soon"},
		"two are forbidden":       {errors.Join(forbidden, forbidden), true, true, "neither had an effect"},
		"one of two is uncertain": {errors.Join(forbidden, internal), true, false, "one can have had an effect"},
		"a conflict":              {conflict, false, true, "the object changed"},
		"a failed precondition":   {fmt.Errorf("%w: %w", ErrStale, conflict), false, true, "the object changed"},
		"an unread EtcdCluster":   {fmt.Errorf("%w: %w", errUnread, forbidden), false, false, "the action was not tried"},
	} {
		if got := isRejection(row.err); got != row.rejection {
			t.Errorf("%s: isRejection is %t, want %t: %s", name, got, row.rejection, row.reason)
		}
		if got := isRefused(row.err); got != row.refused {
			t.Errorf("%s: isRefused is %t, want %t: %s", name, got, row.refused, row.reason)
		}
	}
	certain, uncertain := &RejectedError{err: forbidden}, &RejectedError{err: internal, Uncertain: true}
	for _, pair := range [][2]*RejectedError{{certain, uncertain}, {uncertain, certain}} {
		if got := joinRejected(pair[0], pair[1]); !got.Uncertain {
			t.Errorf("%v is certain, want uncertain: one of the two effects can have happened", got)
		}
	}
}

func TestForEach(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", errors.New("denied"))
	refused := &RejectedError{err: errors.New("forbidden")}
	unanswered := errors.New("connection reset")
	for name, row := range map[string]struct {
		errs   []error
		tried  int
		want   error
		reason string
	}{
		"a conflict":                   {[]error{conflict, nil, nil}, 3, conflict, "a conflict about one object stops no other"},
		"an outdated object":           {[]error{ErrStale, nil, nil}, 3, ErrStale, "the others are as observed"},
		"a rejection":                  {[]error{refused, nil, nil}, 3, refused, "each request has its own answer"},
		"a rejection of two":           {[]error{conflict, refused, nil}, 3, refused, "a rejection is remembered"},
		"no answer":                    {[]error{unanswered, nil, nil}, 1, unanswered, "the request can still have an effect"},
		"no answer, after a rejection": {[]error{refused, unanswered, nil}, 2, refused, "the rejection is remembered"},
	} {
		tried := 0
		err := forEach(row.errs, func(err error) error {
			tried++
			return err
		})
		if tried != row.tried || !errors.Is(err, row.want) {
			t.Errorf("%s: %d are tried, with %v; want %d, with %v: %s", name, tried, err, row.tried, row.want, row.reason)
		}
	}
}
