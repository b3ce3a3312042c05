// Package build builds the objects of a restore: the Job that verifies the snapshot, the
// seed's Pod and volume, and the EtcdCluster that a restore makes; and it reads from the
// Job and the Pods what became of them.
//
// The Job's Pod and the seed's init container run the operator's own image: the agent.
// It gets a [task.Task] in its environment and reports a [task.Result] as its
// termination message. The seed is a member's Pod like any other, with that init
// container more, which prepares its data from the snapshot while the Pod's annotation
// restore-permit permits it to. Its launcher makes that the data dir when the annotation is
// the start permit. It asks nothing of anybody once that is done.
package build
