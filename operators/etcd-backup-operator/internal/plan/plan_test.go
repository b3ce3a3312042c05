package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// decided is what the rows below compare of a Decision.
type decided struct {
	Action       Action
	Reason       string
	RequeueAfter time.Duration
	Phase        v1beta2.BackupPhase
	Events       []string
}

func endpoints() []string { return []string{"http://example-client:2379"} }

// timeless is an action without the times that follow from now; TestRetryUntil looks at
// them.
func timeless(a Action) Action {
	if start, ok := a.(StartJob); ok {
		start.Started, start.RetryUntil = time.Time{}, time.Time{}
		return start
	}
	return a
}

// startAt is the start of the backup that is due so long after the creation.
func startAt(due time.Duration) StartJob {
	return StartJob{Name: name(due), Scheduled: born.Add(due), Endpoints: endpoints()}
}

func remove(due time.Duration) DeleteJob {
	return DeleteJob{Name: name(due), UID: "uid of " + name(due)}
}

func removeRunning(due time.Duration) DeleteJob {
	a := remove(due)
	a.Replaced = true
	return a
}

// The rows stand in the order of the rules.
func TestPlan(t *testing.T) {
	const (
		minute  = time.Minute
		hour    = time.Hour
		running = v1beta2.BackupRunning
		pending = v1beta2.BackupPending
		planned = v1beta2.BackupScheduled
		failed  = v1beta2.BackupFailed
		done    = v1beta2.BackupSucceeded
	)
	hourly := every(hour)
	rows := map[string]struct {
		reason string
		o      Observation
		want   decided
	}{
		// Ignored.
		"deleted": {
			reason: "Kubernetes stops its Jobs by their owner references",
			o:      observe(func(s *scene) { s.Backup.DeletionTimestamp = &metav1.Time{Time: born} }),
			want:   decided{},
		},
		"deleted while running": {
			reason: "the status stands as it was",
			o:      observe(started(0, reported), func(s *scene) { s.Backup.DeletionTimestamp = &metav1.Time{Time: born} }),
			want:   decided{Phase: running},
		},
		"predecessor's success": {
			reason: "a one-shot backup that the archived operator made is not repeated",
			o:      observe(status(func(s *v1beta2.BackupStatus) { s.Succeeded = true })),
			want:   decided{},
		},
		"predecessor's failure": {
			reason: "nor one that failed: it was never retried",
			o:      observe(status(func(s *v1beta2.BackupStatus) { s.Reason = "no such bucket" })),
			want:   decided{},
		},
		"predecessor's repeated backup": {
			reason: "it goes on, counted from its last success",
			o: observe(hourly, after(90*minute), status(func(s *v1beta2.BackupStatus) {
				s.Succeeded, s.LastSuccessDate = true, &metav1.Time{Time: born.Add(80 * minute)}
			})),
			want: decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 50 * minute},
		},

		// One-shot.
		"one-shot": {
			reason: "it starts at once",
			o:      observe(),
			want:   decided{Action: startAt(0), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"one-shot, a week later": {
			reason: "the operator was not there: the backup is made all the same",
			o:      observe(after(7 * 24 * hour)),
			want:   decided{Action: startAt(0), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"one-shot, clocks differ": {
			reason: "the API server's clock is ahead: that is no reason to wait",
			o:      observe(after(-2 * hour)),
			want:   decided{Action: startAt(0), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"one-shot runs": {
			reason: "the Job is watched",
			o:      observe(started(0), after(hour)),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"one-shot runs, its start was not written": {
			reason: "the operator crashed after it had made the Job: that is no second start",
			o:      observe(job(0), after(minute)),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"one-shot was edited while it runs": {
			reason: "what runs is left to end",
			o:      observe(started(0), spec(func(s *v1beta2.BackupSpec) { s.S3.Path = "other/key" })),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"Pod waits for a Secret": {
			reason: "a person must make it; it goes on by itself then",
			o:      observe(started(0, isWaiting)),
			want:   decided{Reason: "PodNotStarting", Phase: pending, Events: []string{"PodNotStarting"}},
		},
		"one-shot succeeded": {
			reason: "the Pod's report counts, before its Job is complete",
			o:      observe(started(0, reported), after(3*time.Second)),
			want:   decided{Reason: "BackupSucceeded", Phase: done, Events: []string{"BackupSucceeded"}},
		},
		"one-shot succeeded at the deadline": {
			reason: "the snapshot is stored, whatever the Job is called",
			o:      observe(started(0, reported, hasFailed(3*time.Second)), after(3*time.Second)),
			want:   decided{Reason: "BackupSucceeded", Phase: done, Events: []string{"BackupSucceeded"}},
		},
		"one-shot failed for good": {
			reason: "only a person can mend it: the Job is not waited for",
			o:      observe(started(0, reportedFailure(true)), after(3*time.Second)),
			want:   decided{Reason: "BucketNotFound", Phase: failed, Events: []string{"BucketNotFound"}},
		},
		"one-shot failed once": {
			reason: "the Job starts another Pod, and why the first one failed is told at once",
			o:      observe(started(0, reportedFailure(false)), after(3*time.Second)),
			want:   decided{Reason: "BucketNotFound", Phase: running, Events: []string{"BucketNotFound"}},
		},
		"one-shot failed every time": {
			reason: "the Job gave up: the last report says why",
			o:      observe(started(0, reportedFailure(false), hasFailed(minute)), after(minute)),
			want:   decided{Reason: "BucketNotFound", Phase: failed, Events: []string{"BucketNotFound"}},
		},
		"one-shot failed without a report": {
			reason: "the Pods' cache had its time: the Job's reason is all that there is",
			o:      observe(started(0, hasFailed(minute)), after(minute+reportGrace)),
			want:   decided{Reason: "OOMKilled", Phase: failed, Events: []string{"OOMKilled"}},
		},
		"one-shot failed, report may come": {
			reason: "the cache of Pods may lag behind that of Jobs",
			o:      observe(started(0, hasFailed(minute)), after(minute+time.Second)),
			want:   decided{Reason: "BackupStarted", Phase: running, RequeueAfter: reportGrace - time.Second},
		},
		"one-shot complete, report may come": {
			reason: "as above; the node's clock is ahead",
			o:      observe(started(0, isComplete(minute+2*time.Second)), after(minute)),
			want:   decided{Reason: "BackupStarted", Phase: running, RequeueAfter: reportGrace},
		},
		"one-shot complete, an older report": {
			reason: "a failure was reported by the Pod before the last: that is not how it ended",
			o:      observe(started(0, reportedFailure(false), isComplete(minute)), after(minute)),
			want:   decided{Reason: "BackupStarted", Phase: running, RequeueAfter: reportGrace},
		},
		"one-shot complete without a report": {
			reason: "nobody knows what is stored: that is no success",
			o:      observe(started(0, isComplete(minute)), after(2*minute)),
			want:   decided{Reason: "ResultLost", Phase: failed, Events: []string{"ResultLost"}},
		},
		"one-shot's Job is being deleted": {
			reason: "its Pod may still run",
			o:      observe(started(0, isDeleting), after(minute)),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"one-shot's Job vanished": {
			reason: "it is started again, under another name",
			o:      observe(active(0), after(minute)),
			want:   decided{Action: startAt(time.Second), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"JobLost"}},
		},
		"one-shot's Job vanished again and again": {
			reason: "somebody does not want it",
			o:      observe(before(0, "JobLost"), before(time.Second, "JobLost"), active(2*time.Second), after(minute)),
			want:   decided{Reason: "JobLost", Phase: failed, Events: []string{"JobLost"}},
		},
		"one-shot ended": {
			reason: "success is for good, and the Job stays for its log",
			o:      observe(kept(0, ""), after(hour)),
			want:   decided{Reason: "BackupSucceeded", Phase: done},
		},
		"one-shot ended, Job gone": {
			reason: "that the Job is gone starts nothing",
			o:      observe(before(0, ""), after(hour)),
			want:   decided{Reason: "BackupSucceeded", Phase: done},
		},
		"one-shot failed before": {
			reason: "so is failure",
			o:      observe(kept(0, "NoSpace"), after(hour)),
			want:   decided{Reason: "NoSpace", Phase: failed},
		},
		"one-shot failed before and was edited": {
			reason: "an edit does not make it again",
			o:      observe(kept(0, "NoSpace"), func(s *scene) { s.Backup.Generation = 2 }, spec(func(s *v1beta2.BackupSpec) { s.S3.Path = "b/other" })),
			want:   decided{Reason: "NoSpace", Phase: failed},
		},
		"one-shot ended and was edited to nonsense": {
			reason: "it does not matter any more",
			o:      observe(before(0, ""), spec(func(s *v1beta2.BackupSpec) { s.StorageType = "Tape" })),
			want:   decided{Reason: "BackupSucceeded", Phase: done},
		},
		"one-shot ended, history lost": {
			reason: "the success is in the status all the same",
			o: observe(status(func(s *v1beta2.BackupStatus) {
				s.Succeeded, s.Phase = true, done
			})),
			want: decided{Reason: "BackupSucceeded", Phase: done},
		},
		"one-shot, time to live": {
			reason: "it is looked at again when its time is up",
			o:      observe(before(0, ""), after(20*time.Second), spec(func(s *v1beta2.BackupSpec) { s.TTLSecondsAfterFinished = new(int32(60)) })),
			want:   decided{Reason: "BackupSucceeded", Phase: done, RequeueAfter: 43 * time.Second},
		},
		"one-shot, expired": {
			reason: "its time is up",
			o:      observe(before(0, "NoSpace"), after(63*time.Second), spec(func(s *v1beta2.BackupSpec) { s.TTLSecondsAfterFinished = new(int32(60)) })),
			want:   decided{Action: DeleteBackup{}, Reason: "Expired", Phase: failed, RequeueAfter: next},
		},
		"one-shot, no time to live": {
			reason: "its end is written before it is deleted",
			o:      observe(started(0, reported), after(3*time.Second), spec(func(s *v1beta2.BackupSpec) { s.TTLSecondsAfterFinished = new(int32(0)) })),
			want:   decided{Reason: "BackupSucceeded", Phase: done, Events: []string{"BackupSucceeded"}},
		},
		"one-shot waits, time to live": {
			reason: "only what has ended expires",
			o:      observe(seen, cluster(nil), after(hour), spec(func(s *v1beta2.BackupSpec) { s.TTLSecondsAfterFinished = new(int32(60)) })),
			want:   decided{Reason: "ClusterNotFound", Phase: pending, Events: []string{"ClusterNotFound"}},
		},
		"repeated, time to live": {
			reason: "a repeated backup never expires",
			o:      observe(hourly, before(0, ""), counted("every 1h0m0s", 0), after(10*minute), spec(func(s *v1beta2.BackupSpec) { s.TTLSecondsAfterFinished = new(int32(60)) })),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 50 * minute},
		},
		"one-shot is suspended": {
			reason: "nothing starts",
			o:      observe(suspend),
			want:   decided{Reason: "Suspended", Phase: v1beta2.BackupSuspended},
		},
		"one-shot is suspended while it runs": {
			reason: "what runs is left to end",
			o:      observe(started(0), suspend),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"start is refused": {
			reason: "a quota: it is tried again",
			o:      observe(func(s *scene) { s.Refused = "exceeded quota: jobs" }),
			want:   decided{Reason: "StartRefused", Phase: pending, RequeueAfter: retry, Events: []string{"StartRefused"}},
		},
		"edited from repeated to one-shot": {
			reason: "a backup was made: no other is",
			o:      observe(before(0, ""), counted("every 1h0m0s", 0), after(3*hour)),
			want:   decided{Reason: "BackupSucceeded", Phase: done},
		},

		// Where from.
		"no cluster": {
			reason: "it may be created after the backup",
			o:      observe(cluster(nil)),
			want:   decided{Reason: "ClusterNotFound", Phase: pending, Events: []string{"ClusterNotFound"}},
		},
		"no member is ready": {
			reason: "the cluster is watched",
			o:      observe(cluster(func(c *v1beta2.EtcdCluster) { c.Status.Members.Ready = nil })),
			want:   decided{Reason: "ClusterNotReady", Phase: pending, Events: []string{"ClusterNotReady"}},
		},
		"cluster": {
			reason: "each ready member is an endpoint",
			o:      observe(cluster(func(*v1beta2.EtcdCluster) {})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", Endpoints: []string{
				"http://c-1.c.ns.svc:2379", "http://c-2.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with TLS": {
			reason: "the operator's certificate is the backup's, in the cluster's domain",
			o: observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".example.org"}
				c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "c-server"}, OperatorSecret: "c-operator"}}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", TLSSecret: "c-operator", Endpoints: []string{
				"https://c-1.c.ns.svc.example.org:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with certificates that are issued": {
			reason: "its root's certificate needs no user beside",
			o: observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", TLSSecret: "c-operator-tls", Endpoints: []string{
				"https://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with cert-manager's": {
			reason: "as with those that the operator issues",
			o: observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.TLS = &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{IssuerRef: v1beta2.IssuerReference{Name: "ca"}}}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", TLSSecret: "c-operator-tls", Endpoints: []string{
				"https://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with TLS between members alone": {
			reason: "clients are served in the clear, and no certificate is asked for",
			o: observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{PeerSecret: "c-peer"}}}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", Endpoints: []string{
				"http://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with TLS, own Secret": {
			reason: "what the backup says goes before what the cluster says",
			o: observe(spec(func(s *v1beta2.BackupSpec) { s.ClientTLSSecret = "mine" }), cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "c-server"}, OperatorSecret: "c-operator"}}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", TLSSecret: "mine", Endpoints: []string{
				"https://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with authentication": {
			reason: "the operator's user is the backup's",
			o: observe(cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: "c-root"}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", AuthSecret: "c-root", OwnAuth: true, Endpoints: []string{
				"http://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cluster with authentication, own Secret": {
			reason: "what the backup says goes before what the cluster says",
			o: observe(spec(func(s *v1beta2.BackupSpec) { s.AuthSecret = "mine" }), cluster(func(c *v1beta2.EtcdCluster) {
				c.Status.Members.Ready = []string{"c-1"}
				c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: "c-root"}
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Cluster: "c", AuthSecret: "mine", Endpoints: []string{
				"http://c-1.c.ns.svc:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"endpoints with authentication": {
			reason: "there is no EtcdCluster to say who",
			o: observe(spec(func(s *v1beta2.BackupSpec) {
				s.EtcdEndpoints, s.AuthSecret = []string{"https://etcd.example.org:2379"}, "mine"
			})),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, AuthSecret: "mine", Endpoints: []string{
				"https://etcd.example.org:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"https without a Secret": {
			reason: "its certificate may be signed by a CA that everybody knows",
			o:      observe(spec(func(s *v1beta2.BackupSpec) { s.EtcdEndpoints = []string{"https://etcd.example.org:2379"} })),
			want: decided{Action: StartJob{Name: name(0), Scheduled: born, Endpoints: []string{
				"https://etcd.example.org:2379",
			}}, Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},

		// Repeated.
		"interval": {
			reason: "the first one is made at once",
			o:      observe(hourly),
			want:   decided{Action: startAt(0), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"interval, next": {
			reason: "to the moment",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), after(hour-time.Millisecond)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: time.Millisecond},
		},
		"interval, due": {
			reason: "an interval after the last was due, however long that took",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"interval, after a failure": {
			reason: "a failure does not end a repeated backup",
			o:      observe(hourly, kept(0, "NoSpace"), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"interval, far ahead": {
			reason: "the wall clock may step: it is looked at now and then",
			o:      observe(every(24*hour), kept(0, ""), counted("every 24h0m0s", 0), after(minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: longest},
		},
		"cron": {
			reason: "it begins at its first time",
			o:      observe(cron("30 * * * *"), after(minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 29 * minute},
		},
		"cron, due": {
			reason: "its first time has come",
			o:      observe(cron("30 * * * *"), counted("cron 30 * * * *", 0), after(30*minute)),
			want:   decided{Action: startAt(30 * minute), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"cron, never again": {
			reason: "there is no 30 February",
			o:      observe(cron("0 0 30 2 *"), counted("cron 0 0 30 2 *", 0)),
			want:   decided{Reason: "NothingDue", Phase: planned},
		},
		"some were missed": {
			reason: "the newest is made up, the others are counted",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), after(5*hour+minute)),
			want:   decided{Action: startAt(5 * hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"BackupsMissed"}},
		},
		"too late": {
			reason: "the deadline is over: it is counted, and the next one waited for",
			o:      observe(hourly, deadline(minute), kept(0, ""), counted("every 1h0m0s", 0), after(hour+minute+time.Second)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 59*minute - time.Second, Events: []string{"BackupsMissed"}},
		},
		"just in time": {
			reason: "the last second counts",
			o:      observe(hourly, deadline(minute), kept(0, ""), counted("every 1h0m0s", 0), after(hour+minute+time.Millisecond)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"deadline of none": {
			reason: "within the second is in time",
			o:      observe(hourly, deadline(0), kept(0, ""), counted("every 1h0m0s", 0), after(hour+300*time.Millisecond)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"start was not written": {
			reason: "the Job tells that it was made: the clock goes on from there",
			o:      observe(hourly, kept(0, ""), counted("every 1h0m0s", 0), job(hour), after(hour+minute)),
			want:   decided{Reason: "BackupStarted", Phase: running, RequeueAfter: 59 * minute},
		},
		"end was not written, nor the start": {
			reason: "the Job tells all that is needed",
			o:      observe(hourly, counted("every 1h0m0s", -hour), job(0, reported), after(minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 59 * minute, Events: []string{"BackupSucceeded"}},
		},
		"Job vanished": {
			reason: "it is recorded, and the next one waited for",
			o:      observe(hourly, active(0), counted("every 1h0m0s", 0), after(minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 59 * minute, Events: []string{"JobLost"}},
		},
		"clock put back a little": {
			reason: "what is done with is not due again",
			o:      observe(every(minute), kept(10*minute, ""), counted("every 1m0s", 10*minute), after(5*minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 6 * minute},
		},
		"clock put back a year": {
			reason: "a year without backups would be worse than one too many: it begins anew, and writes that first",
			o:      observe(every(minute), kept(365*24*hour, ""), counted("every 1m0s", 365*24*hour), after(5*minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: next},
		},
		"clock comes to a time again": {
			reason: "there was a backup of that time, before the clock was put back: its Job's name is taken",
			o:      observe(every(minute), kept(10*minute, ""), counted("every 1m0s", 9*minute), after(10*minute), status(func(s *v1beta2.BackupStatus) { s.LastScheduleTime = nil })),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: minute},
		},
		"years went by": {
			reason: "millions were missed: one is made up, at once",
			o:      observe(cron("* * * * *"), counted("cron * * * * *", 0), after(10*365*24*hour)),
			want:   decided{Action: startAt(10 * 365 * 24 * hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"BackupsMissed"}},
		},
		"schedule edited": {
			reason: "it counts from now on, which is written before anything is started by it",
			o:      observe(cron("* * * * *"), kept(0, ""), counted("every 1h0m0s", 0), after(5*minute+time.Second)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: next},
		},
		"interval shortened": {
			reason: "the last is longer ago than that: one is due, once that is written",
			o:      observe(every(minute), kept(0, ""), counted("every 1m0s", 4*minute+time.Second), after(5*minute+time.Second)),
			want:   decided{Action: startAt(5*minute + time.Second), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"one-shot edited to repeated": {
			reason: "the schedule counts from now on",
			o:      observe(cron("0 * * * *"), before(0, ""), after(10*minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: next},
		},
		"suspended": {
			reason: "nothing starts",
			o:      observe(hourly, suspend, kept(0, ""), after(5*hour)),
			want:   decided{Reason: "Suspended", Phase: v1beta2.BackupSuspended},
		},
		"suspended while one runs": {
			reason: "what runs is left to end",
			o:      observe(hourly, suspend, started(0), after(5*hour)),
			want:   decided{Reason: "BackupStarted", Phase: running},
		},
		"resumed": {
			reason: "what was due in between is not missed; the schedule counts from now on",
			o:      observe(cron("0 * * * *"), kept(0, ""), status(func(s *v1beta2.BackupStatus) { s.Phase = v1beta2.BackupSuspended }), after(5*hour+minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: next},
		},
		"forbid": {
			reason: "one at a time is the default: what is due waits, and says so",
			o:      observe(hourly, started(0), counted("every 1h0m0s", 0), after(hour+minute)),
			want:   decided{Reason: "PreviousRunning", Phase: running, RequeueAfter: 59 * minute},
		},
		"forbid, with a deadline": {
			reason: "when that is over the backup is given up",
			o:      observe(hourly, deadline(5*minute), started(0), counted("every 1h0m0s", 0), after(hour+minute)),
			want:   decided{Reason: "PreviousRunning", Phase: running, RequeueAfter: 4*minute + time.Second},
		},
		"forbid, the other has ended": {
			reason: "its end and the next start are one step",
			o:      observe(hourly, started(0, reported), counted("every 1h0m0s", 0), after(hour+minute)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"BackupSucceeded"}},
		},
		"forbid, the other is being deleted": {
			reason: "its Pod may still run",
			o:      observe(hourly, started(0, isDeleting), counted("every 1h0m0s", 0), after(hour+minute)),
			want:   decided{Reason: "PreviousRunning", Phase: running, RequeueAfter: 59 * minute},
		},
		"allow": {
			reason: "both run",
			o:      observe(hourly, concurrency("Allow"), started(0), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
		"allow, too many": {
			reason: "Jobs that never end do not fill the cluster",
			o: observe(every(minute), concurrency("Allow"), counted("every 1m0s", 7*minute), after(8*minute),
				started(0), started(minute), started(2*minute), started(3*minute), started(4*minute), started(5*minute), started(6*minute), started(7*minute)),
			want: decided{Reason: "TooManyJobs", Phase: running, RequeueAfter: minute, Events: []string{"TooManyJobs"}},
		},
		"replace": {
			reason: "the old one is stopped first",
			o:      observe(hourly, concurrency("Replace"), started(0), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Action: removeRunning(0), Reason: "Replaced", RequeueAfter: next, Phase: running},
		},
		"replace, stopping": {
			reason: "it is asked for once",
			o:      observe(hourly, concurrency("Replace"), started(0, isDeleting), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Reason: "PreviousRunning", Phase: running, RequeueAfter: hour},
		},
		"replace, stopped": {
			reason: "then the new one starts",
			o:      observe(hourly, concurrency("Replace"), active(0), counted("every 1h0m0s", 0), after(hour)),
			want:   decided{Action: startAt(hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running, Events: []string{"Replaced"}},
		},
		"replace, nothing to back up": {
			reason: "the old one is not stopped for one that can't start",
			o: observe(hourly, concurrency("Replace"), cluster(nil), started(0),
				counted("every 1h0m0s", 0), after(hour)),
			want: decided{Reason: "ClusterNotFound", Phase: running, RequeueAfter: hour, Events: []string{"ClusterNotFound"}},
		},
		"repeated waits for its cluster": {
			reason: "what is due stays due, until the next one is",
			o:      observe(hourly, cluster(nil), after(hour+minute)),
			want:   decided{Reason: "ClusterNotFound", Phase: pending, RequeueAfter: 59 * minute, Events: []string{"ClusterNotFound"}},
		},

		// Tidy up.
		"old Jobs": {
			reason: "the newest that succeeded is kept, those before it are not",
			o:      observe(hourly, kept(0, ""), kept(hour, ""), counted("every 1h0m0s", hour), after(hour+minute)),
			want:   decided{Action: remove(0), Reason: "JobDeleted", RequeueAfter: next, Phase: planned},
		},
		"old failures": {
			reason: "of those that failed too",
			o:      observe(hourly, kept(0, "NoSpace"), kept(hour, ""), kept(2*hour, "NoSpace"), counted("every 1h0m0s", 2*hour), after(2*hour+minute)),
			want:   decided{Action: remove(0), Reason: "JobDeleted", RequeueAfter: next, Phase: planned},
		},
		"both are kept": {
			reason: "for their logs",
			o:      observe(hourly, kept(0, "NoSpace"), kept(hour, ""), counted("every 1h0m0s", hour), after(hour+minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 59 * minute},
		},
		"not recorded yet": {
			reason: "a Job is deleted only after its end is in the status",
			o:      observe(hourly, started(0, reported), started(hour, reported), counted("every 1h0m0s", hour), after(hour+minute)),
			want:   decided{Reason: "Scheduled", Phase: planned, RequeueAfter: 59 * minute, Events: []string{"BackupSucceeded", "BackupSucceeded"}},
		},
		"start before tidying": {
			reason: "what is due goes first",
			o:      observe(hourly, kept(0, ""), kept(hour, ""), counted("every 1h0m0s", hour), after(2*hour)),
			want:   decided{Action: startAt(2 * hour), Reason: "BackupStarted", RequeueAfter: next, Phase: running},
		},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			before := r.o.Backup.DeepCopy()
			d := noted(r.o)
			got := decided{Action: timeless(d.Action), Reason: d.Reason, RequeueAfter: d.RequeueAfter, Phase: d.Status.Phase}
			for _, e := range d.Events {
				got.Events = append(got.Events, e.Reason)
			}
			if diff := cmp.Diff(r.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s\n%s: %s", r.reason, diff, d.Reason, d.Message)
			}
			if diff := cmp.Diff(before, r.o.Backup); diff != "" {
				t.Errorf("Plan changed what it was given:\n%s", diff)
			}
			if diff := cmp.Diff(d, Plan(r.o)); diff != "" {
				t.Errorf("Plan says something else the second time:\n%s", diff)
			}
			for _, broken := range append(oracle(r.o, d), oracleSize(r.o, d)...) {
				t.Error(broken)
			}
		})
	}
}
