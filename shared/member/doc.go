// Package member builds the Kubernetes objects of an etcd cluster: a member's
// Pod and volume claim, the cluster's two Services and its PodDisruptionBudget,
// and the names and URLs in them.
//
// Everything here is a pure function of its arguments: no client, no clock, no
// randomness of its own. Who calls decides when an object is made; here is only
// what it looks like. Two operators need it: the one that keeps clusters, and
// the one that restores a cluster's first member from a snapshot.
//
// A member is one Pod. Its etcd container is started by package launcher, which
// an init container copies in, because official etcd images hold no shell and
// because what a member may do at its start depends on the moment.
package member
