// Command generate writes the Grafana dashboards, what is generated of the Helm charts, and the
// bundles for the Operator Lifecycle Manager. "make generate" runs it, with the root of the
// repository as its argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

// generators return the text of each file by its path from the root. The charts have a copy of the
// dashboards, so these come first.
var generators = []func(root string) (map[string]string, error){monitoring.Generate, charts.Generate, olm.Generate}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string) error {
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
