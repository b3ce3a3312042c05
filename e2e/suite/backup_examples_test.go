package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestBackupExamples: each of them works as it stands, but for the store, whose URL is
// added as their comments say.
func TestBackupExamples(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	s.within(oneMinute, env.LoadKubectlImage)
	s.applyExample("cluster.yaml", func(text string) string { return text })
	c := s.existing("example")
	c.settles(3, oneMinute)
	w := c.writes()

	toS3 := s.existingBackup("example-s3", w.Writer, st.at("example/etcd.backup"))
	toVolume := s.existingBackup("example-pvc", w.Writer, s.existingVolume("etcd-backups").at("example/etcd.db.zst"))
	repeated := s.existingBackup("example-schedule", w.Writer, st.at("example/etcd.backup"))
	for _, file := range exampleFiles(t, "backup-*.yaml") {
		s.applyExample(file, func(text string) string {
			return strings.ReplaceAll(st.added(text), "path: elsewhere/", "path: "+bucket+"/elsewhere/") // there is one bucket
		})
	}
	copied := s.existingBackup("example-copied", w.Writer, st.at("example-copied/etcd.backup"))
	want := []string{copied.Name, toVolume.Name, toS3.Name, repeated.Name, "example-verified"} // TestVerifyExamples awaits the last, and the others are awaited below
	if got := strings.Fields(s.kubectl("get", "etcdbk", "-o", "jsonpath={.items[*].metadata.name}")); !slices.Equal(got, want) {
		t.Errorf("the examples are EtcdBackups %v, want %v", got, want)
	}
	toS3.isStored(oneMinute)
	toVolume.isStored(oneMinute)
	repeated.becomes("scheduled", oneMinute, harness.AllOf(harness.InPhase(v1beta2.BackupScheduled), harness.BackupCondition(v1beta2.ConditionScheduled, true, "Scheduled")))
	berlin, err := time.LoadLocation("Europe/Berlin")
	s.must(err)
	if next := repeated.Status().NextScheduleTime.In(berlin); next.Hour()%6 != 0 || next.Minute() != 0 {
		t.Errorf("the next is due at %s, which is not every six hours in Berlin", next)
	}
	s.kubectl("patch", "etcdbk", copied.Name, "--type=merge", "-p", `{"spec":{"backupPolicy":{"schedule":null,"backupIntervalInSecond":3600}}}`)
	copied.becomes("copied", twoMinutes, harness.BackupCondition(v1beta2.ConditionCopied, true, v1beta2.BackupReasonCopied))
	s.fromTheCronJob(w, st)
	w.lostNothing(3)
}

// fromTheCronJob lets the example's CronJob make a backup, under an account that may do
// nothing else.
func (s *scene) fromTheCronJob(w *etcdClient, st *store) {
	s.t.Helper()
	b := s.existingBackup("", w.Writer, st.at("example/etcd.backup"))
	b.Backup = env.Backup(s.view, s.ns, s.byTheCronJob())
	b.isStored(oneMinute)
	s.kubectl("wait", "--for=condition=BackedUp", "--timeout=60s", "etcd", "--all")
	if ttl := b.State().Backup.Spec.TTLSecondsAfterFinished; ttl == nil {
		s.t.Errorf("%s is kept for ever", b.Name)
	}
	s.may("etcd-backup-creator", map[string]bool{
		"create etcdbackups": true, "get etcdbackups": false, "delete etcdbackups": false, "create jobs": false, "get secrets": false,
	})
}

// byTheCronJob lets the example's CronJob create an EtcdBackup, and returns its name.
func (s *scene) byTheCronJob() string {
	s.t.Helper()
	before := strings.Fields(s.kubectl("get", "etcdbk", "-o", "name"))
	s.kubectl("create", "job", "--from=cronjob/etcd-backup", "by-hand")
	s.kubectl("wait", "--for=condition=Complete", "--timeout=60s", "job/by-hand")
	after := slices.DeleteFunc(strings.Fields(s.kubectl("get", "etcdbk", "-o", "name")), func(name string) bool { return slices.Contains(before, name) })
	if len(after) != 1 {
		s.t.Fatalf("the CronJob's Job has created %v", after)
	}
	_, name, _ := strings.Cut(after[0], "/")
	s.tell("the CronJob has created %s", name)
	return name
}

// added is an example with the store's URL.
func (st *store) added(text string) string {
	return regexp.MustCompile(`(?m)^( *)awsSecret: aws$`).ReplaceAllString(text, "$0\n${1}endpoint: "+st.Endpoint+"\n${1}forcePathStyle: true")
}

// applyExample applies one of examples/, changed a little.
func (s *scene) applyExample(file string, change func(string) string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(env.Root, "examples", file))
	s.must(err)
	s.within(oneMinute, func(ctx context.Context) error {
		out, err := env.Kubectl.Apply(ctx, s.ns, change(string(text)))
		if err != nil {
			return fmt.Errorf("apply %s: %w: %s", file, err, out)
		}
		return nil
	})
}

// asItIs is for [scene.applyExample].
func asItIs(text string) string { return text }

// exampleFiles are the names of the examples that match a pattern.
func exampleFiles(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(env.Root, "examples", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}
