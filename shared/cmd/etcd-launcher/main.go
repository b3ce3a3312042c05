// Command etcd-launcher starts etcd in a member's Pod when that is safe; see
// package launcher.
package main

import (
	"os"

	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

func main() {
	os.Exit(launcher.Main(os.Args[1:], os.Stderr))
}
