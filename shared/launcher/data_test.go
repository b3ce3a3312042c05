package launcher

import (
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestHasWAL(t *testing.T) {
	cases := map[string]struct {
		files []string
		want  bool
	}{
		"no data dir":              {nil, false},
		"empty member":             {[]string{"member/"}, false},
		"empty wal":                {[]string{"member/wal/"}, false},
		"log":                      {[]string{"member/wal/0000000000000000-0000000000000000.wal"}, true},
		"log among others":         {[]string{"member/wal/0.tmp", "member/wal/1.wal", "member/wal/1.wal.broken"}, true},
		"preallocated file only":   {[]string{"member/wal/0.tmp"}, false},
		"broken log only":          {[]string{"member/wal/1.wal.broken"}, false},
		"log not renamed in place": {[]string{"member/wal.tmp/0.wal"}, false},
		"database only":            {[]string{"member/snap/db"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range tc.files {
				if filepath.Ext(f) == "" && f[len(f)-1] == '/' {
					if err := os.MkdirAll(filepath.Join(dir, f), 0o755); err != nil {
						t.Fatal(err)
					}
					continue
				}
				write(t, filepath.Join(dir, f), "x")
			}
			got, err := HasWAL(dir)
			if err != nil || got != tc.want {
				t.Errorf("HasWAL = %t, %v, want %t", got, err, tc.want)
			}
		})
	}
}

func TestHasWALCannotTell(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "member"), "a file where a folder should be")
	if has, err := HasWAL(dir); err == nil {
		t.Errorf("HasWAL = %t, want an error: what can't be read is not empty", has)
	}
}

func TestUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "used")
	if n, err := readUsed(file); n != 0 || err != nil {
		t.Fatalf("without a file: %d, %v, want 0", n, err)
	}
	for _, want := range []int64{1, 2, 1 << 40} {
		if err := writeUsed(file, want); err != nil {
			t.Fatal(err)
		}
		if n, err := readUsed(file); n != want || err != nil {
			t.Fatalf("read %d, %v, want %d", n, err, want)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("temporary files were left: %v, %v", entries, err)
	}
	for _, bad := range []string{"", "x", "-1", "1 2"} {
		write(t, file, bad)
		if n, err := readUsed(file); err == nil {
			t.Errorf("%q was read as %d, want an error", bad, n)
		}
	}
}

func TestSetRemnantsAsideKeepsTheLargerDatabase(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	kept := data + setAsideSuffix

	for _, step := range []struct{ db, want, reason string }{
		{"123", "123", "the first is moved"},
		{"1", "123", "a smaller one is dropped"},
		{"456", "123", "a copy of the same size is dropped: the older one more likely has a user's data"},
		{"12345", "12345", "a larger one takes its place"},
		{"", "12345", "a copy without a database is dropped"},
	} {
		write(t, filepath.Join(data, "member", "snap", "other"), "")
		if step.db != "" {
			write(t, filepath.Join(data, "member", "snap", "db"), step.db)
		}
		got, err := setRemnantsAside(data)
		if err != nil || got != kept {
			t.Fatalf("%s: %q, %v, want %q", step.reason, got, err, kept)
		}
		if has, err := hasRemnants(data); has || err != nil {
			t.Errorf("%s: remnants are still there (%v)", step.reason, err)
		}
		if db, err := os.ReadFile(filepath.Join(kept, "snap", "db")); string(db) != step.want {
			t.Errorf("%s: kept the database %q (%v), want %q", step.reason, db, err, step.want)
		}
	}
}
