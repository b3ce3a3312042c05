// Package goldentest compares texts with golden files. "go test PACKAGE -update" writes the files of a package.
package goldentest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Update is whether golden files are written instead of compared.
var Update = flag.Bool("update", false, "write the golden files")

// Compare fails the test if a text differs from a golden file.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if err := Check(file, got); err != nil {
		t.Error(err)
	}
}

// blanks are at the end of lines where a table fills its last column.
var blanks = regexp.MustCompile(`(?m) +$`)

// Check returns an error if a text differs from a golden file, except for blanks at the end of lines. It is for texts
// that are complete only after the tests.
func Check(file, got string) error {
	got = blanks.ReplaceAllString(got, "")
	if *Update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return os.WriteFile(file, []byte(got), 0o644)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%w: write it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		return fmt.Errorf("%s differs (-want +got): if that is intended, write it with -update\n%s", file, diff)
	}
	return nil
}
