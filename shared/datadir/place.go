// Package datadir makes etcd's data dir appear at once, and only when its Pod has the permit:
// all is made in a folder beside it, on the same volume, which is then renamed. It imports
// little, since the launcher needs it.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// FileMode and dirMode are for the Pod's user alone: a snapshot holds secrets.
	FileMode = 0o600
	dirMode  = 0o700
)

// Stamp is the content of the marker: what the data dir was made for.
type Stamp struct {
	// Restore says it to people; UID and Member decide whether it is the same.
	Restore string `json:"restore"`
	UID     string `json:"uid"`
	Member  string `json:"member"`
}

// Place is where the data dir is made. All is on its volume, so that it can be renamed:
//
//	data            the data dir, complete from when it is there
//	data.restored   the marker, written last
//	data.restoring-<uid>/
//	  snapshot      what was fetched
//	  data          what is made of it
//	  complete      says that it is on the disk, and is the data dir once it is renamed
type Place struct {
	// DataDir is etcd's; Marker and Work are the file and the folder beside it.
	DataDir, Marker, Work string
	stamp                 Stamp
}

// New is the place of a data dir.
func New(dataDir string, s Stamp) *Place {
	dir := filepath.Clean(dataDir)
	return &Place{DataDir: dir, Marker: dir + ".restored", Work: dir + ".restoring-" + s.UID, stamp: s}
}

// Snapshot is the file for what is fetched.
func (p *Place) Snapshot() string { return filepath.Join(p.Work, "snapshot") }

// Made is the folder that Publish makes the data dir.
func (p *Place) Made() string { return filepath.Join(p.Work, "data") }

// Complete is the file that says that what was made is on the disk.
func (p *Place) Complete() string { return filepath.Join(p.Work, "complete") }

// Done tells whether the marker is there, of the same stamp.
func (p *Place) Done() (bool, error) {
	content, err := os.ReadFile(p.Marker)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found Stamp
	if json.Unmarshal(content, &found) != nil || found.UID != p.stamp.UID || found.Member != p.stamp.Member {
		return false, &TakenError{p.DataDir}
	}
	return true, nil
}

// Renamed tells whether an earlier start was killed between the last two steps: what it
// made is the data dir already, and only the marker is missing.
func (p *Place) Renamed() (bool, error) {
	for path, want := range map[string]bool{p.Complete(): true, p.Made(): false, p.DataDir: true} {
		_, err := os.Lstat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if (err == nil) != want {
			return false, nil
		}
	}
	return true, nil
}

// CheckFree refuses a data dir that somebody else has made. An empty one is none.
func (p *Place) CheckFree() error {
	entries, err := os.ReadDir(p.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return &TakenError{p.DataDir}
	}
	return err
}

// TakenError is that of a volume with data that is not ours.
type TakenError struct{ DataDir string }

// Error says what to do about it.
func (e *TakenError) Error() string {
	return fmt.Sprintf("%s holds data that is not of this restore, and was not touched: delete the seed's PVC, so that the seed gets a new volume", e.DataDir)
}

// Begin makes the folder anew, without what an earlier start has left in it.
func (p *Place) Begin() error {
	if err := p.Clear(); err != nil {
		return err
	}
	return os.MkdirAll(p.Work, dirMode)
}

// Clear removes the folder.
func (p *Place) Clear() error { return os.RemoveAll(p.Work) }

// Publish makes what was made the data dir. A crash at any line leaves either something to
// begin again, or a whole data dir that Finish is still to be called for.
func (p *Place) Publish() error {
	if err := WriteSynced(p.Complete(), nil); err != nil {
		return err
	}
	if err := os.Remove(p.DataDir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one
		return err
	}
	if err := os.Rename(p.Made(), p.DataDir); err != nil {
		return err
	}
	return p.Finish()
}

// Finish writes the marker and removes all else.
func (p *Place) Finish() error {
	dir := filepath.Dir(p.DataDir)
	content, err := json.Marshal(p.stamp)
	if err != nil {
		return err
	}
	temporary := filepath.Join(p.Work, "marker")
	if err := errors.Join(Sync(dir), WriteSynced(temporary, content)); err != nil {
		return err
	}
	if err := os.Rename(temporary, p.Marker); err != nil {
		return err
	}
	return errors.Join(Sync(dir), p.Clear())
}

// WriteSynced writes a file and puts it on the disk, with its name.
func WriteSynced(path string, content []byte) error {
	if err := os.WriteFile(path, content, FileMode); err != nil {
		return err
	}
	return errors.Join(Sync(path), Sync(filepath.Dir(path)))
}

// Sync puts a file, or the names in a folder, on the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
