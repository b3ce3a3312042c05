package snapshot

// Minors are the minor versions of etcd whose snapshots are restored, the oldest first.
var Minors = []string{"3.5", "3.6", "3.7"}
