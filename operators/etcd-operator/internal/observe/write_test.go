package observe_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// A write is tried at the very Pod that a restore hands over, once it serves reads, and at
// nobody else.
func TestWhoIsWrittenTo(t *testing.T) {
	b := newBench(t)
	seed := b.pod("x-s")
	b.runs(seed, "192.0.2.1")
	b.runs(b.pod("x-a"), "192.0.2.2")
	read := etcdclient.Answer{Reached: true, Read: true, Members: []etcdclient.Member{{ID: 1, Name: "x-s"}}}
	for _, tc := range []struct {
		name, seeded string
		answer       etcdclient.Answer
		refusal      error
		tried        bool
		want         facts.Write
	}{
		{"not handed over", "", read, nil, false, facts.Write{}},
		{"another Pod of the name", "r1/x-s/other", read, nil, false, facts.Write{}},
		{"another restore's", "r0/x-s/" + string(seed.UID), read, nil, false, facts.Write{}},
		{"handed over", "r1/x-s/" + string(seed.UID), read, nil, true, facts.Write{Acknowledged: true}},
		{"no quorum yet", "r1/x-s/" + string(seed.UID), etcdclient.Answer{Reached: true}, nil, false, facts.Write{}},
		{"not let in", "r1/x-s/" + string(seed.UID), etcdclient.Answer{Read: true, Refused: etcdclient.WrongCredentials}, nil, false, facts.Write{}},
		{"refused", "r1/x-s/" + string(seed.UID), read, errors.New("no space"), true, facts.Write{Refused: "no space"}},
		{"no answer", "r1/x-s/" + string(seed.UID), read, etcdclient.ErrOutcomeUnknown, true, facts.Write{}},
		{"out of reach", "r1/x-s/" + string(seed.UID), read, etcdclient.ErrUnreachable, true, facts.Write{}},
	} {
		b.asked.answers, b.asked.refusal, b.asked.written = map[string]etcdclient.Answer{"x-s": tc.answer, "x-a": read}, tc.refusal, nil
		apiservertest.Read(t, b.client, b.cluster)
		b.cluster.Annotations = map[string]string{v1beta2.AnnotationSeeded: tc.seeded}
		if err := b.client.Update(apiservertest.Context(t), b.cluster); err != nil {
			t.Fatal(err)
		}
		b.status(func(s *v1beta2.ClusterStatus) { s.FencedBy = "r1" })
		obs := b.observe()
		if tried := slices.Equal(b.asked.written, []string{"x-s"}); tried != tc.tried || !tried && len(b.asked.written) > 0 {
			t.Errorf("%s: written to %v", tc.name, b.asked.written)
		}
		for _, p := range obs.Pods {
			if p.Name == "x-s" && p.Answer.Write != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.name, p.Answer.Write, tc.want)
			}
		}
	}
}
