package suite

import (
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestRestoreExamples: each of them works as it stands, but for the store, whose URL is
// added as their comments say, and for the EtcdBackup, which is one that the example's
// CronJob has made.
func TestRestoreExamples(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	s.within(oneMinute, env.LoadKubectlImage)
	s.applyExample("cluster.yaml", func(text string) string { return text })
	c := s.existing("example")
	c.settles(3, oneMinute)
	w, m := c.adds("first", "first/", 1000), c.isMirrored()
	s.applyExample("backup-pvc.yaml", st.added)
	s.applyExample("backup-cronjob.yaml", st.added)
	onVolume := s.existingBackup("example-pvc", w.Writer, s.existingVolume("etcd-backups").at("example/etcd.db.zst"))
	onVolume.becomes("stored", oneMinute, harness.Stored)
	made := s.existingBackup(s.byTheCronJob(), w.Writer, st.at("example/etcd.backup"))
	made.becomes("stored", oneMinute, harness.Stored)
	snapshot := s.snapshotAt(made.to)
	c.adds("more", "more/", 100)

	uid := c.State().Cluster.UID
	for _, file := range exampleFiles(t, "restore-*.yaml") {
		s.applyExample(file, func(text string) string {
			return st.added(strings.ReplaceAll(text, "name: example-schedule", "name: "+made.Name))
		})
	}
	// Those in place go one after the other.
	inPlace, fresh := []string{"example", "example-from-backup", "example-from-pvc"}, []string{"example-again", "example-copy"}
	want := slices.Sorted(slices.Values(slices.Concat(inPlace, fresh)))
	if got := strings.Fields(s.kubectl("get", "etcdrs", "-o", "jsonpath={.items[*].metadata.name}")); !slices.Equal(got, want) {
		t.Errorf("the examples are EtcdRestores %v, want %v", got, want)
	}
	for _, name := range want {
		s.existingRestore(name).completes(fourMinutes)
	}
	for _, name := range fresh {
		s.existing(name).settles(3, oneMinute)
		s.existing(name).isMirrored().holds(snapshot)
	}
	c.settles(3, oneMinute)
	m.holds(snapshot)
	m.noticedRestores(1, len(inPlace))
	if now := c.State().Cluster.UID; now != uid {
		t.Errorf("it is the EtcdCluster %s, and was %s", now, uid)
	}
	c.writes().lostNothing(3)
}
