package etcdclient

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// What the operators ask of an etcd with authentication enabled, and whom it answers.
// A refusal is told by its words: some come as plain errors.
func TestWhatNeedsAUser(t *testing.T) {
	const (
		answered = ""
		empty    = "user name is empty"
		denied   = "permission denied"
		// A change that is let through, and refused for what it asks for.
		notFound = "member not found"
	)
	calls := []struct {
		call string
		do   func(context.Context, *clientv3.Client) error
		// What a stranger, a user without the role root, and root are told.
		stranger, user, root string
	}{
		{"Status", func(ctx context.Context, c *clientv3.Client) error {
			_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Status(ctx, &pb.StatusRequest{})
			return err
		}, empty, answered, answered},
		{"MemberList, linearizable", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberList(ctx)
			return err
		}, empty, answered, answered},
		{"MemberList, serializable", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberList(ctx, clientv3.WithSerializable())
			return err
		}, empty, answered, answered},
		{"Range of a key that nobody has", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Get(ctx, readKey, clientv3.WithCountOnly())
			return err
		}, empty, denied, answered},
		{"MemberAdd", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:1"})
			return err
		}, empty, denied, answered},
		{"MemberPromote", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberPromote(ctx, 1)
			return err
		}, empty, denied, notFound},
		{"MemberRemove", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MemberRemove(ctx, 1)
			return err
		}, empty, denied, notFound},
		{"MoveLeader", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.MoveLeader(ctx, 1)
			return err
		}, empty, denied, "bad leader transferee"},
		{"Snapshot", func(ctx context.Context, c *clientv3.Client) error {
			stream, err := pb.NewMaintenanceClient(c.ActiveConnection()).Snapshot(ctx, &pb.SnapshotRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, empty, denied, answered},
		{"Defragment", func(ctx context.Context, c *clientv3.Client) error {
			_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Defragment(ctx, &pb.DefragmentRequest{})
			return err
		}, empty, denied, answered},
		{"Alarm, list", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.AlarmList(ctx)
			return err
		}, empty, answered, answered},
		{"Alarm, disarm", func(ctx context.Context, c *clientv3.Client) error {
			_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Alarm(ctx, &pb.AlarmRequest{Action: pb.AlarmRequest_DEACTIVATE, Alarm: pb.AlarmType_NOSPACE})
			return err
		}, empty, denied, answered},
		{"Compact", func(ctx context.Context, c *clientv3.Client) error {
			_, err := c.Compact(ctx, 1<<40)
			return err
		}, empty, denied, "future revision"},
		{"Downgrade, validate", func(ctx context.Context, c *clientv3.Client) error {
			_, err := pb.NewMaintenanceClient(c.ActiveConnection()).Downgrade(ctx, &pb.DowngradeRequest{Action: pb.DowngradeRequest_VALIDATE, Version: "9.9.9"})
			return err
		}, empty, denied, "downgrade"},
		{"HashKV", func(ctx context.Context, c *clientv3.Client) error {
			_, err := pb.NewMaintenanceClient(c.ActiveConnection()).HashKV(ctx, &pb.HashKVRequest{})
			return err
		}, empty, denied, answered},
	}
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 1)
		m := members[0]
		m.EnableAuth(t, "secret")
		root := m.Dial(t, "root", "secret")
		if _, err := root.UserAdd(within(t), "user", "word"); err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			for who, as := range map[string]struct {
				cli  *clientv3.Client
				want string
			}{
				"a stranger": {m.Dial(t, "", ""), c.stranger},
				"a user":     {m.Dial(t, "user", "word"), c.user},
				"root":       {root, c.root},
			} {
				got := ""
				if err := c.do(within(t), as.cli); err != nil {
					got = err.Error()
				}
				if (as.want == answered) != (got == "") || !strings.Contains(got, as.want) {
					t.Errorf("%s asks for %s and is told %q, want %q", who, c.call, got, as.want)
				}
			}
		}
		// Everybody: the probes of members, and the cluster's version.
		for _, path := range []string{"/version", "/health", "/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT"} {
			if err := etcdtest.CheckHTTP(m.Client, path, 200); err != nil {
				t.Error(err)
			}
		}
		for _, path := range []string{"/livez", "/readyz", "/metrics", "/health?serializable=true&exclude=NOSPACE&exclude=CORRUPT"} {
			if err := etcdtest.CheckHTTP(m.Metrics, path, 200); err != nil {
				t.Error(err)
			}
		}
	})
}

// known are credentials that count how often they are read.
func known(user, password string) (s *Session, read *atomic.Int64) {
	read = &atomic.Int64{}
	return NewSession(func(context.Context) (Credentials, error) {
		read.Add(1)
		return Credentials{user, password}, nil
	}), read
}

func TestAskWithAuthentication(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 1)
		all := endpoints(members...)
		session, read := known("root", "secret")
		root := As(within(t), session)
		if a := unhurried.Ask(root, all)["m0"]; !a.Reached || read.Load() != 0 {
			t.Errorf("before authentication is enabled, credentials were read %d times, and the answer is %+v", read.Load(), a)
		}
		members[0].EnableAuth(t, "secret")

		a := unhurried.Ask(within(t), all)["m0"]
		if a.Reached || !a.Read || a.Refused != NoCredentials || !strings.Contains(a.Err, "user name is empty") {
			t.Errorf("a stranger is told %+v", a)
		}
		_, err := unhurried.AddLearner(within(t), all, "http://127.0.0.1:1")
		if why := (*RefusedError)(nil); !errors.Is(err, ErrUnauthorized) || !errors.As(err, &why) || why.Refusal != NoCredentials {
			t.Errorf("a stranger adds a member: %v", err)
		}
		for range 3 {
			a := unhurried.Ask(root, all)["m0"]
			if !a.Reached || !a.Read || len(a.Members) != 1 || a.Refused != "" {
				t.Errorf("root is told %+v", a)
			}
		}
		if _, err := unhurried.AddLearner(root, all, "http://127.0.0.1:1"); err != nil {
			t.Errorf("root adds a member: %v", err)
		}
		if read.Load() != 1 {
			t.Errorf("root authenticated %d times, want once", read.Load())
		}
		if _, err := members[0].Dial(t, "root", "secret").AuthDisable(within(t)); err != nil {
			t.Fatal(err)
		}
		if a := unhurried.Ask(root, all)["m0"]; !a.Reached || a.Refused != "" {
			t.Errorf("authentication is disabled again, and root is told %+v", a)
		}
	})
}

// Credentials that are wrong are not shown to etcd over and over; others are, at once.
func TestWrongCredentials(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, processes := grow(t, version, 1)
		all := endpoints(members...)
		members[0].EnableAuth(t, "secret")
		if _, err := members[0].Dial(t, "root", "secret").UserAdd(within(t), "user", "word"); err != nil {
			t.Fatal(err)
		}
		var now Credentials
		var broken error
		ctx := As(within(t), NewSession(func(context.Context) (Credentials, error) { return now, broken }))
		ask := func(want Refusal) {
			t.Helper()
			a := unhurried.Ask(ctx, all)["m0"]
			if a.Refused != want || !a.Read || a.Reached != (want == NotRoot || want == "") || strings.Contains(a.RefusedBecause, now.Password) && now.Password != "" {
				t.Errorf("credentials of %q: %+v, want %q", now.Username, a, want)
			}
		}
		broken = errors.New("the Secret is gone")
		ask(NoCredentials)
		broken, now = nil, Credentials{"root", "guessed"}
		for range 5 {
			ask(WrongCredentials)
		}
		if _, err := unhurried.AddLearner(ctx, all, "http://127.0.0.1:1"); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("with a wrong password: %v", err)
		}
		if n := strings.Count(processes[0].Output(), "invalid authentication was requested"); n != 1 {
			t.Errorf("a wrong password was shown %d times, want once", n)
		}
		now = Credentials{"user", "word"}
		ask(NotRoot)
		if _, err := unhurried.AddLearner(ctx, all, "http://127.0.0.1:1"); !errors.Is(err, ErrUnauthorized) {
			t.Errorf("without the role root: %v", err)
		}
		now = Credentials{"root", "secret"}
		// The old token is of no use any more.
		if _, err := members[0].Dial(t, "root", "secret").UserDelete(within(t), "user"); err != nil {
			t.Fatal(err)
		}
		etcdtest.Eventually(t, "credentials that were changed to be used", func() error {
			if a := unhurried.Ask(ctx, all)["m0"]; a.Refused != "" || !a.Reached {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
	})
}

// A member that has forgotten its tokens, as all do that restart, and a learner that
// never knew them: both answer soon, and nobody authenticates more than for that.
func TestTokensThatMembersDoNotKnow(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, processes := grow(t, version, 3)
		members[0].EnableAuth(t, "secret")
		session, read := known("root", "secret")
		ctx := As(within(t), session)
		answered := func(who string, n int) {
			t.Helper()
			etcdtest.Eventually(t, who, func() error {
				for name, a := range unhurried.Ask(ctx, endpoints(members...)) {
					if !a.Reached || (!a.Learner && len(a.Members) != n) {
						return fmt.Errorf("%s: %+v", name, a)
					}
				}
				return nil
			})
		}
		answered("all to answer root", 3)
		if read.Load() != 1 {
			t.Errorf("root authenticated %d times for three members, want once", read.Load())
		}
		processes[1].Kill()
		members[1].Start(t, "existing", members...)
		answered("a member that restarted to answer", 3)

		learner := etcdtest.NewMember(t, version, "learner")
		eventually(t, "add the learner", func() error {
			_, err := unhurried.AddLearner(ctx, endpoints(members[0]), learner.PeerURL)
			return err
		})
		members = append(members, learner)
		learner.Start(t, "existing", members...)
		answered("a learner to answer", 4)
		before := read.Load()
		begun := time.Now()
		for time.Since(begun) < time.Second {
			answered("all to go on answering", 4)
		}
		if read.Load() != before || before > 4 {
			t.Errorf("root authenticated %d times, and then %d times while nothing happened", before, read.Load()-before)
		}
	})
}

// Without a quorum a member takes the tokens that it knows, and gives no others.
func TestLoginNeedsAQuorum(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, processes := grow(t, version, 3)
		members[0].EnableAuth(t, "secret")
		known1, _ := known("root", "secret")
		client := unhurried
		ask := func(s *Session) Answer { return client.Ask(As(within(t), s), endpoints(members[0]))["m0"] }
		etcdtest.Eventually(t, "the member to answer root", func() error {
			if a := ask(known1); !a.Reached {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
		for _, p := range processes[1:] {
			p.Kill()
		}
		client.Deadline = 3 * time.Second // a read without a quorum takes all of it
		etcdtest.Eventually(t, "the member to have no quorum", func() error {
			if a := ask(known1); !a.Reached || a.Read || a.NeedsLogin {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
		// Nobody answered for a moment, as when nodes fail: it may have been the token.
		known1.mu.Lock()
		known1.issued = time.Time{}
		known1.mu.Unlock()
		known1.discard(known1.current())
		etcdtest.Eventually(t, "the one token that there is to be shown again", func() error {
			if a := ask(known1); !a.Reached || a.NeedsLogin {
				return fmt.Errorf("%+v", a)
			}
			return nil
		})
		late, _ := known("root", "secret")
		if a := ask(late); a.Reached == a.NeedsLogin || a.Read || a.Refused != "" {
			t.Errorf("a session without a token: %+v", a)
		}
	})
}

// A token that was set aside is shown again to a voter without a quorum. A learner can't give
// another one either, but a voter can.
func TestWhomADiscardedTokenIsShownTo(t *testing.T) {
	for who, row := range map[string]struct {
		answer Answer
		shown  string
	}{
		"a voter without a quorum": {Answer{NeedsLogin: true}, "token"},
		"a learner":                {Answer{}, ""},
	} {
		s, _ := known("root", "secret")
		s.token = "token" // of long ago
		s.Ask(t.Context(), nil, func(used string) (Answer, error) {
			s.discard(used)
			return row.answer, rpctypes.ErrInvalidAuthToken
		})
		if got := s.current(); got != row.shown {
			t.Errorf("%s is shown %q from now on, want %q", who, got, row.shown)
		}
	}
}

// A token of a cluster whose log was longer, such as the one that a restored one takes the
// place of: etcd does not refuse it but waits, and credentials help all the same.
func TestATokenOfALongerLog(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		session, _ := known("root", "secret")
		ctx := As(within(t), session)
		old, _ := grow(t, version, 1)
		for range 50 {
			if _, err := old[0].Dial(t, "", "").Put(ctx, "key", "value"); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 2 {
			members := old
			if n == 1 {
				members, _ = grow(t, version, 1)
			}
			members[0].EnableAuth(t, "secret")
			session.mu.Lock()
			session.issued = time.Time{} // long ago
			session.mu.Unlock()
			etcdtest.Eventually(t, "the member to answer", func() error {
				a := Client{Deadline: time.Second}.Ask(ctx, endpoints(members...))["m0"]
				if a.Refused != "" {
					t.Errorf("credentials are right, and said to be %s: %s", a.Refused, a.RefusedBecause)
				}
				if !a.Reached {
					return errors.New(a.Err)
				}
				return nil
			})
		}
	})
}

// A change that etcd refuses is known as refused, in whatever words: nothing is left open.
func TestPlainRefusals(t *testing.T) {
	for text := range plainRefusals {
		if err := translate(status.Error(codes.Unknown, text)); !errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Whatever refuses a session says so in words that name no password.
func TestRefusedError(t *testing.T) {
	err := error(&RefusedError{WrongCredentials, rpctypes.ErrAuthFailed})
	if !errors.Is(err, ErrUnauthorized) || !errors.Is(err, rpctypes.ErrAuthFailed) || !strings.Contains(err.Error(), "invalid user ID or password") {
		t.Error(err)
	}
}
