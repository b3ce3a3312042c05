package network

import (
	"context"
	"fmt"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
)

// table returns the nft script that makes a table anew.
func table(family, name string, chains ...string) string {
	full := family + " " + name
	// Declared, deleted, and made anew in one transaction: the way to replace a table that may not exist.
	return fmt.Sprintf("table %s {}\ndelete table %s\ntable %s {\n%s}\n", full, full, full, strings.Join(chains, ""))
}

func chain(name string, lines ...string) string {
	return fmt.Sprintf("  chain %s {\n    %s\n  }\n", name, strings.Join(lines, "\n    "))
}

func applyTable(ctx context.Context, enter []string, rules string) error {
	_, err := shell.Cmd{Argv: append(enter, "nft", "-f", "-"), Stdin: rules}.Run(ctx)
	return err
}

func deleteTable(ctx context.Context, full string) error {
	_, err := shell.Cmd{Argv: []string{"nft", "-f", "-"}, Stdin: fmt.Sprintf("table %s {}\ndelete table %s\n", full, full)}.Run(ctx)
	return err
}
