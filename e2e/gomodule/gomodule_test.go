package gomodule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/gomodule"
)

// The module of these tests is one that e2e's own go.mod requires.
const yaml, version = "sigs.k8s.io/yaml", "v1.6.0"

func TestRequired(t *testing.T) {
	folder, err := gomodule.Required(t.Context(), "..", yaml)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "yaml.go")); err != nil {
		t.Error(err)
	}
	if _, err := gomodule.Required(t.Context(), "..", "example.com/nobody"); err == nil || !strings.Contains(err.Error(), "example.com/nobody") {
		t.Errorf("of a module that is not required it says: %v", err)
	}
}

func TestPinned(t *testing.T) {
	_, err := gomodule.Pinned(t.Context(), yaml, version, "h1:another")
	if err == nil || !strings.Contains(err.Error(), "want h1:another") {
		t.Errorf("of another sum it says: %v", err)
	}
}
