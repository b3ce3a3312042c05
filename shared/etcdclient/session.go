package etcdclient

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

const (
	// wrongPause is for how long credentials that etcd has refused are not shown to it
	// again, unless they change: each attempt costs it the time of a bcrypt (some 100 ms
	// of CPU), and a line of its log.
	wrongPause = 30 * time.Second
	// renewPause is how old a token must be before another one is asked for. A member
	// that has restarted, or that came by a snapshot, does not know those of before.
	renewPause = 2 * time.Second
)

// rootRole is the role that etcd demands for changes of members and for maintenance.
const rootRole = "root"

// Refusal says why etcd's authentication refuses to answer.
type Refusal string

const (
	// NoCredentials: etcd asks for a user, and there are no credentials, or they can't
	// be read.
	NoCredentials Refusal = "NoCredentials"
	// WrongCredentials: etcd knows no user of this name and password.
	WrongCredentials Refusal = "WrongCredentials"
	// NotRoot: the user does not have etcd's role root.
	NotRoot Refusal = "NotRoot"
)

// Credentials are the name and the password of a user of etcd.
type Credentials struct{ Username, Password string }

// Session is one user's standing with one cluster on which etcd's authentication is, or
// may become, enabled. It holds the token that etcd gave for the credentials, and shows
// them again only when a member refuses the token: etcd forgets one that nobody has used
// for five minutes (simpleTokenTTLDefault), and a member that restarts forgets all. While
// authentication is not enabled, credentials are not even read.
//
// A Session may be used from many goroutines; it has none of its own, and needs no
// closing. It is put in the context of calls by [As].
type Session struct {
	// credentials reads them afresh, so that those that were changed are noticed as soon
	// as the old ones are refused.
	credentials func(context.Context) (Credentials, error)
	// turn is held by the one who authenticates.
	turn chan struct{}

	mu     sync.Mutex
	token  string
	issued time.Time
	// former is a token that was discarded. It may be good still.
	former string
	// powerless is true when the token's user is known not to have the role root.
	powerless bool
	// wrong is the digest of the credentials that etcd refused, at wrongAt.
	wrong   [sha256.Size]byte
	wrongAt time.Time
}

// NewSession makes a Session that reads its credentials by read. What it returns as an
// error is told to users: it must not hold a password.
func NewSession(read func(context.Context) (Credentials, error)) *Session {
	return &Session{credentials: read, turn: make(chan struct{}, 1)}
}

type sessionKey struct{}

// As makes all calls with this context those of the session's user. A nil session is
// that of a stranger.
func As(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// SessionOf is the session of a context, nil for a stranger.
func SessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// DialOptions make a connection show the session's token with each request. Nothing is
// authenticated by them.
func (s *Session) DialOptions() []grpc.DialOption {
	if s == nil {
		return nil
	}
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			return invoker(s.Sign(ctx), method, req, reply, cc, opts...)
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			return streamer(s.Sign(ctx), desc, cc, method, opts...)
		}),
	}
}

// Sign adds the token to a request, if there is one.
func (s *Session) Sign(ctx context.Context) context.Context {
	if token := s.current(); token != "" {
		return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, token)
	}
	return ctx
}

func (s *Session) current() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// Try makes a request, and if etcd refuses it for its token, or for having none,
// authenticates on the same connection and makes it once more. Such a refusal means that
// nothing was done. The error of a session that can't authenticate is a
// [*RefusedError].
//
// By TLS, who shows no token is the user of the common name in his certificate, if etcd asks
// clients for one; a token goes before that (AuthStore.AuthInfoFromTLS). So one that is of
// no use any more, and can't be replaced, is not shown any longer.
func (s *Session) Try(ctx context.Context, conn grpc.ClientConnInterface, request func() error) error {
	used := s.current()
	err := request()
	if !wantsToken(err) && (s == nil || !powerlessName(used, err)) {
		return err
	}
	failed := s.renew(ctx, conn, used)
	if failed == nil {
		return request()
	}
	if !s.gaveUp(used) {
		return failed
	}
	if err := request(); !wantsToken(err) {
		return err
	}
	return failed
}

// Ask asks a member all that there is to ask, as [Client.Ask] does, and once more by another
// token where that is what it lacks. Questions are made with a token, and say how etcd's
// authentication refused one of them for want of a token that it takes; nil if it refused none.
func (s *Session) Ask(ctx context.Context, conn grpc.ClientConnInterface, questions func(token string) (Answer, error)) Answer {
	used := s.current()
	a, denied := questions(used)
	if s == nil && powerlessName(used, denied) {
		return a.refused(errPowerlessName)
	}
	if denied != nil && (s == nil || a.Read) { // without a quorum there is no token to be had
		failed := s.renew(ctx, conn, used)
		if failed != nil && !s.gaveUp(used) {
			return a.refused(failed)
		}
		a, denied = questions(s.current())
		if failed != nil && denied != nil {
			return a.refused(failed)
		}
	}
	if denied == nil && !s.mayAll() {
		return a.refused(errPowerless)
	}
	if a.NeedsLogin {
		s.revive()
	}
	return a
}

// gaveUp reports whether a token that was used is not shown any more: then the name in the
// certificate counts.
func (s *Session) gaveUp(used string) bool { return used != "" && s.current() == "" }

// powerlessName reports whether etcd refused a request, made without a token, for the name
// in the certificate: that of a user who is not allowed to do it, or of none.
func powerlessName(used string, err error) bool {
	return used == "" && errors.Is(etcdError(err), rpctypes.ErrPermissionDenied)
}

// Authenticate makes sure that a member which serves with a quorum takes the session for
// who it is; it costs a linearizable read if it does already. One that has no quorum is
// waited for, and holds up nobody else.
func (s *Session) Authenticate(ctx context.Context, conn grpc.ClientConnInterface) error {
	return s.Try(ctx, conn, func() error {
		used := s.current()
		_, err := pb.NewKVClient(conn).Range(ctx, &pb.RangeRequest{Key: []byte(readKey), CountOnly: true})
		if errors.Is(rpctypes.Error(err), rpctypes.ErrPermissionDenied) && (s == nil || used != "") {
			return nil // that it is known is all that is asked for
		}
		return err
	})
}

// plainRefusals are those of etcd 3.5 that come without a code, from snapshots,
// defragmentation and hashes (authMaintenanceServer).
var plainRefusals = map[string]error{
	"auth: user name is empty":        rpctypes.ErrUserEmpty,
	"auth: user not found":            rpctypes.ErrUserNotFound,
	"auth: invalid auth token":        rpctypes.ErrInvalidAuthToken,
	"auth: revision in header is old": rpctypes.ErrAuthOldRevision,
	"auth: permission denied":         rpctypes.ErrPermissionDenied,
}

// etcdError is the error that etcd meant.
func etcdError(err error) error {
	if meant := plainRefusals[rpctypes.ErrorDesc(err)]; meant != nil {
		return meant
	}
	return rpctypes.Error(err)
}

// wantsToken reports whether etcd refused a request for want of a token that it takes.
func wantsToken(err error) bool {
	err = etcdError(err)
	return errors.Is(err, rpctypes.ErrUserEmpty) || errors.Is(err, rpctypes.ErrInvalidAuthToken) ||
		errors.Is(err, rpctypes.ErrAuthOldRevision) || errors.Is(err, rpctypes.ErrUserNotFound)
}

// RefusedError says why etcd's authentication refuses to answer, and what is wrong with
// the credentials. It is an [ErrUnauthorized].
type RefusedError struct {
	Refusal Refusal
	Err     error
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", ErrUnauthorized, e.Err) }

// Unwrap makes it an ErrUnauthorized, and what caused it.
func (e *RefusedError) Unwrap() []error { return []error{ErrUnauthorized, e.Err} }

// errPowerless: who is asked for is known, and not allowed to do what the operators do.
var errPowerless = &RefusedError{NotRoot, errors.New("the user does not have etcd's role root")}

// errPowerlessName: there is but a certificate, and its name is of no use.
var errPowerlessName = &RefusedError{NotRoot, errors.New("the certificate's common name is that of no user with etcd's role root, and no credentials are given")}

// renew gets another token than the one that was used, by a member that serves with a
// quorum. Of several that want one at the same time, one asks for all. It returns a
// *RefusedError if credentials are what is missing.
func (s *Session) renew(ctx context.Context, conn grpc.ClientConnInterface, used string) error {
	if s == nil {
		return &RefusedError{NoCredentials, errors.New("etcd asks for a user, and no credentials are given")}
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.current() != used {
		return nil
	}
	if s.isFresh() {
		return errors.New("etcd refuses a token that it gave a moment ago: it is tried again shortly")
	}
	own, err := s.credentials(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // there was no time to read them
	}
	if err != nil {
		s.forget(used)
		return &RefusedError{NoCredentials, err}
	}
	digest := sha256.Sum256([]byte(own.Username + "\x00" + own.Password))
	if s.wasWrong(digest) {
		return &RefusedError{WrongCredentials, rpctypes.ErrAuthFailed}
	}
	auth := pb.NewAuthClient(conn)
	resp, err := auth.Authenticate(ctx, &pb.AuthenticateRequest{Name: own.Username, Password: own.Password})
	if err := s.authenticated(digest, resp.GetToken(), rpctypes.Error(err)); err != nil || resp.GetToken() == "" {
		return err
	}
	// Every user may ask for himself.
	user, err := auth.UserGet(ctx, &pb.AuthUserGetRequest{Name: own.Username})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.powerless = err == nil && !slices.Contains(user.Roles, rootRole)
	return nil
}

// authenticated notes how etcd answered.
func (s *Session) authenticated(digest [sha256.Size]byte, token string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.token, s.issued, s.former, s.powerless = token, time.Now(), "", false
		return nil
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		s.token, s.powerless = "", false // it was disabled just now
		return nil
	case errors.Is(err, rpctypes.ErrAuthFailed):
		s.token, s.wrong, s.wrongAt = "", digest, time.Now()
		return &RefusedError{WrongCredentials, err}
	}
	return fmt.Errorf("authenticate: %w", err)
}

// mayAll reports whether the user has the role root, as far as is known. One who has not
// is asked about again after a while.
func (s *Session) mayAll() bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.powerless && time.Since(s.issued) > wrongPause {
		s.former, s.token, s.powerless = s.token, "", false
	}
	return !s.powerless
}

func (s *Session) isFresh() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token != "" && time.Since(s.issued) < renewPause
}

func (s *Session) wasWrong(digest [sha256.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong == digest && time.Since(s.wrongAt) < wrongPause
}

// discard sets a token aside that nobody answers to, or that a learner refuses, which may
// have come by a snapshot and can't give another one. A voter is then asked for one that
// all know. (A member waits, without a word, until it has applied the log up to where a
// token was made, which one that was restored does not reach: tokenSimple in etcd's
// package auth.)
func (s *Session) discard(used string) {
	if s == nil || used == "" || s.isFresh() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == used {
		s.former, s.token, s.powerless = used, "", false
	}
}

// revive shows a token again that was set aside, from the next question on: a member without a
// quorum asks for one and can give no other, and nobody may have answered for another reason.
func (s *Session) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" {
		s.token, s.former = s.former, ""
	}
}

// forget shows a token no longer.
func (s *Session) forget(used string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == used {
		s.token, s.powerless = "", false
	}
}
