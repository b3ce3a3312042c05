package act_test

import (
	"context"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/action"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// downgrading is an etcd that is asked for downgrades, and answers with err.
type downgrading struct {
	untouched
	err   error
	asked []string
}

func (d *downgrading) EnableDowngrade(_ context.Context, via []etcdclient.Endpoint, to string) error {
	d.asked = append(d.asked, via[0].Name+" to "+to)
	return d.err
}

func (d *downgrading) CancelDowngrade(_ context.Context, via []etcdclient.Endpoint) error {
	d.asked = append(d.asked, via[0].Name+" not to")
	return d.err
}

// Etcd is asked for a downgrade, by the leader, while all Pods are as they were (S6, S11).
func TestDowngradesAreAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		do      action.Action
		refusal error
		asked   string
	}{
		"enabled":   {action.EnableDowngrade{To: "3.5.0"}, etcdclient.ErrDowngradeRefused, "x-b to 3.5.0"},
		"cancelled": {action.CancelDowngrade{}, etcdclient.ErrNoDowngrade, "x-a not to"}, // 3.5 does not answer
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			obs := b.make(action.NewPod{Name: "x-a", Role: facts.Voter}, action.NewPod{Name: "x-b", Role: facts.Voter})
			for i := range obs.Pods {
				obs.Pods[i].Answer = facts.Answer{
					Reached: true, Read: true, ClusterID: obs.Cluster.ClusterID, MemberID: uint64(i + 1), Leader: 2, Version: []string{"3.6.16", "3.5.35"}[i],
				}
			}
			etcd := &downgrading{untouched: untouched{t}}
			b.actor.Etcd = etcd
			if err := b.act(obs, tc.do); err != nil {
				t.Fatal(err)
			}
			if len(etcd.asked) != 1 || etcd.asked[0] != tc.asked {
				t.Errorf("asked %v, want %s", etcd.asked, tc.asked)
			}
			etcd.err = tc.refusal
			wantStale(t, "etcd that is further than was seen", b.act(obs, tc.do))

			etcd.asked = nil
			if err := b.act(obs, action.SetRoles{Roles: []action.PodRole{{Name: "x-a", UID: podIn(obs, "x-a").UID, Role: facts.Restarting}}}); err != nil {
				t.Fatal(err)
			}
			wantStale(t, "a Pod that has changed", b.act(obs, tc.do))
			if len(etcd.asked) > 0 {
				t.Errorf("etcd was asked %v", etcd.asked)
			}
		})
	}
}
