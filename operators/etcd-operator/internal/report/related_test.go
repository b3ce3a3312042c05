package report

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// TestEachMemberHasItsEvents: of two members that are added in one moment each is told, since
// Kubernetes would count the second event as a repetition of the first.
func TestEachMemberHasItsEvents(t *testing.T) {
	client := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broadcaster.Shutdown)
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	r := Reporter{Events: broadcaster.NewRecorder(scheme, "etcd-operator")}
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u", ResourceVersion: "7"}}
	for _, name := range []string{"x-a", "x-b"} {
		r.TellStep(t.Context(), c, plan.Decision{Action: action.AddLearner{Name: name}, Reason: "MemberAdded", Message: "member " + name + " is added as a learner"})
	}
	var told int
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := client.EventsV1().Events("ns").List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		told = len(list.Items)
		return told == 2, nil
	})
	if err != nil {
		t.Errorf("%d events tell of two members: %v", told, err)
	}
}
