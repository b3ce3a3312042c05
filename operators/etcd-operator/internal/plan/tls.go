package plan

import (
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

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
	// NotAfter is when the first of the certificates ends; zero if none is known.
	NotAfter time.Time
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

// IsPending reports whether there is nothing to do but wait.
func (t *TLS) IsPending() bool {
	return t.Problem == CertificatesPending || (t.Problem == "" && (t.Trust == "" || t.NoClientCertificate))
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
	// CertificatesPending: they are being issued.
	CertificatesPending CertificateProblem = v1beta2.ClusterReasonCertificatesPending
)
