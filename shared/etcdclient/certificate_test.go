package etcdclient

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// By TLS, etcd takes the common name of a certificate for the user, unless a token says who
// it is: root's certificate needs no credentials, and any other is as good as they are.
func TestTheNameInACertificate(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		ours := etcdtest.NewCA(t, "ours")
		server := t.TempDir()
		etcdtest.Mount(t, server, ours.Issue(t, "server", "127.0.0.1").Files(ours))
		m := etcdtest.NewMember(t, version, "m0")
		process := m.StartSecure(t, server, "new", m)
		m.WaitReady(t)
		all := endpoints(m)
		named := func(name string) context.Context { return By(within(t), ours.Issue(t, name).Config(t, ours)) }
		cli := m.DialSecure(t, ours.Issue(t, "root").Config(t, ours))
		etcdtest.EnableAuthOf(t, cli, "secret")
		if _, err := cli.UserAdd(within(t), "user", "word"); err != nil {
			t.Fatal(err)
		}
		// tried is what is told to whoever it is of himself, and whether he may remove a member.
		tried := func(who string, ctx context.Context, want Refusal) {
			t.Helper()
			a := unhurried.Ask(ctx, all)["m0"]
			if a.Refused != want || !a.Read || (want == "" && (!a.Reached || len(a.Members) == 0)) {
				t.Errorf("%s is told %+v, want %q", who, a, want)
			}
			// Who may is told that there is no such member.
			err := unhurried.Remove(ctx, all, 1)
			if errors.Is(err, ErrUnauthorized) != (want != "") || errors.Is(err, ErrNotFound) != (want == "") {
				t.Errorf("%s removes a member: %v, want %q", who, err, want)
			}
		}
		tried("root by certificate", named("root"), "")
		tried("a user by certificate", named("user"), NotRoot)
		tried("nobody by certificate", named("nobody"), NotRoot)

		// With credentials.
		session, read := known("root", "secret")
		tried("root twice", As(named("root"), session), "")
		if read.Load() != 0 {
			t.Errorf("credentials were read %d times though the certificate is enough", read.Load())
		}
		for _, name := range []string{"user", "nobody"} {
			session, read := known("root", "secret")
			ctx := As(named(name), session)
			for range 3 {
				tried("root, with the certificate of "+name, ctx, "")
			}
			if read.Load() != 1 {
				t.Errorf("with the certificate of %s, root authenticated %d times, want once", name, read.Load())
			}
		}
		session, _ = known("user", "word")
		tried("a user, with nobody's certificate", As(named("nobody"), session), NotRoot)
		session, _ = known("root", "guessed")
		tried("a wrong password, with a user's certificate", As(named("user"), session), WrongCredentials)
		if told := process.Output(); strings.Contains(told, "guessed") {
			t.Error("etcd's log has the password")
		}

		// A token that is of no use any more, and can't be replaced, is not shown any longer.
		var gone atomic.Bool
		session = NewSession(func(context.Context) (Credentials, error) {
			if gone.Load() {
				return Credentials{}, errors.New("the Secret is gone")
			}
			return Credentials{"root", "secret"}, nil
		})
		tried("nobody, with a Secret", As(named("nobody"), session), "")
		process.Kill() // it forgets its tokens
		m.StartSecure(t, server, "new", m)
		m.WaitReady(t)
		gone.Store(true)
		session.mu.Lock()
		session.issued = session.issued.Add(-renewPause)
		session.mu.Unlock()
		tried("root by certificate, with a token that nobody knows", As(named("root"), session), "")
	})
}
