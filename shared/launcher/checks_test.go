package launcher

import (
	"errors"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// snapshots is how etcd 3.5 comes to know at its start who the others are: it reads that from
// a snapshot, which it writes after so many entries, and else compares itself with nobody.
const snapshots = "ETCD_SNAPSHOT_COUNT=5"

// trio starts three voters with these variables of etcd and flags of the launcher, and writes
// a key.
func trio(t *testing.T, version string, env []string, checks ...string) (pods []*pod, running []*etcdtest.Process) {
	t.Helper()
	var known []*etcdtest.Member
	for _, name := range []string{"a", "b", "c"} {
		p := newPod(t, version, name)
		p.flags = checks
		pods, known = append(pods, p), append(known, p.member)
	}
	pods[0].givePermit(1, StateNew, known[0])
	running = append(running, pods[0].start(env...))
	known[0].WaitReady(t)
	cli := client(t, known[0])
	for i, p := range pods[1:] {
		var id uint64
		etcdtest.Eventually(t, p.member.Name+" to be added", func() error {
			added, err := cli.MemberAddAsLearner(within(t), []string{p.member.PeerURL})
			if err == nil {
				id = added.Member.ID
			}
			return err
		})
		p.givePermit(1, StateExisting, known[:i+2]...)
		running = append(running, p.start(env...))
		etcdtest.Eventually(t, p.member.Name+" to be promoted", func() error {
			_, err := cli.MemberPromote(within(t), id)
			return err
		})
		p.member.WaitReady(t)
	}
	for range 20 {
		if _, err := cli.Put(within(t), "k", "true"); err != nil {
			t.Fatal(err)
		}
	}
	etcdtest.Eventually(t, "all to have the key", func() error {
		for _, m := range known {
			got, err := client(t, m).Get(within(t), "k", clientv3.WithSerializable())
			if err != nil || got.Count != 1 || got.Kvs[0].Version != 20 {
				return errors.Join(err, errors.New(m.Name+" does not have it"))
			}
		}
		return nil
	})
	return pods, running
}

// A database that was altered while its member did not run: the member compares it with
// those of the others before it serves, and ends. What it says is what the operator
// recognises.
func TestCheckAtStart(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		pods, running := trio(t, version, []string{snapshots}, "--check-at-start")
		running[2].Terminate()
		running[2] = pods[2].start(snapshots)
		pods[2].member.WaitReady(t) // what agrees serves

		running[2].Terminate()
		etcdtest.Alter(t, pods[2].member.Dir, "true", "lies")
		running[2] = pods[2].start(snapshots)
		if code := running[2].Wait(); code != 1 {
			t.Errorf("it ends with code %d, want 1", code)
		}
		out := running[2].Output()
		for _, said := range []string{"found different hash values from remote peer", "checkInitialHashKV failed", "found data inconsistency with peers"} {
			if !strings.Contains(out, said) {
				t.Errorf("it does not say %q", said)
			}
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		t.Logf("the last line: %s", lines[len(lines)-1])
	})
}

// A cluster all of whose members start at the same time comes up: what listens and does not
// answer yet is waited for, 7 s each, but not for ever. That is why the check is the user's to
// ask for: without it they are back in one or two seconds.
func TestCheckAtStartOfAll(t *testing.T) {
	pods, running := trio(t, etcdtest.Newest(), []string{snapshots}, "--check-at-start")
	for _, r := range running {
		r.Kill()
	}
	begun := time.Now()
	for _, p := range pods {
		p.start(snapshots)
	}
	for _, p := range pods {
		p.member.WaitReady(t)
	}
	t.Logf("all are back after %s", time.Since(begun))
}

// With the check of compactions the leader finds who differs, and names it. 3.5 does not
// name it, and is left without. No snapshot is written: who is behind one at its start is sent
// the whole database instead of the entries, and what was altered in its own is gone.
func TestCheckCompactions(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		if strings.HasPrefix(version, "3.5.") {
			p := newPod(t, version, "a")
			p.flags = []string{"--check-compactions"}
			p.givePermit(1, StateNew, p.member)
			c := p.start()
			p.member.WaitReady(t)
			if !strings.Contains(c.Output(), `"compact-check-time-enabled":false`) {
				t.Error("it is on, and would raise an alarm of nobody")
			}
			return
		}
		pods, running := trio(t, version, nil, "--check-compactions")
		running[2].Terminate()
		for range 10 {
			if _, err := client(t, pods[0].member).Put(within(t), "k", "true"); err != nil {
				t.Fatal(err)
			}
		}
		etcdtest.Alter(t, pods[2].member.Dir, "true", "lies")
		const frequentChecks = "ETCD_COMPACT_HASH_CHECK_TIME=100ms"
		for i := range running {
			if i < 2 {
				running[i].Terminate()
			}
			running[i] = pods[i].start(frequentChecks)
		}
		cli := client(t, pods[0].member)
		pods[0].member.WaitReady(t)
		put, err := cli.Put(within(t), "k2", "v")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cli.Compact(within(t), put.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
			t.Fatal(err)
		}
		third, err := client(t, pods[2].member).Status(within(t), pods[2].member.Client)
		if err != nil {
			t.Fatal(err)
		}
		etcdtest.Eventually(t, "the alarm", func() error {
			got, err := cli.AlarmList(within(t))
			if err != nil {
				return err
			}
			for _, a := range got.Alarms {
				if a.Alarm == pb.AlarmType_CORRUPT && a.MemberID == third.Header.MemberId {
					return nil
				}
			}
			return errors.New("it is not raised")
		})
	})
}

// Why the launcher gives one name only: 3.6 does not start with both.
func TestBothNames(t *testing.T) {
	for version, starts := range map[string]bool{"3.5.35": true, "3.6.16": false, "3.7.3": true} {
		p := newPod(t, version, "a")
		p.givePermit(1, StateNew, p.member)
		c := p.start("ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK=true", EnvFeatureGates+"=InitialCorruptCheck=true")
		if starts {
			p.member.WaitReady(t)
			continue
		}
		if code := c.Wait(); code != 1 || !strings.Contains(c.Output(), "cannot specify both flags") {
			t.Errorf("etcd %s ends with %d", version, code)
		}
	}
}
