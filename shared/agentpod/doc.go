// Package agentpod builds the Pods in which operators run their agents, and reads from
// them what became of a task. See package agent for what runs in them.
//
// The container of an agent gets its task in its environment and reports a result as
// its termination message. The Secrets and the volumes that it needs are mounted by the
// kubelet, so the operator reads none of them. A Pod of a Job that fails with a chance
// of doing better is followed by another; one that says that only a person can help
// ends the Job.
package agentpod
