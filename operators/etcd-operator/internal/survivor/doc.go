// Package survivor makes the Pod of the seed of a cluster that begins anew with a survivor's
// data: a member's Pod with an init container that runs the agent (package agent below).
package survivor
