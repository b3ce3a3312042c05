package launcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// ownerFile says in a member folder whose data is in it. It lies beside the write-ahead log,
// so that whoever copies the one copies the other: a copy of a member that runs beside it
// takes its raft messages, and acknowledges what the member never hears of.
const ownerFile = "etcd-launcher.json"

// owner is whose data a member folder holds.
type owner struct {
	ClusterUID string `json:"clusterUID"`
	Member     string `json:"member"`
}

func (o owner) String() string {
	return fmt.Sprintf("member %s of the EtcdCluster of uid %s", o.Member, o.ClusterUID)
}

func ownerPath(dataDir string) string { return filepath.Join(dataDir, "member", ownerFile) }

// owner is who this launcher starts etcd for.
func (o Options) owner() owner { return owner{ClusterUID: o.ClusterUID, Member: o.Member.Name} }

// refusal says why etcd is not to be started on the data that is there; empty if it may be.
//
// Data that nobody has marked is taken for the member's own: that of an earlier release,
// and what a restore has made. So is that of the same member of a cluster whose volumes
// were adopted (FormerClusterUIDs).
func (o Options) refusal() (string, error) {
	if o.ClusterUID == "" {
		return "", nil
	}
	found, err := readOwner(o.DataDir)
	if err != nil || found == nil {
		return "", err
	}
	if found.Member == o.Member.Name && (found.ClusterUID == o.ClusterUID || slices.Contains(o.FormerClusterUIDs, found.ClusterUID)) {
		return "", nil
	}
	return fmt.Sprintf("the data is that of %s, and this is %s", found, o.owner()), nil
}

// mark notes whose data the member folder holds, before etcd is started on it. It is on the
// disk, or not at all, when it returns. A note that cannot be made, as on a full disk, keeps
// no member with data from starting: unmarked data is the member's own, the next start too.
func (o Options) mark() {
	if o.ClusterUID == "" {
		return
	}
	found, err := readOwner(o.DataDir)
	if err == nil && found != nil && *found == o.owner() {
		return
	}
	if err := writeOwner(o.DataDir, o.owner()); err != nil {
		o.Log.Warn("cannot note whose data this is; a copy of it would not be recognised", "error", err)
	}
}

// readOwner returns nil if nothing says whose data it is. What is there and cannot be
// understood is an error.
func readOwner(dataDir string) (*owner, error) {
	b, err := os.ReadFile(ownerPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read whose data this is: %w", err)
	}
	var found owner
	if err := json.Unmarshal(bytes.TrimSpace(b), &found); err != nil || found.Member == "" || found.ClusterUID == "" {
		return nil, fmt.Errorf("read whose data this is: %s holds %.100q", ownerPath(dataDir), b)
	}
	return &found, nil
}

// writeOwner makes the folders, too, with the mode that etcd gives them.
func writeOwner(dataDir string, whose owner) error {
	file := ownerPath(dataDir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeAtomically(file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(whose) })
}
