// Package job builds the Job that carries one backup out, and reads from it and its
// Pods what became of that.
//
// A Job runs one Pod at a time, of the operator's own image: the agent. Its container
// gets a [task.Task] in its environment and reports a [task.Result] as its termination
// message. The Secrets and the volume that it needs are mounted by the kubelet, so the
// operator reads none of them. A Pod that fails with a chance of doing better is
// followed by another; one that says that only a person can help ends the Job.
package job
