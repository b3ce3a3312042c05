package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The rules of this file are for clusters on which etcd's own authentication is enabled,
// and on which the operator is nobody. Then etcd tells it neither who the members are
// nor how they do, and takes no change of members. What can still be seen is who serves
// linearizable reads: etcd asks the quorum before it refuses one.

// awaitCredentials waits while etcd refuses the operator. The cluster serves on: nothing
// is done to it but what needs no word of etcd's, which is above, and that clients find
// those again who have come back. That etcd does not tell who is there says nothing of
// who is (S9). Where no quorum answers anybody, that is what comes first.
func awaitCredentials(v *view) *step {
	refused := v.refused()
	serves := slices.ContainsFunc(v.Pods, func(p Pod) bool { return p.servesUnseen() })
	if !serves || v.hasQuorum() {
		return nil // one may refuse for a moment: its token is new
	}
	if s := returnReadyToService(v); s != nil {
		return s
	}
	requeueAfter := idle
	if v.Cluster.RootSecret != "" {
		requeueAfter = slowly // no watch tells of a Secret
	}
	return wait(requeueAfter, refused.kind(), v.Cluster.whatIsMissing(refused)).as(Unauthorized)
}

// refused is the answer of a member that etcd's authentication cut short; nil if none
// was.
func (v *view) refused() *Answer {
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; a.Refused != "" {
			return a
		}
	}
	return nil
}

// servesUnseen reports whether a Pod serves linearizable reads to those whom etcd knows,
// and so is a voter of a cluster with a quorum.
func (p *Pod) servesUnseen() bool { return p.Answer.Refused != "" && p.Answer.Read }

// returnReadyToService lets clients find the voters again, by the last report, whose Pods were
// taken from them and serve again. Each has this cluster's data (S1), on a member's volume
// or since it refuses a stranger: a cluster that begins anew, or that the operator has not
// taken over, does not get as far as this rule.
func returnReadyToService(v *view) *step {
	var roles []PodRole
	for _, m := range v.knownVoters() {
		p := v.pods[m.Name]
		if p == nil || !v.serves(p) || v.Cluster.ClusterID == 0 || !p.DeletingSince.IsZero() || p.From != "" {
			continue
		}
		if p.Role == Returning || p.Role == Restarting {
			roles = append(roles, PodRole{p.Name, p.UID, Voter})
		}
	}
	if len(roles) == 0 {
		return nil
	}
	return do(SetRoles{roles}, v1beta2.ClusterReasonSettingRoles, fmt.Sprintf("member %s serves again: clients are routed to it", roles[0].Name))
}

// kind is the condition, and the reason, that says what a refusal is about.
func (a *Answer) kind() string {
	if a.Refused == NoCredentials {
		return v1beta2.ClusterReasonCredentialsMissing
	}
	return v1beta2.ClusterReasonCredentialsInvalid
}

// whatIsMissing says what a person is to write.
func (c *Cluster) whatIsMissing(a *Answer) string {
	const consequence = "; members keep serving, but none is added, removed or changed meanwhile"
	secret := c.RootSecret
	switch {
	case secret == "":
		return "etcd's authentication is enabled, and the operator has no credentials: create a Secret of type kubernetes.io/basic-auth with the keys username and password of an etcd user that has the role root, and set spec.auth.rootSecret to its name" + consequence
	case a.Refused == NoCredentials:
		return fmt.Sprintf("no credentials in Secret %s (%s): write the keys username (default root) and password of an etcd user that has the role root to this Secret, which spec.auth.rootSecret names%s", secret, a.RefusedBecause, consequence)
	case a.Refused == NotRoot:
		return fmt.Sprintf("the etcd user in Secret %s lacks the role root: grant it, or write a user that has it to this Secret, which spec.auth.rootSecret names%s", secret, consequence)
	}
	return fmt.Sprintf("etcd refuses the credentials in Secret %s (%s): write the right username (default root) and password to this Secret, which spec.auth.rootSecret names%s", secret, a.RefusedBecause, consequence)
}
