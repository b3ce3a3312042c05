package facts

// IsPending reports whether there is nothing to do but wait.
func (t *TLS) IsPending() bool {
	return t.Problem == CertificatesPending || (t.Problem == "" && (t.Trust == "" || t.NoClientCertificate))
}
