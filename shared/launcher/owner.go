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
)

// ownerFile says in a member folder whose data is in it. It lies beside the write-ahead log,
// so that whoever copies the one copies the other: a copy of a member that runs beside it
// takes its raft messages, and acknowledges what the member never hears of.
const ownerFile = "etcd-launcher.json"

// Owner is whose data a data dir holds.
type Owner struct {
	ClusterUID string `json:"clusterUID"`
	Member     string `json:"member"`
}

func (o Owner) String() string {
	return fmt.Sprintf("member %s of the EtcdCluster of uid %s", o.Member, o.ClusterUID)
}

func ownerPath(dataDir string) string { return filepath.Join(dataDir, "member", ownerFile) }

// readOwner returns nil if nothing says whose data it is. What is there and cannot be
// understood is an error.
func readOwner(dataDir string) (*Owner, error) {
	b, err := os.ReadFile(ownerPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read whose data this is: %w", err)
	}
	var found Owner
	if err := json.Unmarshal(bytes.TrimSpace(b), &found); err != nil || found.Member == "" || found.ClusterUID == "" {
		return nil, fmt.Errorf("read whose data this is: %s holds %.100q", ownerPath(dataDir), b)
	}
	return &found, nil
}

// writeOwner leaves it on the disk, or nothing at all. It makes the folders, too, with the mode that etcd gives them.
func writeOwner(dataDir string, whose Owner) error {
	file := ownerPath(dataDir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return writeAtomically(file, 0o600, func(w io.Writer) error { return json.NewEncoder(w).Encode(whose) })
}
