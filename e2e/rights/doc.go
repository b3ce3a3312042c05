// Package rights compares what operators may do with what they do: the Roles that
// deploy/ ships with the API server's audit log. Nothing is used that is not granted,
// and nothing is granted that is never used.
//
// Each request's line in the audit log names the Role that allowed it, so that every
// right is counted for the Role which it came from. A request that no Role allowed is
// there, too, with the decision "forbid".
package rights
