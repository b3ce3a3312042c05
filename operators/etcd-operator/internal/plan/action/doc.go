// Package action has the sealed type Action: all that the operator can do to a cluster, each
// with its preconditions, and what a Decision means for the cluster (Outcome).
package action
