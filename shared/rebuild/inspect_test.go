package rebuild

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
)

func TestInspect(t *testing.T) {
	for name, c := range map[string]struct {
		content   content
		version   string
		revision  int64 // 0: that of the newest event
		compacted int64
	}{
		"a few keys, in a page of another":   {content{pageSize: 4096, events: some(2), meta: of36}, "3.6", 0, 0},
		"many pages":                         {content{pageSize: 512, events: some(2000), valueSize: 20, meta: of36}, "3.6", 0, 0},
		"values larger than a page":          {content{pageSize: 4096, events: some(20), valueSize: 40_000, meta: of36}, "3.6", 0, 0},
		"large pages":                        {content{pageSize: 64 << 10, events: some(2000), valueSize: 100, meta: of36}, "3.6", 0, 0},
		"a list of free pages":               {content{pageSize: 512, events: some(1000), valueSize: 20, meta: of36, freelist: true}, "3.6", 0, 0},
		"of 3.5":                             {content{events: some(10), cluster: map[string]string{keyClusterVersion: "3.5.0"}}, "3.5", 0, 0},
		"of 3.7, its cluster still of 3.6":   {content{events: some(10), meta: map[string]string{keyStorageVersion: "3.7.0"}, cluster: map[string]string{keyClusterVersion: "3.6.0"}}, "3.7", 0, 0},
		"all deleted":                        {content{events: []string{"a", "-a"}, meta: of36}, "3.6", 3, 0},
		"deleted and written again":          {content{events: []string{"a", "-a", "a", "b", "-b"}, meta: of36}, "3.6", 6, 0},
		"all deleted and compacted":          {content{meta: merged(of36, keyFinishedCompact, string(revisionKey(77, false)))}, "3.6", 77, 77},
		"what a restore writes":              {content{events: some(10), raw: map[string]string{string(revisionKey(1000, false)): ""}, meta: of36}, "3.6", 1000, 0},
		"nothing was ever written":           {content{meta: of36}, "3.6", 1, 0},
		"a compaction that was not finished": {content{events: some(10), meta: merged(merged(of36, keyFinishedCompact, string(revisionKey(3, false))), keyScheduledCompact, string(revisionKey(6, false)))}, "3.6", 0, 6},
		"a compaction that was finished":     {content{events: some(10), meta: merged(merged(of36, keyFinishedCompact, string(revisionKey(6, false))), keyScheduledCompact, string(revisionKey(6, false)))}, "3.6", 0, 6},
		"compacted behind the newest event":  {content{events: some(10), meta: merged(of36, keyScheduledCompact, string(revisionKey(5, false)))}, "3.6", 0, 5},
	} {
		t.Run(name, func(t *testing.T) {
			path := build(t, c.content)
			want, err := naive(path)
			if err != nil {
				t.Fatal(err)
			}
			want.EtcdVersion, want.CompactedRevision = c.version, c.compacted
			if c.revision != 0 {
				want.Revision = c.revision
			}
			got, err := Inspect(t.Context(), openFile(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInspectRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		content content
		reason  string
		words   string
	}{
		"no version":               {content{events: some(3), meta: map[string]string{keyTerm: "12345678"}}, agent.ReasonUnknownVersion, "later"},
		"no version, but members":  {content{events: some(3), meta: map[string]string{keyConfState: "{}"}}, agent.ReasonUnknownVersion, "later"},
		"a version not agreed on":  {content{events: some(3), meta: map[string]string{keyTerm: "12345678"}, cluster: map[string]string{keyClusterVersion: "3.0.0"}}, agent.ReasonUnknownVersion, "later"},
		"3.4":                      {content{events: some(3), cluster: map[string]string{keyClusterVersion: "3.4.0"}}, agent.ReasonSnapshotTooOld, "etcd 3.4, and"},
		"3.4 that says no version": {content{events: some(3), meta: map[string]string{"consistent_index": "12345678"}}, agent.ReasonSnapshotTooOld, "3.4 or older"},
		"3.4 of an empty etcd":     {content{}, agent.ReasonSnapshotTooOld, "take a new snapshot"},
		"a version to come":        {content{events: some(3), meta: map[string]string{keyStorageVersion: "3.8.0"}}, agent.ReasonUnknownVersion, "newer operator"},
		"a version that is none":   {content{events: some(3), meta: map[string]string{keyStorageVersion: "x"}}, agent.ReasonCorruptSnapshot, "version"},
		"another program's":        {content{without: bucketKey, meta: of36}, agent.ReasonCorruptSnapshot, `no bucket "key"`},
		"no meta":                  {content{events: some(3), without: bucketMeta}, agent.ReasonCorruptSnapshot, `no bucket "meta"`},
		"a strange revision":       {content{raw: map[string]string{"x": ""}, meta: of36}, agent.ReasonCorruptSnapshot, "revision"},
		"a strange value":          {content{raw: map[string]string{string(revisionKey(2, false)): "value"}, meta: of36}, agent.ReasonCorruptSnapshot, "revision 2"},
		"of another revision":      {content{raw: map[string]string{string(revisionKey(2, false)): "\x0a\x01a\x18\x03"}, meta: of36}, agent.ReasonCorruptSnapshot, "revision 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Inspect(t.Context(), openFile(t, build(t, c.content)))
			var got *runner.Error
			if !errors.As(err, &got) || got.Reason != c.reason || !got.Permanent || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %s with words of %q", err, c.reason, c.words)
			}
		})
	}
}

func TestCountingInPassesChangesNothing(t *testing.T) {
	d, err := open(openFile(t, build(t, content{pageSize: 512, events: some(3000), meta: of36})))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	buckets, err := d.buckets(t.Context(), d.newWalk())
	if err != nil {
		t.Fatal(err)
	}
	once, some, err := d.keptAt(t.Context(), buckets[bucketKey], maxSet-1, 4000, 2000)
	if err != nil || !some {
		t.Fatal(some, err)
	}
	if _, _, err := d.keptAt(t.Context(), buckets[bucketKey], 100, 4000, 2000); err != nil { // written to meanwhile
		t.Error(err)
	}
	for _, entries := range []int64{maxSet, 2 * maxSet, 10 * maxSet} {
		if got, _, err := d.keptAt(t.Context(), buckets[bucketKey], entries, 4000, 2000); !bytes.Equal(got[:len(once)], once) || err != nil {
			t.Errorf("as if of %d events: other records are kept, %v", entries, err)
		}
	}
	for _, entries := range []int64{1, maxSet, 2 * maxSet, 10 * maxSet} {
		if got, _, err := d.countKeys(t.Context(), buckets[bucketKey], entries, math.MaxInt64, nil); got != 3000-3000/7-1 || err != nil {
			t.Errorf("as if of %d events: counted %d, %v", entries, got, err)
		}
	}
}

func TestInspectEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := Inspect(ctx, openFile(t, build(t, content{events: some(3000), meta: of36}))); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatIsCutShortWhileItIsRead(t *testing.T) {
	path := build(t, content{events: some(3000), valueSize: 100, meta: of36})
	f := openFile(t, path)
	d, err := open(f)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if err := os.Truncate(path, 8192); err != nil {
		t.Fatal(err)
	}
	err = func() (err error) {
		defer faults(&err)()
		_, err = d.buckets(t.Context(), d.newWalk())
		return err
	}()
	var got *runner.Error
	if !errors.As(err, &got) || got.Reason != agent.ReasonCorruptSnapshot {
		t.Errorf("got %v", err)
	}
}

// seeds are small databases of every kind of page.
func seeds(t testing.TB) [][]byte {
	var all [][]byte
	for _, c := range []content{
		{pageSize: 512, events: some(150), valueSize: 10, meta: of36},
		{pageSize: 512, events: some(120), valueSize: 10, meta: of36, freelist: true},
		{pageSize: 1024, events: some(8), valueSize: 3000, cluster: map[string]string{keyClusterVersion: "3.5.0"}},
		{pageSize: 4096, events: some(3), meta: of36},
	} {
		content, err := os.ReadFile(build(t, c))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content)
	}
	return all
}

// checkAny inspects any content: what is taken is what bbolt takes, and holds what is
// said.
func checkAny(t *testing.T, path string, content []byte) (taken bool) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := Inspect(t.Context(), f)
	sum := crc32.ChecksumIEEE(content)
	cutIt := sum%8 == 0 // it takes its time
	if err != nil {
		if cutIt { // it is not to be asked for, and ends all the same
			refused := copyOf(t, content)
			if _, err := CutAt(t.Context(), refused, 2+int64(sum)%50, LeasedKeysAsRecorded); err != nil && !bytes.Equal(content, read(t, refused.Name())) {
				t.Errorf("a file was changed, and then: %v", err)
			}
		}
		var known *runner.Error
		if !errors.As(err, &known) || !known.Permanent || known.Reason != agent.ReasonCorruptSnapshot && known.Reason != agent.ReasonSnapshotTooOld && known.Reason != agent.ReasonUnknownVersion {
			t.Errorf("got %v", err)
		}
		return false
	}
	want, err := naive(path)
	if err != nil {
		t.Errorf("taken as %+v, and bbolt says %v", got, err)
	}
	if got.TotalKeys != want.TotalKeys || got.Revision < want.Revision || got.DatabaseSize != want.DatabaseSize {
		t.Errorf("got %+v, want %+v", got, want)
	}
	told := snapshot.Hash{Value: sum, Revision: got.Revision, CompactedRevision: int64(sum) % (got.Revision + 1)}
	if _, err := CompareHash(t.Context(), f, 1, got.Revision, told); err != nil {
		t.Errorf("cannot be hashed: %v", err)
	}
	if cutIt {
		cutAny(t, content, got, rand.New(rand.NewSource(int64(sum))))
	}
	return true
}

func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	r := rand.New(rand.NewSource(1))
	for _, whole := range seeds(t) {
		if !checkAny(t, path, whole) {
			t.Fatal("a whole database is refused")
		}
		for range 100 { // cut short
			cut := whole[:r.Intn(len(whole))]
			if checkAny(t, path, cut) {
				info, err := naive(path)
				if err != nil || info.DatabaseSize > int64(len(cut)) {
					t.Errorf("%d of %d bytes are taken", len(cut), len(whole))
				}
			}
		}
		for range 1500 { // a few bits flipped, mostly where the structure is
			bad := append([]byte{}, whole...)
			for range 1 + r.Intn(3) {
				at := r.Intn(len(bad))
				if r.Intn(2) == 0 {
					at = at/512*512 + r.Intn(64)
				}
				bad[at] ^= 1 << r.Intn(8)
			}
			checkAny(t, path, bad)
		}
		for range 300 { // a page in another's place
			bad := append([]byte{}, whole...)
			from, to := r.Intn(len(bad)/512)*512, r.Intn(len(bad)/512)*512
			copy(bad[to:to+512], whole[from:from+512])
			if r.Intn(2) == 0 { // which says that it belongs there
				copy(bad[to:to+8], whole[to:to+8])
			}
			checkAny(t, path, bad)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, content := range seeds(f) {
		f.Add(content)
		f.Add(content[:len(content)/2])
	}
	f.Add([]byte{})
	f.Add(make([]byte, 8192))
	path := filepath.Join(f.TempDir(), "db")
	f.Fuzz(func(t *testing.T, content []byte) { checkAny(t, path, content) })
}
