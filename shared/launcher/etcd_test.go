package launcher

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func client(t *testing.T, m *etcdtest.Member) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Client}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T) context.Context { return etcdtest.Context(t) }

// seed starts a cluster of one and returns its Pod, its container and a client.
func seed(t *testing.T, version string) (*pod, *etcdtest.Process, *clientv3.Client) {
	t.Helper()
	p := newPod(t, version, "seed")
	p.givePermit(1, StateNew, p.member)
	c := p.start()
	cli := client(t, p.member)
	if _, err := cli.Put(within(t), "k", "v"); err != nil {
		t.Fatal(err)
	}
	return p, c, cli
}

func wipe(t *testing.T, p *pod) {
	t.Helper()
	if err := os.RemoveAll(p.member.Dir); err != nil {
		t.Fatal(err)
	}
}

func clusterID(t *testing.T, cli *clientv3.Client) uint64 {
	t.Helper()
	resp, err := cli.Get(within(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	if resp.Count != 1 || string(resp.Kvs[0].Value) != "v" {
		t.Fatalf("k is %v, want v", resp.Kvs)
	}
	return resp.Header.ClusterId
}

func addLearner(t *testing.T, cli *clientv3.Client, m *etcdtest.Member) uint64 {
	t.Helper()
	resp, err := cli.MemberAddAsLearner(within(t), []string{m.PeerURL})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Member.ID
}

func TestSeed(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		p, c, cli := seed(t, version)
		id := clusterID(t, cli)

		c.Kill()
		p.setPermit("") // the operator has taken it back
		c = p.start()
		if got := clusterID(t, cli); got != id {
			t.Fatalf("after a restart the cluster id is %x, want %x", got, id)
		}

		c.Kill()
		wipe(t, p)
		p.givePermit(1, StateNew, p.member) // it has not taken it back in time
		c = p.start()
		p.waits(1, ReasonPermitUsed)
		time.Sleep(2 * rereadInterval)
		p.waits(1, ReasonPermitUsed)
		if code := c.Terminate(); code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	})
}

func TestJoiner(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		s, _, cli := seed(t, version)
		j := newPod(t, version, "joiner")
		c := j.start()
		j.waits(0, ReasonNoPermit)
		id := addLearner(t, cli, j.member)
		begin := time.Now()
		j.givePermit(1, StateExisting, s.member, j.member)
		j.member.WaitServing(t)
		t.Logf("from permit to serving: %s", time.Since(begin))
		etcdtest.Eventually(t, "the learner to be promoted", func() error {
			_, err := cli.MemberPromote(within(t), id)
			return err
		})

		c.Kill()
		c = j.start()
		j.member.WaitServing(t)

		// A voter that has lost its disk would vote a second time.
		c.Kill()
		wipe(t, j)
		c = j.start()
		j.waits(1, ReasonPermitUsed)
		time.Sleep(2 * rereadInterval)
		j.waits(1, ReasonPermitUsed)

		// Nor does it when the record of what it has used is lost, too, and its copy of
		// the permit was not renewed.
		c.Kill()
		if err := os.Remove(j.used); err != nil {
			t.Fatal(err)
		}
		j.start()
		j.waits(0, ReasonStartedBefore)
	})
}

// TestJoinerBesideTwoPeerURLs: a user gives a member a second peer URL. etcd joins only with a permit that
// contains both.
func TestJoinerBesideTwoPeerURLs(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		s, _, cli := seed(t, version)
		members, err := cli.MemberList(within(t))
		if err != nil {
			t.Fatal(err)
		}
		second := "http://" + etcdtest.FreeAddrs(t, 1)[0]
		if _, err := cli.MemberUpdate(within(t), members.Members[0].ID, []string{s.member.PeerURL, second}); err != nil {
			t.Fatal(err)
		}
		j := newPod(t, version, "joiner")
		addLearner(t, cli, j.member)

		j.givePermit(1, StateExisting, s.member, j.member)
		c := j.start()
		if code := c.Wait(); code == 0 || !strings.Contains(c.Output(), "error validating peerURLs") {
			t.Fatalf("with one of the two URLs etcd ends with code %d, want an error about peerURLs", code)
		}
		permit := StartPermit{Attempt: 2, State: StateExisting, InitialCluster: etcdtest.InitialCluster(s.member, j.member) + ",seed=" + second}
		j.setPermit(permit.String())
		j.start()
		j.member.WaitServing(t)
	})
}

// A log that etcd has made and not yet written to names its member and nothing
// else. etcd would start on it and wait for ever.
func TestStillbornLog(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		p, c, _ := seed(t, version)
		c.Kill()
		logs, err := filepath.Glob(filepath.Join(p.member.Dir, "member", "wal", "*.wal"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("logs %v, %v, want one", logs, err)
		}
		whole, err := os.ReadFile(logs[0])
		if err != nil {
			t.Fatal(err)
		}
		// The head is a CRC, the metadata and the mark of no snapshot.
		var head int
		for range 3 {
			length := binary.LittleEndian.Uint64(whole[head:])
			head += 8 + int(length&(1<<56-1)+7)/8*8
		}
		cut := slices.Concat(whole[:head], make([]byte, len(whole)-head))
		for name, tc := range map[string]struct {
			log  []byte
			want bool
		}{
			"whole":                          {whole, true},
			"head and zeros":                 {cut, false},
			"head":                           {whole[:head], false},
			"ends within the first entry":    {whole[:head+12], true},
			"ends within a length":           {whole[:head+4], true},
			"only zeros":                     {make([]byte, 1024), true}, // etcd's to judge
			"empty":                          {nil, true},
			"not a log":                      {[]byte("not a log at all"), true},
			"a length that is far too large": {slices.Concat(whole[:head], []byte{1, 2, 3, 4, 5, 6, 7, 0x88}), true},
		} {
			if err := os.WriteFile(logs[0], tc.log, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := HasWAL(p.member.Dir); got != tc.want || err != nil {
				t.Errorf("%s: HasWAL = %t, %v, want %t", name, got, err, tc.want)
			}
		}

		if err := os.WriteFile(logs[0], cut, 0o600); err != nil {
			t.Fatal(err)
		}
		p.start()
		p.waits(1, ReasonPermitUsed)
		p.givePermit(2, StateNew, p.member)
		p.member.WaitReady(t)
	})
}

// From 3.6 on, the first growth adds all learners at once.
func TestSeveralLearnersAtOnce(t *testing.T) {
	for _, version := range etcdtest.Versions() {
		if strings.HasPrefix(version, "3.5.") {
			continue // knows no --max-learners: one at a time
		}
		t.Run("etcd "+version, func(t *testing.T) {
			s, _, cli := seed(t, version)
			members := []*etcdtest.Member{s.member}
			var pods []*pod
			var processes []*etcdtest.Process
			for i := range 6 {
				j := newPod(t, version, fmt.Sprintf("joiner%d", i))
				processes = append(processes, j.start())
				j.waits(0, ReasonNoPermit)
				pods = append(pods, j)
				members = append(members, j.member)
			}
			for _, j := range pods {
				addLearner(t, cli, j.member)
			}
			begin := time.Now()
			var before []string
			for _, j := range pods {
				g := StartPermit{Attempt: 1, State: StateExisting, InitialCluster: etcdtest.InitialCluster(members...), After: before}
				j.setPermit(g.String())
				before = append(before, j.member.PeerURL)
			}
			for _, j := range pods {
				j.member.WaitServing(t)
			}
			t.Logf("from permits to six learners serving: %s", time.Since(begin))
			for _, c := range processes {
				if strings.Contains(c.Output(), etcdtest.PeerTimeout) {
					t.Error("one waited for another until a timeout of etcd's")
				}
			}
		})
	}
}

// A member that is sent a snapshot catches up first, and then serves at once: not
// only when etcd tells its name a second time, after 7 s.
func TestCatchUp(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		s := newPod(t, version, "seed")
		s.givePermit(1, StateNew, s.member)
		catchUpEntries := "ETCD_SNAPSHOT_CATCHUP_ENTRIES=5"
		if strings.HasPrefix(version, "3.5.") {
			catchUpEntries = "ETCD_EXPERIMENTAL_SNAPSHOT_CATCHUP_ENTRIES=5"
		}
		s.start("ETCD_SNAPSHOT_COUNT=10", catchUpEntries)
		cli := client(t, s.member)
		ctx, stop := context.WithCancel(within(t))
		written := make(chan int)
		go func() {
			n := 0
			for ctx.Err() == nil {
				if _, err := cli.Put(ctx, fmt.Sprintf("k%d", n), "v"); err == nil {
					n++
				}
			}
			written <- n
		}()
		etcdtest.Eventually(t, "the seed's log to begin after the first entry", func() error {
			snapshots, err := filepath.Glob(filepath.Join(s.member.Dir, "member", "snap", "*.snap"))
			if err == nil && len(snapshots) < 2 {
				err = fmt.Errorf("it has %d snapshots", len(snapshots))
			}
			return err
		})

		j := newPod(t, version, "joiner")
		addLearner(t, cli, j.member)
		g := StartPermit{Attempt: 1, State: StateExisting, InitialCluster: etcdtest.InitialCluster(s.member, j.member), CatchUp: true}
		j.setPermit(g.String())
		begin := time.Now()
		c := j.start()
		jcli := client(t, j.member)
		etcdtest.Eventually(t, "the learner to serve clients", func() error {
			asking, cancel := context.WithTimeout(within(t), time.Second)
			defer cancel()
			_, err := jcli.Get(asking, "k0", clientv3.WithSerializable())
			return err
		})
		t.Logf("from start to serving: %s", time.Since(begin))
		out := c.Output()
		_, serving, caughtUp := strings.Cut(out, "has caught up")
		if !caughtUp || strings.Count(out, `"msg":"start etcd"`) != 2 {
			t.Errorf("etcd was not started twice:\n%s", out)
		}
		if strings.Contains(serving, "failed to publish local member") {
			t.Error("etcd has waited for its own name before it served")
		}
		stop()
		n := <-written
		etcdtest.Eventually(t, "the learner to have what was written meanwhile", func() error {
			resp, err := jcli.Get(within(t), "k", clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithSerializable())
			if err == nil && int(resp.Count) < n {
				err = fmt.Errorf("it has %d keys of %d", resp.Count, n)
			}
			return err
		})
	})
}

// A start that fails leaves a database and no log, and so may a broken disk.
// What is in it must not be taken for the new member's.
func TestRemnantsAreSetAside(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		s, _, cli := seed(t, version)
		j := newPod(t, version, "joiner")

		// A member of another cluster, with a longer history, that lost its log.
		other, c, otherCli := seed(t, version)
		for i := range 50 {
			if _, err := otherCli.Put(within(t), fmt.Sprintf("other%d", i), "x"); err != nil {
				t.Fatal(err)
			}
		}
		c.Terminate()
		if err := os.MkdirAll(j.member.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(other.member.Dir, "member"), filepath.Join(j.member.Dir, "member")); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(j.member.Dir, "member", "wal")); err != nil {
			t.Fatal(err)
		}

		// A permit that etcd itself refuses: the member has not been added.
		j.givePermit(1, StateExisting, s.member, j.member)
		c = j.start()
		if code := c.Wait(); code == 0 {
			t.Fatal("etcd ended well, though it is not a member")
		}
		if !strings.Contains(c.Output(), "set aside") {
			t.Error("nothing was set aside")
		}
		if size := dbSize(j.member.Dir + setAsideSuffix); size == 0 {
			t.Error("the database that lost its log was deleted")
		}
		c = j.start()
		j.waits(1, ReasonPermitUsed)

		addLearner(t, cli, j.member)
		j.givePermit(2, StateExisting, s.member, j.member)
		j.member.WaitServing(t)
		jcli := client(t, j.member)
		etcdtest.Eventually(t, "the learner to have the cluster's data and no other", func() error {
			resp, err := jcli.Get(within(t), "", clientv3.WithPrefix(), clientv3.WithSerializable())
			if err != nil {
				return err
			}
			if len(resp.Kvs) != 1 || string(resp.Kvs[0].Key) != "k" {
				return fmt.Errorf("it has %d keys", len(resp.Kvs))
			}
			return nil
		})
		if c.Ended() {
			t.Error("etcd ended")
		}
	})
}

// At the start of a seed, and of any member on its data, nothing is looked up:
// a name that is asked for before its DNS record exists is denied for up to 30 s.
func TestNoNameIsLookedUpAtTheStart(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		p := newPod(t, version, "seed")
		p.member.PeerURL = "http://seed.cluster.ns.svc.invalid:2380"
		p.givePermit(1, StateNew, p.member)
		begin := time.Now()
		c := p.start()
		cli := client(t, p.member)
		if _, err := cli.Put(within(t), "k", "v"); err != nil {
			t.Fatal(err)
		}
		t.Logf("from start to the first write: %s", time.Since(begin))
		c.Kill()
		again := p.start()
		clusterID(t, cli)
		for _, out := range []string{c.Output(), again.Output()} {
			for line := range strings.Lines(out) {
				if strings.Contains(line, "resolv") || strings.Contains(line, "no such host") {
					t.Errorf("etcd looked a name up: %s", line)
				}
			}
		}
	})
}

// Whenever a seed is killed, its next start either goes on with its log or waits
// for the next permit.
func TestSeedKilledAtAnyMoment(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		outcomes := map[string]int{}
		var pods []*pod
		for i := range 12 {
			p := newPod(t, version, "seed")
			p.givePermit(1, StateNew, p.member)
			c := p.start()
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			c.Kill()
			pods = append(pods, p)
		}
		for _, p := range pods {
			hadWAL, err := HasWAL(p.member.Dir)
			if err != nil {
				t.Fatal(err)
			}
			used, err := readUsed(p.used)
			if err != nil {
				t.Fatal(err)
			}
			p.start()
			switch {
			case used == 0:
				outcomes["permit unused"]++
			case hadWAL:
				outcomes["goes on with its log"]++
			default:
				if logs, _ := filepath.Glob(filepath.Join(p.member.Dir, "member", "wal", "*.wal")); len(logs) > 0 {
					outcomes["its log is stillborn"]++
				}
				outcomes["waits"]++
				p.waits(1, ReasonPermitUsed)
				p.givePermit(2, StateNew, p.member)
			}
		}
		for _, p := range pods {
			p.member.WaitReady(t)
		}
		var seen []string
		for o, n := range outcomes {
			seen = append(seen, fmt.Sprintf("%s: %d", o, n))
		}
		slices.Sort(seen)
		t.Log(strings.Join(seen, ", "))
	})
}

// removes removes a member. raft drops a change of the members that comes before it has applied the last one, and
// etcd then answers it never.
func removes(t *testing.T, cli *clientv3.Client, id uint64) error {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if _, err := cli.MemberRemove(ctx, id); err != nil && !errors.Is(err, rpctypes.ErrMemberNotFound) {
		return err
	}
	return nil
}

// What 3.5 has refused as one learner too many stays in its log. A member of a later etcd that joins
// replays that by its own limit, and lists a learner that nobody else has; but not if so many
// entries have followed that it gets a snapshot instead. etcd-operator has them appended first.
func TestALaterJoinerReplaysWhatEtcd35Refused(t *testing.T) {
	versions := etcdtest.Versions()
	older := versions[0]
	if !strings.HasPrefix(older, "3.5.") {
		t.Fatalf("the oldest etcd here is %s", older)
	}
	later := versions[slices.IndexFunc(versions, func(v string) bool { return strings.HasPrefix(v, "3.6.") })]
	for name, row := range map[string]struct {
		applied uint64
		members int
	}{
		"a short log": {0, 3},
		"a long log":  {101, 2},
	} {
		t.Run(name, func(t *testing.T) {
			first := etcdtest.NewMember(t, older, "first")
			process := first.Start(t, "new", first)
			first.WaitReady(t)
			cli := client(t, first)
			learner := addLearner(t, cli, etcdtest.NewMember(t, older, "learner"))
			if _, err := cli.MemberAddAsLearner(within(t), []string{"http://refused:2380"}); err == nil {
				t.Fatal("etcd 3.5 has taken a second learner")
			}
			etcdtest.Eventually(t, "the learner to be removed", func() error { return removes(t, cli, learner) })
			process.Terminate()
			first.Version = later
			first.Start(t, "new", first)
			first.WaitReady(t)
			for applied := uint64(0); applied < row.applied; {
				if _, err := cli.Put(within(t), "k", "v"); err != nil {
					t.Fatal(err)
				}
				status, err := cli.Status(within(t), first.Client)
				if err != nil {
					t.Fatal(err)
				}
				applied = status.RaftAppliedIndex
			}
			joiner := etcdtest.NewMember(t, later, "joiner")
			id := addLearner(t, cli, joiner)
			joiner.Start(t, "existing", first, joiner)
			etcdtest.Eventually(t, "the learner to be promoted", func() error {
				_, err := cli.MemberPromote(within(t), id)
				return err
			})
			joiner.WaitReady(t)
			list, err := client(t, joiner).MemberList(within(t), clientv3.WithSerializable())
			if err != nil {
				t.Fatal(err)
			}
			if len(list.Members) != row.members {
				t.Errorf("the joiner lists %d members, want %d: %v", len(list.Members), row.members, list.Members)
			}
		})
	}
}
