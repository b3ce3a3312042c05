package agent

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
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
