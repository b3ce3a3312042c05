// Package etcdclient asks etcd's members what they know of themselves and of
// their cluster, and changes the cluster's membership.
//
// [Client.Ask] puts the same questions to every member side by side, each
// directly, never through another: a view that is only one member's own is what
// an operator decides by. It reads no user's key and writes none. A member that
// does not answer is an answer too, not an error.
//
// Changes ([Client.AddLearner], [Client.Promote], [Client.Remove],
// [Client.MoveLeader]) are single requests, never retried. Their errors are the
// sentinels of this package, so that a caller tells "wait" from "wrong" with
// errors.Is. Among them [ErrOutcomeUnknown] says that the change may have
// happened: look again before doing anything else.
//
// Where etcd's authentication is enabled, calls are those of the [Session] in their
// context ([As]); without one, all that can be told of a member is that it serves
// ([Answer.Refused]). What needs a user and what does not is in TestWhatNeedsAUser.
//
// Connections live as long as one call. An operator of hundreds of clusters
// asks each of them seldom, and holds no sockets in between.
package etcdclient
