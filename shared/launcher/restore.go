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
func (o Options) restored() *datadir.Place {
	return datadir.New(o.DataDir, datadir.Stamp{Restore: o.Restore.Name, UID: o.Restore.UID, Member: o.Member.Name})
}

// decideRestore judges without a write-ahead log.
func (o Options) decideRestore() Decision {
	permitted, err := datadir.IsPermitted(o.Restore.PermitFile, o.Restore.UID)
	switch {
	case err != nil:
		return wait(ReasonPermitInvalid, fmt.Sprintf("read the start permit: %v", err))
	case !permitted:
		// While another cluster still serves, and can be left as it is.
		if err := o.checkPrepared(); err != nil {
			return wait(ReasonNotPrepared, err.Error())
		}
		return wait(ReasonNoPermit, fmt.Sprintf("no write-ahead log in the data dir: waiting for the start permit of EtcdRestore %s", o.Restore.Name))
	}
	d := Decide(o.Member, true, 0, nil, nil)
	d.Publish, d.Reason, d.Message = true, ReasonRestored, "the start permit of EtcdRestore "+o.Restore.Name+" is given"
	return d
}

// checkPrepared returns why what was prepared cannot become the data dir.
func (o Options) checkPrepared() error {
	p := o.restored()
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

// publish makes what was prepared the data dir.
func (o Options) publish() error {
	if err := o.checkPrepared(); err != nil {
		return err
	}
	if err := o.restored().Publish(); err != nil {
		return fmt.Errorf("make what is prepared the data dir: %w", err)
	}
	return nil
}

// finishPublishing does what a launcher was killed before that had just made the data dir.
// The marker that it writes keeps an init container from restoring again; a member with
// data starts without it.
func (o Options) finishPublishing() {
	p := o.restored()
	renamed, err := p.Renamed()
	if err == nil && renamed {
		err = p.Finish()
	}
	if err != nil {
		o.Log.Warn("cannot note that the data dir is restored", "error", err)
	}
}
