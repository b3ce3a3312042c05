package network

import (
	"context"
	"fmt"
	"slices"
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

// applyTable runs an nft script; inside is what makes a program run in another network namespace, or nil.
func applyTable(ctx context.Context, inside []string, rules string) error {
	_, err := shell.Cmd{Argv: append(slices.Clone(inside), "nft", "-f", "-"), Stdin: rules}.Run(ctx)
	return err
}

// deleteTable deletes a table that may not exist.
func deleteTable(ctx context.Context, inside []string, full string) error {
	return applyTable(ctx, inside, fmt.Sprintf("table %s {}\ndelete table %s\n", full, full))
}
