package controller_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file take labels away from objects, give them to others, and change
// members behind the operator's back. It has the caches of its main program.

// A volume that only names the cluster in a label is nobody's: what the caches do not show
// holds nothing up.
func TestAVolumeWithTheLabelAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: b.namespace, Labels: map[string]string{v1beta2.LabelCluster: "x"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	apiservertest.Create(t, b.client, claim)
	c := b.create("x", 1)
	b.until(c, "its beginning", func(s *v1beta2.ClusterStatus) bool { return s.Bootstrap != nil })
}

// A member whose Pod loses a label that lists select by goes on, and is seen again; another
// member that is lost is replaced all the same.
func TestAMemberLosesItsLabels(t *testing.T) {
	for name, label := range map[string]string{"app": v1beta2.LabelApp, "etcd_cluster": v1beta2.LabelCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			podtest.StartKubelet(t, b.client, b.namespace)
			c := b.create("x", 3)
			b.untilHealthy(c, 3)
			pods := b.pods(c)
			stripped, lost := pods[0], pods[1]
			before := stripped.DeepCopy()
			delete(stripped.Labels, label)
			if err := b.client.Patch(apiservertest.Context(t), &stripped, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			etcdtest.Eventually(t, "the label to be put back", func() error {
				if p := b.pod(stripped.Name); p.UID != before.UID || p.Labels[label] != before.Labels[label] {
					return fmt.Errorf("Pod %s has the labels %v", p.UID, p.Labels)
				}
				return nil
			})
			b.delete(&lost)
			b.until(c, "the lost member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), lost.Name) })
			b.untilHealthy(c, 3)
			if !slices.Contains(memberNames(&c.Status), stripped.Name) || b.pod(stripped.Name).UID != before.UID {
				t.Errorf("the members are %v, want %s among them, in its Pod", memberNames(&c.Status), stripped.Name)
			}
		})
	}
}

// kubectl delete --cascade=orphan leaves members that serve. Another EtcdCluster of the
// name does not begin beside them, also when somebody has removed their Services only; it
// does when what the condition says was done.
func TestAnOrphanedCluster(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1)
	b.untilHealthy(c, 1)
	old := b.pods(c)[0]
	var services corev1.ServiceList
	if err := b.client.List(apiservertest.Context(t), &services, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	b.delete(c)
	for _, o := range []client.Object{&old, &services.Items[0], &services.Items[1]} { // as the garbage collector does
		before := o.DeepCopyObject().(client.Object)
		o.SetOwnerReferences(nil)
		if err := b.client.Patch(apiservertest.Context(t), o, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}

	again := b.create("x", 1)
	told := func(words ...string) func(*v1beta2.ClusterStatus) bool {
		return func(s *v1beta2.ClusterStatus) bool {
			conflict := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionNameConflict)
			return conflict != nil && conflict.Message != "" && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(conflict.Message, w) })
		}
	}
	b.until(again, "the command to be told", told(fmt.Sprintf("kubectl -n %s delete pod/%s service/x service/x-client", b.namespace, old.Name)))
	b.delete(&services.Items[0])
	b.delete(&services.Items[1])
	b.edit(again, func(c *v1beta2.EtcdCluster) { c.Annotations = map[string]string{"looked": "at"} })
	b.until(again, "the Pod alone to be told", told(fmt.Sprintf("kubectl -n %s delete pod/%s;", b.namespace, old.Name)))
	if again.Status.Bootstrap != nil || len(b.pods(again)) != 1 {
		t.Errorf("another cluster has begun beside the first: %+v, %d Pods", again.Status.Bootstrap, len(b.pods(again)))
	}
	b.delete(&old)
	b.untilHealthy(again, 1)
	if again.Status.ClusterID == c.Status.ClusterID {
		t.Errorf("the cluster id is still %s", again.Status.ClusterID)
	}
}

// People change members with etcdctl: who serves goes on to serve, what they have added
// stays, and what is lost of the operator's own is replaced.
func TestPeopleUseEtcdctl(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	b.untilHealthy(c, 3)
	unmanaged := func(words ...string) func(*v1beta2.ClusterStatus) bool {
		return func(s *v1beta2.ClusterStatus) bool {
			said := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionUnmanagedMembers)
			if said == nil {
				return len(words) == 0
			}
			return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(said.Message, w) })
		}
	}
	changed := c.Status.MemberDetails[slices.IndexFunc(c.Status.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Name != c.Status.Leader })]
	id, err := strconv.ParseUint(changed.ID, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	ctl := b.etcd(c)
	if _, err := ctl.MemberUpdate(apiservertest.Context(t), id, []string{"http://192.0.2.1:2380"}); err != nil {
		t.Fatal(err)
	}
	b.poke("x-client")
	b.until(c, "the changed URL to be told", unmanaged(changed.Name, "http://192.0.2.1:2380", "etcdctl member update "+changed.ID+" --peer-urls="+member.PeerURL(c, changed.Name)))
	if _, err := ctl.MemberUpdate(apiservertest.Context(t), id, []string{member.PeerURL(c, changed.Name)}); err != nil {
		t.Fatal(err)
	}
	b.poke("x-client")
	b.until(c, "all to be well again", unmanaged())

	var added uint64
	etcdtest.Eventually(t, "a person to add a member", func() error { // etcd waits for 5 s after a change
		got, err := ctl.MemberAdd(apiservertest.Context(t), []string{"http://192.0.2.2:2380"})
		if err == nil {
			added = got.Member.ID
		}
		return err
	})
	b.poke("x-client")
	b.until(c, "the added member to be told", unmanaged(fmt.Sprintf("etcdctl member remove %016x", added)))
	if c.Status.ReadyMembers != "3/3" || c.Status.Size != 4 {
		t.Errorf("%s are ready of %d members, want 3/3 of 4", c.Status.ReadyMembers, c.Status.Size)
	}
	if got := b.minAvailable(); got != 3 {
		t.Errorf("the budget is %d, want 3: the member counts as a voter", got)
	}
	if _, err := ctl.MemberRemove(apiservertest.Context(t), added); err != nil {
		t.Fatal(err)
	}
	b.poke("x-client")
	b.until(c, "nothing to be told any more", unmanaged())
	b.untilHealthy(c, 3)
	if !slices.Contains(memberNames(&c.Status), changed.Name) {
		t.Errorf("the members are %v, want %s to be one still", memberNames(&c.Status), changed.Name)
	}
	b.wantEvents(v1beta2.ClusterReasonUnmanagedMembers)
}
