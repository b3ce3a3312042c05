package rebuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestAppendEqualsHistory records random histories of real clusters, with changes of the
// leader, members that are killed, authentication that is enabled meanwhile, compactions, and
// recorders that end at any time. It restores each to random revisions after a snapshot, by what
// was recorded, and, where a later snapshot holds them, by a cut of that: HashKV, and all of
// every key, are those that the cluster has told at the time.
func TestAppendEqualsHistory(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		hashes := 0
		for i := range *historiesFlag {
			seed := *firstFlag + int64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				a := recordHistory(t, version, rand.New(rand.NewSource(seed)))
				hashes += a.check(t)
			})
		}
		t.Logf("%d hashes were equal", hashes)
		if hashes == 0 {
			t.Error("no hash could be compared")
		}
	})
}

// archived is a history of which all that follows on its first snapshot was recorded.
type archived struct {
	*history
	id      uint64
	members []*etcdtest.Member
	procs   []*etcdtest.Process
	clients []*clientv3.Client
	// base is the snapshot, of a revision that was compacted at another, and states are what
	// the cluster told at those after it.
	base     []byte
	revision int64
	baseInfo Info
	states   map[int64]state
	leases0  []int64 // when the snapshot was taken
	store    segments
}

// segments is a store that now and then refuses.
type segments struct {
	sync.Mutex
	*rand.Rand
	content map[archive.Segment][]byte
}

func (s *segments) put(_ context.Context, which archive.Segment, content *os.File) error {
	s.Lock()
	defer s.Unlock()
	if s.Intn(10) == 0 {
		return errors.New("the store refuses")
	}
	all, err := io.ReadAll(content)
	s.content[which] = all
	return err
}

func (s *segments) all() (all []archive.Segment) {
	s.Lock()
	defer s.Unlock()
	for which := range s.content {
		all = append(all, which)
	}
	return all
}

func recordHistory(t *testing.T, version string, r *rand.Rand) *archived {
	t.Helper()
	a := &archived{history: &history{Rand: r, version: version, newest: 1}, states: map[int64]state{}}
	a.store = segments{Rand: rand.New(rand.NewSource(r.Int63())), content: map[archive.Segment][]byte{}}
	for i := range 3 {
		a.members = append(a.members, etcdtest.NewMember(t, version, fmt.Sprint("m", i)))
	}
	for _, m := range a.members {
		a.procs = append(a.procs, etcdtest.Start(t, nil, append(m.Command(t), "--unsafe-no-fsync", "--initial-cluster="+etcdtest.InitialCluster(a.members...), "--initial-cluster-token=token")...))
	}
	for _, m := range a.members {
		m.WaitReady(t)
		a.clients = append(a.clients, m.Dial(t, "root", "password"))
	}
	a.c = a.clients[0]
	for i := range 20 + r.Intn(60) {
		if err := a.step(t.Context(), a.members[0].Client); err != nil {
			t.Logf("step %d: %v", i, err) // an election, on a busy machine
		}
	}
	a.takeBase(t)
	ctx, cancel := context.WithCancel(t.Context())
	recorded := make(chan error, 2)
	for range 1 + r.Intn(2) { // two at once write the same
		go func(seed int64) { recorded <- a.record(ctx, t.TempDir(), rand.New(rand.NewSource(seed))) }(r.Int63())
	}
	a.history.recorded = a.archivedTo
	a.live(t)
	etcdtest.Eventually(t, "all is recorded", func() error {
		if len(recorded) > 0 {
			t.Fatal(<-recorded)
		}
		if end := a.archivedTo(); end < a.newest {
			return fmt.Errorf("it ends at %d of %d", end, a.newest)
		}
		return nil
	})
	cancel()
	if err := <-recorded; err != nil {
		t.Error(err)
	}
	a.takeSnapshot(t)
	return a
}

func (a *archived) takeBase(t *testing.T) {
	t.Helper()
	a.takeSnapshot(t)
	var err error
	if a.baseInfo, err = Inspect(t.Context(), copyOf(t, a.snapshot)); err != nil {
		t.Fatal(err)
	}
	a.base, a.revision = a.snapshot, a.baseInfo.Revision
	a.states[a.revision] = stateAt(t, a.c, a.revision)
	granted, err := a.c.Leases(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.id = granted.ClusterId
	for _, l := range granted.Leases {
		a.leases0 = append(a.leases0, int64(l.ID))
	}
}

func (a *archived) archivedTo() int64 { return archive.End(a.store.all(), a.id, 1, a.revision) }

// record records at one member after the other, each for a short while.
func (a *archived) record(ctx context.Context, dir string, r *rand.Rand) error {
	next := archive.Position{Revision: a.revision}
	for ctx.Err() == nil {
		recorder := &archive.Recorder{
			Conn: a.clients[r.Intn(len(a.clients))].ActiveConnection(), ClusterID: a.id, Timeline: 1, Dir: dir, Store: a.store.put,
			Interval: time.Duration(10+r.Intn(100)) * time.Millisecond, Idle: time.Second, Size: int64(1 + r.Intn(5000)), HashEvery: time.Nanosecond,
			Now: time.Now, Log: slog.New(slog.DiscardHandler),
		}
		in, cancel := context.WithTimeout(ctx, time.Duration(100+r.Intn(900))*time.Millisecond)
		var err error
		next, err = recorder.Record(in, next)
		cancel()
		var compacted *archive.CompactedError
		var diverged *archive.DivergedError
		switch {
		case errors.As(err, &compacted) && a.archivedTo() >= compacted.Compacted: // by the other one
			if next, err = a.end(); err != nil {
				return err
			}
		case errors.As(err, &compacted) || errors.As(err, &diverged):
			return err
		}
	}
	return nil
}

// end is where a recorder goes on that has only what is stored.
func (a *archived) end() (archive.Position, error) {
	newest, _ := archive.Newest(a.store.all(), a.id)
	a.store.Lock()
	defer a.store.Unlock()
	told, err := archive.ReadSegment(bytes.NewReader(a.store.content[newest]), newest)
	if err != nil {
		return archive.Position{}, err
	}
	return told.End, nil
}

// live has a history go on, and notes what the cluster tells at each revision.
func (a *archived) live(t *testing.T) {
	t.Helper()
	killed := false
	n := 80 + a.Intn(150)
	auth := a.Intn(n)
	for i := range n {
		var err error
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		switch {
		case i == auth:
			etcdtest.EnableAuthOf(t, a.c, "password")
		case a.Intn(25) == 0 && !killed:
			err = a.moveLeader(ctx)
		case a.Intn(100) == 0 && !killed:
			killed = true
			a.procs[2].Kill()
		default:
			err = a.step(ctx, a.members[0].Client)
		}
		cancel()
		if err != nil {
			t.Logf("step %d: %v", i, err) // an election, mostly: whether it was done, is seen
		}
		etcdtest.Eventually(t, "the cluster tells its state", func() error { return a.note(t.Context()) })
	}
}

// note asks for the newest revision, and all about it.
func (a *archived) note(ctx context.Context) error {
	got, err := a.c.Get(ctx, "none")
	if err != nil {
		return err
	}
	a.newest = got.Header.Revision
	if _, known := a.states[a.newest]; known {
		return nil
	}
	all, err := a.c.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithRev(a.newest))
	if err != nil {
		return err
	}
	hash, err := a.c.HashKV(ctx, a.members[0].Client, a.newest)
	if err != nil {
		return err
	}
	a.states[a.newest] = state{all.Kvs, hash.Hash, hash.CompactRevision}
	return nil
}

func (a *archived) moveLeader(ctx context.Context) error {
	var ids []uint64
	var leader *clientv3.Client
	for i, c := range a.clients {
		status, err := c.Status(ctx, a.members[i].Client)
		if err != nil {
			return err
		}
		if status.Leader == status.Header.MemberId {
			leader = c
			continue
		}
		ids = append(ids, status.Header.MemberId)
	}
	if leader == nil {
		return nil
	}
	_, err := leader.MoveLeader(ctx, ids[a.Intn(len(ids))])
	return err
}

// check restores the history to some of its revisions, by both ways.
func (a *archived) check(t *testing.T) (hashes int) {
	t.Helper()
	var known []int64
	for revision := range a.states {
		known = append(known, revision)
	}
	slices.Sort(known)
	revisions := []int64{known[0], known[len(known)-1]}
	for len(revisions) < *revisionsFlag {
		revisions = append(revisions, known[a.Intn(len(known))])
	}
	for i, revision := range revisions {
		t.Run(fmt.Sprintf("revision %d of %d to %d", revision, a.revision, a.newest), func(t *testing.T) {
			want := a.states[revision]
			f := a.appended(t, revision, LeasedKeysAsRecorded)
			hashes += checkFile(t, f, revision, want, a.baseInfo.CompactedRevision)
			checkBolt(t, f.Name(), a.Rand)
			if revision >= a.compacted {
				f := copyOf(t, a.snapshot)
				if _, err := CutAt(t.Context(), f, revision, LeasedKeysAsRecorded); err != nil {
					t.Fatal(err)
				}
				hashes += checkFile(t, f, revision, want, a.compacted)
			}
			if i < *startsFlag {
				a.checkServed(t, revision, want)
			}
		})
	}
	return hashes + a.checkHashes(t)
}

// checkFile compares a database with what the cluster told, and with its hash if that can be
// compared.
func checkFile(t *testing.T, f *os.File, revision int64, want state, compacted int64) (hashes int) {
	t.Helper()
	info, err := Inspect(t.Context(), f)
	if err != nil || info.Revision != revision || info.TotalKeys != int64(len(want.keys)) {
		t.Errorf("got %+v, %v", info, err)
	}
	got := fileState(t, f.Name(), compacted)
	if diff := cmp.Diff(want.keys, got.keys, protocmp.Transform()); diff != "" {
		t.Errorf("the keys (-live +file):\n%s", diff)
	}
	if max(want.compacted, 0) != compacted {
		return 0
	}
	if got.hash != want.hash {
		t.Errorf("the hash of the file is %d, and was %d", got.hash, want.hash)
	}
	return 1
}

// appended is the first snapshot with what was recorded up to a revision.
func (a *archived) appended(t *testing.T, revision int64, leased LeasedKeys) *os.File {
	t.Helper()
	f, changes := copyOf(t, a.base), a.changes(t, revision)
	defer changes.Close()
	if _, err := Append(t.Context(), f, revision, changes.Next); err != nil {
		t.Fatal(err)
	}
	if _, err := SettleLeasedKeys(t.Context(), f, revision, leased); err != nil {
		t.Fatal(err)
	}
	return f
}

func (a *archived) changes(t *testing.T, revision int64) *archive.Changes {
	t.Helper()
	chain, err := archive.Chain(a.store.all(), a.id, 1, a.revision, revision)
	if err != nil {
		t.Fatal(err)
	}
	var begin archive.Begin
	if err := NewestChanges(t.Context(), copyOf(t, a.base), begin.Add); err != nil {
		t.Fatal(err)
	}
	return archive.NewChanges(chain, a.revision, revision, begin.Lineage(), func(s archive.Segment) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(a.store.content[s])), nil
	})
}

// checkServed compares what etcd serves of a revision without the keys whose lease is not known.
func (a *archived) checkServed(t *testing.T, revision int64, want state) {
	t.Helper()
	m := etcdtest.NewMember(t, a.version, "seed")
	f := a.appended(t, revision, DropLeasedKeys)
	if _, err := Restore(t.Context(), quiet, f, m.Dir, Seed{Name: m.Name, PeerURL: m.PeerURL, Token: "token", Revision: revision + 1000}); err != nil {
		t.Fatal(err)
	}
	c, p := running(t, m)
	defer p.Kill()
	got, err := c.Get(t.Context(), "\x00", clientv3.WithFromKey())
	if err != nil || got.Header.Revision != revision+1000 {
		t.Fatal(got, err)
	}
	keys := slices.DeleteFunc(slices.Clone(want.keys), func(kv *mvccpb.KeyValue) bool { return kv.Lease != 0 && !slices.Contains(a.leases0, kv.Lease) })
	if diff := cmp.Diff(keys, got.Kvs, protocmp.Transform()); diff != "" {
		t.Errorf("the keys (-live +restored):\n%s", diff)
	}
}

// checkHashes compares the hashes that were recorded with what comes of the changes, and that
// marks are not beyond them.
func (a *archived) checkHashes(t *testing.T) (compared int) {
	t.Helper()
	marks := 0
	for s, content := range a.store.content {
		r, err := archive.NewReader(bytes.NewReader(content), s)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, _, err = r.Next()
		}
		if !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		for _, h := range r.Hashes() {
			want, known := a.states[h.Revision]
			if !known || want.compacted != h.Compacted {
				continue
			}
			if compared++; h.Hash != want.hash {
				t.Errorf("revision %d was recorded with hash %d, and had %d", h.Revision, h.Hash, want.hash)
			}
		}
		for _, m := range r.Marks() {
			if marks++; m.Revision > s.Last || m.Asked.After(m.Answered) {
				t.Errorf("segment %s has the mark %+v", s.Name(), m)
			}
		}
		r.Close()
	}
	if marks == 0 {
		t.Error("no mark was recorded")
	}
	return compared
}
