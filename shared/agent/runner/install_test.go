package runner

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// The copy of the program runs, the CAs lie beside it, and an init container that is started again
// does it once more.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := Install(dir); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, filepath.Base(self)), "-test.list", "^TestInstall$").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("TestInstall")) {
		t.Errorf("the copy says %q (%v)", out, err)
	}
	trusted, err := os.ReadFile(systemCAs)
	if err != nil {
		t.Fatal(err)
	}
	if copied, err := os.ReadFile(filepath.Join(dir, agent.InstalledCAs)); err != nil || !bytes.Equal(copied, trusted) {
		t.Errorf("the CAs are not those of the image (%v)", err)
	}
	if err := Install(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("it is installed in a folder that does not exist")
	}
}
