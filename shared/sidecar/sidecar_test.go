package sidecar

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRead(t *testing.T) {
	for name, row := range map[string]struct {
		content string
		plant   func(path string, entries []byte) error
		want    string
	}{
		"none":          {content: "x", plant: func(string, []byte) error { return nil }},
		"its own":       {content: "x", plant: write, want: "x"},
		"the other one": {content: "y", plant: write, want: "y"},
		"of no content": {content: "z", plant: write},
		"of its end":    {content: strings.Repeat("-", tailSize) + "x", plant: write},
		"damaged":       {content: "x", plant: func(path string, entries []byte) error { return write(path, entries[:len(entries)-1]) }},
		"a directory":   {content: "x", plant: func(path string, _ []byte) error { return os.Mkdir(path, 0o700) }},
		"a pipe":        {content: "x", plant: func(path string, _ []byte) error { return syscall.Mkfifo(path, 0o600) }},
		"a pipe that somebody holds open": {content: "x", plant: func(path string, _ []byte) error {
			err := syscall.Mkfifo(path, 0o600)
			if err != nil {
				return err
			}
			held, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				t.Cleanup(func() { _ = held.Close() })
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			var all []Entry
			for _, content := range []string{"x", "y"} {
				if err := os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				is, err := FingerprintOf(root, "file")
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, Entry{Fingerprint: is, Metadata: map[string]string{"content": content}})
			}
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte(row.content), 0o600); err != nil {
				t.Fatal(err)
			}
			entries, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			if err := root.Mkdir(Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := row.plant(filepath.Join(dir, Name("file")), entries); err != nil {
				t.Fatal(err)
			}
			got := ""
			switch e, err := Read(root, "file"); {
			case err != nil:
				t.Error(err)
			case e != nil:
				got = e.Metadata["content"]
			}
			if got != row.want {
				t.Errorf("got the entry of %q, want %q", got, row.want)
			}
		})
	}
}

func write(path string, content []byte) error { return os.WriteFile(path, content, 0o600) }
