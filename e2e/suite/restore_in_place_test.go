package suite

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// manyKeys are as many as an application may have.
	manyKeys = 10_000
	// theLeastBump is by how much a restore raises the revision at least.
	theLeastBump = 1_000_000_000
)

// TestRestoreInPlace: an EtcdCluster whose members are destroyed serves its last backup
// again, to the same clients.
func TestRestoreInPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options []harness.Option
		// keys is how many there are.
		keys   int
		backup []harness.BackupOption
		// lost are the members that are destroyed.
		lost func(*cluster) []string
		// at is where the backup is stored.
		at func(*scene, *store) place
		// then goes on with the cluster that was restored.
		then func(*restoredCluster)
	}{
		"AMajorityLost": {
			options: []harness.Option{harness.Volumes},
			keys:    manyKeys,
			lost:    func(c *cluster) []string { return c.members()[:2] },
			at:      func(_ *scene, st *store) place { return st.at("in/place.db") },
			then:    func(c *restoredCluster) { c.whatUsersSee(); c.againFromItsBackup() },
		},
		"EverythingLost": {
			options: []harness.Option{harness.Volumes},
			keys:    manyKeys,
			backup:  []harness.BackupOption{harness.Packed},
			lost:    (*cluster).members,
			at:      func(s *scene, _ *store) place { return s.aVolume("backups").at("in/place.db.zst") },
			then:    func(c *restoredCluster) { c.restartsItsSeed(); c.backsUpTo("backups") },
		},
		"EverythingLostWithoutVolumes": {
			keys: 1000,
			lost: (*cluster).members,
			at:   func(_ *scene, st *store) place { return st.at("in place") },
			then: (*restoredCluster).restartsItsSeed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "EverythingLost" {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			st := allOperators(s)
			c := s.cluster("etcd", append(tc.options, harness.Size(3))...)
			c.settles(3, oneMinute)
			w := c.holdsKeys(tc.keys)
			m := c.isMirrored()
			at := tc.at(s, st)
			b := s.backup("backup", w.Writer, at, append(tc.backup, harness.OfCluster(c.Name))...)
			b.isStored(oneMinute)
			snapshot := s.snapshotAt(at)
			m.holds(snapshot)
			c.adds("more", "more/", 500)
			m.catchesUp()
			before, service := c.State().Cluster, c.clientService()

			c.isDestroyed(tc.lost(c)...)
			r := s.restore("restore", harness.InPlace(c.Name), at.from)
			status := r.serves(oneMinute)
			after := m.holds(snapshot)
			if least := before.Status.HighestRevision + theLeastBump; status.Revision < least || after.Revision < status.Revision {
				t.Errorf("it begins at revision %d, and is at %d, want %d at least", status.Revision, after.Revision, least)
			}
			r.completes(twoMinutes)
			c.settles(3, twoMinutes)
			m.noticedRestores(1, 1)
			m.holds(snapshot)
			now := c.State().Cluster
			if now.UID != before.UID || now.Status.ClusterID == before.Status.ClusterID || now.Status.FencedBy != "" {
				t.Errorf("the EtcdCluster is %s and was %s; etcd's id is %s and was %s; fenced by %q", now.UID, before.UID, now.Status.ClusterID, before.Status.ClusterID, now.Status.FencedBy)
			}
			if same := c.clientService(); same.UID != service.UID || same.Spec.ClusterIP != service.Spec.ClusterIP {
				t.Errorf("its clients' Service is another one")
			}
			tc.then(&restoredCluster{cluster: c, restore: r, backup: b, mirror: m, service: service.UID})
		})
	}
}

// restoredCluster is one that was restored from a backup.
type restoredCluster struct {
	*cluster
	restore *restore
	backup  *backup
	mirror  *mirrored
	service types.UID
}

// clientService is the Service for clients.
func (c *cluster) clientService() corev1.Service {
	c.s.t.Helper()
	for _, svc := range c.State().Services {
		if svc.Name == c.Name+"-client" {
			return svc
		}
	}
	c.s.t.Fatalf("%s has no Service for clients", c.Name)
	return corev1.Service{}
}

// againFromItsBackup: what was written since is given up by a second restore of the same
// backup, and time goes forward again.
func (c *restoredCluster) againFromItsBackup() {
	s := c.s
	s.t.Helper()
	first := c.restore.Status()
	c.adds("again", "again/", 100)
	reached := c.mirror.catchesUp().Revision
	again := s.restore("again", harness.InPlace(c.Name), harness.FromBackup(c.backup.Name))
	status := again.serves(oneMinute)
	if status.Revision < reached+theLeastBump {
		s.t.Errorf("it begins at revision %d, want %d beyond %d at least", status.Revision, theLeastBump, reached)
	}
	if status.Snapshot.SHA256 != first.Snapshot.SHA256 || status.Snapshot.Location != first.Snapshot.Location {
		s.t.Errorf("%+v was restored, want %+v", status.Snapshot, first.Snapshot)
	}
	again.completes(twoMinutes)
	c.settles(3, twoMinutes)
	c.mirror.noticedRestores(2, 2)
	c.mirror.holds(s.snapshotAt(c.backup.to))
	c.writes().lostNothing(3)
}

// restartsItsSeed: after the hand-over and writes, all that the seed's Pod ran is begun
// anew, as when its node restarts. Nothing is restored again.
func (c *restoredCluster) restartsItsSeed() {
	s := c.s
	s.t.Helper()
	// The Pod of a seed that was restored from a volume is recreated without that volume.
	c.becomes("free of the backup's volume", mountsOnlyItsOwn, twoMinutes)
	c.settles(3, twoMinutes)
	w := c.writes()
	if env.Local != nil {
		seed := c.restore.State().Seed
		if seed == nil {
			s.t.Fatalf("there is no Pod %s", c.restore.Status().SeedMember)
		}
		id := c.State().Cluster.Status.ClusterID
		s.must(env.KillSandbox(seed))
		s.tell("the sandbox of the seed is killed")
		c.becomes("healthy again", harness.All(harness.Restarted(seed.Name, 1), harness.Healthy(3)), twoMinutes)
		w.noticed(anElection)
		if got := c.State().Cluster.Status.ClusterID; got != id {
			s.t.Errorf("it is cluster %s, and was %s", got, id)
		}
	}
	w.lostNothing(3)
	c.settles(3, twoMinutes)
	pods := c.State().UIDs()
	s.must(c.restore.Delete(s.ctx))
	c.restore.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	// The operator might just be noting that the seed serves again.
	c.stays("as it was", 3*time.Second, harness.All(harness.Healthy(3), samePods(pods)))
}

// backsUpTo: the volume that the restore has read from takes another backup.
func (c *restoredCluster) backsUpTo(claim string) {
	c.s.t.Helper()
	w := c.adds("later", "later/", 10)
	b := c.s.backup("later", w.Writer, c.s.existingVolume(claim).at("in/later.db"), harness.OfCluster(c.Name))
	b.becomes("stored", oneMinute, harness.Stored)
}

// mountsOnlyItsOwn: no member mounts another volume than its own.
func mountsOnlyItsOwn(s harness.State) string {
	for _, p := range s.Pods {
		for _, v := range p.Spec.Volumes {
			if claim := v.PersistentVolumeClaim; claim != nil && claim.ClaimName != p.Name {
				return "Pod " + p.Name + " mounts the volume " + claim.ClaimName
			}
		}
	}
	return ""
}

// whatUsersSee holds the names that users and their tools rely on.
func (c *restoredCluster) whatUsersSee() {
	r, s, t := c.restore, c.s, c.s.t
	t.Helper()
	s.kubectl("wait", "--for=condition=Complete", "--timeout=10s", "etcdrs/"+r.Name)
	if table := s.kubectl("get", "etcdrs", "-o", "wide"); !containsAll(table, []string{
		"CLUSTER", "SUCCEEDED", "PHASE", "SIZE", "AGE", "SEED", "REVISION", "LOCATION", "REASON", c.Name, "true", "Complete", c.backup.to.location, "KiB",
	}) {
		t.Errorf("kubectl get etcdrs -o wide:\n%s", table)
	}
	status := r.Status()
	if of := c.backup.Status().Snapshot; status.Snapshot.SHA256 != of.SHA256 || status.Snapshot.Revision != of.Revision || status.Snapshot.Size != of.Size {
		t.Errorf("%+v was restored, want %+v", status.Snapshot, of)
	}
	if status.Snapshot.TotalKeys < manyKeys || status.StartTime == nil || len(status.WaitingFor) > 0 || status.Progress != "" {
		t.Errorf("its status is %+v", status)
	}
	if metrics := s.metricsOf(harness.RestoreOperatorName, "etcd_restore_"); !containsAll(metrics, []string{`etcd_restore_restores{phase="Complete"} 1`}) {
		t.Errorf("the operator's metrics:\n%s", metrics)
	}
	for _, p := range r.State().Pods {
		if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken || !*p.Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("Pod %s has more rights than it needs: %+v", p.Name, p.Spec)
		}
	}
	s.may(harness.RestoreOperatorName, map[string]bool{
		"create jobs": true, "create pods": true, "patch etcdclusters": true, "get secrets": false, "list secrets": false, "create pods --subresource=exec": false,
		"patch etcdclusters --subresource=status": false, "update etcdclusters --subresource=status": false, "get nodes": false, "update etcdbackups": false,
	})
	s.tell("users see what they should")
}

// TestTwoRestoresAtOnce: one waits for the other.
func TestTwoRestoresAtOnce(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	w := c.adds("first", "first/", 100)
	s.backup("backup", w.Writer, st.at("etcd.db"), harness.OfCluster(c.Name)).becomes("stored", oneMinute, harness.Stored)
	snapshot, m := s.snapshotAt(st.at("etcd.db")), c.isMirrored()
	c.pause(true) // so that the first is not over before the second has begun
	first := s.restore("first", harness.InPlace(c.Name), st.at("etcd.db").from)
	first.becomes("waiting for the cluster", oneMinute, harness.RestoreCondition(v1beta2.ConditionFenced, false, "", "paused"))
	second := s.restore("second", harness.InPlace(c.Name), harness.FromBackup("backup"))
	second.becomes("waiting for the first", oneMinute, harness.WaitsFor(first.Name))
	c.pause(false)
	one := first.completes(twoMinutes)
	m.holds(snapshot)
	two := second.completes(twoMinutes)
	if two.Revision < one.Revision+theLeastBump {
		t.Errorf("the second begins at revision %d, and the first at %d", two.Revision, one.Revision)
	}
	c.settles(1, oneMinute)
	m.holds(snapshot)
	m.noticedRestores(1, 2) // the first may be over before the client is there again
	s.within(oneMinute, func(context.Context) error { return second.Delete(s.ctx) })
	second.becomes("gone without a trace", oneMinute, harness.NoTraceOfRestore)
	c.writes().lostNothing(1)
}
