package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestEager(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, want := &eager{file: f}, []byte(nil)
	for i, size := range []int{1, eagerEvery - 2, 2, 2*eagerEvery + 1, 0, 5} {
		p := bytes.Repeat([]byte{byte('a' + i)}, size)
		if n, err := e.Write(p); n != size || err != nil {
			t.Fatalf("it writes %d bytes of %d: %v", n, size, err)
		}
		want = append(want, p...)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the file has %d bytes (%v), and not the %d that were written", len(got), err, len(want))
	}
	if e.begun < 3*eagerEvery {
		t.Errorf("the disk was told of %d bytes", e.begun)
	}
	if _, err := (&eager{file: os.NewFile(1<<20, "closed")}).Write([]byte("a")); err == nil {
		t.Error("a file that cannot be written to is no error")
	}
}
