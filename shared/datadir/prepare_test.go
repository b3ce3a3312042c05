package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

// What is prepared is so from the last of its files on, and until it is the data dir.
func TestPrepared(t *testing.T) {
	p := New(filepath.Join(t.TempDir(), "data"), Stamp{Restore: "ns/r", UID: "u", Member: "m"})
	want := func(when string, prepared bool) {
		t.Helper()
		facts, ok, err := p.Prepared()
		if err != nil || ok != prepared || (ok && string(facts) != "facts") {
			t.Errorf("%s: %q, prepared %t, error %v", when, facts, ok, err)
		}
	}
	want("nothing is there", false)
	if err := p.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.Made(), dirMode); err != nil {
		t.Fatal(err)
	}
	if err := WriteSynced(p.Snapshot(), []byte("what was fetched")); err != nil {
		t.Fatal(err)
	}
	want("it is being made", false)
	if err := WriteSynced(p.facts(), []byte("half of")); err != nil {
		t.Fatal(err)
	}
	want("killed before the last file", false)
	if err := p.Prepare([]byte("facts")); err != nil {
		t.Fatal(err)
	}
	want("prepared", true)
	if _, err := os.Stat(p.Snapshot()); !os.IsNotExist(err) {
		t.Errorf("what was fetched takes room: %v", err)
	}
	if _, err := os.Stat(p.DataDir); !os.IsNotExist(err) {
		t.Errorf("there is a data dir before it is published: %v", err)
	}
	if err := p.Publish(); err != nil {
		t.Fatal(err)
	}
	want("published", false)
	if done, err := p.Done(); !done || err != nil {
		t.Errorf("done %t, error %v", done, err)
	}
}
