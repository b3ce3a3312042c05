package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/dirhash"
)

// A module whose file differs by a byte is found, also one whose path and version the cache escapes.
func TestCheck(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, "example.com", "!big", "m@v1.0.0-!r!c1")
	file := filepath.Join(dir, "m.go")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("package m\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum, err := dirhash.HashDir(dir, "example.com/Big/m@v1.0.0-RC1", dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(cache, dir, sum); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("package n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := check(cache, dir, sum); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("the error of a changed module is %v", err)
	}
}
