//go:build !simulation

package act

// refuses reports whether a precondition has failed.
func refuses(_ Precondition, failed bool) bool { return failed }

// demands reports whether a request carries a precondition.
func demands(Precondition) bool { return true }
