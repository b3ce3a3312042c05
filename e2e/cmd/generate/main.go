// Command generate writes the Grafana dashboards, and the README and schema of each Helm chart. "make generate" runs
// it, with the root of the repository as its argument. "make bundles" has it write the bundles for the Operator
// Lifecycle Manager.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

// generators return the text of each file by its path relative to the root.
var (
	committed = []func(root string) (map[string]string, error){monitoring.Generate, charts.Generate}
	bundles   = []func(root string) (map[string]string, error){olm.Generate}
)

func main() {
	generators := committed
	onlyBundles := flag.Bool("bundles", false, "write the bundles for OLM, into out/bundles, instead of the files that are committed")
	flag.Parse()
	if *onlyBundles {
		generators = bundles
	}
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: generate [-bundles] ROOT")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), generators); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string, generators []func(root string) (map[string]string, error)) error {
	for _, generate := range generators {
		made, err := generate(root)
		if err != nil {
			return err
		}
		for path, text := range made {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
