package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

// This file is etcd's authentication, as the shipped operator's sessions meet it: users, the
// tokens that members know, and the Secret with the password.

// rootSecret is the Secret that a person keeps. Of etcd's users one has the role root.
const (
	rootSecret    = "root"
	rootUser      = "root"
	weakUser      = "weak"
	rightPassword = "right"
)

// tokenTTL is how long etcd knows a token that nobody uses (simpleTokenTTLDefault).
const tokenTTL = 5 * time.Minute

// token is one that etcd has given.
type token struct {
	user         string
	issued, used time.Duration
}

// keepRootSecret writes the Secret: what is in it is wrong while LackCredentials lasts.
func (w *world) keepRootSecret() {
	if !w.ships() || !slices.Contains(w.cfg.Kinds, EnableAuth) {
		return
	}
	user, password := rootUser, rightPassword
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: rootSecret, Namespace: namespace}}
	if w.during(LackCredentials) {
		switch w.lacking {
		case facts.NoCredentials:
			delete(w.children, childKey(s, rootSecret))
			return
		case facts.WrongCredentials:
			password = "wrong"
		case facts.NotRoot:
			user = weakUser
		}
	}
	s.Data = map[string][]byte{corev1.BasicAuthUsernameKey: []byte(user), corev1.BasicAuthPasswordKey: []byte(password)}
	w.children[childKey(s, rootSecret)] = s
}

// denied is how a member refuses a request for its token. By TLS, who shows none is the user in
// the certificate, who is root. One that was restarted knows no token of before; learners get
// them with the log.
func (w *world) denied(r *run, shown string) error {
	if r.etcd == nil {
		return errUnavailable
	}
	switch {
	case !w.authenticates(r), shown == "" && w.cfg.TLS:
		return nil
	case shown == "":
		return rpctypes.ErrGRPCUserEmpty
	case !w.knowsToken(r, shown):
		return rpctypes.ErrGRPCInvalidAuthToken
	}
	w.tokens[shown].used = w.now
	return nil
}

// knowsToken reports whether a member that runs takes a token.
func (w *world) knowsToken(r *run, shown string) bool {
	t := w.tokens[shown]
	forgotten := t != nil && t.issued < r.etcd.since && isVoter(r.disk.data.view, r.disk.data.id)
	return t != nil && !forgotten && w.now-t.used < tokenTTL
}

// withheld is what is left of an answer when a request was denied.
func (w *world) withheld(r *run, a etcdclient.Answer, denied error) (etcdclient.Answer, error) {
	if denied == nil || tellsStrangers(r.version) {
		return a, denied
	}
	return etcdclient.Answer{Err: denied.Error(), Read: a.Read && !a.Learner, NeedsLogin: !a.Read && !a.Learner}, denied
}

// authenticated asks a member for a change, as the session's user.
func (m *members) authenticated(ctx context.Context, what string, r *run, do func(*run) error) error {
	s := etcdclient.SessionOf(ctx)
	err := s.Try(ctx, authenticator{m, r}, func() error {
		sent, _ := metadata.FromOutgoingContext(s.Sign(ctx))
		shown := strings.Join(sent.Get(rpctypes.TokenFieldNameGRPC), "")
		if err := m.w.denied(r, shown); err != nil {
			return err
		}
		if t := m.w.tokens[shown]; t != nil && t.user != rootUser && m.w.authenticates(r) {
			return rpctypes.ErrGRPCPermissionDenied
		}
		m.w.touch(what)
		m.w.asked++
		return asTold(do(r))
	})
	if errors.Is(err, rpctypes.ErrGRPCPermissionDenied) {
		return fmt.Errorf("%w: %w", etcdclient.ErrUnauthorized, err)
	}
	return err
}

// authenticator is a connection to a member, for what a session asks of it.
type authenticator struct {
	*members
	r *run
}

func (c authenticator) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	panic("not simulated")
}

func (c authenticator) Invoke(_ context.Context, _ string, request, reply any, _ ...grpc.CallOption) error {
	w := c.w
	if !w.readable(c.r) || !w.sees(c.op, c.r.node) {
		return errUnavailable
	}
	if !w.authenticates(c.r) {
		return rpctypes.ErrGRPCAuthNotEnabled
	}
	switch x := request.(type) {
	case *pb.AuthenticateRequest:
		if x.Password != rightPassword || x.Name != rootUser && x.Name != weakUser {
			return rpctypes.ErrGRPCAuthFailed
		}
		if w.tokens == nil {
			w.tokens = map[string]*token{}
		}
		given := fmt.Sprintf("token-%d", len(w.tokens))
		w.tokens[given] = &token{user: x.Name, issued: w.now, used: w.now}
		reply.(*pb.AuthenticateResponse).Token = given
	case *pb.AuthUserGetRequest:
		if x.Name == rootUser {
			reply.(*pb.AuthUserGetResponse).Roles = []string{rootUser}
		}
	default:
		panic(fmt.Sprintf("%T is not simulated", x))
	}
	return nil
}
