package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// permit is what the operator permits a seed: the state of the annotation restore-permit.
type permit int

const (
	// permitNone: nothing, since the permit was withdrawn.
	permitNone permit = iota
	// permitPrepare: to fetch, check and rebuild the snapshot.
	permitPrepare
	// permitStart: to make that the data dir, and to start etcd.
	permitStart
)

// readPermit reads the file in which the downward API shows the Pod's annotation.
func readPermit(file, uid string) (permit, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return permitNone, nil
	}
	switch strings.TrimSpace(string(content)) {
	case uid:
		return permitStart, err
	case uid + task.Prepare:
		return permitPrepare, err
	}
	return permitNone, err
}

// await waits for the start permit, and makes what was prepared the data dir. It ends
// without doing so when the permit is withdrawn: nothing is restored then, and
// without data etcd does not start.
func (j *job) await(ctx context.Context) error {
	place := newPlace(j.task)
	for waited := false; ; waited = true {
		over, p, err := j.isOver(place)
		if over || err != nil {
			return err
		}
		switch p {
		case permitNone:
			j.log.Info("restored nothing, since the permit was revoked")
			j.result.Already = true
			return nil
		case permitStart:
			return j.publish()
		case permitPrepare: // not yet
		}
		if !waited {
			j.log.Info("the database is ready: waiting for the start permit, which the operator gives when the old members are stopped")
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(j.settings.poll):
		}
	}
}

// publish makes what was prepared the data dir.
func (j *job) publish() error {
	place := newPlace(j.task)
	ready, err := j.isPrepared(place)
	if err != nil {
		return err
	}
	if !ready {
		return runner.Passing(task.ReasonNotPrepared, "nothing is prepared on the volume at %s, although the start permit is given: delete the seed's Pod, so that another seed follows", place.DataDir)
	}
	j.log.Info("making the database the data dir: etcd starts next")
	return place.Publish()
}
