// Package simulated is etcd-restore-operator for the simulator of etcd-operator, which runs
// the shipped code of both against one simulated Kubernetes. No product imports it.
package simulated

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/metrics"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// World is what the operator reaches.
type World struct {
	// Client reads from caches, Live from the API server itself.
	Client client.Client
	Live   client.Reader
	Events events.EventRecorder
	// Network reaches what runs in Pods.
	Network http.RoundTripper
	// Image is the operator's own.
	Image string
}

// New is the Reconciler of EtcdRestores that ships. Its clock is the process's.
func New(w World) reconcile.Reconciler {
	r := &controller.Reconciler{
		Client: w.Client, Live: w.Live, Events: w.Events, Network: w.Network, Images: build.Images{Operator: w.Image},
		Metrics: metrics.New(prometheus.NewRegistry()), Creators: operator.Creators{Trusted: true}, Now: time.Now,
	}
	r.SetUpAlone()
	return r
}

// The containers of a seed, and of the Job that verifies, which run the agent or show that
// etcd's image runs.
const (
	ContainerImage   = task.ContainerImage
	ContainerRestore = task.ContainerRestore
	ContainerVerify  = task.ContainerVerify
)

// Prepare follows the uid in the annotation of a seed that may prepare, and not start.
const Prepare = task.Prepare

// The task of an agent, and what it reports.
type (
	Task     = task.Task
	Result   = task.Result
	Snapshot = task.Snapshot
)

// TaskOf is what a seed's agent was told to do; nil if the Pod is no seed.
func TaskOf(p *corev1.Pod) *Task { return build.TaskOf(p) }

// Message is the termination message of an agent's container.
func Message(r Result) string {
	message, err := json.Marshal(r)
	if err != nil {
		panic(err) // it has only what JSON takes
	}
	return string(message)
}
