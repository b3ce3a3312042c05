package agent

// Install is the argument with which an agent copies itself to the folder in the next one, for
// another image to run it: under its own name, and beside it the CAs that its image trusts, as
// InstalledCAs.
const (
	Install      = "install"
	InstalledCAs = "ca-certificates.crt"
)
