package agent

// MaxMessage is the most bytes of a termination message, by the kubelet's measure
// (https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/).
const MaxMessage = 4096

// The exit codes of an agent.
const (
	// ExitDone says that the task is done.
	ExitDone = 0
	// ExitRetry says that it failed, and that another attempt may do better.
	ExitRetry = 1
	// ExitPermanent says that it failed and that only a person can mend what is
	// wrong: it is not tried again.
	ExitPermanent = 2
)
