// Command olm writes the bundles for the Operator Lifecycle Manager. "make generate" runs it,
// with the root of the repository as its argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/olm"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: olm ROOT")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "olm:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	made, err := olm.Generate(root)
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
	return nil
}
