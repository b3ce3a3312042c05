// Package survivor is the seam between etcd-operator and the agent that it runs in the
// seed's Pod of a cluster that begins anew with a survivor's data: the operator passes a
// [Task] in the environment of an init container ([AddTo]), and the agent (package agent
// below) writes a [Result] as the container's termination message. Neither knows more of
// the other.
package survivor
