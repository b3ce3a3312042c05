package git

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The charts of a release are built from an export. Their files are links to those of deploy/.
func TestExportKeepsLinks(t *testing.T) {
	to := filepath.Join(t.TempDir(), "export")
	if err := Export(t.Context(), "../..", "HEAD", to); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(filepath.Join(to, "deploy/etcd-operator/base/role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	linked, err := os.ReadFile(filepath.Join(to, "charts/etcd-operator/files/role.yaml"))
	if err != nil || !bytes.Equal(linked, file) {
		t.Errorf("the link leads to %d bytes, %v; want the %d bytes of the file in deploy/", len(linked), err, len(file))
	}
}
