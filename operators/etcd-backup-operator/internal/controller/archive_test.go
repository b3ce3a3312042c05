package controller_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// agents is the network in which archivers answer.
type agents struct {
	sync.Mutex
	progress *task.ArchiveProgress
}

func (a *agents) tell(p task.ArchiveProgress) {
	a.Lock()
	defer a.Unlock()
	p.Time = time.Now()
	a.progress = &p
}

// RoundTrip implements http.RoundTripper.
func (a *agents) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Lock()
	defer a.Unlock()
	if a.progress == nil || r.URL.Host != "10.0.0.7:8090" || r.URL.Path != task.ArchivePath {
		return nil, errors.New("connection refused")
	}
	content, err := json.Marshal(a.progress)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(content))}, err
}

// archiver waits for the Job that records a backup's archive, other than one before.
func (b *bench) archiver(e *v1beta2.EtcdBackup, before ...batchv1.Job) (found batchv1.Job) {
	b.t.Helper()
	etcdtest.Eventually(b.t, "an archiver", func() error {
		for _, j := range b.jobs(e) {
			isOld := slices.ContainsFunc(before, func(old batchv1.Job) bool { return old.UID == j.UID })
			if j.Annotations[v1beta2.AnnotationArchive] != "" && !isOld {
				found = j
				return nil
			}
		}
		return errors.New("there is none")
	})
	return found
}

// backups are the Jobs of a backup that store snapshots.
func (b *bench) backups(e *v1beta2.EtcdBackup) []batchv1.Job {
	b.t.Helper()
	return slices.DeleteFunc(b.jobs(e), func(j batchv1.Job) bool { return j.Annotations[v1beta2.AnnotationArchive] != "" })
}

// The archiver is started beside the backups, with the rights that backups have; what it tells is
// in the status, and a snapshot is taken for it; it is replaced with the spec, and stopped.
func TestArchive(t *testing.T) {
	t.Parallel()
	network := &agents{}
	b := newBench(t, func(r *controller.Reconciler) { r.Network = network })
	e := b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
		e.Spec.Archive = &v1beta2.BackupArchive{}
	})
	store := func(done ...batchv1.Job) batchv1.Job {
		t.Helper()
		var j batchv1.Job
		etcdtest.Eventually(t, "a backup", func() error {
			for _, j = range b.backups(e) {
				if !slices.ContainsFunc(done, func(old batchv1.Job) bool { return old.UID == j.UID }) {
					return nil
				}
			}
			return errors.New("there is no new one")
		})
		b.ends(b.pod(&j), agent.ExitDone, stored(60))
		b.finish(&j, batchv1.JobComplete, "")
		return j
	}
	first := store()
	a := b.archiver(e)
	if tk := told(t, &a); tk.Archive == nil || tk.Archive.Interval != v1beta2.DefaultArchiveInterval {
		t.Errorf("it is told %+v", tk)
	}
	pod := b.pod(&a)
	b.runs(pod)
	apiservertest.Read(t, b.client, pod)
	pod.Status.PodIP, pod.Status.PodIPs = "10.0.0.7", []corev1.PodIP{{IP: "10.0.0.7"}}
	network.tell(task.ArchiveProgress{ClusterID: stored(60).ClusterID, Timeline: 1, Begin: 50, Revision: 55, Newest: 55, RecoveryTime: time.Now().Add(-10 * time.Second)})
	apiservertest.SetStatus(t, b.client, pod)
	store(first)
	b.until(e, "the archive to be usable", func(s *v1beta2.BackupStatus) bool {
		return condition(s, v1beta2.ConditionArchiving) == "True Recording" && s.Archive.OldestRevision == 60 && s.Archive.Revision == 55 && s.Archive.LagSeconds > 0 && s.Archive.Phase == v1beta2.ArchiveRunning
	})
	b.wantMetric(55, "etcd_backup_archive_last_revision", "x", b.namespace)
	network.tell(task.ArchiveProgress{
		ClusterID: stored(60).ClusterID, Timeline: 2, Begin: 90, Revision: 95, Newest: 95,
		Gap: &task.Gap{From: 56, To: 90, Message: "compacted", Time: time.Now()},
	})
	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.BackupPolicy.MaxBackups = 3 }) // to be looked at now
	b.until(e, "the gap", func(s *v1beta2.BackupStatus) bool {
		return s.Archive.Gaps == 1 && s.Archive.Gap.From == 56 && s.Archive.Timeline == 2 && s.Archive.OldestRevision == 0
	})
	b.wantEvents(e, v1beta2.BackupReasonArchiverStarted, v1beta2.BackupReasonArchiveGap)

	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.S3.Path = "bucket/elsewhere" })
	next := b.archiver(e, a)
	if tk := told(t, &next); tk.Store.Key != "elsewhere" {
		t.Errorf("it is told %+v", tk.Store)
	}
	b.edit(e, func(e *v1beta2.EtcdBackup) { e.Spec.Archive = nil })
	b.until(e, "the archive to be gone", func(s *v1beta2.BackupStatus) bool {
		return s.Archive == nil && condition(s, v1beta2.ConditionArchiving) == ""
	})
	etcdtest.Eventually(t, "the archiver to be gone", func() error {
		if all, backups := b.jobs(e), b.backups(e); len(all) > len(backups) {
			return fmt.Errorf("%d Jobs, %d of backups", len(all), len(backups))
		}
		return nil
	})
}
