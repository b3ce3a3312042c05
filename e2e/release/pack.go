package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// filesOf are the contents of the files below a folder, by their paths from it.
func filesOf(dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, file)
		files[filepath.ToSlash(name)] = content
		return err
	})
	return files, err
}

// writeArchive writes files into a .tar.gz, below a folder. The same files and time make the same
// archive.
func writeArchive(to, folder string, files map[string][]byte, at time.Time) (err error) {
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	gz := gzip.NewWriter(out)
	return errors.Join(writeTar(gz, folder, files, at), gz.Close())
}

// writeTar writes files into a tar, below a folder. Its entries are sorted, belong to root, and have
// that time.
func writeTar(to io.Writer, folder string, files map[string][]byte, at time.Time) error {
	t := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: path.Join(folder, name), Mode: 0o644, Size: int64(len(files[name])), ModTime: at, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	return t.Close()
}

// sums are the SHA-256 digests of files, in hexadecimal digits, by their paths.
type sums map[string]string

// checksums are those of all files of a release that the same commit makes the same. Provenance
// and signatures also tell who has built it.
func checksums(dir string) (sums, error) {
	all := sums{}
	return all, filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || name == Checksums || name == Provenance || strings.HasSuffix(name, signature) {
			return err
		}
		digest, err := digestOf(file)
		all[filepath.ToSlash(name)] = digest
		return err
	})
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// String is what sha256sum prints, and checks with -c.
func (s sums) String() string {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&text, "%s  %s\n", s[name], name)
	}
	return text.String()
}
