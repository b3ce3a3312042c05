package facts

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// Maintenance is what may be done about space in the members' databases, and what was.
type Maintenance struct {
	// Schedule says when all members are defragmented; the zero Schedule is never.
	// Invalid is why the one that is wanted can't be read.
	Schedule schedule.Schedule
	Invalid  string
	// AbovePercent is the share of free space from which members are defragmented; 0 for
	// never.
	AbovePercent int
	// Compacts is true when etcd compacts the history by itself.
	Compacts bool
	// AutoRepairSpace allows to compact, defragment and disarm when there is no space.
	AutoRepairSpace bool

	// Begun is when the last round of defragmentations began; zero if there was none.
	Begun time.Time
	// Counted is the schedule that times are counted by, and Since when it was first seen.
	Counted string
	Since   time.Time
	// Repaired is when the last repair compacted, to CompactedRevision; zero if there was
	// none.
	Repaired          time.Time
	CompactedRevision int64

	// DefragmentRequest and LeaderRequest are the values of the annotations defragment and
	// move-leader, empty without, and the others those that were answered last.
	DefragmentRequest, DefragmentAnswered string
	LeaderRequest, LeaderAnswered         string
}

// Validity is since when a certificate is valid, and when it ends.
type Validity struct{ NotBefore, NotAfter time.Time }

// IsKnown reports whether there is a certificate.
func (v Validity) IsKnown() bool { return !v.NotAfter.IsZero() }

// EndsBefore reports whether it ends before another one, of which nothing may be known. Of two that
// end together it is the one that began later.
func (v Validity) EndsBefore(o Validity) bool {
	return !o.IsKnown() || cmp.Or(v.NotAfter.Compare(o.NotAfter), o.NotBefore.Compare(v.NotBefore)) < 0
}

// Fence holds the marks by which a cluster is given out of our hands for a restore,
// as documented at the annotations in package v1beta2. Restores are named by uid.
type Fence struct {
	// Mark, Seeded and Lifted are the values of the annotations fence, seeded and
	// fence-lifted.
	Mark, Seeded, Lifted string
	// By is status.fencedBy: the restore whose fence was acknowledged.
	By string
	// Adopted is status.adoptedSeed; zero if there is none.
	Adopted v1beta2.AdoptedSeed
}

// Bootstrap is the record of the one beginning of a cluster.
type Bootstrap struct {
	// Member is the seed's name.
	Member string
	// Token is etcd's initial-cluster-token.
	Token string
	// Adopted is true of a cluster that goes on with the volumes of an earlier one: no
	// member begins empty, and Member is only one of those that have a volume.
	Adopted bool
}

// Recovery is the record of a cluster that begins anew with a survivor's data. See
// v1beta2.RecoveryStatus, whose fields these are.
type Recovery struct {
	Phase                 v1beta2.RecoveryPhase
	ClusterID             uint64
	Survivor, SurvivorUID string
	MemberID              uint64
	Committed             uint64
	Revision, BeginsAt    int64
	Seed, Token, Version  string
	Survivors, Members    []string
}

// Growth is how fast the databases fill, by what was seen of them in the last hours.
type Growth struct {
	// Known is false while too little was seen.
	Known bool
	// PerHour is by how many bytes more of the fullest database are in use each hour; what a
	// compaction frees each time does not count. It may be negative.
	PerHour int64
}

// TLS is what is known of a cluster's certificates. The zero value is that of a cluster
// whose spec asks for none.
type TLS struct {
	// Wanted is true when the spec asks for certificates.
	Wanted bool
	// Trust is the hash of the CAs that members are to trust; empty until all
	// Secrets are there.
	Trust string
	// Rotation is how far the replacement of a CA has come.
	Rotation v1beta2.CARotation
	// Leaf is the validity of the certificate that ends first, and CA of the CA that ends first of
	// those that have signed them; zero if none is known.
	Leaf, CA Validity
	// Problem is what is wrong with them, and Message says what is wrong with which
	// certificate, and what to do; both are empty if they are valid.
	Problem CertificateProblem
	Message string
	// RequeueAfter is how soon to look at them again, since no watch tells of what is waited for;
	// 0 if nothing is.
	RequeueAfter time.Duration
	// NoClientCertificate is true when the operator has no certificate to show to the members, who
	// serve clients by TLS: it asks nobody, and that nobody answers says nothing (S9).
	NoClientCertificate bool
}

// CertificateProblem is what is wrong with certificates. As a string it is the reason of the
// conditions that report it.
type CertificateProblem string

// The problems with certificates.
const (
	// CertificatesMissing: a Secret, or a key of it, does not exist.
	CertificatesMissing CertificateProblem = v1beta2.ClusterReasonCertificatesMissing
	// CertificatesInvalid: a certificate would not be accepted.
	CertificatesInvalid CertificateProblem = v1beta2.ClusterReasonCertificatesInvalid
	// CertificatesUnreadable: the API server does not return a Secret, so its content is unknown.
	CertificatesUnreadable CertificateProblem = v1beta2.ClusterReasonCertificatesUnreadable
	// CertificatesPending: they are being issued.
	CertificatesPending CertificateProblem = v1beta2.ClusterReasonCertificatesPending
)

// IsAdopting reports whether the cluster begins with the volumes of an earlier one.
func (c *Cluster) IsAdopting() bool {
	b := c.Bootstrap
	return c.ClusterID == 0 && b != nil && b.Adopted
}

// Refused is the answer of a member that etcd's authentication cut short; nil if none
// was.
func (v *Objects) Refused() *Answer {
	for i := range v.Pods {
		if a := &v.Pods[i].Answer; a.Refused != "" {
			return a
		}
	}
	return nil
}

// WhatIsMissing says what a person is to write.
func (c *Cluster) WhatIsMissing(a *Answer) string {
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

// IsBootstrapping reports whether the cluster begins, with a seed: it has no id yet, and goes
// not on with volumes of an earlier one.
func (c *Cluster) IsBootstrapping() bool {
	b := c.Bootstrap
	return c.ClusterID == 0 && (b == nil || !b.Adopted)
}

// RecordedTrust is whom members are to trust, as it was last reported: Pods are made by
// the status.
func (c *Cluster) RecordedTrust() string {
	if t := c.LastStatus.TLS; t != nil {
		return t.Trust
	}
	return ""
}

// NoClientCertificate reports whether the operator asks nobody, for want of a certificate.
func (c *Cluster) NoClientCertificate() bool {
	return c.TLS.Wanted && c.TLS.NoClientCertificate
}

// NoClientCertificateReason is why the operator has none.
func (c *Cluster) NoClientCertificateReason() string {
	return string(cmp.Or(c.TLS.Problem, CertificatesMissing))
}

// NoClientCertificateText says what follows from that.
func (c *Cluster) NoClientCertificateText() string {
	return fmt.Sprintf("no usable client certificate: member health is unknown (%s); members keep serving, but none is added, removed or changed meanwhile",
		cmp.Or(c.TLS.Message, "the cause is unknown"))
}

// CountedFrom is when the schedule counts from: the last round, or, if that is later, when the
// schedule was first seen.
func (m *Maintenance) CountedFrom() time.Time {
	if m.Begun.After(m.Since) {
		return m.Begun
	}
	return m.Since
}

// AsksForRound reports whether a round of defragmentations is asked for that has not begun.
func (m *Maintenance) AsksForRound() bool {
	return m.DefragmentRequest != "" && m.DefragmentRequest != m.DefragmentAnswered
}

// LeaderAsked is the name of the member that is asked to lead; empty if none is, or that was
// answered.
func (m *Maintenance) LeaderAsked() string {
	if m.LeaderRequest == m.LeaderAnswered {
		return ""
	}
	words := strings.Fields(m.LeaderRequest)
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// Asked is the uid of the restore that asks for a fence; empty if none does. One
// whose seed was adopted, or whose fence was lifted, does not ask again: what still
// says so is old.
func (f *Fence) Asked() string {
	if f.Mark == f.Lifted || f.Mark == f.Adopted.Restore {
		return ""
	}
	return f.Mark
}

// Stands reports whether nothing may be begun: the fence is asked for, or it has been
// acknowledged.
func (f *Fence) Stands() bool { return f.By != "" || f.Asked() != "" }

// Offered reports whether a restore hands its seed over, and which Pod that is.
func (f *Fence) Offered() (pod, uid string, ok bool) {
	parts := strings.Split(f.Seeded, "/")
	if len(parts) != 3 || f.By == "" || parts[0] != f.By || parts[0] == f.Adopted.Restore || parts[0] == f.Lifted || parts[1] == "" || parts[2] == "" {
		return "", "", false
	}
	return parts[1], parts[2], true
}

// Image is the image that members are to run.
func (c *Cluster) Image() string { return fmt.Sprintf("%s:v%s", c.Repository, c.DesiredVersion()) }

// WasUpdating reports whether some member's Pod was about to be recreated. Only words follow
// from it: what a Pod that is gone was like can't be seen any more.
func (c *Cluster) WasUpdating() bool { return c.LastStatus.UpdatingMember != "" }

// NeededVersion is the version of an etcd that starts on what members have: the one that
// runs, or the later of the two while they move. All may run that at once (S10).
func (c *Cluster) NeededVersion() string {
	if c.Target != "" && etcdversion.Parse(c.Target).Compare(etcdversion.Parse(c.Version)) > 0 {
		return c.Target
	}
	return c.Version
}
