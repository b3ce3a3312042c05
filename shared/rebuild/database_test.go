package rebuild

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// content says what a database of a test holds.
type content struct {
	pageSize int
	// events are keys that are written at revisions 2, 3, ...; with a minus before
	// them, deleted.
	events []string
	// valueSize is that of every value.
	valueSize int
	meta      map[string]string
	cluster   map[string]string
	// without names a bucket that is left out, with is another one.
	without, with string
	freelist      bool
	raw           map[string]string
	// alarms and users are keys and values of the buckets alarm and authUsers.
	alarms, users map[string]string
	// leased are keys and values of the bucket lease.
	leased map[string]string
	auth   bool
}

// of36 is what etcd 3.6 writes into the bucket meta.
var of36 = map[string]string{keyStorageVersion: "3.6.0", "consistent_index": "12345678", "term": "12345678"}

func revisionKey(main int64, deleted bool) []byte {
	key := binary.BigEndian.AppendUint64(nil, uint64(main))
	key = binary.BigEndian.AppendUint64(append(key, '_'), 0)
	if deleted {
		key = append(key, 't')
	}
	return key
}

// some writes n keys, of which every third is written again, and every seventh deleted.
func some(n int) (events []string) {
	for i := range n {
		key := fmt.Sprintf("key-%06d", i)
		events = append(events, key)
		if i%3 == 0 {
			events = append(events, key)
		}
		if i%7 == 0 {
			events = append(events, "-"+key)
		}
	}
	return events
}

// build writes a database by bbolt itself and returns the file.
func build(t testing.TB, c content) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: c.pageSize, NoFreelistSync: !c.freelist, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{bucketAlarm, bucketAuth, bucketAuthUsers, bucketCluster, bucketKey, bucketLease, "members", bucketMeta}
	if c.with != "" {
		names = append(names, c.with)
	}
	put := func(tx *bbolt.Tx, bucket string, key, value []byte) {
		if b := tx.Bucket([]byte(bucket)); b != nil {
			if err := b.Put(key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range names {
			if name == c.without {
				continue
			}
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		for k, v := range c.meta {
			put(tx, bucketMeta, []byte(k), []byte(v))
		}
		for k, v := range c.cluster {
			put(tx, bucketCluster, []byte(k), []byte(v))
		}
		for k, v := range c.alarms {
			put(tx, bucketAlarm, []byte(k), []byte(v))
		}
		for k, v := range c.users {
			put(tx, bucketAuthUsers, []byte(k), []byte(v))
		}
		for k, v := range c.leased {
			put(tx, bucketLease, []byte(k), []byte(v))
		}
		if c.auth {
			put(tx, bucketAuth, []byte(keyAuthEnabled), []byte{1})
		}
		for k, v := range c.raw {
			put(tx, bucketKey, []byte(k), []byte(v))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	revision := int64(1)
	for chunk := range slices.Chunk(c.events, 100) { // several transactions, so that pages become free
		err := db.Update(func(tx *bbolt.Tx) error {
			for _, event := range chunk {
				revision++
				key, deleted := strings.CutPrefix(event, "-")
				kv := &mvccpb.KeyValue{Key: []byte(key)}
				if !deleted {
					kv.CreateRevision, kv.ModRevision, kv.Version, kv.Lease = revision, revision, 1, 7
					kv.Value = bytes.Repeat([]byte("v"), c.valueSize)
				}
				value, err := proto.Marshal(kv)
				if err != nil {
					return err
				}
				put(tx, bucketKey, revisionKey(revision, deleted), value)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openFile(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// naive says what a file holds by bbolt and with a map of all keys: slow, large, and
// right.
func naive(path string) (info Info, err error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return info, err
	}
	defer db.Close()
	live := map[string]bool{}
	err = db.View(func(tx *bbolt.Tx) error {
		for err := range tx.Check() {
			// What bbolt has lost sight of is a waste, and no damage.
			if !strings.Contains(err.Error(), "unreachable unfreed") {
				return err
			}
		}
		info.DatabaseSize = tx.Size()
		return tx.Bucket([]byte(bucketKey)).ForEach(func(k, v []byte) error {
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(v, &kv); err != nil {
				return err
			}
			info.Revision = int64(binary.BigEndian.Uint64(k))
			delete(live, string(kv.Key))
			if len(k) == revisionSize && len(kv.Key) > 0 {
				live[string(kv.Key)] = true
			}
			return nil
		})
	})
	info.TotalKeys = int64(len(live))
	return info, err
}

// merged is a map with more in it.
func merged(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}
