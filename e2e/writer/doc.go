// Package writer is a client of etcd that remembers what etcd promised it.
//
// It writes new keys at a steady rate for as long as it runs, notes which writes
// were acknowledged, and later reads everything back: an acknowledged write that
// is not there was lost, and that must never happen. It also notes the longest
// time without an acknowledgement, which is what users of a cluster notice of a
// failure.
//
// It is one client with one connection, as an application has: no write is tried
// twice, and one that fails is counted. It runs as a Pod of the cluster under
// test, so that it meets the same Service, DNS and network as an application
// would; what it knows outlives any outage of etcd, and is asked for by HTTP
// (see [Handler], [Client]).
package writer
