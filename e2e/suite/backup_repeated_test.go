package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestRepeatedBackup: again and again, by an interval and by a schedule, of which some
// are kept, and what is not theirs always is.
func TestRepeatedBackup(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	vol := s.aVolume("backups")
	c := s.cluster("etcd", harness.Size(1))
	c.settles(1, oneMinute)
	w := c.writes()
	of := harness.OfEndpoints(c.endpoint())

	scheduled := s.backup("scheduled", w.Writer, st.at("scheduled"), of, harness.Policy(v1beta2.BackupPolicy{Schedule: "CRON_TZ=Europe/Berlin * * * * *"}))
	began := time.Now()

	// Neighbours have names that only look alike.
	const path = "etcd.backup"
	for _, name := range []string{
		path, path + "_v1", path + "_v1_", path + "_vx_2006-01-02-15:04:05", path + "_v1_2006-01-02-15:04:05.bak",
		path + "_v01_2006-01-02-15:04:05", path + "-other_v1_2006-01-02-15:04:05", "other/" + path + "_v1_2006-01-02-15:04:05",
	} {
		s.must(st.PutObject(s.ctx, bucket, name))
	}
	// One that does not say which cluster it is of is deleted for no other.
	s.must(st.PutObject(s.ctx, bucket, path+"_v999999_2006-01-02-15:04:05"))
	neighbours := sortedKeys(st.objects())

	b := s.backup("every-second", w.Writer, st.at(path), of, harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 1, MaxBackups: 2}))
	onVolume := s.backup("volume", w.Writer, vol.at("etcd.db"), of, harness.Packed, harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 2, MaxBackups: 1}))
	b.becomes("made 4 times", twoMinutes, harness.MadeTimes(4))
	onVolume.becomes("made twice", oneMinute, harness.MadeTimes(2))
	b.suspend(true)
	onVolume.suspend(true)
	b.becomes("suspended", oneMinute, harness.InPhase(v1beta2.BackupSuspended))
	onVolume.becomes("suspended", oneMinute, harness.InPhase(v1beta2.BackupSuspended))

	made := b.records()
	want := slices.Concat(neighbours, b.names(made[:2]))
	slices.Sort(want)
	if diff := cmp.Diff(want, without(sortedKeys(st.objects()), "scheduled")); diff != "" {
		t.Errorf("in the bucket: -want +got\n%s", diff)
	}
	for _, r := range made[:2] {
		b.opens(r, "")
		if name, ok := strings.CutPrefix(r.Location, "s3://"+bucket+"/"); !ok || !regexp.MustCompile(`^etcd\.backup_v`+fmt.Sprint(r.Revision)+`_`+r.ScheduledTime.UTC().Format("2006-01-02-15:04:05")+`$`).MatchString(name) {
			t.Errorf("the backup of %s at revision %d is stored at %s", r.ScheduledTime, r.Revision, r.Location)
		}
	}
	onVolume.opens(onVolume.records()[0], v1beta2.CompressionZstd)
	if files := vol.files(); len(files) != 1 || "pvc://backups/"+files[0] != onVolume.records()[0].Location {
		t.Errorf("on the volume are %v, want only %s", files, onVolume.records()[0].Location)
	}
	if jobs := len(b.State().Jobs); jobs > 2 {
		t.Errorf("%d Jobs are left over", jobs)
	}

	last := made[0].Name
	b.stays("suspended", 3*time.Second, harness.AllOf(harness.InPhase(v1beta2.BackupSuspended), func(s harness.BackupState) string {
		if got := s.Backup.Status.History[0].Name; got != last {
			return got + " was made"
		}
		return ""
	}))
	s.must(env.KillDeployment(s.ctx, s.ns, harness.BackupOperatorName))
	b.suspend(false)
	b.becomes("made again, by another operator", oneMinute, func(s harness.BackupState) string {
		if r := s.Backup.Status.History[0]; r.Name == last || !r.Succeeded {
			return "the last one is " + r.Name + " " + r.Reason
		}
		return ""
	})
	if missed := b.Status().MissedRuns; missed > 0 {
		t.Logf("%d were missed, while one took longer than a second", missed)
	}
	s.must(b.Delete(s.ctx))
	b.becomes("gone without a trace", oneMinute, harness.NoTrace)

	scheduled.becomes("made at its time", 2*time.Minute, harness.MadeTimes(1))
	scheduled.becomes("scheduled", oneMinute, harness.AllOf(harness.InPhase(v1beta2.BackupScheduled), harness.BackupCondition(v1beta2.ConditionScheduled, true, "Scheduled")))
	first := scheduled.records()[len(scheduled.records())-1]
	if at := first.ScheduledTime.Time; at.Second() != 0 || at.Before(began) || at.Sub(began) > time.Minute {
		t.Errorf("it was due at %s, want the first whole minute after %s", at, began)
	}
	if next := scheduled.Status().NextScheduleTime; next == nil || next.Second() != 0 || !next.After(first.ScheduledTime.Time) {
		t.Errorf("the next is due at %v, want the minute after %s", next, first.ScheduledTime)
	}
	scheduled.opens(first, "")
	st.holdsNothingHalf()
	w.lostNothing(1)
}

// names are the keys of what was stored.
func (b *backup) names(records []v1beta2.BackupRecord) []string {
	var all []string
	for _, r := range records {
		all = append(all, strings.TrimPrefix(r.Location, "s3://"+bucket+"/"))
	}
	return all
}

// without are the names that begin otherwise.
func without(names []string, prefix string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) })
}
