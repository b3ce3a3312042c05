package plan

import (
	"strings"
	"testing"
	"time"
)

// crashing is a member whose etcd has ended n times since it served.
func crashing(n int, change ...func(*Pod)) func(*Pod) {
	return func(p *Pod) {
		p.Answer, p.Restarts, p.ProvenRestarts, p.ProvenImage = Answer{}, 2+n, 2, p.Repository+":v"+p.Version
		p.LastExit, p.Looping, p.Trouble = Exit{Code: 2, Reason: "Error", Damage: "its database has no valid meta page", Words: "panic: failed to open database"}, true, "CrashLoopBackOff: back-off"
		p.UnreadySince = now.Add(-3 * time.Minute)
		for _, c := range change {
			c(p)
		}
	}
}

func TestBrokenData(t *testing.T) {
	waits := func(reason string, change ...func(*Pod)) row {
		return row{reason: reason, seen: healthy(3).volumes().pod("c", crashing(5, change...)), because: "WaitingForMember"}
	}
	rows{
		"a member that crashes on its data is about to be replaced": {
			reason: "S4: its replacement's Pod comes first", seen: healthy(3).volumes().pod("c", crashing(5)), do: create(joiners(1)...), because: "CreatingMembers",
		},
		"it is removed when its replacement waits": {
			reason: "S4", seen: healthy(3).volumes().pod("c", crashing(5)).joiner("d"), do: remove("c"), because: "ReplacingDeadMember",
		},
		"it is not removed as long as that can't be placed": {
			reason: "S4: a node may come", seen: healthy(3).volumes().pod("c", crashing(5)).joiner("d").pod("d", unschedulable), because: "ReplacingDeadMember",
		},
		"it gives way to its replacement in the end": {
			reason: "its Pod has most likely that very place, and nothing heals it",
			seen:   healthy(3).volumes().pod("c", crashing(5)).joiner("d").pod("d", unschedulable).pod("d", func(p *Pod) { p.Created = old }),
			do:     remove("c"), because: "ReplacingDeadMember",
		},
		"between two starts it is still the same": {
			reason: "the kubelet tries again, and the joiner would come and go",
			seen:   healthy(3).volumes().pod("c", crashing(5, func(p *Pod) { p.Looping, p.RunningSince = false, now.Add(-time.Second) })).joiner("d"),
			do:     remove("c"), because: "ReplacingDeadMember",
		},
		"four exits are not enough":        {reason: "it may be slow to start", seen: healthy(3).volumes().pod("c", crashing(4)), because: "WaitingForMember"},
		"nor is less than two minutes":     waits("a leader may be away", func(p *Pod) { p.UnreadySince = now.Add(-time.Minute) }),
		"too little memory breaks none":    waits("it would be killed on another disk, too", func(p *Pod) { p.LastExit = Exit{Code: 137, Reason: "OOMKilled"} }),
		"nor does a kill":                  waits("whoever kills it", func(p *Pod) { p.LastExit.Code = 137 }),
		"nor a request to end":             waits("as by a probe", func(p *Pod) { p.LastExit.Code = 143 }),
		"other words than those of damage": waits("it may be a setting, a certificate, a full disk, or the launcher", func(p *Pod) { p.LastExit.Damage = "" }),
		"one that runs on may be slow":     waits("it replays its log", func(p *Pod) { p.Looping, p.RunningSince = false, now.Add(-time.Minute) }),
		"an image that it never served with": waits("the image may be bad", func(p *Pod) {
			p.ProvenImage = theRepository + ":v3.6.15"
		}),
		"a Pod in which it never served": waits("a setting may be bad", func(p *Pod) { p.ProvenImage = "" }),
		"certificates that are in doubt": {
			reason: "they may be what ails it", seen: healthy(3).volumes().pod("c", crashing(5)).cluster(func(c *Cluster) {
				c.TLS = TLS{Wanted: true, Problem: CertificatesInvalid, Message: "Secret etcd-server-tls: the key does not fit"}
			}), because: "WaitingForMember",
		},
		"another one is not healthy": {
			reason: "S4, S6", seen: healthy(5).volumes().pod("c", crashing(5)).silent("d"), because: "WaitingForMember",
		},
		"two that crash": {
			reason: "S4: what ails both is not their disks", seen: healthy(5).volumes().pod("c", crashing(5)).pod("d", crashing(5)), because: "WaitingForMember",
		},
		"no quorum": {reason: "S7", seen: healthy(3).volumes().pod("c", crashing(5)).silent("b"), because: "NoQuorum"},
		"what was noted is kept up": {
			reason: "exits are counted from when it served last", seen: healthy(3).pod("c", func(p *Pod) { p.Restarts = 3 }), do: setRole("c", Voter), because: "SettingRoles",
		},
		"a volume whose PersistentVolume is gone": {
			reason: "for the member timeout it may be recreated",
			seen: healthy(3).volumes().silent("c").claimOf("c", func(c *Claim) { c.Lost = true }).
				pod("c", func(p *Pod) { p.UnreadySince = now.Add(-theTimeout) }).joiner("d"),
			do: remove("c"), because: "ReplacingDeadMember",
		},
		"a volume that was lost just now": {
			reason: "S9",
			seen: healthy(3).volumes().silent("c").claimOf("c", func(c *Claim) { c.Lost = true }).
				pod("c", func(p *Pod) { p.UnreadySince = now.Add(-time.Minute) }),
			because: "WaitingForMember",
		},
		"a Pod whose volume can't be mounted": {
			reason: "S9: unknown is not lost", seen: healthy(3).volumes().silent("c").pod("c", func(p *Pod) { p.Creating, p.UnreadySince = true, old }), because: "WaitingForMember",
		},
	}.run(t)
}

// Its last words are told, whatever they are.
func TestLastWordsAreTold(t *testing.T) {
	d := decided(healthy(3).volumes().pod("c", crashing(5, func(p *Pod) {
		p.LastExit = Exit{Code: 1, Reason: "Error", Words: "open /etc/etcd-tls/tls.key: permission denied"}
	})).seen())
	for _, want := range []string{`it said "open /etc/etcd-tls/tls.key: permission denied"`, "etcd's last log line is not a known sign of damaged data", "kubectl -n ns logs --previous c"} {
		if !strings.Contains(d.Message, want) {
			t.Errorf("it does not tell %q: %s", want, d.Message)
		}
	}
}

// Of a member that crashes, and is not replaced, a person reads why and what to do.
func TestDoubtIsTold(t *testing.T) {
	d := decided(healthy(3).volumes().pod("c", crashing(6, func(p *Pod) { p.ProvenImage = "" })).seen())
	for _, want := range []string{"c: etcd has ended 6 times since it last served, last with exit code 2", "it has not served before in this Pod", "kubectl -n ns delete pvc,pod c"} {
		if !strings.Contains(d.Message, want) {
			t.Errorf("it does not tell %q: %s", want, d.Message)
		}
	}
}
