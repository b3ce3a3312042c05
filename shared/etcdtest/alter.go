package etcdtest

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// Alter changes values in the database of an etcd that does not run, as a bad disk would:
// whatever has the bytes from has to from then on. They are of the same length.
func Alter(t testing.TB, dataDir, from, to string) {
	t.Helper()
	if err := AlterData(dataDir, from, to); err != nil {
		t.Fatalf("alter the database in %s: %v", dataDir, err)
	}
}

// AlterData does so for who is no test.
func AlterData(dataDir, from, to string) error {
	if len(from) != len(to) {
		return fmt.Errorf("%q and %q are not of the same length", from, to)
	}
	db, err := bbolt.Open(filepath.Join(dataDir, "member", "snap", "db"), 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	changed := 0
	err = db.Update(func(tx *bbolt.Tx) error {
		keys := tx.Bucket([]byte("key"))
		found := map[string][]byte{}
		c := keys.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if bytes.Contains(v, []byte(from)) {
				found[string(k)] = bytes.ReplaceAll(v, []byte(from), []byte(to))
			}
		}
		for k, v := range found {
			if err := keys.Put([]byte(k), v); err != nil {
				return err
			}
		}
		changed = len(found)
		return nil
	})
	if err == nil && changed == 0 {
		err = fmt.Errorf("no value has %q", from)
	}
	return errors.Join(err, db.Close())
}
