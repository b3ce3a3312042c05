package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
)

// maxStatus is by how much a status may grow, in bytes: far below what etcd takes, and
// little enough to be written often.
const maxStatus = 64 << 10

// oracle checks a Decision against its Observation alone, and returns what is wrong.
func oracle(o Observation, d Decision) (broken []string) {
	complain := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	last := &o.Backup.Status

	if newView(o).isIgnored() {
		if d.Action != nil || len(d.Events) > 0 || !apiequality.Semantic.DeepEqual(*last, d.Status) {
			complain("%s although the EtcdBackup is ignored: %+v", d.Reason, d)
		}
		return broken
	}
	if d.Reason == "" || d.Message == "" || !conditiontext.IsReason(d.Reason) {
		complain("no reason: %q: %q", d.Reason, d.Message)
	}
	if d.RequeueAfter < 0 || d.RequeueAfter > longest {
		complain("again after %s", d.RequeueAfter)
	}
	switch a := d.Action.(type) {
	case StartJob:
		oracleStart(o, d, a, complain)
	case StartArchiver:
		oracleArchiver(o, a, complain)
	case StartCopy:
		oracleCopy(o, a, complain)
	case DeleteJob:
		if c := o.Copier; c != nil && a.UID == c.UID && a.Name == c.Name && !c.Deleting {
			break
		}
		if r := o.Archiver; r != nil && a.UID == r.UID && a.Name == r.Name && !r.Deleting {
			break
		}
		i := slices.IndexFunc(o.Jobs, func(j Job) bool { return j.Name == a.Name && j.UID == a.UID })
		if i < 0 {
			complain("delete a Job that is not there: %s", a.Name)
			break
		}
		if !IsDone(last, &o.Jobs[i]) && o.Backup.Spec.Concurrency() != v1beta2.ReplaceConcurrent {
			complain("delete the Job %s before its end is recorded", a.Name)
		}
	case StartVerification:
		if o.Backup.Spec.Verification == nil || slices.ContainsFunc(o.Verifications, func(r Verification) bool { return !r.hasEnded() || r.Name == a.Name }) {
			complain("EtcdRestore %s is started beside another, again, or although none is asked for", a.Name)
		}
	case DeleteVerification:
		if !slices.ContainsFunc(o.Verifications, func(r Verification) bool {
			return r.UID == a.UID && (r.hasEnded() || o.Backup.Spec.Verification == nil)
		}) {
			complain("delete an EtcdRestore that is not there, or runs: %s", a.Name)
		}
	case DeleteBackup:
		if o.Backup.Spec.Repeated() || len(last.Active) > 0 || o.Backup.Spec.TTLSecondsAfterFinished == nil {
			complain("delete an EtcdBackup that has not ended")
		}
	}
	oracleStatus(o, d, complain)
	return broken
}

func oracleArchiver(o Observation, a StartArchiver, complain func(string, ...any)) {
	oracleStore(o, a.StartJob, complain)
	account := o.Backup.Spec.Pod != nil && !slices.Contains([]string{"", "default"}, o.Backup.Spec.Pod.ServiceAccountName)
	if (o.Backup.Spec.StorageType == v1beta2.StoragePVC || account) && !o.Creator.Passed {
		complain("record for somebody whose rights were not checked")
	}
	if o.Archiver != nil || o.Backup.Spec.Suspend || o.Backup.Spec.Archive == nil || o.Refused != "" {
		complain("start an archiver that is not wanted, or a second one")
	}
	if len(a.Endpoints) == 0 || len(a.Name) > maxJobName || a.Hash == "" {
		complain("start is not whole: %+v", a)
	}
}

func oracleCopy(o Observation, a StartCopy, complain func(string, ...any)) {
	spec := &o.Backup.Spec
	account := spec.Pod != nil && !slices.Contains([]string{"", "default"}, spec.Pod.ServiceAccountName)
	isVolume := spec.StorageType == v1beta2.StoragePVC || spec.CopyTo != nil && spec.CopyTo.StorageType == v1beta2.StoragePVC
	if (isVolume || account) && !o.Creator.Passed {
		complain("copy for somebody whose rights were not checked")
	}
	if o.Copier != nil || spec.Suspend || spec.CopyTo == nil || o.Refused != "" {
		complain("start a copy that is not wanted, or a second one")
	}
	i := slices.IndexFunc(o.Backup.Status.History, func(r v1beta2.BackupRecord) bool { return r.Name == a.Backup.Name })
	if i < 0 || !o.Backup.Status.History[i].Succeeded || o.Backup.Status.History[i].Copy != nil {
		complain("copy %s, which is not stored, or is copied", a.Backup.Name)
	}
	if len(a.Name) > maxJobName || a.Hash == "" || a.Backup.Location == "" {
		complain("copy is not whole: %+v", a)
	}
	for i := range o.Restricted {
		if c := &o.Restricted[i]; isOf(o.Backup, c) && disallowed(c, spec) != nil {
			complain("copy what EtcdCluster %s does not allow", c.Name)
		}
	}
}

func oracleStart(o Observation, d Decision, a StartJob, complain func(string, ...any)) {
	last := &o.Backup.Status
	oracleStore(o, a, complain)
	account := o.Backup.Spec.Pod != nil && !slices.Contains([]string{"", "default"}, o.Backup.Spec.Pod.ServiceAccountName)
	if (o.Backup.Spec.StorageType == v1beta2.StoragePVC || account) && !o.Creator.Passed {
		complain("start for somebody whose rights were not checked")
	}
	name := func(j v1beta2.BackupRecord) bool { return j.Name == a.Name }
	if findJob(o.Jobs, a.Name) != nil || slices.ContainsFunc(last.History, name) {
		complain("start the Job %s a second time", a.Name)
	}
	if o.Backup.Spec.Suspend {
		complain("start although suspended")
	}
	if a.Scheduled.Nanosecond() != 0 || len(a.Endpoints) == 0 || len(a.Name) > maxJobName {
		complain("start is not whole: %+v", a)
	}
	if next := d.Status.NextScheduleTime; a.Started.After(o.Now) || !a.RetryUntil.After(o.Now) || (next != nil && a.RetryUntil.After(next.Time)) {
		complain("start at %s and retry until %s", a.Started, a.RetryUntil)
	}
	if !slices.ContainsFunc(d.Status.Active, func(r v1beta2.ActiveBackup) bool { return r.Name == a.Name }) {
		complain("start the Job %s without a word of it in the status", a.Name)
	}
	if o.Backup.Spec.Concurrency() != v1beta2.AllowConcurrent {
		for _, j := range o.Jobs {
			// A Job that is recorded as failed while it hangs may still start a Pod, unless
			// it is being deleted.
			stopped := j.Deleting && (IsDone(last, &j) || Hangs(&j, o.Now))
			if j.Running && !hasReported(&j) && !stopped {
				complain("start the Job %s beside %s", a.Name, j.Name)
			}
		}
	}
	if o.Backup.Spec.Repeated() {
		if a.Scheduled.After(o.Now) {
			complain("start at %s what is due at %s", o.Now, a.Scheduled)
		}
		if c := last.Clock; c != nil && !a.Scheduled.After(c.After.Time) {
			complain("start what was due at %s although all until %s is done with", a.Scheduled, c.After)
		}
		return
	}
	if last.Succeeded || slices.ContainsFunc(last.History, func(r v1beta2.BackupRecord) bool { return !r.Lost }) {
		complain("start a one-shot backup that has ended")
	}
}

// oracleStore: what an EtcdCluster restricts is not stored elsewhere, and whoever names no
// EtcdCluster is looked at by the Job.
func oracleStore(o Observation, a StartJob, complain func(string, ...any)) {
	for i := range o.Restricted {
		c := &o.Restricted[i]
		allowed := slices.ContainsFunc(c.Spec.Backup.AllowedStores, func(s string) bool { return "s3://"+o.Backup.Spec.S3.Path == s+"/etcd.backup" })
		ref := o.Backup.Spec.ClusterRef
		named := ref != nil && ref.Name == c.Name || slices.Contains(o.Backup.Spec.EtcdEndpoints, "http://"+c.Name+"-client:2379")
		switch {
		case allowed != slices.Contains(a.Pinned, c.Status.ClusterID) || allowed == slices.Contains(a.Forbidden, c.Status.ClusterID):
			complain("the Job %s is not told of EtcdCluster %s", a.Name, c.Name)
		case named && !allowed:
			complain("start the Job %s of EtcdCluster %s, which allows %s", a.Name, c.Name, c.Spec.Backup.AllowedStores)
		}
	}
	if ref := o.Backup.Spec.ClusterRef; (ref == nil) != (a.Cluster == "") {
		complain("the Job %s takes the endpoints for those of EtcdCluster %q", a.Name, a.Cluster)
	}
}

func oracleStatus(o Observation, d Decision, complain func(string, ...any)) {
	last, st := &o.Backup.Status, &d.Status
	if len(st.History) > max(v1beta2.MaxHistory, len(last.History)) {
		complain("the history has grown to %d", len(st.History))
	}
	if st.MissedRuns < last.MissedRuns {
		complain("missed runs fell from %d to %d", last.MissedRuns, st.MissedRuns)
	}
	for _, r := range d.Recorded {
		if isRecorded(last.History, r.Name) {
			complain("%s is recorded a second time", r.Name)
		}
		if !r.Succeeded && (r.Reason == "" || r.Message == "") {
			complain("%s failed for no reason", r.Name)
		}
	}
	for _, a := range st.Active {
		if isRecorded(st.History, a.Name) {
			complain("%s is active and has ended", a.Name)
		}
	}
	for _, c := range st.Conditions {
		if !conditiontext.IsReason(c.Reason) || c.Message == "" {
			complain("condition %s has the reason %q and the message %q", c.Type, c.Reason, c.Message)
		}
		none := v1beta2.BackupFailure{Reason: v1beta2.BackupReasonNotFailed, Message: "no failure reported"}
		if f := *cmp.Or(st.Failure, &none); c.Type == v1beta2.ConditionFailed && (f.Reason != c.Reason || f.Message != c.Message) {
			complain("the failure is %+v, and the condition Failed %+v", f, c)
		}
	}
	// Of a one-shot backup that runs, a Reason would be read as its end.
	attempt := o.Backup.Spec.Repeated() && slices.ContainsFunc(o.Jobs, func(j Job) bool { return j.Running && j.Result != nil && j.Result.Failure != nil })
	if st.Phase == v1beta2.BackupRunning && o.Backup.DeletionTimestamp == nil && ((st.Reason != "" && !attempt) || len(st.Active) == 0) {
		complain("phase Running with the Reason %q and %d active", st.Reason, len(st.Active))
	}
	for _, success := range []bool{true, false} {
		of := func(r v1beta2.BackupRecord) bool { return r.Succeeded == success }
		if len(last.History) <= v1beta2.MaxHistory && slices.ContainsFunc(last.History, of) && !slices.ContainsFunc(st.History, of) {
			complain("the newest record with success %t is lost", success)
		}
	}
}

// oracleSize checks that a status can be written, and that what was added is little.
func oracleSize(o Observation, d Decision) (broken []string) {
	text, err := json.Marshal(d.Status)
	if err != nil {
		return []string{fmt.Sprintf("the status can't be written: %v", err)}
	}
	if before, err := json.Marshal(o.Backup.Status); err == nil && len(text) > len(before)+maxStatus {
		return []string{fmt.Sprintf("the status has %d bytes", len(text))}
	}
	return nil
}
