package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/rights"
)

// auditTimeout bounds the reading of the audit log.
const auditTimeout = time.Minute

// compareRights compares what the operators did in all tests with what their shipped
// Roles allow, by the API server's audit log, and wants all their Pods to have been made
// under the restricted Pod Security Standard. It comes after the last test. What was never
// used shows only when every test has run, and passed.
func compareRights(passed bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), auditTimeout)
	defer cancel()
	audit, err := env.Audit(ctx)
	if errors.Is(err, harness.ErrNoAuditLog) {
		fmt.Fprintln(os.Stderr, "rights:", err)
		return nil
	}
	if err != nil {
		return err
	}
	file := filepath.Join(env.Root, "out", "e2e", "rights.txt")
	if err := audit.Save(file); err != nil {
		return err
	}
	found := append(rights.NotGranted(audit.Granted, audit.Uses), rights.NotRestricted(audit.Uses)...)
	said := "the operators used nothing that their Roles do not grant"
	if passed && everyTest() {
		found = append(found, rights.NotUsed(audit.Granted, audit.Uses)...)
		said += ", and all that these grant"
	} else {
		said += "; what they never use shows when all tests have run and passed"
	}
	if len(found) > 0 {
		return errors.Join(asErrors(found)...)
	}
	fmt.Fprintf(os.Stderr, "rights: %s: see %s\n", said, file)
	return nil
}

// everyTest tells whether none was left out.
func everyTest() bool {
	if testing.Short() {
		return false
	}
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return false
		}
	}
	return true
}

func asErrors(found []string) []error {
	var all []error
	for _, f := range found {
		all = append(all, errors.New(f))
	}
	return all
}
