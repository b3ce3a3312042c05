// Package retention decides which older snapshots of a repeated backup are to be deleted
// after a new one is stored.
//
// Only a name of exactly the form that package snapshotname gives it, under exactly the
// backup's path, is ever up for deletion, so that a neighbour's snapshots (those of path
// a_v1_b beside those of a), a copy that somebody made by hand and a file with a suffix are
// safe. Compression shows in an object's metadata and in its first bytes, not in its name.
// A snapshot whose source was not healthy, or had no quorum, has a name of another form:
// see [snapshotname.MarkedName].
//
// Age and order follow from the time in the name alone; but whether a snapshot may be
// deleted at all follows from what was stored with it, its [Identity]. A name does
// not show the cluster, and a cluster that was recreated at the same place must not cost
// the backups of the one before:
//
//   - Only snapshots of the same cluster are deleted, whose revision is not higher than
//     that of the one just stored. (etcd derives the cluster id from URLs and token, so a
//     cluster that is recreated in the same way has the same id, and begins at revision 1.)
//     The others are spared, unless the user consents.
//   - A snapshot that is newer than the one just stored is neither deleted nor counted:
//     runs may end in another order than they began.
//   - Of each cluster a minimum is kept, whatever the policy is and whoever consents.
//
// Age is counted from a moment that the caller chooses: the earliest by any clock, the API
// server's among them.
package retention
