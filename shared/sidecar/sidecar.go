// Package sidecar reads what describes a snapshot on a volume: a file of the same name in a
// directory beside it, as the metadata of an object does in S3.
package sidecar

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

const (
	// Dir is the directory of the sidecars. It marks the one that it is in as the backup
	// operator's.
	Dir = ".etcd-backups"
	// tailSize is how much of a file's end identifies it. A plain snapshot ends in the
	// sha256 of all that comes before, a packed one in as much of what can't be guessed.
	tailSize = 4 << 10
	// maxSize is far more than a description has.
	maxSize = 64 << 10
)

// Name is the name of the file that describes a snapshot.
func Name(snapshot string) string {
	return path.Join(path.Dir(snapshot), Dir, path.Base(snapshot))
}

// Fingerprint distinguishes snapshots without reading all of it.
type Fingerprint struct {
	Size int64 `json:"size"`
	// Tail is the sha256 of the last tailSize bytes, in hexadecimal digits.
	Tail string `json:"tail"`
}

// Entry is what describes one content of a file. While a file is replaced, its sidecar has
// two.
type Entry struct {
	Fingerprint
	Metadata map[string]string `json:"metadata"`
}

// FingerprintOf reads that of a file.
func FingerprintOf(root *os.Root, name string) (is Fingerprint, err error) {
	f, err := root.Open(name)
	if err != nil {
		return is, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return fingerprintOf(f)
}

func fingerprintOf(f *os.File) (is Fingerprint, err error) {
	info, err := f.Stat()
	if err != nil {
		return is, err
	}
	is.Size = info.Size()
	digest := sha256.New()
	if _, err := io.Copy(digest, io.NewSectionReader(f, max(0, is.Size-tailSize), tailSize)); err != nil {
		return is, err
	}
	is.Tail = fmt.Sprintf("%x", digest.Sum(nil))
	return is, nil
}

// Read is the entry in a file's sidecar for the content that the file has; nil if there is
// none.
func Read(root *os.Root, name string) (*Entry, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return Of(root, name, f)
}

// Of is Read of a file that is open.
func Of(root *os.Root, name string, file *os.File) (*Entry, error) {
	is, err := fingerprintOf(file)
	if err != nil {
		return nil, err
	}
	// To open a pipe would wait for somebody at its other end.
	f, err := root.OpenFile(Name(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err // to read a pipe would wait, too
	}
	var all []Entry
	if json.NewDecoder(io.LimitReader(f, maxSize)).Decode(&all) != nil {
		all = nil // a damaged one counts as empty
	}
	for i := range all {
		if all[i].Fingerprint == is {
			return &all[i], nil
		}
	}
	return nil, nil
}
