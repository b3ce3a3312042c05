package simulate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// The model of etcd's own authentication. The user enables it at some moment: an entry
// of the log, after which a member refuses whoever shows it no credentials, and every
// change of members by who is not root. What the operator has of credentials is the
// user's, too: while LackCredentials lasts none, wrong ones, or those of a user without
// the role root.

var errUnauthorized = errors.New("not authorized")

// enableAuth enables authentication, if a quorum takes the entry.
func (w *world) enableAuth(f Fault) bool {
	if w.main < 0 || w.births[w.main].authAt > 0 {
		return false
	}
	l := w.target(f.A, func(r *run) bool {
		return r.etcd != nil && r.etcd.leading && r.disk.data.birth == w.main && w.hasQuorum(r)
	})
	if l == nil {
		return false
	}
	w.writeThrough(l)
	w.births[w.main].authAt = len(w.births[w.main].committed)
	if f.B%2 == 0 { // and thinks of the operator later
		w.until[LackCredentials] = max(w.until[LackCredentials], w.step+f.For)
		w.lacking = refusals[f.B%len(refusals)]
	}
	w.say("the user enables authentication")
	return true
}

var refusals = []facts.Refusal{facts.NoCredentials, facts.WrongCredentials, facts.NotRoot}

// refuses says why a member refuses the operator, empty if it does not.
func (w *world) refuses(r *run) facts.Refusal {
	if !w.authenticates(r) || !w.during(LackCredentials) {
		return ""
	}
	return w.lacking
}

// authenticates reports whether a member knows that authentication is enabled.
func (w *world) authenticates(r *run) bool {
	b := &w.births[r.disk.data.birth]
	return b.authAt > 0 && r.disk.data.applied >= b.authAt
}

// tellsStrangers reports whether an etcd tells its status to those whom it does not know.
func tellsStrangers(version string) bool {
	return strings.HasPrefix(version, "3.4.") || version == "3.5.30"
}

// asksForLogin reports whether a member that has no quorum tells the operator nothing, since
// it knows no token of the operator's and can give none.
func (w *world) asksForLogin(r *run) bool {
	switch {
	case !w.authenticates(r) || tellsStrangers(r.version):
		return false
	case !w.ships():
		return r.disk.data.id%2 == 0
	}
	tokens := slices.Collect(maps.Keys(w.tokens))
	return !w.cfg.TLS && !slices.ContainsFunc(tokens, func(shown string) bool { return w.knowsToken(r, shown) })
}

// authenticated is what remains of a member's answer when etcd's authentication has had
// its say.
func (w *world) authenticated(r *run, a facts.Answer) facts.Answer {
	d := r.disk.data
	if w.ships() || !w.authenticates(r) {
		return a
	}
	why := w.refuses(r)
	switch {
	case why == "" && !a.Read && !a.Learner && d.id%2 == 0:
		return facts.Answer{NeedsLogin: true} // it has forgotten the token, and without a quorum there is no other
	case why == "":
		return a
	case why == facts.NotRoot || tellsStrangers(r.version):
		a.Refused, a.RefusedBecause = why, "the model says so"
		return a // any user is told who the members are, and by old patches anybody
	}
	return facts.Answer{Read: a.Read && !a.Learner, Refused: why, RefusedBecause: "the model says so"}
}
