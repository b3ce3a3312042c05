package rebuild

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

var (
	historiesFlag = flag.Int("histories", 1, "how many histories TestCutEqualsHistory makes of each minor of etcd")
	revisionsFlag = flag.Int("revisions", 10, "how many revisions of each history TestCutEqualsHistory cuts at")
	startsFlag    = flag.Int("starts", 2, "of how many of these revisions it starts etcds")
	firstFlag     = flag.Int64("first", 0, "the first seed of TestCutEqualsHistory")
)

// TestCutEqualsHistory cuts random histories of real etcds at random revisions of them:
// HashKV, and all of every key, are those that the cluster tells of that revision. Of some
// revisions it has etcd tell it, and of all it computes it from the file.
func TestCutEqualsHistory(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		hashes := 0
		for i := range *historiesFlag {
			seed := *firstFlag + int64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				hashes += makeHistory(t, version, rand.New(rand.NewSource(seed))).check(t)
			})
		}
		t.Logf("%d hashes were equal", hashes)
		if hashes == 0 {
			t.Error("no hash could be compared")
		}
	})
}

// history is a cluster with its past, and a snapshot of it.
type history struct {
	*rand.Rand
	version string
	c       *clientv3.Client
	leases  []clientv3.LeaseID
	// compacted and newest are revisions; 0: never compacted.
	compacted, newest int64
	// recorded is up to which revision others have seen it; nil: nobody is to.
	recorded func() int64
	snapshot []byte
}

// running starts an etcd on what is in the member's folder, if anything.
func running(t *testing.T, m *etcdtest.Member) (*clientv3.Client, *etcdtest.Process) {
	t.Helper()
	p := etcdtest.Start(t, nil, append(m.Command(t), "--unsafe-no-fsync", "--initial-cluster="+etcdtest.InitialCluster(m), "--initial-cluster-token=token")...)
	m.WaitReady(t)
	return m.Dial(t, "", ""), p
}

func makeHistory(t *testing.T, version string, r *rand.Rand) *history {
	t.Helper()
	m := etcdtest.NewMember(t, version, "seed")
	h := &history{Rand: r, version: version, newest: 1}
	h.c, _ = running(t, m)
	for range 60 + r.Intn(300) {
		if err := h.step(t.Context(), m.Client); err != nil {
			t.Fatal(err)
		}
	}
	h.takeSnapshot(t)
	return h
}

// takeSnapshot awaits that the cluster has agreed on its version: Inspect asks for that.
func (h *history) takeSnapshot(t *testing.T) {
	t.Helper()
	etcdtest.Eventually(t, "a snapshot that says its version", func() error {
		stream, err := h.c.Snapshot(t.Context())
		if err != nil {
			return err
		}
		defer stream.Close()
		if h.snapshot, err = io.ReadAll(stream); err != nil {
			return err
		}
		_, err = Inspect(t.Context(), copyOf(t, h.snapshot))
		return err
	})
}

// key is one of few, so that they are written again.
func (h *history) key() string { return fmt.Sprintf("%c/%02d", 'a'+h.Intn(3), h.Intn(12)) }

func (h *history) put(key string) clientv3.Op {
	size := h.Intn(60)
	if h.Intn(20) == 0 {
		size = h.Intn(20_000)
	}
	value := strings.Repeat(string(rune('a'+h.Intn(26))), size)
	if len(h.leases) > 0 && h.Intn(2) == 0 {
		return clientv3.OpPut(key, value, clientv3.WithLease(h.leases[h.Intn(len(h.leases))]))
	}
	return clientv3.OpPut(key, value)
}

// txn has several operations, each of another key, of which only some are done.
func (h *history) txn(ctx context.Context) error {
	var then, otherwise []clientv3.Op
	for _, i := range h.Perm(12)[:1+h.Intn(6)] {
		key := fmt.Sprintf("%c/%02d", 'a'+h.Intn(3), i)
		switch h.Intn(4) {
		case 0:
			then = append(then, clientv3.OpDelete(key))
		case 1:
			otherwise = append(otherwise, h.put(key))
		default:
			then = append(then, h.put(key))
		}
	}
	_, err := h.c.Txn(ctx).If(clientv3.Compare(clientv3.Version(h.key()), ">", 0)).Then(then...).Else(otherwise...).Commit()
	return err
}

// step is one thing that happens to a cluster.
func (h *history) step(ctx context.Context, endpoint string) (err error) {
	switch n := h.Intn(100); {
	case n < 45:
		_, err = h.c.Do(ctx, h.put(h.key()))
	case n < 60:
		_, err = h.c.Delete(ctx, h.key())
	case n < 63:
		_, err = h.c.Delete(ctx, string(rune('a'+h.Intn(3)))+"/", clientv3.WithPrefix())
	case n < 83:
		err = h.txn(ctx)
	case n < 89:
		var lease *clientv3.LeaseGrantResponse
		if lease, err = h.c.Grant(ctx, 3600); err == nil {
			h.leases = append(h.leases, lease.ID)
		}
	case n < 95:
		if len(h.leases) > 0 {
			i := h.Intn(len(h.leases))
			_, err = h.c.Revoke(ctx, h.leases[i])
			h.leases = slices.Delete(h.leases, i, i+1)
		}
	case n < 97:
		err = h.compact(ctx)
	case n < 98:
		_, err = h.c.Defragment(ctx, endpoint)
	default:
		_, err = h.c.UserAdd(ctx, fmt.Sprint("user-", h.Int63()), "password")
	}
	if err != nil {
		return err
	}
	got, err := h.c.Get(ctx, "none")
	if err == nil {
		h.newest = got.Header.Revision
	}
	return err
}

func (h *history) compact(ctx context.Context) error {
	newest := h.newest
	if h.recorded != nil { // or there would be a gap
		newest = min(newest, h.recorded())
	}
	if h.compacted >= newest {
		return nil
	}
	revision := h.compacted + 1 + h.Int63n(newest-h.compacted)
	if _, err := h.c.Compact(ctx, revision, clientv3.WithCompactPhysical()); err != nil {
		return err
	}
	h.compacted = revision
	return nil
}

// state is what a cluster tells of a revision.
type state struct {
	keys []*mvccpb.KeyValue
	// hash counts only together with the revision of the compaction that it is from.
	hash      uint32
	compacted int64
}

func stateAt(t *testing.T, c *clientv3.Client, revision int64) (s state) {
	t.Helper()
	got, err := c.Get(t.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithRev(revision))
	if err != nil {
		t.Fatal(err)
	}
	hash, err := c.HashKV(t.Context(), c.Endpoints()[0], revision)
	if err != nil {
		t.Fatal(err)
	}
	return state{got.Kvs, hash.Hash, hash.CompactRevision}
}

// check restores the history to some of its revisions, the oldest and the newest among them
// now and then, and returns how many hashes were compared.
func (h *history) check(t *testing.T) (hashes int) {
	t.Helper()
	granted, err := h.c.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var leases []int64
	for _, l := range granted.Leases {
		leases = append(leases, int64(l.ID))
	}
	oldest := max(h.compacted, firstRevision)
	revisions := []int64{oldest, h.newest}[h.Intn(3)%2:][:1]
	for len(revisions) < *revisionsFlag {
		revisions = append(revisions, oldest+h.Int63n(h.newest-oldest+1))
	}
	for i, revision := range revisions {
		t.Run(fmt.Sprintf("revision %d of %d to %d", revision, oldest, h.newest), func(t *testing.T) {
			want := stateAt(t, h.c, revision)
			f, compared := h.checkCut(t, revision, want)
			h.checkExtracted(t, revision, want)
			if compared {
				hashes++
			}
			if i < *startsFlag {
				h.checkStarted(t, f, want)
				h.checkRestored(t, revision, want, leases)
			}
		})
	}
	for _, revision := range []int64{h.compacted - 1, h.newest + 1} {
		var got *RevisionError
		if _, err := CutAt(t.Context(), copyOf(t, h.snapshot), revision, DropLeasedKeys); !errors.As(err, &got) {
			t.Errorf("revision %d of %d to %d: got %v", revision, oldest, h.newest, err)
		}
	}
	return hashes
}

// checkCut compares what is in the file of a cut that changes no record.
func (h *history) checkCut(t *testing.T, revision int64, want state) (f *os.File, compared bool) {
	t.Helper()
	f = copyOf(t, h.snapshot)
	before, err := Inspect(t.Context(), f)
	if err != nil || before.Revision != h.newest || before.CompactedRevision != h.compacted {
		t.Fatalf("got %+v, %v, want revisions %d to %d", before, err, h.compacted, h.newest)
	}
	if _, err := CutAt(t.Context(), f, revision, LeasedKeysAsRecorded); err != nil {
		t.Fatal(err)
	}
	after, err := Inspect(t.Context(), f)
	if err != nil || after.Revision != revision || after.TotalKeys != int64(len(want.keys)) {
		t.Errorf("got %+v, %v", after, err)
	}
	got := fileState(t, f.Name(), before.CompactedRevision)
	if diff := cmp.Diff(want.keys, got.keys, protocmp.Transform()); diff != "" {
		t.Errorf("the keys (-live +file):\n%s", diff)
	}
	// etcd keeps the hash of the moment of a compaction, which is of the one before.
	if compared = max(want.compacted, 0) == h.compacted; compared && got.hash != want.hash {
		t.Errorf("the hash of the file is %d, and was %d", got.hash, want.hash)
	}
	if !compared && revision != h.compacted {
		t.Errorf("the hash counts from revision %d, and that of the file from %d", want.compacted, h.compacted)
	}
	return f, compared
}

// checkExtracted compares what is in the file of a cut with only the keys under some prefixes.
func (h *history) checkExtracted(t *testing.T, revision int64, want state) {
	t.Helper()
	prefixes := [][]string{{"b/"}, {"a/0", "c"}, {"c/1", "c/11", "a/"}, {"nothing"}}[h.Intn(4)]
	outside := func(kv *mvccpb.KeyValue) bool { return !isUnder(kv.Key, prefixes) }
	under, elsewhere, err := PlanCut(t.Context(), copyOf(t, h.snapshot), revision, prefixes)
	if err != nil {
		t.Fatal(err)
	}
	f := extracted(t, copyOf(t, h.snapshot), prefixes)
	if _, err := CutAt(t.Context(), f, revision, LeasedKeysAsRecorded); err != nil {
		t.Fatal(err)
	}
	keys := slices.DeleteFunc(slices.Clone(want.keys), outside)
	if diff := cmp.Diff(keys, fileState(t, f.Name(), h.compacted).keys, protocmp.Transform(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the keys under %q (-live +file):\n%s", prefixes, diff)
	}
	if after, err := Inspect(t.Context(), f); err != nil || after.Revision > revision || under != int64(len(keys)) || elsewhere != int64(len(want.keys)-len(keys)) {
		t.Errorf("got %+v, %v; planned %d and %d elsewhere", after, err, under, elsewhere)
	}
}

// fileState is what etcd tells of the newest revision of a database, as hash.go and
// kvstore.go in server/storage/mvcc have it: records that a compaction has left count only
// if they are still the newest of their keys.
func fileState(t *testing.T, path string, compacted int64) state {
	t.Helper()
	records := bucketsOf(t, path)[bucketKey]
	live, newest := map[string]*mvccpb.KeyValue{}, map[string]bool{}
	inOrder := slices.Sorted(maps.Keys(records))
	for _, record := range inOrder {
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal([]byte(records[record]), kv); err != nil {
			t.Fatal(err)
		}
		if len(kv.Key) == 0 { // what raises the revision
			continue
		}
		live[string(kv.Key)] = kv
		if len(record) == tombstoneSize {
			delete(live, string(kv.Key))
		}
	}
	for _, kv := range live {
		newest[string(kv.Key)+fmt.Sprint(kv.ModRevision)] = true
	}
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	hash.Write([]byte(bucketKey))
	for _, record := range inOrder {
		main, deleted, err := parseRevision([]byte(record))
		if err != nil {
			t.Fatal(err)
		}
		kv := &mvccpb.KeyValue{}
		if err := proto.Unmarshal([]byte(records[record]), kv); err != nil {
			t.Fatal(err)
		}
		old := main <= compacted && len(newest) > 0 && !newest[string(kv.Key)+fmt.Sprint(main)]
		if old || deleted && main == compacted { // some versions of etcd keep such a deletion
			continue
		}
		hash.Write([]byte(record + records[record]))
	}
	s := state{hash: hash.Sum32(), compacted: compacted}
	for _, key := range slices.Sorted(maps.Keys(live)) {
		s.keys = append(s.keys, live[key])
	}
	return s
}

// checkStarted compares what etcd tells when etcdutl has restored the file of a cut.
func (h *history) checkStarted(t *testing.T, f *os.File, want state) {
	t.Helper()
	m := etcdtest.NewMember(t, h.version, "seed")
	etcdutl := filepath.Join(filepath.Dir(etcdtest.Binary(t, h.version)), "etcdutl")
	restore := exec.CommandContext(t.Context(), etcdutl, "snapshot", "restore", f.Name(), "--skip-hash-check", "--data-dir", m.Dir, "--name", m.Name,
		"--initial-cluster", etcdtest.InitialCluster(m), "--initial-advertise-peer-urls", m.PeerURL, "--initial-cluster-token", "token")
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c, p := running(t, m)
	defer p.Kill()
	got := stateAt(t, c, 0)
	if diff := cmp.Diff(want.keys, got.keys, protocmp.Transform()); diff != "" {
		t.Errorf("the keys (-live +restored):\n%s", diff)
	}
	if got.compacted == want.compacted && got.hash != want.hash {
		t.Errorf("the hash is %d, and was %d", got.hash, want.hash)
	}
}

// checkRestored compares what Restore makes of a cut without the keys whose lease is gone,
// and writes to each key.
func (h *history) checkRestored(t *testing.T, revision int64, want state, leases []int64) {
	t.Helper()
	m := etcdtest.NewMember(t, h.version, "seed")
	f := copyOf(t, h.snapshot)
	leased := LeasedKeys(h.Intn(2))
	done, err := CutAt(t.Context(), f, revision, leased)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), quiet, f, m.Dir, Seed{Name: m.Name, PeerURL: m.PeerURL, Token: "token", Revision: h.newest + 1000}); err != nil {
		t.Fatal(err)
	}
	var keys []*mvccpb.KeyValue
	lost := int64(0)
	for _, kv := range want.keys {
		if kv.Lease != 0 && !slices.Contains(leases, kv.Lease) {
			lost++
			if leased == DropLeasedKeys {
				continue
			}
			kv.Lease = 0
		}
		keys = append(keys, kv)
	}
	if lost != done.LeasedKeysWithoutLease {
		t.Errorf("%d keys without their lease, want %d", done.LeasedKeysWithoutLease, lost)
	}
	c, p := running(t, m)
	defer p.Kill()
	got, err := c.Get(t.Context(), "\x00", clientv3.WithFromKey())
	if err != nil || got.Header.Revision != h.newest+1000 {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff(keys, got.Kvs, protocmp.Transform()); diff != "" {
		t.Errorf("the keys, leased keys %d (-live +restored):\n%s", leased, diff)
	}
	if _, err := c.Get(t.Context(), "a", clientv3.WithRev(revision)); h.newest > 1 && !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("reading the past: %v", err)
	}
	for _, kv := range keys { // etcd counts on from its index, which it made of the records
		if _, err := c.Put(t.Context(), string(kv.Key), "", clientv3.WithIgnoreLease()); err != nil {
			t.Fatalf("%s: %v", kv.Key, err)
		}
		now, err := c.Get(t.Context(), string(kv.Key))
		if err != nil || len(now.Kvs) != 1 || now.Kvs[0].Version != kv.Version+1 || now.Kvs[0].CreateRevision != kv.CreateRevision || now.Kvs[0].Lease != kv.Lease {
			t.Errorf("%v, and now %v, %v", kv, now, err)
		}
	}
}

// TestLeaselessKeyEndsEtcd is why CutAt leaves no key with a lease that does not exist. Where
// this fails, an etcd has been mended, and [LeasedKeys] says too much.
func TestLeaselessKeyEndsEtcd(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		source := etcdtest.NewMember(t, version, "seed")
		h := &history{version: version}
		h.c, _ = running(t, source)
		lease, err := h.c.Grant(t.Context(), 3600)
		if err != nil {
			t.Fatal(err)
		}
		put, err := h.c.Put(t.Context(), "a", "b", clientv3.WithLease(lease.ID))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.c.Revoke(t.Context(), lease.ID); err != nil {
			t.Fatal(err)
		}
		h.takeSnapshot(t)
		m, f := etcdtest.NewMember(t, version, "seed"), copyOf(t, h.snapshot)
		done, err := CutAt(t.Context(), f, put.Header.Revision, LeasedKeysAsRecorded)
		if err != nil || done.LeasedKeysWithoutLease != 1 {
			t.Fatal(done, err)
		}
		if _, err := Restore(t.Context(), quiet, f, m.Dir, Seed{Name: m.Name, PeerURL: m.PeerURL, Token: "token", Revision: 1000}); err != nil {
			t.Fatal(err)
		}
		c, p := running(t, m)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = c.Put(ctx, "a", "c", clientv3.WithIgnoreLease())
		if code := p.Wait(); err == nil || code == 0 || !strings.Contains(p.Output(), "unexpected error from lease Attach") {
			t.Errorf("the put ended with %v, and etcd with %d", err, code)
		}
	})
}
