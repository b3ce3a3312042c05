// Command etcd-launcher starts etcd in a member's Pod when that is safe; see
// package launcher.
package main

import (
	"os"

	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/version"
)

func main() {
	if version.Asked("etcd-launcher", os.Args[1:], os.Stdout) {
		return
	}
	os.Exit(launcher.Main(os.Args[1:], os.Stderr))
}
