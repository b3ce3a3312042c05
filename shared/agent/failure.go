package agent

// Failure is why a task was not done.
type Failure struct {
	// Reason is CamelCase, for conditions, events and metrics.
	Reason string `json:"reason"`
	// Message says it to a person, with what to do.
	Message string `json:"message"`
	// Permanent says that only a person can mend what is wrong.
	Permanent bool `json:"permanent,omitempty"`
}

// ExitCode is the exit code of an agent that failed so, or did not.
func (f *Failure) ExitCode() int {
	switch {
	case f == nil:
		return ExitDone
	case f.Permanent:
		return ExitPermanent
	}
	return ExitRetry
}
