package controller_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file change versions of real etcds, in the order of etcdtest.Versions.

// serves plays the client Service: each new connection goes to a Pod that is marked as a
// voter and is ready, and stays there.
func (b *bench) serves(c *v1beta2.EtcdCluster) (addr string) {
	b.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { l.Close() })
	var next atomic.Int64
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go b.carry(conn, c.Name, int(next.Add(1)))
		}
	}()
	return l.Addr().String()
}

// carry joins a connection with one to a Pod, until either ends.
func (b *bench) carry(conn net.Conn, cluster string, n int) {
	defer conn.Close()
	var pods corev1.PodList
	if err := b.client.List(context.Background(), &pods, client.InNamespace(b.namespace), client.MatchingLabels{v1beta2.LabelCluster: cluster}); err != nil {
		return
	}
	serving := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return !podtest.Serves(&p) })
	if len(serving) == 0 {
		return
	}
	to, err := net.Dial("tcp", podtest.At(serving[n%len(serving)].Status.PodIP, member.ClientPort))
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(to, conn) // ends with the connection
		to.Close()
	}()
	_, _ = io.Copy(conn, to) // ends with the connection
}

// writes writes a hundred times a second until the test calls what it returns, which
// tells how many writes were acknowledged, and which have failed.
func (b *bench) writes(addr string) (end func() (acked int, failed []error)) {
	b.t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	var (
		mu     sync.Mutex
		acked  int
		failed []error
		under  sync.WaitGroup
		done   = make(chan struct{})
		ended  = make(chan struct{})
	)
	go func() {
		defer close(ended)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				under.Wait()
				return
			case <-tick.C:
			}
			under.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
				defer cancel()
				_, err := cli.Put(ctx, fmt.Sprintf("key-%06d", i), "value")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = append(failed, err)
					return
				}
				acked++
			})
		}
	}()
	stop := sync.OnceFunc(func() {
		close(done)
		<-ended
		cli.Close()
	})
	b.t.Cleanup(stop)
	return func() (int, []error) {
		stop()
		return acked, failed
	}
}

// keys is how many keys a cluster has.
func (b *bench) keys(addr string) int {
	b.t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	defer cli.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	resp, err := cli.Get(ctx, "key-", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		b.t.Fatalf("count keys: %v", err)
	}
	return int(resp.Count)
}

// mostDropped is how many writes can fail in a change of the version, at a hundred a second:
// those that come to the leader while the leadership is transferred, once. Raft refuses them
// (raft.ErrProposalDropped), and those that other members pass on to it are lost without a
// word; they are not written, and can be tried again. It lasts for some milliseconds, on a
// busy machine for longer, and raft ends it after an election timeout, of one second.
const mostDropped = 100

// isOther reports whether a write has failed for another reason. A lost write ends with the client's deadline, or with
// etcd's own, which etcd reports as "request timed out".
func isOther(err error) bool {
	return !slices.ContainsFunc([]string{"raft proposal dropped", "deadline exceeded", "request timed out"}, func(known string) bool {
		return strings.Contains(err.Error(), known)
	})
}

// untilVersion waits until a cluster has come to a version, and nothing is left to do.
func (b *bench) untilVersion(c *v1beta2.EtcdCluster, n int, version string) {
	b.t.Helper()
	b.until(c, "all members to run etcd "+version, func(s *v1beta2.ClusterStatus) bool {
		return s.CurrentVersion == version && s.TargetVersion == "" && !slices.ContainsFunc(s.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Version != version })
	})
	b.untilHealthy(c, n)
}

// A cluster goes up a minor at a time in the Pods that it has, without volumes, under
// load, and keeps its members and all that was written; a skip is refused.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	versions := etcdtest.Versions()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) {
		c.Spec.Version = versions[0]
		// So that members leave 3.5's log behind soon, as 3.7 demands.
		c.Spec.Pod = &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: member.EnvSnapshotCount, Value: "100"}}}
	})
	b.untilVersion(c, 3, versions[0])
	before := b.pods(c)
	addr := b.serves(c)

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[2] })
	b.until(c, "the skip to be refused", func(s *v1beta2.ClusterStatus) bool { return reason(s, v1beta2.ConditionUpgrading) == "VersionRefused" })
	if s := said(&c.Status); !strings.Contains(s, versions[1]+" first") {
		t.Errorf("it is said: %s; want the path to take", s)
	}
	for _, version := range versions[1:] {
		end := b.writes(addr)
		began := time.Now()
		b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = version })
		b.untilVersion(c, 3, version)
		acked, failed := end()
		t.Logf("to %s in %s; %d writes were acknowledged, and %d failed: %v", version, time.Since(began).Round(time.Millisecond), acked, len(failed), failed)
		if dropped := len(failed) <= mostDropped && !slices.ContainsFunc(failed, isOther); !dropped || acked == 0 {
			t.Errorf("%d writes failed on the way to %s, and %d were acknowledged", len(failed), version, acked)
		}
	}
	for i, p := range b.pods(c) {
		if p.UID != before[i].UID || p.Labels[v1beta2.LabelRole] != v1beta2.RoleVoter {
			t.Errorf("Pod %s (%s) is a %s; there was %s (%s)", p.Name, p.UID, p.Labels[v1beta2.LabelRole], before[i].Name, before[i].UID)
		}
	}
	b.wantEvents("UpgradeStarted", "UpgradingMember", "MemberUpgraded", "UpgradeFinished", "VersionRefused")
}

// A cluster that nobody writes to goes from 3.5 to 3.7 all the same, with the snapshot count
// that etcd has: the operator lets members leave the log of 3.5 behind. Keys, revision and
// members are as they were.
func TestAnIdleClusterIsUpgraded(t *testing.T) {
	t.Parallel()
	versions := etcdtest.Versions()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[0] })
	b.untilVersion(c, 3, versions[0])
	before := b.pods(c)
	end := b.writes(b.serves(c))
	b.until(c, "a write", func(*v1beta2.ClusterStatus) bool { return b.keys(b.serves(c)) > 0 })
	acked, _ := end()

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[1] })
	b.untilVersion(c, 3, versions[1])
	began := time.Now()
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[2] })
	b.until(c, "the reason to be told", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionUpgrading) == "WritingSnapshots" || s.CurrentVersion == versions[2]
	})
	b.untilVersion(c, 3, versions[2])
	t.Logf("to %s in %s, with nobody who writes", versions[2], time.Since(began).Round(time.Millisecond))
	if n := b.keys(b.serves(c)); n != acked {
		t.Errorf("%d keys are left of %d", n, acked)
	}
	for i, p := range b.pods(c) {
		if p.UID != before[i].UID {
			t.Errorf("Pod %s is another one", p.Name)
		}
	}
	b.wantEvents("WritingSnapshots", "UpgradeFinished")
}

// An image that can't be pulled stops the change at the first member, in the kubelet's
// words, and the way back is open. Half-way it is, too.
func TestAnUpgradeThatGoesWrong(t *testing.T) {
	t.Parallel()
	versions := etcdtest.Versions()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, func(c *v1beta2.EtcdCluster) { c.Spec.Version = versions[1] }, withVolumes)
	b.untilVersion(c, 3, versions[1])
	set := func(version string) { b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Version = version }) }

	set("3.7.99")
	b.until(c, "the kubelet to be quoted", func(s *v1beta2.ClusterStatus) bool {
		return reason(s, v1beta2.ConditionAvailable) == "Serving" && strings.Contains(said(s), "ImagePullBackOff: no such image: "+v1beta2.DefaultRepository+":v3.7.99")
	})
	if n := len(c.Status.Members.Ready); n != 2 {
		t.Errorf("%d members serve, want the two that were not changed", n)
	}
	set(versions[1])
	b.untilVersion(c, 3, versions[1])

	set(versions[2])
	b.until(c, "a member to have come to the next minor", func(s *v1beta2.ClusterStatus) bool {
		return slices.ContainsFunc(s.MemberDetails, func(d v1beta2.MemberDetail) bool { return d.Version == versions[2] })
	})
	set(versions[1])
	b.untilVersion(c, 3, versions[1])
	b.wantEvents("RepairingImage", "UpgradeRedirected")
}
