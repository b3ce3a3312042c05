package act_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// spacious is an etcd that tells one member list and a leader, notes what is asked of it
// about space, and answers with an error.
type spacious struct {
	listing
	leader uint64
	calls  *[]string
	err    error
	// holds makes a call last until its caller gives up.
	holds bool
}

func (s spacious) Ask(ctx context.Context, endpoints []etcdclient.Endpoint) map[string]etcdclient.Answer {
	answers := s.listing.Ask(ctx, endpoints)
	for name, a := range answers {
		a.Leader = s.leader
		answers[name] = a
	}
	return answers
}

func (s spacious) called(ctx context.Context, call string) error {
	*s.calls = append(*s.calls, call)
	if s.holds {
		<-ctx.Done()
		return fmt.Errorf("%w (%w)", etcdclient.ErrOutcomeUnknown, ctx.Err())
	}
	return s.err
}

func (s spacious) Disarm(ctx context.Context, _ []etcdclient.Endpoint, a etcdclient.Alarm) error {
	return s.called(ctx, fmt.Sprintf("disarm %s of %d", a.Kind, a.MemberID))
}

func (s spacious) Compact(ctx context.Context, _ []etcdclient.Endpoint, revision int64) error {
	return s.called(ctx, fmt.Sprintf("compact to %d", revision))
}

func (s spacious) Defragment(ctx context.Context, member etcdclient.Endpoint) error {
	return s.called(ctx, "defragment "+member.Name)
}

// spaciousBench has two voters, x-aaaaaaaaaa (which leads) and x-bbbbbbbbbb, of which members tell.
func spaciousBench(t *testing.T) (*bench, *spacious, func() *facts.Observation) {
	t.Helper()
	b := newBench(t)
	s := &spacious{listing: listing{untouched{t}, []etcdclient.Member{
		{ID: 7, Name: "x-aaaaaaaaaa", Started: true}, {ID: 8, Name: "x-bbbbbbbbbb", Started: true},
	}}, leader: 7, calls: new([]string)}
	b.make(action.NewPod{Name: "x-aaaaaaaaaa", Role: facts.Voter}, action.NewPod{Name: "x-bbbbbbbbbb", Role: facts.Defragmenting})
	return b, s, func() *facts.Observation {
		obs := b.observe()
		for i := range obs.Pods {
			obs.Pods[i].Answer = facts.Answer{Read: true, MemberID: uint64(7 + i), Leader: 7, DBSize: 1000}
		}
		b.actor.Etcd = *s
		return obs
	}
}

// voters is the list that spaciousBench's members tell.
var twoVoters = []facts.Member{{ID: 7, Name: "x-aaaaaaaaaa", Started: true}, {ID: 8, Name: "x-bbbbbbbbbb", Started: true}}

// It is written on the Pod before a member is asked to defragment, and after, and of two
// who have seen the same one does it.
func TestDefragment(t *testing.T) {
	b, s, see := spaciousBench(t)
	obs := see()
	defragment := action.Defragment{Name: "x-bbbbbbbbbb", UID: podIn(obs, "x-bbbbbbbbbb").UID, ID: 8, Members: twoVoters}
	began := time.Now()
	if err := b.act(obs, defragment); err != nil {
		t.Fatal(err)
	}
	if want := []string{"defragment x-bbbbbbbbbb"}; !slices.Equal(*s.calls, want) {
		t.Errorf("etcd was asked %q", *s.calls)
	}
	after := podIn(see(), "x-bbbbbbbbbb").Defragmented
	if !after.Done || after.Before != 1000 || after.Since.Before(began.Add(-time.Second)) {
		t.Errorf("it is observed as %+v", after)
	}

	*s.calls = nil
	obs = see()
	s.err = errors.New("no space left on device")
	b.actor.Etcd = *s
	if err := b.act(obs, defragment); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v, want etcd's", err)
	}
	again := podIn(see(), "x-bbbbbbbbbb").Defragmented
	if again.Done || !again.Since.After(after.Since) {
		t.Errorf("after an error it is observed as %+v", again)
	}
	*s.calls = nil
	for what, stale := range map[string]func() (*facts.Observation, action.Defragment){
		"another member list": func() (*facts.Observation, action.Defragment) {
			return see(), action.Defragment{Name: "x-bbbbbbbbbb", UID: defragment.UID, ID: 8, Members: twoVoters[:1]}
		},
		"it leads": func() (*facts.Observation, action.Defragment) { s.leader = 8; return see(), defragment },
		"another Pod of the name": func() (*facts.Observation, action.Defragment) {
			s.leader = 7
			return see(), action.Defragment{Name: "x-bbbbbbbbbb", UID: "other", ID: 8, Members: twoVoters}
		},
		"another role": func() (*facts.Observation, action.Defragment) {
			obs := see()
			if err := b.act(obs, action.SetRoles{Roles: []action.PodRole{{Name: "x-aaaaaaaaaa", UID: podIn(obs, "x-aaaaaaaaaa").UID, Role: facts.Restarting}}}); err != nil {
				t.Fatal(err)
			}
			return obs, defragment
		},
	} {
		s.leader = 7
		obs, a := stale()
		wantStale(t, what, b.act(obs, a))
	}
	if len(*s.calls) > 0 {
		t.Errorf("etcd was asked %q", *s.calls)
	}
}

// A member that takes long goes on; nobody waits for it.
func TestDefragmentTakesLong(t *testing.T) {
	t.Parallel()
	b, s, see := spaciousBench(t)
	s.holds = true
	obs := see()
	began := time.Now()
	if err := b.act(obs, action.Defragment{Name: "x-bbbbbbbbbb", UID: podIn(obs, "x-bbbbbbbbbb").UID, ID: 8, Members: twoVoters}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("it was waited for %s", took)
	}
	if d := podIn(see(), "x-bbbbbbbbbb").Defragmented; d.Done || d.Since.IsZero() {
		t.Errorf("it is observed as %+v", d)
	}
}

// An alarm is taken back while the member list is the one decided on.
func TestDisarm(t *testing.T) {
	b, s, see := spaciousBench(t)
	wantStale(t, "another member list", b.act(see(), action.DisarmAlarm{MemberID: 9, Alarm: facts.Corrupt, Members: twoVoters[:1]}))
	if err := b.act(see(), action.DisarmAlarm{MemberID: 9, Alarm: facts.Corrupt, Members: twoVoters}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"disarm CORRUPT of 9"}; !slices.Equal(*s.calls, want) {
		t.Errorf("etcd was asked %q", *s.calls)
	}
	obs := see()
	b.update(func(c *v1beta2.EtcdCluster) { c.Spec.Maintenance = &v1beta2.MaintenancePolicy{AutoRepairSpace: true} })
	wantStale(t, "the user has changed the spec", b.act(obs, action.DisarmAlarm{MemberID: 9, Alarm: facts.Corrupt, Members: twoVoters}))
}

// A repair is recorded when etcd has compacted, and begins a round.
func TestCompact(t *testing.T) {
	b, s, see := spaciousBench(t)
	obs := see()
	compact := action.Compact{Revision: 41, At: obs.Now}
	if err := b.act(obs, compact); err != nil {
		t.Fatal(err)
	}
	if want := []string{"compact to 41"}; !slices.Equal(*s.calls, want) {
		t.Errorf("etcd was asked %q", *s.calls)
	}
	b.mustReport(plan.Decision{Action: compact})
	m := b.observe().Cluster.Maintenance
	if m.CompactedRevision != 41 || !m.Begun.Equal(obs.Now.Truncate(time.Second)) || !m.Repaired.Equal(m.Begun) {
		t.Errorf("it is recorded: %+v", m)
	}

	later := obs.Now.Add(time.Hour)
	apiservertest.Read(t, b.client, b.cluster)
	b.mustReport(plan.Decision{Action: action.BeginDefragment{At: later}, Status: b.cluster.Status})
	after := b.observe().Cluster.Maintenance
	if !after.Begun.Equal(later.Truncate(time.Second)) || !after.Repaired.Equal(m.Repaired) || after.CompactedRevision != 41 {
		t.Errorf("a round is recorded: %+v", after)
	}
}
