package plan

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Texts that no other test has the planner say, each with what it is said of.
func TestRareTexts(t *testing.T) {
	for says, w := range map[string]*world{
		// Volumes of an earlier cluster.
		"cannot adopt PVCs: this EtcdCluster has no volumes": left(3, "a", "b", "c").asks("true").cluster(func(c *Cluster) { c.Persistent = false }),

		// Space.
		"the quota of member b is not known": full().repairs().answer("b", func(a *Answer) { a.Quota = 0 }),

		// A member that crashes.
		"not replaced, because it has never started": healthy(3).size(4).volumes().unstarted("d").pod("d", crashing(5)),

		// Certificates.
		"member health is unknown (the cause is unknown)": healthy(3).secure(func(t *TLS) { t.NoClientCertificate = true }),
		"all certificates are signed by the new CA":       healthy(3).secure(func(t *TLS) { t.Rotation = v1beta2.CAReissuing }),
		"3 of 3 Pods trust only the new CA":               healthy(3).secure(func(t *TLS) { t.Rotation = v1beta2.CADroppingOld }),
		"CA rotation is in progress":                      healthy(3).secure(func(t *TLS) { t.Rotation = "Another" }),

		// What keeps a cluster from a survivor's data.
		"Pod b might hold data: its launcher finds no data":                     lost().answer("b", func(a *Answer) { *a = Answer{Waiting: true} }),
		"Pod b might hold data: the launcher of another Pod answers":            lost().answer("b", func(a *Answer) { *a = Answer{Blocked: "the launcher of another Pod answers"} }),
		"Pod b is being deleted or recreated":                                   lost().deleting("b"),
		"PVC z might hold data, and no Pod runs on it":                          lost().volumes().claim("z").rejected(Returning, "z"),
		`member b runs etcd "3.3.1", which this operator does not support`:      lost().pod("b", func(p *Pod) { p.Version = "3.3.1" }),
		"cannot rebuild the cluster from a survivor: no revision is left":       lost().answer("b", func(a *Answer) { a.Revision = maxRevision }),
		"aborted: it belongs to cluster 00000000000000c2":                       seeded().cluster(func(c *Cluster) { c.Recovery.ClusterID = otherCluster }),
		"aborted: member f has come back":                                       seeded().add("f", Voter, Answer{Reached: true, ClusterID: theCluster, MemberID: id("f"), Committed: 1}),
		"aborted: the volume of its seed is being deleted":                      seeded().volumes().deletingClaim("n1"),
		"aborted: its seed is being deleted":                                    seeded().deleting("n1"),
		"aborted: Pod n1 is not its seed":                                       seeded().pod("n1", func(p *Pod) { p.Reseed = "another" }),
		"aborted: its seed has ended":                                           seeded().pod("n1", func(p *Pod) { p.Finished = true }),
		"aborted: its seed's node is gone":                                      seeded().lostNode(theTimeout, "n1"),
		"aborted: its seed has no volume":                                       seeded().pod("n1", func(p *Pod) { p.Persistent = true }),
		"aborted: the survivor's Pod is gone before its snapshot was taken":     seeded().silent("n1").dead("b"),
		"aborted: its seed does not run: CrashLoopBackOff":                      seeded().silent("n1").pod("n1", func(p *Pod) { p.Trouble = "CrashLoopBackOff" }),
		"aborted: its seed is unschedulable: 0/3 nodes are available":           seeded().pod("n1", unschedulable),
		"waiting for seed n1 to stop: its recovery was aborted":                 seeded().cluster(func(c *Cluster) { c.Recovery = nil }).deleting("n1"),
		"deleted the PVC of seed n1: its recovery was aborted":                  lost().volumes().claim("n1").claimOf("n1", func(c *Claim) { c.Reseed = "fresh-token" }),
		"deleted Pod d of the old cluster to make room for a new member":        regrowing(3).volumes().add("d", Survivor, Answer{}).newJoiner("e").newJoiner("g").pod("g", unschedulable),
		"Pod d of the old cluster may block a new member, and holds its data":   regrowing(3).add("d", Survivor, Answer{}).newJoiner("e").pod("e", unschedulable),
		"recovery complete: 5 voters are healthy in the cluster rebuilt from b": regrowing(5),

		// Maintenance.
		"spec.maintenance.consistencyCheck is not a cron expression: expected 5 fields": healthy(3).cluster(func(c *Cluster) { c.Consistency.Invalid = "expected 5 fields" }),

		// Versions.
		"cannot roll back from etcd 3.99.1 to 3.7.3: no path is known":                       healthy(3).version("3.99.1").wants("3.7.3"),
		"no upgrade path from etcd 3.3.1, which the cluster runs; set spec.version to 3.3.1": healthy(3).version("3.3.1").wants("3.6.16"),
		"it has etcd 3.5.35, which cannot join this cluster":                                 healthy(3).size(4).unstarted("d").pod("d", func(p *Pod) { p.Version = "3.5.35" }),

		"waiting to complete the move to etcd 3.7.3: member c: it has only just become ready": upgrading("3.7.3").runs("a", "3.7.3").runs("b", "3.7.3").runs("c", "3.7.3").pod("c", justReady),

		// A member that is replaced.
		"waiting to begin: member c: it has only just become ready": emptied().pod("c", justReady),
		"is being deleted; waiting for a replacement Pod":           nameless(unclaimed()),
		"is cordoned; waiting for a replacement Pod":                nameless(emptied()),
		"are gone): waiting for a replacement Pod":                  nameless(healthy(3).dead("c")),

		"waiting to begin: a member is being restarted": reshaped().shaped("a", "b").restarting("c", theVersion).deleting("c").pod("c", cordoned),

		// A Pod whose volume was deleted before it was scheduled.
		`c: its Pod is unschedulable: persistentvolumeclaim "example-c" not found`: healthy(3).volumes().silent("c").noClaim("c").pod("c", func(p *Pod) {
			p.Node, p.Created, p.Unschedulable = "", now, `persistentvolumeclaim "example-c" not found`
		}),

		// Clients that still find a member.
		"waiting for kube-proxy to stop routing to member b before its removal":          emptied().joinedBy("d").role("b", Leaving).pod("b", justMarked),
		"waiting for kube-proxy to stop routing to member b before its Pod is recreated": reshaped().aside("b").pod("b", justMarked),

		// What keeps a member from being restarted.
		"waiting to expand the next one: the cluster has a learner":             sized(3, 2*gibi).learner("d"),
		"waiting to expand the next one: there are only 2 of 3 voters":          sized(2, 2*gibi).size(3),
		"waiting to expand the next one: alarm CORRUPT is raised":               sized(3, 2*gibi).alarm(Corrupt, "z"),
		"member b: its PVC is missing":                                          healthy(3).volumes().noClaim("b").wants("3.7.3"),
		"waiting to expand the next one: member b: its Pod is labelled leaving": sized(3, 2*gibi).role("b", Leaving),

		// A lost quorum.
		"waiting for a quorum: no member answers": latched(3).volumes().claim("a").rejected(Returning, "a"),
		"no member is left, and no data":          latched(3).cluster(func(c *Cluster) { c.Bootstrap.Adopted = true }),
		"(no name: its data is lost for good)":    withNameless(healthy(3).compares(now).last(v1beta2.ResultMemberDiffers, "c")),
		"member b does not answer reads":          inRound().answer("b", func(a *Answer) { a.Read = false }),
	} {
		d := decided(w.seen())
		isToldAsDone(t, &d)
		isToldOnce(t, &d)
		said := d.Reason + ": " + d.Message
		for _, c := range d.Status.Conditions {
			said += "\n" + c.Type + ": " + c.Message
		}
		if !strings.Contains(said, says) {
			t.Errorf("%q is not in what is said:\n%s", says, said)
		}
	}
}

// regrowing is a cluster of five that was rebuilt from b, and has n voters again.
func regrowing(n int) *world {
	r := theRecovery()
	r.Phase, r.Members = v1beta2.RecoveryGrowing, []string{"d", "e", "f"}
	return healthy(n).size(5).cluster(func(c *Cluster) { c.Recovery = &r })
}

func justMarked(p *Pod) { p.RoleSince = now }

func justReady(p *Pod) { p.ReadySince = now }

// withNameless has another voter that has never said its name.
func withNameless(w *world) *world {
	w.list = append(w.list, Member{ID: 99, Started: true})
	return w
}
