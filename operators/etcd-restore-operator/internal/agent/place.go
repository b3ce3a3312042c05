package agent

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/rebuild"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// place is where the data dir is made. All is on its volume, so that it can be renamed:
//
//	data            the data dir, complete from when it is there
//	data.restored   the marker, written last
//	data.restoring-<uid>/
//	  snapshot      what was fetched
//	  data          what is made of it
//	  complete      says that it is on the disk, and is the data dir once it is renamed
type place struct {
	dataDir, marker, work string
	stamp                 stamp
}

// stamp is the content of the marker.
type stamp struct {
	Restore string `json:"restore"`
	UID     string `json:"uid"`
	Member  string `json:"member"`
}

func newPlace(t task.Task) *place {
	dir := filepath.Clean(t.Member.DataDir)
	return &place{
		dataDir: dir, marker: dir + ".restored", work: dir + ".restoring-" + t.UID,
		stamp: stamp{Restore: t.Restore, UID: t.UID, Member: t.Member.Name},
	}
}

func (p *place) made() string     { return filepath.Join(p.work, "data") }
func (p *place) complete() string { return filepath.Join(p.work, "complete") }

// done tells whether the marker is there, of this restore and member.
func (p *place) done() (bool, error) {
	content, err := os.ReadFile(p.marker)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found stamp
	if json.Unmarshal(content, &found) != nil || found.UID != p.stamp.UID || found.Member != p.stamp.Member {
		return false, taken(p.dataDir)
	}
	return true, nil
}

// renamed tells whether an earlier start was killed between the last two steps: what it
// made is the data dir already, and only the marker is missing.
func (p *place) renamed() (bool, error) {
	for path, want := range map[string]bool{p.complete(): true, p.made(): false, p.dataDir: true} {
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

// checkFree refuses a data dir that somebody else has made. An empty one is none.
func (p *place) checkFree() error {
	entries, err := os.ReadDir(p.dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) > 0 {
		return taken(p.dataDir)
	}
	return err
}

// begin makes the folder anew, without what an earlier start has left in it.
func (p *place) begin() error {
	if err := p.clear(); err != nil {
		return err
	}
	return os.MkdirAll(p.work, dirMode)
}

func (p *place) clear() error { return os.RemoveAll(p.work) }

// publish makes what was made the data dir. A crash at any line leaves either something to
// begin again, or a whole data dir that finish is still to be called for.
func (p *place) publish() error {
	if err := writeSynced(p.complete(), nil); err != nil {
		return err
	}
	if err := os.Remove(p.dataDir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one
		return err
	}
	if err := os.Rename(p.made(), p.dataDir); err != nil {
		return err
	}
	return p.finish()
}

// finish writes the marker and removes all else.
func (p *place) finish() error {
	dir := filepath.Dir(p.dataDir)
	content, err := json.Marshal(p.stamp)
	if err != nil {
		return err
	}
	temporary := filepath.Join(p.work, "marker")
	if err := errors.Join(rebuild.Sync(dir), writeSynced(temporary, content)); err != nil {
		return err
	}
	if err := os.Rename(temporary, p.marker); err != nil {
		return err
	}
	return errors.Join(rebuild.Sync(dir), p.clear())
}

// writeSynced writes a file and puts it on the disk, with its name.
func writeSynced(path string, content []byte) error {
	if err := os.WriteFile(path, content, fileMode); err != nil {
		return err
	}
	return errors.Join(rebuild.Sync(path), rebuild.Sync(filepath.Dir(path)))
}
