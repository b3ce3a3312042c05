// Command program is what the test of package version builds.
package main

import (
	"os"

	"github.com/etcd-operators/etcd-operators/shared/version"
)

func main() {
	if !version.Asked("program", os.Args[1:], os.Stdout) {
		os.Exit(2)
	}
}
