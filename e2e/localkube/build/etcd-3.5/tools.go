//go:build tools

// Package tools pins the etcd programs that localkube builds into this module's go.mod; it is never compiled.
package tools

import (
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/etcdutl/v3"
	_ "go.etcd.io/etcd/server/v3"
)
