package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// The versions of these tests, oldest first: the newest patches of the minors that are
// run.
var (
	etcd35 = etcdversion.OfMinor(5)
	etcd36 = etcdversion.OfMinor(6)
	etcd37 = etcdversion.OfMinor(7)
)

// kinds are the ways in which members keep their data.
var kinds = map[string][]harness.Option{
	"WithVolumes":    {harness.Volumes},
	"WithoutVolumes": nil,
}

// TestUpgrade: a cluster goes from 3.5 to 3.7, a minor at a time, in the Pods that it
// has, and its clients notice nothing: not even that members write snapshots in between.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			if name == "WithoutVolumes" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", append(kind, harness.Size(3), harness.Version(etcd35))...)
			c.settles(3, twoMinutes)
			members, pods := c.members(), c.State().UIDs()
			w := c.writes()

			c.wantsVersion(etcd37)
			c.becomes("told the way", harness.Condition(v1beta2.ConditionUpgrading, false, "VersionRefused"), oneMinute)
			c.becomes("told what to write", upgradingSays("one minor at a time", etcd36+" first"), oneMinute)

			for _, version := range []string{etcd36, etcd37} {
				w.noticed(aBlink)
				c.wantsVersion(version)
				c.becomes("at "+version, harness.AtVersion(version), anUpgrade)
				c.settles(3, oneMinute)
				w.noticedNoFailure(aBlink)
				for _, m := range members {
					c.tells("MemberUpgraded", m, version)
				}
			}
			c.becomes("of the same members", sameMembers(members), oneMinute)
			if got := c.State().UIDs(); fmt.Sprint(got) != fmt.Sprint(pods) {
				t.Errorf("the Pods are %v, and were %v", got, pods)
			}
			w.lostNothing(3)
		})
	}
}

// TestUpgradeThatGoesWrong: an image that can't be pulled stops the change at the first
// member, in the kubelet's words; the rest serves, and the way back is open.
func TestUpgradeThatGoesWrong(t *testing.T) {
	isLong(t)
	t.Parallel()
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", append(kind, harness.Size(3), harness.Version(etcd36))...)
			c.settles(3, twoMinutes)
			members := c.members()
			w := c.writes()

			c.wantsVersion("3.7.99")
			c.becomes("stuck at one member", harness.All(upgradingSays("0 of 3", "3.7.99"), podsAtImage("v3.7.99", 1), harness.Condition(v1beta2.ConditionDegraded, true, "")), twoMinutes)
			c.becomes("telling the kubelet's words", upgradingSays("Pull", "set spec.version"), twoMinutes)
			c.stays("Available", 10*time.Second, harness.Condition(v1beta2.ConditionAvailable, true, "Serving"))

			c.wantsVersion(etcd36)
			c.becomes("back", harness.AtVersion(etcd36), anUpgrade)
			c.settles(3, oneMinute)
			c.becomes("of the same members", sameMembers(members), oneMinute)
			w.noticedNoFailure(aBlink)
			w.lostNothing(3)
		})
	}
}

// TestUpgradeSetBack: half-way there is a way back by the image.
func TestUpgradeSetBack(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(3), harness.Version(etcd36))
	c.settles(3, twoMinutes)
	members := c.members()
	w := c.writes()
	c.wantsVersion(etcd37)
	c.becomes("half-way", podsAtImage("v"+etcd37, 1), twoMinutes)
	c.wantsVersion(etcd36)
	c.becomes("back", harness.AtVersion(etcd36), anUpgrade)
	c.settles(3, oneMinute)
	c.becomes("of the same members", sameMembers(members), oneMinute)
	c.tells("UpgradeRedirected", etcd36, etcd37)
	w.noticedNoFailure(aBlink)
	w.lostNothing(3)
}

// TestDowngrade: a cluster goes back a minor by etcd's downgrade API, in the Pods that it
// has, and its clients notice nothing; no further than 3.5.
func TestDowngrade(t *testing.T) {
	t.Parallel()
	for from, way := range map[string]struct {
		to   string
		kind []harness.Option
	}{etcd36: {etcd35, kinds["WithVolumes"]}, etcd37: {etcd36, kinds["WithoutVolumes"]}} {
		t.Run(from, func(t *testing.T) {
			if from == etcd37 {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", append(way.kind, harness.Size(3), harness.Version(from))...)
			c.settles(3, twoMinutes)
			members, pods := c.members(), c.State().UIDs()
			w := c.writes()
			c.wantsVersion(way.to)
			c.becomes("back at "+way.to, harness.AtVersion(way.to), anUpgrade)
			c.settles(3, oneMinute)
			w.noticedNoFailure(aBlink)
			for _, m := range members {
				c.tells("MemberUpgraded", m, way.to)
			}
			c.becomes("of the same members", sameMembers(members), oneMinute)
			if got := c.State().UIDs(); fmt.Sprint(got) != fmt.Sprint(pods) {
				t.Errorf("the Pods are %v, and were %v", got, pods)
			}
			w.lostNothing(3)
			if way.to == etcd35 {
				c.wantsVersion("3.4.37")
				c.becomes("told that there is no way", upgradingSays("cannot roll back further", "set spec.version to "+etcd35), oneMinute)
			}
		})
	}
}

// anUpgrade is for what takes half a minute on an idle machine: three members, each of
// which is taken from its clients, restarted and let settle, one after the other.
const anUpgrade = 3 * time.Minute

func (c *cluster) wantsVersion(version string) {
	c.s.t.Helper()
	c.s.must(c.Patch(c.s.ctx, map[string]any{"spec": map[string]any{"version": version}}))
	c.s.tell("%s is to run etcd %s", c.Name, version)
}

// podsAtImage: so many Pods have an image of that tag.
func podsAtImage(tag string, n int) harness.Check {
	return func(s harness.State) string {
		found := 0
		for _, p := range s.Pods {
			if strings.HasSuffix(etcdImage(&p), ":"+tag) {
				found++
			}
		}
		if found != n {
			return fmt.Sprintf("%d Pods have the image %s, want %d", found, tag, n)
		}
		return ""
	}
}

func etcdImage(p *corev1.Pod) string { return p.Spec.Containers[0].Image }

// upgradingSays: the condition Upgrading has all the words.
func upgradingSays(words ...string) harness.Check {
	return func(s harness.State) string {
		if message := upgradingMessage(s); !containsAll(message, words) {
			return fmt.Sprintf("Upgrading says %q, want %q in it", message, words)
		}
		return ""
	}
}

func upgradingMessage(s harness.State) string {
	for _, c := range s.Cluster.Status.Conditions {
		if c.Type == v1beta2.ConditionUpgrading {
			return c.Message
		}
	}
	return ""
}

// handOver reports whether a write may have failed because the leadership was transferred. Raft
// refuses those that come to the leader meanwhile (raft.ErrProposalDropped), and those that other
// members pass on to it are lost without a word, until the client's deadline: they are not
// written, and can be tried again. No client of etcd can be spared this, whoever asks the
// leader to step aside. A leader that is stopped without a transfer shows by other errors.
func handOver(why string) bool {
	return strings.Contains(why, "raft proposal dropped") || strings.Contains(why, "deadline exceeded") || strings.Contains(why, "request timed out")
}

// noticedNoFailure: since the client was last asked, no write has failed but for what is lost
// at a hand-over: for that long at most. Raft ends one after an election timeout, of one second,
// but members that restart one after another transfer it several times.
func (w *etcdClient) noticedNoFailure(most time.Duration) {
	w.c.s.t.Helper()
	win, err := w.Cut(w.c.s.ctx)
	w.c.s.must(err)
	w.c.s.tell("the client of %s noticed: %s %v", w.c.Name, win, win.Errors)
	dropped := 0
	for why, n := range win.Errors {
		if !handOver(why) {
			w.c.s.t.Errorf("%d writes to %s have failed: %s", n, w.c.Name, why)
			continue
		}
		dropped += n
	}
	if mostDropped := harness.Rate * int(most/time.Second); dropped > mostDropped {
		w.c.s.t.Errorf("%d writes to %s were dropped, and %d is the most", dropped, w.c.Name, mostDropped)
	}
	if gap := win.LongestGap(); gap > most {
		w.c.s.t.Errorf("the client of %s had no write acknowledged for %s, and %s is the most", w.c.Name, gap, most)
	}
}
