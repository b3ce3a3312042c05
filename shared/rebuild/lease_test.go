package rebuild

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// bbolt writes a whole leaf again, with the large values beside a small key, and to pages that
// are free, of which there are none at first: the file grows by what a transaction writes.
func TestLeasedKeysBesideLargeValues(t *testing.T) {
	const large, most = 256 << 10, 8 << 20
	for name, put := range map[string]func(i int, r *rand.Rand) (leased bool, size int){
		"one in two":    func(i int, _ *rand.Rand) (bool, int) { return i%2 == 0, large * (i % 2) },
		"one in four":   func(i int, _ *rand.Rand) (bool, int) { return i%4 == 0, large * min(i%4, 1) },
		"at random":     func(_ int, r *rand.Rand) (bool, int) { n := r.Intn(3); return n == 0, large * min(n, 1) },
		"large as well": func(int, *rand.Rand) (bool, int) { return true, large },
		// The leaf of the leased key would be merged with that of the large values.
		"in a leaf that becomes small": func(i int, _ *rand.Rand) (bool, int) {
			switch i % 30 {
			case 0, 1, 2, 3:
				return false, large
			case 13:
				return true, 1300
			}
			return false, 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewSource(1))
			raw, size := map[string]string{}, 0
			revision := int64(firstRevision)
			for i := 0; size < 40<<20; i++ {
				revision++
				leased, n := put(i, r)
				kv := &mvccpb.KeyValue{Key: fmt.Appendf(nil, "%06d", i), ModRevision: revision, CreateRevision: revision, Version: 1, Value: bytes.Repeat([]byte("v"), n)}
				if leased {
					kv.Lease = 7
				}
				value, err := proto.Marshal(kv)
				if err != nil {
					t.Fatal(err)
				}
				raw[string(revisionKey(revision, false))] = string(value)
				size += len(value)
			}
			original := read(t, build(t, content{pageSize: 4096, raw: raw, meta: of36}))
			for _, leased := range []LeasedKeys{DropLeasedKeys, KeepLeasedKeys} {
				f := copyOf(t, original)
				before, err := databaseSize(f)
				if err != nil {
					t.Fatal(err)
				}
				want := bucketsOf(t, f.Name())
				lost := naiveCut(t, want, revision-1, leased)
				done, err := CutAt(t.Context(), f, revision-1, leased)
				if err != nil || done.LeasedKeysWithoutLease != lost {
					t.Fatalf("got %+v, %v, want %d", done, err, lost)
				}
				if diff := cmp.Diff(want, bucketsOf(t, f.Name())); diff != "" {
					t.Errorf("leased keys %d: (-want +got)\n%.1000s", leased, diff)
				}
				after, err := databaseSize(f)
				if err != nil {
					t.Fatal(err)
				}
				if grown := after - before; grown > most {
					t.Errorf("leased keys %d: the database has grown by %d KiB, which is more than %d KiB", leased, grown>>10, most>>10)
				}
				checkBolt(t, f.Name(), r)
			}
		})
	}
}
