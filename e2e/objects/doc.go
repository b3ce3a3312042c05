// Package objects is two clients of a Kubernetes API server: one that creates and updates objects
// the whole time, and one that watches them as informers do. The first holds the API server to
// what it acknowledged, the second to its resource versions: they never go back, and no old state
// is shown as a new one. They find out whether the etcd below keeps its promises to an API server.
package objects
