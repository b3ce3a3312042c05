package snapshotcheck

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	etcdutl "go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// Snapshot is what a stored snapshot turned out to be.
type Snapshot struct {
	// Size and SHA256 are of what is stored: bytes, and 64 hexadecimal digits.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Packed tells that it is packed with zstd.
	Packed bool `json:"packed"`
	// Revision is the newest in it.
	Revision int64 `json:"revision"`
	// Keys is how many keys there are, of the writer and of others.
	Keys int `json:"keys"`
	writer.Content
}

// magic is how every zstd frame begins (RFC 8878, 3.1.1).
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Open reads a stored snapshot to its end, restores it with etcdutl below dir, which it
// leaves empty, and returns what is in it. Keys under the prefix are the writer's.
func Open(r io.Reader, dir, prefix string) (s Snapshot, err error) {
	found := map[string]string{}
	s, err = restored(r, dir, func(kv *mvccpb.KeyValue, deleted bool) {
		switch key := string(kv.Key); {
		case !strings.HasPrefix(key, prefix):
		case deleted:
			delete(found, key)
		default:
			found[key] = string(kv.Value)
		}
	})
	s.Content = writer.ContentOf(prefix, found)
	return s, err
}

// Keys reads a stored snapshot like Open, and returns every key that is in it.
func Keys(r io.Reader, dir string) (mirror.Content, error) {
	all := mirror.Content{Keys: map[string]mirror.Key{}}
	s, err := restored(r, dir, func(kv *mvccpb.KeyValue, deleted bool) {
		if deleted {
			delete(all.Keys, string(kv.Key))
			return
		}
		all.Keys[string(kv.Key)] = mirror.KeyOf(kv)
	})
	all.Revision = s.Revision
	return all, err
}

// restored restores a stored snapshot with etcdutl below dir, and calls each for every
// change of a key that is in it, the oldest first.
func restored(r io.Reader, dir string, each func(kv *mvccpb.KeyValue, deleted bool)) (s Snapshot, err error) {
	work, err := os.MkdirTemp(dir, "snapshot-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	file, data := filepath.Join(work, "snapshot.db"), filepath.Join(work, "restored")
	if s, err = unpack(r, file); err != nil {
		return s, err
	}
	tool := etcdutl.NewV3(zap.NewNop())
	status, err := tool.Status(file)
	if err != nil {
		return s, fmt.Errorf("etcdutl snapshot status: %w", err)
	}
	s.Revision, s.Keys = max(status.Revision, 1), status.TotalKey // where nothing was written, it is 1
	const name, peer = "restored", "http://localhost:2380"
	if err := tool.Restore(etcdutl.RestoreConfig{
		SnapshotPath: file, OutputDataDir: data,
		Name: name, PeerURLs: []string{peer}, InitialCluster: name + "=" + peer, InitialClusterToken: name,
	}); err != nil {
		return s, fmt.Errorf("etcdutl snapshot restore: %w", err)
	}
	return s, changes(filepath.Join(data, "member", "snap", "db"), each)
}

// unpack writes what is stored to a file as etcd sent it.
func unpack(r io.Reader, file string) (s Snapshot, err error) {
	digest := sha256.New()
	counted := &counter{r: io.TeeReader(r, digest)}
	stored := bufio.NewReader(counted)
	head, err := stored.Peek(len(magic))
	if err != nil {
		return s, fmt.Errorf("read what is stored: %w", err)
	}
	var plain io.Reader = stored
	if s.Packed = bytes.Equal(head, magic); s.Packed {
		unpacked, err := zstd.NewReader(stored)
		if err != nil {
			return s, fmt.Errorf("unpack: %w", err)
		}
		defer unpacked.Close()
		plain = unpacked
	}
	out, err := os.Create(file)
	if err != nil {
		return s, err
	}
	_, err = io.Copy(out, plain)
	if err := errors.Join(err, out.Close()); err != nil {
		return s, fmt.Errorf("read what is stored: %w", err)
	}
	s.Size, s.SHA256 = counted.n, hex.EncodeToString(digest.Sum(nil))
	return s, nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// changes calls each for every change of a key in a member's database, the oldest first.
func changes(file string, each func(kv *mvccpb.KeyValue, deleted bool)) (err error) {
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(schema.Key.Name()).ForEach(func(revision, v []byte) error {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(v, &kv); err != nil {
				return fmt.Errorf("revision %x: %w", revision, err)
			}
			each(&kv, mvcc.IsTombstone(revision))
			return nil
		})
	})
}
