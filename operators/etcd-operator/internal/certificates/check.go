package certificates

import (
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// expiryWarning is how long before it expires a certificate that the user manages is reported.
const expiryWarning = 7 * 24 * time.Hour

// check says what those who connect would refuse. Roles that the cluster does not have,
// or that could not be read, are not among the pairs.
func check(c *v1beta2.EtcdCluster, pairs map[role]*pair, now time.Time) []problem {
	var wrong []problem
	for _, r := range []role{peer, server, operator, applications} {
		p := pairs[r]
		if p == nil {
			continue
		}
		if bad := p.dates(now); bad != nil {
			wrong = append(wrong, *bad)
			continue
		}
		wrong = append(wrong, p.purposes()...)
		if by := verifier(pairs, r); by != nil {
			wrong = append(wrong, p.verify(by, now)...)
		}
		if r == peer || r == server {
			wrong = append(wrong, p.covers(hosts(c, r))...)
		}
	}
	return wrong
}

// verifier is whose CAs a certificate is held against: members know those beside
// the certificates that they show, and the operator those beside its own. What members
// show to clients need not be of the CA that clients are of.
func verifier(pairs map[role]*pair, r role) *pair {
	switch r {
	case peer:
		return pairs[peer]
	case server:
		return pairs[operator]
	default:
		return pairs[server]
	}
}

// dates says whether the certificate is out of date; nil if it is not.
func (p *pair) dates(now time.Time) *problem {
	var bad problem
	switch {
	case now.Before(p.leaf.NotBefore):
		bad = invalid("the certificate in %s is not valid before %s: write one that is valid now, or correct the clocks", p.at(p.files.cert), stamp(p.leaf.NotBefore))
	case !now.Before(p.leaf.NotAfter):
		bad = invalid("the certificate in %s expired at %s: write a new one", p.at(p.files.cert), stamp(p.leaf.NotAfter))
	default:
		return nil
	}
	return &bad
}

// purposes says which usage the certificate lacks. One without any may be used for all.
func (p *pair) purposes() []problem {
	need := map[x509.ExtKeyUsage]string{}
	switch p.role {
	case peer:
		need[x509.ExtKeyUsageServerAuth], need[x509.ExtKeyUsageClientAuth] = "server auth", "client auth"
	case server:
		need[x509.ExtKeyUsageServerAuth] = "server auth"
	default:
		need[x509.ExtKeyUsageClientAuth] = "client auth"
	}
	has := p.leaf.ExtKeyUsage
	if len(has)+len(p.leaf.UnknownExtKeyUsage) == 0 || slices.Contains(has, x509.ExtKeyUsageAny) {
		return nil
	}
	var lacks []string
	for usage, name := range need {
		if !slices.Contains(has, usage) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	slices.Sort(lacks)
	return []problem{invalid("the certificate in %s lacks the extended key usage %s: write one that has it", p.at(p.files.cert), strings.Join(lacks, " and "))}
}

// verify says whether those who trust what is beside another certificate refuse this one.
func (p *pair) verify(by *pair, now time.Time) []problem {
	if _, err := p.chain(by, now); err != nil {
		unknown := x509.UnknownAuthorityError{}
		if errors.As(err, &unknown) {
			return []problem{invalid("the certificate in %s is not signed by a CA in %s: write a certificate that is, or add its CA there", p.at(p.files.cert), by.at(by.files.ca))}
		}
		return []problem{invalid("the certificate in %s is refused by the CAs in %s (%s): correct either", p.at(p.files.cert), by.at(by.files.ca), err)}
	}
	return nil
}

// verified is what came of a certificate that was held against the CAs of a pair.
type verified struct {
	by    *pair
	chain []*x509.Certificate
	err   error
}

// chain is the certificate with those that have signed it, up to a CA of another pair. Pairs
// are read anew for each look, and now is that of the look.
func (p *pair) chain(by *pair, now time.Time) ([]*x509.Certificate, error) {
	if p.verified.by == by {
		return p.verified.chain, p.verified.err
	}
	p.verified = verified{by: by}
	chains, err := p.leaf.Verify(x509.VerifyOptions{
		Roots: by.trusted.pool(), Intermediates: caSet(p.through).pool(), CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if p.verified.err = err; err == nil {
		p.verified.chain = chains[0]
	}
	return p.verified.chain, err
}

// covers says which names the certificate is not for.
func (p *pair) covers(names []string) []problem {
	var wrong []problem
	for _, name := range names {
		if p.leaf.VerifyHostname(name) != nil {
			wanted := name
			if _, parent, ok := strings.Cut(name, "."); ok && strings.Contains(name, someMember) {
				wanted = "*." + parent
			}
			wrong = append(wrong, invalid("the certificate in %s is not for %s: write one that has this among its subject alternative names", p.at(p.files.cert), wanted))
		}
	}
	return wrong
}

// endsSoon warns of a certificate that expires within expiryWarning; empty if it does not.
func (p *pair) endsSoon(now time.Time) string {
	if left := p.leaf.NotAfter.Sub(now); left <= 0 || left > expiryWarning {
		return ""
	}
	return fmt.Sprintf("the certificate in %s expires at %s: write a new one before then", p.at(p.files.cert), stamp(p.leaf.NotAfter))
}

// stamp is a time as messages tell it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
