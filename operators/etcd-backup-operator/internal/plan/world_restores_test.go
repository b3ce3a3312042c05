package plan

import (
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/schedule"
)

// simRestore is an EtcdRestore that verifies, as it really is.
type simRestore struct {
	Verification
	ends    time.Time
	success bool
}

// restores are the EtcdRestores of a world, and what was recorded of them.
type restores struct {
	live map[string]*simRestore
	// lists are the log that caches follow.
	lists [][]Verification
	// made and recorded are how often there was one of a name, and how often its end was recorded;
	// succeeded are those that were ever verified.
	made, recorded map[string]int
	succeeded      map[string]bool
}

func newRestores() restores {
	return restores{live: map[string]*simRestore{}, lists: [][]Verification{nil}, made: map[string]int{}, recorded: map[string]int{}, succeeded: map[string]bool{}}
}

func (w *world) logRestores() {
	var list []Verification
	for _, name := range slices.Sorted(maps.Keys(w.restores.live)) {
		list = append(list, w.restores.live[name].Verification)
	}
	w.restores.lists = append(w.restores.lists, list)
}

// moveRestores shows what has become of EtcdRestores by now.
func (w *world) moveRestores() {
	changed := false
	for _, name := range slices.Sorted(maps.Keys(w.restores.live)) {
		r := w.restores.live[name]
		if r.hasEnded() || w.now.Before(r.ends) {
			continue
		}
		r.Phase, r.Finished, r.Reason, r.Message = v1beta2.RestoreFailed, r.ends, "HashMismatch", "data differs"
		if r.success {
			r.Phase, r.Served = v1beta2.RestoreVerified, &v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 10}
			w.restores.succeeded[name] = true
		}
		w.say("EtcdRestore %s is %s", name, r.Phase)
		changed = true
	}
	if changed {
		w.logRestores()
	}
}

// startVerification carries the Action out; false if a precondition does not hold.
func (w *world) startVerification(o Observation, a StartVerification) bool {
	var observed []string
	for _, r := range o.Verifications {
		observed = append(observed, r.Name)
	}
	slices.Sort(observed)
	if !w.noLiveRead && (w.backup.ResourceVersion != o.Backup.ResourceVersion || !slices.Equal(slices.Sorted(maps.Keys(w.restores.live)), observed)) {
		return false
	}
	if st := w.backup.Status.Verification; !w.noLiveRead && st != nil && st.Last != nil && !w.now.Truncate(time.Second).After(st.Last.StartTime.Time) {
		return false
	}
	for _, r := range w.restores.live {
		if !r.hasEnded() {
			w.fail("EtcdRestores %s and %s verify side by side", r.Name, a.Name)
		}
	}
	if w.restores.live[a.Name] != nil || w.restores.recorded[a.Name] > 0 {
		w.fail("EtcdRestore %s is made a second time", a.Name)
	}
	i := slices.IndexFunc(o.Backup.Status.History, func(r v1beta2.BackupRecord) bool { return r.Name == a.Backup })
	switch j := w.all[a.Backup]; {
	case j == nil || !j.success:
		w.fail("EtcdRestore %s verifies %s, which was not stored", a.Name, a.Backup)
	case o.Backup.Spec.Suspend:
		w.fail("EtcdRestore %s is made although the backup is suspended", a.Name)
	case i >= 0 && o.Backup.Spec.VerificationSchedule() == "" && o.Backup.Status.History[i].Verification != nil:
		w.fail("EtcdRestore %s verifies %s once more", a.Name, a.Backup)
	}
	w.restores.made[a.Name]++
	w.restores.live[a.Name] = &simRestore{
		Verification: Verification{Name: a.Name, UID: fmt.Sprint(a.Name, "-", w.restores.made[a.Name]), Backup: a.Backup, Revision: a.Revision, Created: w.now.Truncate(time.Second)},
		ends:         w.now.Add(time.Duration(500+w.r.Intn(20_000)) * time.Millisecond), success: w.r.Intn(3) > 0,
	}
	w.logRestores()
	return true
}

// dropRestore takes an EtcdRestore out of the world.
func (w *world) dropRestore(name, why string) {
	w.say("EtcdRestore %s %s", name, why)
	delete(w.restores.live, name)
	w.logRestores()
}

func (w *world) deleteVerification(o Observation, a DeleteVerification) {
	r := w.restores.live[a.Name]
	switch {
	case r == nil || r.UID != a.UID:
	case w.restores.recorded[a.Name] == 0 && o.Backup.Spec.Verification != nil:
		w.fail("EtcdRestore %s is deleted before its end is recorded", a.Name)
	default:
		w.dropRestore(a.Name, "is deleted by the operator")
	}
}

// checkVerified is what must hold whenever a status is written.
func (w *world) checkVerified(d Decision) {
	for _, r := range d.Verified {
		if w.restores.recorded[r.Name]++; w.restores.recorded[r.Name] > w.restores.made[r.Name] {
			w.fail("the end of EtcdRestore %s is recorded a second time", r.Name)
		}
		if r.Succeeded && !w.restores.succeeded[r.Name] {
			w.fail("EtcdRestore %s is recorded as a success, and is none", r.Name)
		}
		w.say("EtcdRestore %s is recorded: success %t", r.Name, r.Succeeded)
	}
}

// checkRestores is what must hold when for a while nothing has gone wrong.
func (w *world) checkRestores() {
	spec, st := &w.backup.Spec, &w.backup.Status
	if spec.Verification == nil {
		return
	}
	if len(w.restores.live) > 2 {
		w.fail("%d EtcdRestores are left", len(w.restores.live))
	}
	for name, r := range w.restores.live {
		if r.hasEnded() && w.now.Sub(r.ends) > time.Second && w.restores.recorded[name] == 0 {
			w.fail("the end of EtcdRestore %s is not recorded", name)
		}
	}
	v := newView(Observation{Now: w.now, Backup: w.backup, Verifications: w.restores.lists[len(w.restores.lists)-1], VerifierServed: true})
	newest := v.newestGood()
	if newest == nil || v.verification.running != nil || w.now.Sub(newest.CompletionTime.Time) < 5*time.Second {
		return
	}
	if text := spec.VerificationSchedule(); text != "" {
		times, _ := schedule.Parse(text)
		if due, n := times.Due(st.Verification.Clock.After.Time, w.now); n > 0 {
			w.fail("a verification is due since %s and not started", due)
		}
		return
	}
	if newest.Verification == nil {
		w.fail("backup %s is not verified", newest.Name)
	}
}

// verifying says how backups are verified in the world of a seed.
func verifying(seed int64) *v1beta2.BackupVerification {
	switch seed % 3 {
	case 0:
		return &v1beta2.BackupVerification{}
	case 1:
		return &v1beta2.BackupVerification{Schedule: "@every 50s"}
	}
	return nil
}

// storedAt is a backup that was stored at a time, as the history has it.
func storedAt(name string, at time.Time) v1beta2.BackupRecord {
	return v1beta2.BackupRecord{Name: name, Succeeded: true, Location: "s3://mybucket/" + name, Revision: 5, ClusterID: "c0", CompletionTime: &metav1.Time{Time: at}}
}
