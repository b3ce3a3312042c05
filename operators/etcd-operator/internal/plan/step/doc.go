// Package step has what a rule returns: an action or a wait, with its reason. It also has what
// several groups of rules do in the same way: how soon the cluster is looked at again, how a
// member is drained, how Pods of new members are made, and that no effect which the API
// server refuses is tried at once again.
package step
