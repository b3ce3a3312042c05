package etcdclient

// What a snapshot's source says of itself is read here by whoever asks it over a connection
// of its own.

// ParseErrors takes the alarms out of the errors in a member's status. They are of all
// members, as this one knows them. What is no alarm is returned as it is, such as that the
// member has no leader.
func ParseErrors(errors []string) (alarms []Alarm, rest []string) { return parseAlarms(errors) }

// ProvesQuorum tells by how a linearizable read of a member ended whether a quorum has
// answered it, so that it has applied all that was committed when it was asked. A read that
// etcd's authentication refuses proves it, too: see [canRead].
func ProvesQuorum(err error) bool { return canRead(err) }
