package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestBadBackupSpecs: what can't work is refused when it is applied, with the field and
// what to write instead. Nothing is created (--dry-run=server).
func TestBadBackupSpecs(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	const s3 = `storageType: S3, s3: {path: mybucket/etcd.backup, awsSecret: aws}`
	const of = `clusterRef: {name: example}, `
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"NoSource":          {s3, []string{"no source is set", "set clusterRef.name"}},
		"BothSources":       {of + `etcdEndpoints: ["http://example-client:2379"], ` + s3, []string{"clusterRef must not be set together with etcdEndpoints"}},
		"EndpointNoScheme":  {`etcdEndpoints: ["example-client:2379"], ` + s3, []string{"spec.etcdEndpoints[0]", "must be a URL with scheme, host and port, such as http://example-client:2379"}},
		"NoStorage":         {of + `storageType: S3`, []string{"spec.s3", "set s3.path"}},
		"NoStorageType":     {of + `s3: {path: mybucket/etcd.backup}`, []string{"spec.storageType", "Required"}},
		"StorageUnknown":    {of + `storageType: FTP`, []string{"spec.storageType", "FTP is not supported: set S3, OSS, ABS, GCS or PVC"}},
		"PathWithoutBucket": {of + `storageType: S3, s3: {path: etcd.backup}`, []string{"spec.s3.path", "mybucket/etcd.backup"}},
		"PathLeavesVolume":  {of + `storageType: PVC, pvc: {claimName: backups, path: ../etcd.db}`, []string{"spec.pvc.path", "without .."}},
		"ScheduleNonsense":  {of + `backupPolicy: {schedule: "every day"}, ` + s3, []string{"spec.backupPolicy.schedule", "0 */6 * * *"}},
		"ScheduleTwice":     {of + `backupPolicy: {schedule: "@daily", backupIntervalInSecond: 60}, ` + s3, []string{"schedule must not be set together with backupIntervalInSecond: remove one of them"}},
		"UnknownField":      {of + `backupPolice: {maxBackups: 1}, ` + s3, []string{"spec.backupPolice"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := env.Kubectl.Apply(s.ctx, s.ns, backupManifest("bad", tc.spec), "--dry-run=server")
			if err == nil || !containsAll(out, tc.want) {
				t.Errorf("want a refusal with %q, got: %v\n%s", tc.want, err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func backupManifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: EtcdBackup\nmetadata: {name: %s}\nspec: {%s}\n", v1beta2.GroupVersion, name, spec)
}

// TestBackupsThatFail: what only shows when it is tried is said on the object, and goes
// on by itself where it can. None disturbs another.
func TestBackupsThatFail(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	s.must(env.Client.Create(s.ctx, harness.StoreCredentials(s.ns, "wrong", "somebody", "else")))
	c := s.cluster("etcd", harness.Size(1))
	other := s.cluster("other", harness.Size(1))
	c.settles(1, oneMinute)
	other.settles(1, oneMinute)
	w := c.writes()
	of := harness.OfEndpoints(c.endpoint())
	impatient := harness.Policy(v1beta2.BackupPolicy{TimeoutInSecond: 8})

	neighbour := s.backup("neighbour", w.Writer, st.at("neighbour"), of, harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3}))
	noSecret := s.backup("no-secret", w.Writer, st.at("no-secret"), of, harness.WithCredentials("later"))
	noClaim := s.backup("no-claim", w.Writer, s.existingVolume("later").at("no-claim"), of)
	noCluster := s.backup("no-cluster", w.Writer, st.at("no-cluster"), harness.OfCluster("later"))
	badSchedule := s.backup("bad-schedule", w.Writer, st.at("bad-schedule"), of, harness.Policy(v1beta2.BackupPolicy{Schedule: "99 * * * *"}))
	refused := map[string]*backup{}
	refuse := func(reason string, to place, options ...harness.BackupOption) {
		name := fmt.Sprintf("refused-%d", len(refused))
		refused[reason] = s.backup(name, w.Writer, to, options...)
	}
	refuse("BucketNotFound", st.by(st.Endpoint, "no-such-bucket/key"), of)
	refuse("CredentialsInvalid", st.at("refused"), of, harness.WithCredentials("wrong"))
	refuse("DifferentClusters", st.at("refused"), harness.OfEndpoints(c.endpoint(), other.endpoint()))
	noEtcd := s.backup("no-etcd", w.Writer, st.at("refused"), harness.OfEndpoints("http://nobody:2379"), impatient)
	noStore := s.backup("no-store", w.Writer, st.by("http://nobody:7070", bucket+"/refused"), of, impatient)

	for reason, b := range refused {
		b.becomes("refused: "+reason, oneMinute, harness.Refused(reason))
		b.tells(reason)
		if n := len(b.State().Pods); n != 1 {
			t.Errorf("%s was tried by %d Pods, and nothing but a person can mend it", b.Name, n)
		}
	}
	noEtcd.becomes("given up", oneMinute, harness.Refused("TimedOut", "no endpoint answers", "nobody"))
	noStore.becomes("given up", oneMinute, harness.Refused("TimedOut", "the store cannot be reached", "nobody"))
	badSchedule.becomes("refused", oneMinute, harness.Refused("ScheduleInvalid", "schedule"))
	noSecret.becomes("waiting for its Secret", oneMinute, harness.Waiting("PodNotStarting", "later"))
	noClaim.becomes("waiting for its volume", oneMinute, harness.Waiting("PodNotStarting", "later"))
	noCluster.becomes("waiting for its cluster", oneMinute, harness.Waiting("ClusterNotFound", "later"))
	noSecret.tells("PodNotStarting", "later")
	noCluster.tells("ClusterNotFound", "later")

	s.must(env.Client.Create(s.ctx, st.Credentials("later")))
	s.must(env.Client.Create(s.ctx, harness.Claim(s.ns, "later", "")))
	late := s.cluster("later", harness.Size(1))
	late.settles(1, oneMinute)
	// The kubelet looks for a Secret again after up to two minutes.
	noSecret.isStored(3 * time.Minute)
	noClaim.isStored(twoMinutes)
	noCluster.acknowledged = nil // it is another cluster, that nobody writes to
	noCluster.isStored(oneMinute)

	for _, r := range neighbour.Status().History {
		if !r.Succeeded {
			t.Errorf("the neighbour's backup of %s failed: %s: %s", r.ScheduledTime, r.Reason, r.Message)
		}
	}
	neighbour.becomes("made many times", oneMinute, harness.MadeTimes(5))
	neighbour.suspend(true)
	neighbour.becomes("suspended", oneMinute, harness.InPhase(v1beta2.BackupSuspended))
	for _, r := range neighbour.records() {
		neighbour.opens(r, "")
	}
	if diff := cmp.Diff([]string{"no-cluster", "no-secret"}, without(sortedKeys(st.objects()), "neighbour")); diff != "" {
		t.Errorf("in the bucket: -want +got\n%s", diff)
	}
	st.holdsNothingHalf()
	w.lostNothing(1)
}

// TestBackupToAFullVolume: nothing half is left, and what was there is untouched.
func TestBackupToAFullVolume(t *testing.T) {
	needsNodeAccess(t)
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	w := c.fills(1 << 20)
	remove, err := env.SmallVolume(s.ctx, s.ns)
	s.must(err)
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Errorf("clear up: %v", err)
		}
	})
	s.must(env.Client.Create(s.ctx, harness.Claim(s.ns, "small", s.ns)))
	vol := s.existingVolume("small")
	b := s.backup("too-big", w.Writer, vol.at("etcd.db"), harness.OfCluster(c.Name))
	b.becomes("refused", oneMinute, harness.Refused("NoSpace", "full"))
	b.tells("NoSpace", "full")
	if files := vol.files(); len(files) > 0 {
		t.Errorf("%v is left on the volume", files)
	}
	w.lostNothing(1)
}
