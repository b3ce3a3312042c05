package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
)

const (
	// progressTimeout is how long an archiver may take to tell its progress.
	progressTimeout = time.Second
	// maxProgress is the longest answer, in bytes, that is read.
	maxProgress = 16 << 10
)

// archiver observes the Job that records an archive. It is read from the API server itself, as
// little as there is of it: its name is known.
func (o *Observer) archiver(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation) (requeueAfter time.Duration, err error) {
	if b.Spec.ArchiveInterval() == 0 && b.Status.Archive == nil {
		return 0, nil
	}
	var j batchv1.Job
	err = o.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: plan.ArchiverName(b)}, &j)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&j, b) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the archiver's Job: %w", err)
	}
	pods, err := podsByJob(ctx, o.Client, b)
	if err != nil {
		return 0, err
	}
	seen, pod, requeueAfter := job.ObserveArchiver(&j, pods[j.Name], obs.Now)
	if pod != "" {
		seen.Progress = o.askProgress(ctx, pod)
	}
	obs.Archiver = &seen
	return requeueAfter, nil
}

// askProgress is what an archiver tells; nil if it does not answer.
func (o *Observer) askProgress(ctx context.Context, pod string) *task.ArchiveProgress {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(pod, strconv.Itoa(task.ArchivePort))+task.ArchivePath, nil)
	if err != nil {
		return nil
	}
	network := o.Network
	if network == nil {
		network = theNetwork
	}
	// It never redirects, and no connection is kept: a Pod lives for a while.
	answer, err := (&http.Client{Transport: network, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(request)
	if err != nil {
		return nil
	}
	defer func() { _ = answer.Body.Close() }() // only read
	var p task.ArchiveProgress
	if answer.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(answer.Body, maxProgress)).Decode(&p) != nil {
		return nil
	}
	return &p
}

var theNetwork = &http.Transport{DisableKeepAlives: true}
