// Package agent is what the programs that operators run in Pods have in common: how
// they get a task and report what became of it (the termination message of their
// container, and the exit code), how a failure is told so that a person can mend it,
// and which place in a store or on a volume is meant.
package agent
