package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// facts is the file in the folder that tells, once all is on the disk, what was made.
func (p *Place) facts() string { return filepath.Join(p.Work, "facts") }

// Prepare says that what was made is on the disk and can become the data dir, and notes
// facts about it for a later start. What was fetched for it is removed. A crash at any line
// leaves either something to begin again, or all of it.
func (p *Place) Prepare(facts []byte) error {
	if err := os.Remove(p.Snapshot()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := WriteSynced(p.facts(), facts); err != nil {
		return err
	}
	return WriteSynced(p.Complete(), nil)
}

// Prepared returns the facts that Prepare has noted; ok is false if nothing is prepared, or
// if it is the data dir already.
func (p *Place) Prepared() (facts []byte, ok bool, err error) {
	for _, path := range []string{p.Complete(), p.Made()} {
		_, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	facts, err = os.ReadFile(p.facts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil // it was made to be published at once
	}
	return facts, err == nil, err
}
