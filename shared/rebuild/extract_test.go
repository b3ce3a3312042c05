package rebuild

import (
	"bytes"
	"errors"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// extracted is a database of the keys under prefixes, opened for writing.
func extracted(t testing.TB, f *os.File, prefixes []string) *os.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "extracted")
	if err := Extract(t.Context(), f, path, prefixes); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestExtract(t *testing.T) {
	for name, c := range map[string]content{
		"a few keys":               {events: some(2), meta: of36, users: map[string]string{"root": "\x0a\x04root"}, auth: true},
		"small pages":              {pageSize: 512, events: some(4000), valueSize: 20, meta: of36, alarms: map[string]string{"\x08\x07\x10\x01": ""}},
		"values larger than pages": {events: some(400), valueSize: 40_000, meta: of36},
		"more than a transaction":  {events: some(3000), valueSize: 9000, meta: of36},
		"compacted":                {pageSize: 512, events: some(500), meta: merged(of36, keyFinishedCompact, string(revisionKey(300, false)))},
		"nothing":                  {meta: of36},
	} {
		t.Run(name, func(t *testing.T) {
			f := copyOf(t, append(read(t, build(t, c.leases(7, 9))), make([]byte, 32)...)) // a digest
			before, err := Inspect(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, prefixes := range [][]string{{"key-0000"}, {"key-000001", "key-00039"}, {"key-"}, {"nothing"}} {
				want := bucketsOf(t, f.Name())
				maps.DeleteFunc(want[bucketKey], func(_, value string) bool {
					kv := &mvccpb.KeyValue{}
					if err := proto.Unmarshal([]byte(value), kv); err != nil {
						t.Fatal(err)
					}
					return !isUnder(kv.Key, prefixes)
				})
				original := read(t, f.Name())
				got := extracted(t, f, prefixes)
				all := bucketsOf(t, got.Name())
				maps.DeleteFunc(all[bucketKey], func(_, value string) bool { return value == "" })
				if diff := cmp.Diff(want, all); diff != "" {
					t.Errorf("%q (-want +got):\n%s", prefixes, diff)
				}
				after, err := Inspect(t.Context(), got)
				if err != nil || after.Revision != before.Revision || after.CompactedRevision != before.CompactedRevision || after.AuthEnabled != before.AuthEnabled {
					t.Errorf("%q: got %+v, %v, of %+v", prefixes, after, err, before)
				}
				if !bytes.Equal(original, read(t, f.Name())) {
					t.Error("the source was changed")
				}
				checkBolt(t, got.Name(), rand.New(rand.NewSource(1)))
			}
		})
	}
}

// What is cut short while it is read ends in an error, and locks nothing up.
func TestExtractOfDamagedFiles(t *testing.T) {
	f := copyOf(t, read(t, build(t, content{pageSize: 512, events: some(4000), valueSize: 20, meta: of36})))
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, 4096), info.Size()/2); err != nil {
		t.Fatal(err)
	}
	err = Extract(t.Context(), f, filepath.Join(t.TempDir(), "extracted"), []string{"key"})
	var known *runner.Error
	if !errors.As(err, &known) || known.Reason != agent.ReasonCorruptSnapshot {
		t.Errorf("got %v", err)
	}
}

// A value that cannot be read is found only when it is written: that ends in an error as well,
// and the database can be closed.
func TestWriteOfAValueThatCannotBeRead(t *testing.T) {
	f := copyOf(t, make([]byte, 1<<20))
	value, err := syscall.Mmap(int(f.Fd()), 0, 1<<20, syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(value) })
	ended := make(chan error, 1)
	go func() {
		ended <- func() (err error) {
			defer faults(&err)()
			db, err := openBolt(filepath.Join(t.TempDir(), "written"))
			if err != nil {
				return err
			}
			w := &writer{db: db}
			defer func() {
				w.rollback()
				err = errors.Join(err, db.Close())
			}()
			if err := w.put(bucketKey, revisionOf(2), value); err != nil {
				return err
			}
			if err := f.Truncate(4096); err != nil {
				return err
			}
			return w.commit()
		}()
	}()
	select {
	case err := <-ended:
		var known *runner.Error
		if !errors.As(err, &known) || known.Reason != agent.ReasonCorruptSnapshot {
			t.Errorf("got %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the database is never closed")
	}
}
