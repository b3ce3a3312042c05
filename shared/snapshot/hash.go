package snapshot

import "strconv"

// Backups write these keys to the metadata of a snapshot, and restores read them.
const (
	// MetaClusterID is etcd's cluster id, 16 hexadecimal digits.
	MetaClusterID = "cluster-id"
	// MetaOldestRevision is the oldest revision that the snapshot holds.
	MetaOldestRevision = "oldest-revision"
)

// Hash is what etcd's HashKV has told of the data that a snapshot holds.
type Hash struct {
	// Value is the hash of all records up to Revision.
	Value    uint32 `json:"value"`
	Revision int64  `json:"revision"`
	// CompactedRevision is that of the last compaction before it was computed; 0: there was
	// none. Of what is older, only the newest record of each key that exists counts.
	CompactedRevision int64 `json:"compactedRevision,omitempty"`
}

// The keys of a Hash in the metadata of an object, and in what describes a file on a volume.
const (
	metaHash          = "hash-kv"
	metaHashRevision  = "hash-kv-revision"
	metaHashCompacted = "hash-kv-compacted-revision"
)

// AddTo writes it to metadata. A nil Hash writes nothing.
func (h *Hash) AddTo(metadata map[string]string) {
	if h == nil {
		return
	}
	metadata[metaHash] = strconv.FormatUint(uint64(h.Value), 10)
	metadata[metaHashRevision] = strconv.FormatInt(h.Revision, 10)
	metadata[metaHashCompacted] = strconv.FormatInt(h.CompactedRevision, 10)
}

// HashIn reads it from metadata; nil if there is none, or none that can be read.
func HashIn(metadata map[string]string) *Hash {
	value, err := strconv.ParseUint(metadata[metaHash], 10, 32)
	if err != nil {
		return nil
	}
	revision, err := strconv.ParseInt(metadata[metaHashRevision], 10, 64)
	if err != nil || revision < 1 {
		return nil
	}
	compacted, err := strconv.ParseInt(metadata[metaHashCompacted], 10, 64)
	if err != nil || compacted < 0 {
		return nil
	}
	return &Hash{Value: uint32(value), Revision: revision, CompactedRevision: compacted}
}
