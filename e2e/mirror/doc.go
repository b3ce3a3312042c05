// Package mirror is a client of etcd that keeps a copy of all that is there, as the
// informers of Kubernetes do: it lists, watches from the revision of the list on, and
// lists again when etcd says that what it asks for was compacted.
//
// So it notices what a restore does to clients that watched before. It must see a
// clear "compacted", never a revision that is older than one it knows, and in the end
// its copy must be what the cluster holds.
//
// It runs as a Pod, and is asked by HTTP; see [Mirror.Handler].
package mirror
