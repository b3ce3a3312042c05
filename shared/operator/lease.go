package operator

import (
	"context"
	"fmt"
	"os"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A replica that waits takes over within 19 s of the last renewal by a leader that is
// gone: it looks every retryPeriod to 2.2 times that (client-go's JitterFactor), sees the
// last renewal at most 4.4 s late, waits leaseDuration from then, and looks again at most
// 4.4 s later. client-go's usual 15 s, 10 s and 2 s would be 24 s. The leader writes the
// Lease 30 times a minute, as with the usual figures; one that waits reads it about 19
// times. A leader that can't renew for renewDeadline ends itself, before another begins.
const (
	leaseDuration = 10 * time.Second
	renewDeadline = 7 * time.Second
	retryPeriod   = 2 * time.Second
)

// lease is the Lease by which the replicas agree on the one that acts. It reports whether
// this replica leads or sees another one lead, and asks nothing of its own.
type lease struct {
	resourcelock.Interface
	about  *coordinationv1.Lease
	ready  *readiness
	events events.EventRecorder
}

func (o *Options) newLease(config *rest.Config, ready *readiness) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	l := &lease{
		about: &coordinationv1.Lease{
			TypeMeta:   metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
		},
		ready: ready,
	}
	who := resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())}
	l.Interface, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.Namespace, o.Name, who, config, renewDeadline)
	ready.set(waitLease, fmt.Sprintf("waiting to read Lease %s", l.Describe()))
	return l, err
}

// Get implements resourcelock.Interface, for the others.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil {
		l.saw(record.HolderIdentity)
	} else if !apierrors.IsNotFound(err) { // it is made then
		l.failed("read", err)
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote("create", &record, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface, for the leader.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.wrote("update", &record, l.Interface.Update(ctx, record))
}

func (l *lease) wrote(verb string, record *resourcelock.LeaderElectionRecord, err error) error {
	switch {
	case err == nil:
		l.saw(record.HolderIdentity)
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err): // another replica was faster
		l.failed(verb, err)
	}
	return err
}

func (l *lease) saw(holder string) {
	if holder == "" {
		l.ready.set(waitLease, fmt.Sprintf("no replica leads: Lease %s has no holder", l.Describe()))
		return
	}
	l.ready.clear(waitLease)
}

func (l *lease) failed(verb string, err error) {
	l.ready.set(waitLease, fmt.Sprintf("cannot %s Lease %s: %v", verb, l.Describe(), err))
}

// RecordEvent implements resourcelock.Interface with the events API that the operator has
// a right to anyway.
func (l *lease) RecordEvent(what string) {
	l.events.Eventf(l.about, nil, corev1.EventTypeNormal, "LeaderElection", "LeaderElection", "%s %s", l.Identity(), what)
}
