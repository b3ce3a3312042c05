package launcher

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/shared/datadir"
)

// Restore makes the launcher that of a restore's seed: an init container has prepared its
// data beside the data dir, and with the permit of the EtcdRestore that becomes the data dir.
// No [StartPermit] counts then: this member never begins without data.
type Restore struct {
	// Name is namespace/name of the EtcdRestore, and UID its uid: the start permit.
	Name, UID string
	// PermitFile is the downward API file of the annotation restore-permit.
	PermitFile string
}

// Flags are those of the command run.
func (r *Restore) Flags() []string {
	return []string{"--restore=" + r.Name, "--restore-uid=" + r.UID, "--restore-permit-file=" + r.PermitFile}
}

func (r *Restore) validate() error {
	switch {
	case r.Name == "" || r.PermitFile == "":
		return errors.New("--restore, --restore-uid and --restore-permit-file belong together")
	case r.UID == "" || filepath.Base(r.UID) != r.UID:
		return fmt.Errorf("--restore-uid is %q, want a uid", r.UID)
	}
	return nil
}

// restored is where the data of a restore's seed is made.
func (d disk) restored() *datadir.Place {
	return datadir.New(d.DataDir, datadir.Stamp{Restore: d.Restore.Name, UID: d.Restore.UID, Member: d.Member.Name})
}

func (d disk) IsRestorePermitted() (bool, error) {
	return datadir.IsPermitted(d.Restore.PermitFile, d.Restore.UID)
}

func (d disk) CheckPrepared() error {
	p := d.restored()
	if err := p.CheckFree(); err != nil {
		return err
	}
	_, ready, err := p.Prepared()
	if err != nil {
		return fmt.Errorf("look for what is prepared: %w", err)
	}
	if !ready {
		return fmt.Errorf("nothing is prepared beside %s: delete the seed's Pod, so that another seed follows", p.DataDir)
	}
	hasWAL, err := HasWAL(p.Made())
	if err != nil {
		return err
	}
	if !hasWAL {
		return fmt.Errorf("what is prepared beside %s has no write-ahead log: delete the seed's Pod, so that another seed follows", p.DataDir)
	}
	return nil
}

func (d disk) Publish() error {
	if err := d.CheckPrepared(); err != nil {
		return err
	}
	if err := d.restored().Publish(); err != nil {
		return fmt.Errorf("make what is prepared the data dir: %w", err)
	}
	return nil
}

func (d disk) FinishPublishing() error {
	p := d.restored()
	renamed, err := p.Renamed()
	if err == nil && renamed {
		err = p.Finish()
	}
	return err
}
