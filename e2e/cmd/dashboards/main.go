// Command dashboards writes the Grafana dashboards of deploy/monitoring. "make generate" runs it,
// with the root of the repository as its argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/monitoring"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: dashboards ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	for _, d := range monitoring.Dashboards() {
		text, err := d.JSON()
		if err != nil {
			return err
		}
		path := filepath.Join(root, monitoring.DashboardFile(d.UID))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
