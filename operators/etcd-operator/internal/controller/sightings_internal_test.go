package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// A time that another machine sets counts from when the operator first saw it.
func TestSightings(t *testing.T) {
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	const slow, fast = -time.Hour, time.Hour
	at := func(d time.Duration) time.Time { return now.Add(d) }
	for name, tc := range map[string]struct {
		reason string
		dated  func(time.Time) facts.Pod
		clock  time.Duration
		// first has the times after the first look, and later those one minute after it.
		first facts.Pod
	}{
		"a node that is lost, by a slow clock": {
			reason: "S9: memberTimeout begins when the operator sees it",
			dated:  func(t time.Time) facts.Pod { return facts.Pod{NodeLostSince: t} }, clock: slow, first: facts.Pod{NodeLostSince: now},
		},
		"a node that is lost, by a fast clock": {
			reason: "it would be replaced an hour too late",
			dated:  func(t time.Time) facts.Pod { return facts.Pod{NodeLostSince: t} }, clock: fast, first: facts.Pod{NodeLostSince: now},
		},
		"a Pod that is deleted, by a slow clock": {
			reason: "S9: memberTimeout begins when the operator sees it", dated: func(t time.Time) facts.Pod { return facts.Pod{DeletingSince: t} }, clock: slow, first: facts.Pod{DeletingSince: now},
		},
		"a Pod that is deleted in a minute": {
			reason: "the Pod keeps its grace period", dated: func(t time.Time) facts.Pod { return facts.Pod{DeletingSince: t} }, clock: time.Minute, first: facts.Pod{DeletingSince: at(time.Minute)},
		},
		"a Pod that is not ready, by a slow clock": {
			reason: "a loss counts from the first look; only a crash loop counts by the kubelet's clock, since no clock changes its number of exits",
			dated:  func(t time.Time) facts.Pod { return facts.Pod{UnreadySince: t} }, clock: slow, first: facts.Pod{UnreadySince: now, UnreadyDated: at(slow)},
		},
		"a Pod that is ready, by a fast clock": {
			reason: "rolling changes would wait for an hour", dated: func(t time.Time) facts.Pod { return facts.Pod{ReadySince: t} }, clock: fast, first: facts.Pod{ReadySince: now},
		},
		"a Pod that has been ready for long": {
			reason: "an operator that starts does not wait for it", dated: func(t time.Time) facts.Pod { return facts.Pod{ReadySince: t} }, clock: slow, first: facts.Pod{ReadySince: at(slow)},
		},
		"a container that runs, by a fast clock": {
			reason: "it would count as just started for an hour", dated: func(t time.Time) facts.Pod { return facts.Pod{RunningSince: t} }, clock: fast, first: facts.Pod{RunningSince: now},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s sighting.Memory
			key := client.ObjectKey{Name: "x"}
			tc.first.UID, tc.first.Seen = "u", now
			for _, after := range []time.Duration{0, time.Minute} {
				o := facts.Observation{Now: at(after), Pods: []facts.Pod{tc.dated(at(tc.clock))}}
				o.Pods[0].UID = "u"
				correct(&s, key, &o)
				if diff := cmp.Diff(tc.first, o.Pods[0]); diff != "" {
					t.Errorf("%s after the first look: %s (-want +got):\n%s", after, tc.reason, diff)
				}
			}
		})
	}

	t.Run("a state that ended and began again counts again", func(t *testing.T) {
		var s sighting.Memory
		for i, dated := range []time.Duration{slow, slow + time.Second} {
			o := facts.Observation{Now: at(time.Duration(i) * time.Minute), Pods: []facts.Pod{{UID: "u", NodeLostSince: at(dated)}}}
			correct(&s, client.ObjectKey{}, &o)
			if got := o.Pods[0].NodeLostSince; !got.Equal(o.Now) {
				t.Errorf("look %d: lost since %s, want %s", i, got, o.Now)
			}
		}
	})

	t.Run("two Pods on a node that is lost", func(t *testing.T) {
		var s sighting.Memory
		for i, pods := range [][]facts.Pod{{{UID: "u", NodeLostSince: at(slow)}}, {{UID: "u", NodeLostSince: at(slow)}, {UID: "v", NodeLostSince: at(slow)}}} {
			o := facts.Observation{Now: at(time.Duration(i) * time.Minute), Pods: pods}
			correct(&s, client.ObjectKey{}, &o)
			if got := o.Pods[i].NodeLostSince; !got.Equal(o.Now) {
				t.Errorf("Pod %s is lost since %s, want %s: this Pod was seen first", o.Pods[i].UID, got, o.Now)
			}
		}
	})

	t.Run("a container that is ready late", func(t *testing.T) {
		var s sighting.Memory
		for i, ready := range []time.Time{{}, at(time.Minute)} {
			o := facts.Observation{Now: at(time.Duration(i) * time.Minute), Pods: []facts.Pod{{UID: "u", RunningSince: at(slow), ReadySince: ready}}}
			correct(&s, client.ObjectKey{}, &o)
			if got := o.Pods[0].ReadySince; !got.Equal(ready) {
				t.Errorf("look %d: ready since %s, want %s", i, got, ready)
			}
		}
	})
}
