package v1beta2

// Reasons of the events about an operator itself, on its own Pod.
const (
	// ReasonNotReady: the operator waits for permissions or custom resource definitions that
	// are missing; the message names them. Apply its manifests again.
	ReasonNotReady = "NotReady"
)
