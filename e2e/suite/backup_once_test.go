package suite

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// aMoment is for a small backup with nothing in its way. An idle machine takes 1.5 s;
// the log tells what it really was.
const aMoment = 20 * time.Second

// TestBackup: one snapshot is stored under the very name, in a bucket or on a volume.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	vol := s.aVolume("backups")
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()

	first := s.backup("by-endpoints", w.Writer, st.at("by/endpoints.db"), harness.OfEndpoints(c.endpoint()))
	got := first.isStored(aMoment)
	if got.ClusterID != c.State().Cluster.Status.ClusterID || got.EtcdVersion != c.State().Cluster.Status.CurrentVersion {
		t.Errorf("it is of cluster %s and etcd %s, want %s and %s", got.ClusterID, got.EtcdVersion, c.State().Cluster.Status.ClusterID, c.State().Cluster.Status.CurrentVersion)
	}
	first.whatUsersSee()

	ofCluster := harness.OfCluster(c.Name)
	all := []*backup{
		s.backup("by-cluster", w.Writer, st.at("by cluster/ünd $(name) + 100%"), ofCluster),
		s.backup("packed", w.Writer, st.at("packed.db.zst"), ofCluster, harness.Packed),
		s.backup("volume", w.Writer, vol.at("here/and/there.db"), ofCluster),
		s.backup("volume-packed", w.Writer, vol.at("packed.db.zst"), ofCluster, harness.Packed, harness.IfAbsent),
	}
	for _, b := range all {
		b.isStored(oneMinute)
	}
	for _, b := range all {
		s.must(b.Delete(s.ctx))
	}
	for _, b := range all {
		b.becomes("gone without a trace", oneMinute, harness.NoTrace)
	}
	want := []string{"by cluster/ünd $(name) + 100%", "by/endpoints.db", "packed.db.zst"}
	if diff := cmp.Diff(want, sortedKeys(st.objects())); diff != "" {
		t.Errorf("in the bucket: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"here/and/there.db", "packed.db.zst"}, vol.files()); diff != "" {
		t.Errorf("on the volume: -want +got\n%s", diff)
	}
	st.holdsNothingHalf()

	again := s.backup("again", w.Writer, st.at("by/endpoints.db"), ofCluster, harness.KeptFor(5*time.Second))
	if newer := again.isStored(oneMinute); newer.Revision <= got.Revision {
		t.Errorf("revision %d replaces %d", newer.Revision, got.Revision)
	}
	before := st.objects()
	refused := s.backup("refused", w.Writer, st.at("by/endpoints.db"), ofCluster, harness.IfAbsent)
	onVolume := s.backup("refused-on-volume", w.Writer, vol.at("packed.db.zst"), ofCluster, harness.IfAbsent)
	refused.becomes("refused", oneMinute, harness.Refused("AlreadyExists", "overwrite"))
	onVolume.becomes("refused", oneMinute, harness.Refused("AlreadyExists", "overwrite"))
	refused.tells("AlreadyExists", "overwrite")
	again.becomes("deleted after its time", oneMinute, harness.NoTrace)
	if diff := cmp.Diff(before, st.objects()); diff != "" {
		t.Errorf("in the bucket, after a refusal and the end of an EtcdBackup: -want +got\n%s", diff)
	}
	w.lostNothing(3)
}

// whatUsersSee holds the names that users and their tools rely on.
func (b *backup) whatUsersSee() {
	s, t := b.s, b.s.t
	t.Helper()
	s.kubectl("wait", "--for=condition=Complete", "--timeout=10s", "etcdbk/"+b.Name)
	table := s.kubectl("get", "etcdbk", "-o", "wide")
	if !containsAll(table, []string{"SUCCEEDED", "PHASE", "LAST SUCCESS", "SIZE", "LOCATION", "AGE", "REVISION", "true", "Succeeded", b.to.location, "KiB"}) {
		t.Errorf("kubectl get etcdbk -o wide:\n%s", table)
	}
	if out := s.kubectl("describe", "etcdbk", b.Name); !containsAll(out, []string{"Complete", "BackupStarted", "BackupSucceeded"}) {
		t.Errorf("kubectl describe etcdbk:\n%s", out)
	}
	b.tells("BackupStarted")
	b.tells("BackupSucceeded", b.to.location)
	ours := `{name="` + b.Name + `",namespace="` + s.ns + `"}`
	if metrics := s.metricsOf(harness.BackupOperatorName, "etcd_backup_"); !containsAll(metrics, []string{
		"etcd_backup_attempts_total" + ours + " 1", "etcd_backup_successes_total" + ours + " 1", "etcd_backup_last_success_timestamp_seconds" + ours,
		"etcd_backup_age_seconds" + ours, "etcd_backup_size_bytes" + ours, "etcd_backup_duration_seconds" + ours, `etcd_backup_backups{phase="Succeeded"} 1`,
	}) {
		t.Errorf("the operator's metrics:\n%s", metrics)
	}
	pods := b.State().Pods
	if len(pods) != 1 || pods[0].Spec.AutomountServiceAccountToken == nil || *pods[0].Spec.AutomountServiceAccountToken || !*pods[0].Spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
		t.Errorf("it was made by %d Pods, or by one that has more rights than it needs: %+v", len(pods), pods)
	}
	s.may(harness.BackupOperatorName, map[string]bool{
		"create jobs": true, "get secrets": false, "list secrets": false, "create pods": false,
		"create pods --subresource=exec": false, "get pods --subresource=log": false, "update etcdbackups": false,
	})
	s.tell("users see what they should")
}

// may: a service account has these rights, or has them not.
func (s *scene) may(account string, rights map[string]bool) {
	s.t.Helper()
	as := "--as=system:serviceaccount:" + s.ns + ":" + account
	for right, want := range rights {
		// It says no with its exit code as well.
		out, _ := env.Kubectl.Run(s.ctx, append([]string{"-n", s.ns, "auth", "can-i", as}, strings.Fields(right)...)...)
		if got := strings.TrimSpace(out) == "yes"; got != want {
			s.t.Errorf("may %s %s? %t (%s), want %t", account, right, got, strings.TrimSpace(out), want)
		}
	}
}

// TestBackupWithAMemberDown: those that don't answer are passed over.
func TestBackupWithAMemberDown(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	down, members := c.follower(), c.members()
	s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 0) })
	c.losesPods(down)
	c.podsEnd(oneMinute)

	endpoints := []string{c.endpointOf(down), "http://nobody:2379"}
	for _, m := range members {
		if m != down {
			endpoints = append(endpoints, c.endpointOf(m))
		}
	}
	for _, b := range []*backup{
		s.backup("by-endpoints", w.Writer, st.at("by-endpoints"), harness.OfEndpoints(endpoints...)),
		s.backup("by-cluster", w.Writer, st.at("by-cluster"), harness.OfCluster(c.Name)), // whose status is from before
	} {
		b.isStored(oneMinute)
		if n := len(b.State().Pods); n != 1 {
			t.Errorf("it took %d Pods", n)
		}
	}
	s.within(oneMinute, func(ctx context.Context) error { return env.ScaleOperator(ctx, s.view, s.ns, 1) })
	c.settles(3, twoMinutes)
	w.lostNothing(3)
}

// TestBackupOverTLS: an etcd that no operator of ours runs, and that wants certificates.
func TestBackupOverTLS(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	s.backsUp()
	st := s.aStore()
	ours, theirs := etcdtest.NewCA(t, "ours"), etcdtest.NewCA(t, "theirs")
	client := ours.Issue(t, "root")
	s.puts("servers", ours.Issue(t, "etcd", "secure."+s.ns).Files(ours))
	s.puts("client", client.Files(ours))
	s.puts("legacy-client", client.LegacyFiles("etcd-client", ours))
	s.puts("stranger", theirs.Issue(t, "root").Files(theirs))
	var endpoint string
	var w *harness.Writer
	s.within(oneMinute, func(ctx context.Context) (err error) {
		endpoint, w, err = env.StartTLSEtcd(ctx, s.view, s.ns, "secure", "servers", "client")
		return err
	})
	s.tell("there is an etcd at %s", endpoint)
	of := harness.OfEndpoints(endpoint)
	impatient := harness.Policy(v1beta2.BackupPolicy{TimeoutInSecond: 8})
	bare := s.backup("bare", w, st.at("bare"), of, impatient)
	stranger := s.backup("stranger", w, st.at("stranger"), of, harness.WithTLS("stranger"), impatient)
	standard := s.backup("standard", w, st.at("standard"), of, harness.WithTLS("client"))
	legacy := s.backup("legacy", w, st.at("legacy"), of, harness.WithTLS("legacy-client"))
	standard.isStored(oneMinute)
	legacy.isStored(oneMinute)
	bare.becomes("refused", oneMinute, harness.Refused("TimedOut", "TLS", "clientTLSSecret"))
	stranger.becomes("refused", oneMinute, harness.Refused("TimedOut", "TLS", "clientTLSSecret"))
	if diff := cmp.Diff([]string{"legacy", "standard"}, sortedKeys(st.objects())); diff != "" {
		t.Errorf("in the bucket: -want +got\n%s", diff)
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
