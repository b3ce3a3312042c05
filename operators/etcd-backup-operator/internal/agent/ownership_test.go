package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/sidecar"
)

// Whoever may create EtcdBackups names any claim of the namespace and any path on it.
func TestWhereAVolumeIsWrittenTo(t *testing.T) {
	for name, c := range map[string]struct {
		there  []string // with a slash at its end, a directory
		path   string
		reason string // of a refusal
		words  string
		marked string // the directory that is the operator's then
	}{
		"a new volume":                   {path: "file", marked: "."},
		"a new volume with ext4":         {there: []string{"lost+found/"}, path: "file", marked: "."},
		"a root of our directories":      {there: []string{"lost+found/", "a/" + ownDir + "/", "a/x", ".etcd-backup-uid-1-X/"}, path: "file", marked: "."},
		"a root of a directory of ours":  {there: []string{"a/" + ownDir + "/", "b/x"}, path: "file", reason: v1beta2.BackupReasonForeignFile, words: "was not made by a backup operator"},
		"a new directory":                {there: []string{"PG_VERSION"}, path: "a/b/file", marked: "a"},
		"a new directory in another's":   {there: []string{"pg/base/1"}, path: "pg/a/file", marked: "pg/a"},
		"one of ours":                    {there: []string{"a/" + ownDir + "/", "a/x"}, path: "a/file", marked: "a"},
		"below one of ours":              {there: []string{"a/" + ownDir + "/", "a/b/x"}, path: "a/b/file", marked: "a/b"},
		"another program's root":         {there: []string{"PG_VERSION"}, path: "file", reason: v1beta2.BackupReasonForeignFile, words: `"." of the volume was not made`},
		"another program's directory":    {there: []string{"pg/PG_VERSION"}, path: "pg/file", reason: v1beta2.BackupReasonForeignFile, words: "pg/etcd-backups/file"},
		"another's empty directory":      {there: []string{"pg/conf.d/"}, path: "pg/conf.d/file", reason: v1beta2.BackupReasonForeignFile, words: "was not made by a backup operator"},
		"another program's file":         {there: []string{"pg/base/1"}, path: "pg/base/1", reason: v1beta2.BackupReasonForeignFile, words: "choose a pvc.path"},
		"marking another's":              {there: []string{"pg/base/1"}, path: "pg/" + ownDir + "/x", reason: agent.ReasonInvalidPath, words: "choose another path"},
		"marking another's, deeper":      {there: []string{"pg/base/1"}, path: "pg/" + ownDir + "/a/x", reason: agent.ReasonInvalidPath, words: "choose another path"},
		"a mark that is a file":          {there: []string{"a/" + ownDir, "a/x"}, path: "a/file", reason: agent.ReasonInvalidPath, words: "pvc.path"},
		"a file in one of ours":          {there: []string{"a/" + ownDir + "/", "a/file"}, path: "a/file", reason: v1beta2.BackupReasonForeignFile, words: "cannot replace"},
		"a directory in place of a file": {there: []string{"a/" + ownDir + "/", "a/file/"}, path: "a/file", reason: v1beta2.BackupReasonForeignFile, words: "cannot replace"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, at := range c.there {
				whole := filepath.Join(dir, at)
				if err := os.MkdirAll(filepath.Dir(whole), 0o700); err != nil {
					t.Fatal(err)
				}
				if strings.HasSuffix(at, "/") {
					if err := os.MkdirAll(whole, 0o700); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if err := os.WriteFile(whole, []byte("theirs"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tk := toPVC([]string{serve(t, &fake{content: snapshotOf(1024)})}, dir, c.path)
			tk.OverwriteAlways = true // no consent of who creates an EtcdBackup is that of the volume's owner
			if c.reason != "" {
				mustFail(t, tk, c.reason, agent.ExitPermanent, c.words)
			} else {
				mustSave(t, tk)
				mustSave(t, tk) // its own may be replaced
				if _, err := os.Stat(filepath.Join(dir, c.marked, ownDir)); err != nil {
					t.Error(err)
				}
			}
			for _, at := range c.there {
				if got, err := os.ReadFile(filepath.Join(dir, at)); !strings.HasSuffix(at, "/") && string(got) != "theirs" {
					t.Errorf("%s holds %q: %v", at, got, err)
				}
			}
		})
	}
}

// A crash at any line leaves a snapshot of which is known what it is: what was there, or the
// new one.
func TestSidecarsOutliveCrashes(t *testing.T) {
	dir := t.TempDir()
	storeFile(t, dir, "file", of(7, 3))
	v, err := openVolume(&job{task: toPVC(nil, dir, "file"), log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	is := func(step string, want int64) {
		t.Helper()
		got, err := v.look(t.Context(), "file")
		if err != nil || got.foreign || got.metadata[metaRevision] != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v; want revision %d", step, got, err, want)
		}
	}
	write := func(name, content string) sidecar.Fingerprint {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := sidecar.FingerprintOf(v.root, name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	is("before", 3)
	old, err := sidecar.Read(v.root, "file")
	if err != nil {
		t.Fatal(err)
	}
	next := sidecar.Entry{Fingerprint: write("new", "y"), Metadata: of(7, 5)}
	if err := v.writeSidecar("file", []sidecar.Entry{next, *old}); err != nil {
		t.Fatal(err)
	}
	is("described, not there yet", 3)
	if err := v.publish("new", "file", true); err != nil {
		t.Fatal(err)
	}
	is("there, with both descriptions", 5)
	write("file", "z")
	if got, err := v.look(t.Context(), "file"); err != nil || !got.foreign || got.metadata != nil {
		t.Errorf("a file that was changed is %+v, %v", got, err)
	}
	write("file", "y")
	is("as it was", 5)
	if err := os.WriteFile(filepath.Join(dir, ownDir, "file"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := v.look(t.Context(), "file"); err != nil || !got.foreign {
		t.Errorf("a damaged description makes it %+v, %v", got, err)
	}
}
