package act_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/act"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

func TestMain(m *testing.M) { os.Exit(apiservertest.Main(m)) }

// bench is one EtcdCluster in a namespace of its own, and who acts on it.
type bench struct {
	t       *testing.T
	client  client.Client
	actor   *act.Actor
	cluster *v1beta2.EtcdCluster
}

// newBench makes an EtcdCluster x of three members.
func newBench(t *testing.T, changes ...func(*v1beta2.EtcdCluster)) *bench {
	t.Helper()
	c := apiservertest.Client(t)
	cluster := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: apiservertest.Namespace(t)},
		Spec:       v1beta2.ClusterSpec{Size: 3},
	}
	for _, change := range changes {
		change(cluster)
	}
	apiservertest.Create(t, c, cluster)
	b := &bench{t: t, client: c, cluster: cluster}
	b.actor = &act.Actor{Client: c, Live: c, Etcd: untouched{t}, LauncherImage: "example.com/etcd-operator:test"}
	return b
}

func withVolumes(c *v1beta2.EtcdCluster) {
	c.Spec.Pod = &v1beta2.PodPolicy{PersistentVolumeClaimSpec: &corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// observe is what the operator sees now, of members that don't answer.
func (b *bench) observe() *facts.Observation {
	b.t.Helper()
	apiservertest.Read(b.t, b.client, b.cluster)
	o := observe.Observer{Reader: b.client, Etcd: silent{}, DefaultVersion: "3.6.16"}
	obs, err := o.Observe(apiservertest.Context(b.t), b.cluster, facts.TLS{})
	if err != nil {
		b.t.Fatal(err)
	}
	return &obs
}

// act carries an action out that was decided on obs.
func (b *bench) act(obs *facts.Observation, a action.Action) error {
	b.t.Helper()
	return b.actor.Act(apiservertest.Context(b.t), b.cluster, obs, a)
}

// creating makes Pods of one version.
func creating(pods ...action.NewPod) action.CreatePods {
	for i := range pods {
		pods[i].Version = "3.6.16"
	}
	return action.CreatePods{Pods: pods}
}

// make creates Pods through the actor, and returns what is then observed.
func (b *bench) make(pods ...action.NewPod) *facts.Observation {
	b.t.Helper()
	if err := b.act(b.observe(), creating(pods...)); err != nil {
		b.t.Fatal(err)
	}
	return b.observe()
}

func (b *bench) pod(name string) *corev1.Pod {
	b.t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.cluster.Namespace}}
	apiservertest.Read(b.t, b.client, p)
	return p
}

// exists tells whether there is an object of this type and name that is not terminating.
func (b *bench) exists(o client.Object, name string) bool {
	b.t.Helper()
	err := b.client.Get(apiservertest.Context(b.t), client.ObjectKey{Namespace: b.cluster.Namespace, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		b.t.Fatal(err)
	}
	return err == nil && o.GetDeletionTimestamp().IsZero()
}

// update edits the EtcdCluster as a user does, unseen by the bench.
func (b *bench) update(change func(*v1beta2.EtcdCluster)) {
	b.t.Helper()
	live := b.cluster.DeepCopy()
	apiservertest.Read(b.t, b.client, live)
	change(live)
	if err := b.client.Update(apiservertest.Context(b.t), live); err != nil {
		b.t.Fatal(err)
	}
}

func wantStale(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, act.ErrStale) {
		t.Errorf("%s: error %v, want ErrStale", what, err)
	}
}

// podIn is a Pod as it was observed.
func podIn(obs *facts.Observation, name string) *facts.Pod {
	for i := range obs.Pods {
		if obs.Pods[i].Name == name {
			return &obs.Pods[i]
		}
	}
	return nil
}

// silent are members that don't answer.
type silent struct{}

func (silent) TryWrite(context.Context, etcdclient.Endpoint) error { return etcdclient.ErrUnreachable }

func (silent) Ask(context.Context, []etcdclient.Endpoint) map[string]etcdclient.Answer { return nil }

// untouched is an etcd that nobody may ask or change.
type untouched struct{ t *testing.T }

func (u untouched) Ask(context.Context, []etcdclient.Endpoint) map[string]etcdclient.Answer {
	u.t.Error("etcd was asked")
	return nil
}

func (u untouched) AddLearner(_ context.Context, _ []etcdclient.Endpoint, peerURL string) (uint64, error) {
	u.t.Error("a learner was added: " + peerURL)
	return 0, nil
}

func (u untouched) Promote(context.Context, []etcdclient.Endpoint, uint64) error {
	u.t.Error("a member was promoted")
	return nil
}

func (u untouched) Remove(context.Context, []etcdclient.Endpoint, uint64) error {
	u.t.Error("a member was removed")
	return nil
}

func (u untouched) EnableDowngrade(context.Context, []etcdclient.Endpoint, string) error {
	u.t.Error("a downgrade was enabled")
	return nil
}

func (u untouched) CancelDowngrade(context.Context, []etcdclient.Endpoint) error {
	u.t.Error("a downgrade was cancelled")
	return nil
}

func (u untouched) AppendEntries(context.Context, []etcdclient.Endpoint, int) error {
	u.t.Error("raft's log has grown")
	return nil
}

func (u untouched) MoveLeader(context.Context, etcdclient.Endpoint, uint64) error {
	u.t.Error("leadership was moved")
	return nil
}

func (u untouched) Disarm(context.Context, []etcdclient.Endpoint, etcdclient.Alarm) error {
	u.t.Error("an alarm was disarmed")
	return nil
}

func (u untouched) Compact(context.Context, []etcdclient.Endpoint, int64) error {
	u.t.Error("the database was compacted")
	return nil
}

func (u untouched) Defragment(context.Context, etcdclient.Endpoint) error {
	u.t.Error("a member was defragmented")
	return nil
}

// answering is an etcd whose members give these answers, and that must not be changed.
type answering struct {
	untouched
	answers map[string]etcdclient.Answer
}

func (a answering) Ask(context.Context, []etcdclient.Endpoint) map[string]etcdclient.Answer {
	return a.answers
}

// following are members of these names, of which the first leads, as each answers that is up.
func following(c *v1beta2.EtcdCluster, names []string, up ...string) map[string]etcdclient.Answer {
	var members []etcdclient.Member
	for i, name := range names {
		members = append(members, etcdclient.Member{ID: uint64(i + 1), Name: name, PeerURLs: []string{member.PeerURL(c, name)}, Started: true})
	}
	answers := map[string]etcdclient.Answer{}
	for i, name := range names {
		answers[name] = etcdclient.Answer{Err: "i/o timeout"}
		if slices.Contains(up, name) {
			answers[name] = etcdclient.Answer{Reached: true, Read: true, MemberID: uint64(i + 1), Leader: 1, Members: members}
		}
	}
	return answers
}

// xbAndXA are two members, and serves is an etcd of which x-b answers.
var xbAndXA = []facts.Member{{ID: 1, Name: "x-b", Started: true}, {ID: 2, Name: "x-a", Started: true}}

func (b *bench) serves() answering {
	return answering{untouched{b.t}, following(b.cluster, []string{"x-b", "x-a"}, "x-b")}
}

// listing is an etcd that tells one member list and must not be changed.
type listing struct {
	untouched
	members []etcdclient.Member
}

func (l listing) Ask(_ context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	answers := map[string]etcdclient.Answer{}
	for _, e := range endpoints {
		answers[e.Name] = etcdclient.Answer{Reached: true, Read: true, Members: l.members}
	}
	return answers
}
