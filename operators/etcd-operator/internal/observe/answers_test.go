package observe_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// What real members say of themselves is what the planner gets.
func TestASeedAnswers(t *testing.T) {
	etcdtest.EachVersion(t, testSeed)
}

func testSeed(t *testing.T, version string) {
	t.Parallel()
	b := newBench(t)
	etcd := etcdclient.Client{}
	b.observer.Etcd = etcd
	a, ip := podtest.Member(t, version, "x-aaaaaaaaaa")
	// A seed looks up nobody's name, not even its own.
	a.PeerURL = member.PeerURL(b.cluster, "x-aaaaaaaaaa")
	b.runs(b.pod("x-aaaaaaaaaa"), ip)
	if got := seen(t, b.observe(), "x-aaaaaaaaaa").Answer; !cmp.Equal(got, facts.Answer{Trouble: "connection refused", Members: []facts.Member{}}) {
		t.Errorf("where nothing listens the answer is %+v", got)
	}

	a.Start(t, "new", a)
	a.WaitReady(t)
	seed := seen(t, b.observe(), "x-aaaaaaaaaa").Answer
	alone := []facts.Member{{ID: seed.MemberID, Name: "x-aaaaaaaaaa", Started: true}}
	if diff := cmp.Diff(alone, seed.Members); diff != "" || !seed.Reached || !seed.Read || seed.Learner || seed.Waiting || seed.ClusterID == 0 ||
		seed.MemberID == 0 || seed.Leader != seed.MemberID || seed.Term == 0 || seed.Applied == 0 || seed.Revision == 0 || seed.Version != version || seed.ClusterVersion != version[:3]+".0" || len(seed.Errors) > 0 {
		t.Errorf("the seed says %+v; members (-want +got):\n%s", seed, diff)
	}

	via := []etcdclient.Endpoint{observe.Endpoint(b.cluster, "x-aaaaaaaaaa", ip)}
	phantom, err := etcd.AddLearner(apiservertest.Context(t), via, member.PeerURL(b.cluster, "x-phantom000"))
	if err != nil {
		t.Fatal(err)
	}
	list := seen(t, b.observe(), "x-aaaaaaaaaa").Answer.Members
	if !slices.Contains(list, facts.Member{ID: phantom, Name: "x-phantom000", Learner: true}) || !slices.IsSortedFunc(list, byID) {
		t.Errorf("the list is %+v, want x-phantom000 in it by the name in its peer URL, sorted by id", list)
	}
}

// A member that lags, or that has lost its quorum, says three things that are easily taken
// for one another: what is committed is not what is applied, and the list as it knows it
// is not the cluster's.
func TestWhatIsToldIsNotMixedUp(t *testing.T) {
	b := newBench(t)
	cluster := []etcdclient.Member{{ID: 1, Name: "x-aaaaaaaaaa", PeerURLs: []string{member.PeerURL(b.cluster, "x-aaaaaaaaaa")}, Started: true}}
	local := append(slices.Clone(cluster), etcdclient.Member{ID: 2, Name: "x-bbbbbbbbbb", PeerURLs: []string{member.PeerURL(b.cluster, "x-bbbbbbbbbb")}, Started: true})
	one := []facts.Member{{ID: 1, Name: "x-aaaaaaaaaa", Started: true}}
	two := append(slices.Clone(one), facts.Member{ID: 2, Name: "x-bbbbbbbbbb", Started: true})
	told := etcdclient.Answer{
		Reached: true, ClusterID: 7, MemberID: 1, Leader: 2, Term: 3, RaftIndex: 40, AppliedIndex: 30, Revision: 20,
		Members: cluster, LocalMembers: local, Read: true,
	}
	want := facts.Answer{Reached: true, ClusterID: 7, MemberID: 1, Leader: 2, Term: 3, Committed: 40, Applied: 30, Revision: 20, Read: true, Members: one}
	b.runs(b.pod("x-aaaaaaaaaa"), "10.0.0.1")
	for name, row := range map[string]struct {
		reason string
		told   func(etcdclient.Answer, facts.Answer) (etcdclient.Answer, facts.Answer)
	}{
		"with a quorum": {
			reason: "a linearizable read gave the cluster's list; the survivor with the most committed entries has not applied all of them yet",
			told:   func(a etcdclient.Answer, w facts.Answer) (etcdclient.Answer, facts.Answer) { return a, w },
		},
		"without a quorum": {
			reason: "no read succeeded: its own list tells how many members there were",
			told: func(a etcdclient.Answer, w facts.Answer) (etcdclient.Answer, facts.Answer) {
				a.Read, a.Members, w.Read, w.Members = false, nil, false, two
				return a, w
			},
		},
		"a read without a list": {
			reason: "no change of members is decided by a list that was not read",
			told: func(a etcdclient.Answer, w facts.Answer) (etcdclient.Answer, facts.Answer) {
				a.Members, w.Read, w.Members = nil, false, two
				return a, w
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			said, wanted := row.told(told, want)
			b.asked.answers = map[string]etcdclient.Answer{"x-aaaaaaaaaa": said}
			got := seen(t, b.observe(), "x-aaaaaaaaaa").Answer
			wanted.Quota = got.Quota // of its Pod
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.reason, diff)
			}
		})
	}
}

func byID(a, b facts.Member) int {
	if a.ID < b.ID {
		return -1
	}
	return 1
}

// Of a member that refuses a stranger it is known that it serves, and what is wrong with
// the credentials; with the right ones it answers.
func TestASeedRefusesStrangers(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		b := newBench(t)
		b.observer.Etcd = etcdclient.Client{Deadline: 10 * time.Second}
		a, ip := podtest.Member(t, version, "x-aaaaaaaaaa")
		a.Start(t, "new", a)
		a.WaitReady(t)
		a.EnableAuth(t, "secret")
		b.runs(b.pod("x-aaaaaaaaaa"), ip)
		stranger := seen(t, b.observe(), "x-aaaaaaaaaa").Answer
		want := facts.Answer{Read: true, Members: []facts.Member{}, Refused: facts.NoCredentials, RefusedBecause: stranger.RefusedBecause}
		if diff := cmp.Diff(want, stranger); diff != "" || stranger.RefusedBecause == "" {
			t.Errorf("to a stranger it says (-want +got):\n%s", diff)
		}
		for password, want := range map[string]facts.Refusal{"guessed": facts.WrongCredentials, "secret": ""} {
			session := etcdclient.NewSession(func(context.Context) (etcdclient.Credentials, error) {
				return etcdclient.Credentials{Username: "root", Password: password}, nil
			})
			obs, err := b.observer.Observe(etcdclient.As(apiservertest.Context(t), session), b.cluster, facts.TLS{})
			if err != nil {
				t.Fatal(err)
			}
			if got := seen(t, obs, "x-aaaaaaaaaa").Answer; got.Refused != want || !got.Read || got.Reached != (want == "") {
				t.Errorf("with the password %s it says %+v, want a refusal of %q", password, got, want)
			}
		}
	})
}

// A learner tells no list, and a voter without a quorum only its own.
func TestALearnerAndALonelyVoterAnswer(t *testing.T) {
	etcdtest.EachVersion(t, testLearner)
}

func testLearner(t *testing.T, version string) {
	t.Parallel()
	b, etcd := newBench(t), etcdclient.Client{}
	b.observer.Etcd = etcd
	// They must reach each other, so they have no names.
	seed, seedIP := podtest.Member(t, version, "x-aaaaaaaaaa")
	seed.Start(t, "new", seed)
	seed.WaitReady(t)
	b.runs(b.pod("x-aaaaaaaaaa"), seedIP)
	via := []etcdclient.Endpoint{observe.Endpoint(b.cluster, "x-aaaaaaaaaa", seedIP)}
	second, ip := podtest.Member(t, version, "x-bbbbbbbbbb")
	id, err := etcd.AddLearner(apiservertest.Context(t), via, second.PeerURL)
	if err != nil {
		t.Fatal(err)
	}
	process := second.Start(t, "existing", seed, second)
	b.runs(b.pod("x-bbbbbbbbbb"), ip)
	etcdtest.Eventually(t, "the learner to be promoted", func() error {
		if got := seen(t, b.observe(), "x-bbbbbbbbbb").Answer; got.Reached && (!got.Learner || got.Read || len(got.Members) > 0 || got.MemberID != id) {
			t.Errorf("the learner says %+v", got)
		}
		return etcd.Promote(apiservertest.Context(t), via, id)
	})
	second.WaitReady(t)
	process.Kill()
	got := seen(t, b.observe(), "x-aaaaaaaaaa").Answer
	if got.Read || !got.Reached || len(got.Members) != 2 {
		t.Errorf("without a quorum the seed says %+v, want its own list of two and no read", got)
	}
	if got := seen(t, b.observe(), "x-bbbbbbbbbb").Answer; got.Reached || got.Waiting {
		t.Errorf("a dead member says %+v", got)
	}
}

// A launcher that waits in etcd's place says so, what it used last, and whose it is. The
// address of a Pod may be another Pod's by now: that one's launcher says nothing of this.
func TestALauncherAnswers(t *testing.T) {
	const ofAnother = "00000000-0000-0000-0000-000000000000"
	cases := map[string]struct {
		reason string
		change func(o *launcher.Options, podUIDFile string)
		want   facts.Answer
		says   string
	}{
		"its own":               {"it has no data", nil, facts.Answer{Waiting: true, Attempt: 3, Identified: true}, ""},
		"of an earlier release": {"it does not say whose it is", func(o *launcher.Options, _ string) { o.PodUIDFile = "" }, facts.Answer{Waiting: true, Attempt: 3}, ""},
		"of another Pod":        {"an address that is stale", func(_ *launcher.Options, f string) { write(t, f, ofAnother) }, facts.Answer{}, "that of member x-a, Pod uid " + ofAnother},
		"of another member":     {"the same", func(o *launcher.Options, _ string) { o.Member.Name = "x-b" }, facts.Answer{}, "that of member x-b"},
		"of another cluster":    {"the same", func(o *launcher.Options, _ string) { o.ClusterUID = ofAnother }, facts.Answer{}, "EtcdCluster uid " + ofAnother},
		"on a copy of some volume": {"the data is another member's", func(o *launcher.Options, _ string) {
			write(t, filepath.Join(o.DataDir, "member", "wal", "0.wal"), "")
			write(t, filepath.Join(o.DataDir, "member", "etcd-launcher.json"), `{"clusterUID":"`+ofAnother+`","member":"x-z"}`)
		}, facts.Answer{Refusing: true}, "does not start etcd: the volume has the data of member x-z of the EtcdCluster of uid " + ofAnother},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.observer.Etcd = etcdclient.Client{}
			ip, dir := podtest.Address(t), t.TempDir()
			p := b.pod("x-a")
			b.runs(p, ip)
			write(t, filepath.Join(dir, "used"), "3\n")
			write(t, filepath.Join(dir, "pod-uid"), string(p.UID))
			o := launcher.Options{
				Member:  launcher.Member{Name: "x-a", PeerURL: member.PeerURL(b.cluster, "x-a")},
				DataDir: filepath.Join(dir, "data"), PermitFile: filepath.Join(dir, "permit"), UsedFile: filepath.Join(dir, "used"),
				ClusterUID: string(b.cluster.UID), PodUIDFile: filepath.Join(dir, "pod-uid"),
				Listen: podtest.At(ip, member.MetricsPort), Command: []string{"true"}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
			}
			if c.change != nil {
				c.change(&o, filepath.Join(dir, "pod-uid"))
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- launcher.Run(ctx, o) }()
			etcdtest.Eventually(t, "the launcher to wait", func() error {
				return etcdtest.CheckHTTP(podtest.At(ip, member.MetricsPort), launcher.StatePath, 200)
			})
			got := seen(t, b.observe(), "x-a").Answer
			if !strings.Contains(got.Blocked, c.says) || (c.says == "") != (got.Blocked == "") {
				t.Errorf("%s: it says %q, want %q", c.reason, got.Blocked, c.says)
			}
			if got.Waiting && (got.Waited < 0 || got.Waited > time.Minute) {
				t.Errorf("it has waited for %s", got.Waited)
			}
			got.Blocked, got.Waited = "", 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			stop()
			if err := etcdtest.Receive(t, "the launcher to end", ended); err != nil {
				t.Error(err)
			}
		})
	}
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A member is who it says it is, whatever a person makes of its peer URL with etcdctl; and
// what a person has added is told from the operator's own.
func TestPeopleUseEtcdctl(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		b := newBench(t)
		b.observer.Etcd = etcdclient.Client{}
		a, ip := podtest.Member(t, version, "x-aaaaaaaaaa")
		a.PeerURL = member.PeerURL(b.cluster, "x-aaaaaaaaaa")
		b.runs(b.pod("x-aaaaaaaaaa"), ip)
		a.Start(t, "new", a)
		a.WaitReady(t)
		ctl := a.Dial(t, "", "")
		first := seen(t, b.observe(), "x-aaaaaaaaaa").Answer
		if _, err := ctl.MemberUpdate(t.Context(), first.MemberID, []string{"http://192.0.2.1:2380"}); err != nil {
			t.Fatal(err)
		}
		var added *clientv3.MemberAddResponse
		// etcd drops a change of members that comes right after another one, and never answers.
		etcdtest.Eventually(t, "a member to be added", func() (err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			added, err = ctl.MemberAddAsLearner(ctx, []string{"http://192.0.2.2:2380", "http://x-foreign.example.com:2380"})
			return err
		})
		want := []facts.Member{
			{ID: first.MemberID, Name: "x-aaaaaaaaaa", Started: true, At: "http://192.0.2.1:2380"},
			{
				ID: added.Member.ID, Name: fmt.Sprintf("%016x", added.Member.ID), Learner: true, Foreign: true,
				At: "http://192.0.2.2:2380,http://x-foreign.example.com:2380",
			},
		}
		slices.SortFunc(want, byID)
		if diff := cmp.Diff(want, seen(t, b.observe(), "x-aaaaaaaaaa").Answer.Members); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Each member has a name of its own, and a Pod's name is the operator's member's.
func TestMembersOfOneName(t *testing.T) {
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	own := member.PeerURL(c, "x-aaaaaaaaaa")
	for name, tc := range map[string]struct {
		reason string
		given  []etcdclient.Member
		want   []facts.Member
	}{
		"another says the same name": {
			"a person has started it under the name of ours",
			[]etcdclient.Member{{ID: 2, Name: "x-aaaaaaaaaa", PeerURLs: []string{own}, Started: true}, {ID: 1, Name: "x-aaaaaaaaaa", PeerURLs: []string{"http://other:2380"}, Started: true}},
			[]facts.Member{{ID: 1, Name: "x-aaaaaaaaaa-0000000000000001", Started: true, Foreign: true, At: "http://other:2380"}, {ID: 2, Name: "x-aaaaaaaaaa", Started: true}},
		},
		"neither is at its place": {
			"nobody can tell which of them the Pod is",
			[]etcdclient.Member{{ID: 2, Name: "x-aaaaaaaaaa", PeerURLs: []string{"http://a:2380"}}, {ID: 1, Name: "x-aaaaaaaaaa", PeerURLs: []string{"http://b:2380"}}},
			[]facts.Member{{ID: 1, Name: "x-aaaaaaaaaa-0000000000000001", Foreign: true, At: "http://b:2380"}, {ID: 2, Name: "x-aaaaaaaaaa-0000000000000002", Foreign: true, At: "http://a:2380"}},
		},
		"one of ours that has not started": {
			"what a crashed operator left half done", []etcdclient.Member{{ID: 1, PeerURLs: []string{own}, Learner: true}},
			[]facts.Member{{ID: 1, Name: "x-aaaaaaaaaa", Learner: true}},
		},
		"one that serves in our domain under another name": {
			"only the cluster's own Pods are published there", []etcdclient.Member{{ID: 1, Name: "x-seed", PeerURLs: []string{member.PeerURL(c, "x-seed")}, Started: true}},
			[]facts.Member{{ID: 1, Name: "x-seed", Started: true}},
		},
		"one in our domain that is not of our naming": {
			"the operator makes no such name", []etcdclient.Member{{ID: 1, PeerURLs: []string{member.PeerURL(c, "mine")}}},
			[]facts.Member{{ID: 1, Name: "mine", Foreign: true, At: member.PeerURL(c, "mine")}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, observe.Members(c, tc.given)); diff != "" {
				t.Errorf("(-want +got):\n%s\nreason for this test: %s", diff, tc.reason)
			}
		})
	}
}
