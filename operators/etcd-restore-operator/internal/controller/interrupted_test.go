package controller_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/controller"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// An operator that is started anew after each step goes on where the last one stood.
func TestRestartedAtEachStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.cluster("x")
	e := b.restore("x")
	version, restarts := e.ResourceVersion, 0
	etcdtest.Eventually(t, "the restore to be complete", func() error {
		apiservertest.Read(t, b.client, e)
		if e.Status.Phase == v1beta2.RestoreComplete && len(e.Finalizers) == 0 {
			return nil
		}
		if e.ResourceVersion != version {
			b.stop()
			b.startOperator()
			version, restarts = e.ResourceVersion, restarts+1
		}
		return fmt.Errorf("phase %s after %d restarts", e.Status.Phase, restarts)
	})
	b.wantRestored(e, c)
	if restarts < 4 {
		t.Errorf("it was restarted %d times, want more", restarts)
	}
}

// deaf is a client that is not told of every second of its writes, all of which take
// effect.
type deaf struct {
	client.Client
	writes *atomic.Int64
}

func newDeaf(r *controller.Reconciler) { r.Client = &deaf{r.Client, &atomic.Int64{}} }

// hear is what the operator is told of a write.
func (d *deaf) hear(err error) error {
	if err == nil && d.writes.Add(1)%2 == 1 {
		return errors.New("connection reset by peer")
	}
	return err
}

func (d *deaf) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return d.hear(d.Client.Create(ctx, o, opts...))
}

func (d *deaf) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	return d.hear(d.Client.Delete(ctx, o, opts...))
}

func (d *deaf) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return d.hear(d.Client.Patch(ctx, o, p, opts...))
}

func (d *deaf) Status() client.SubResourceWriter { return &deafStatus{d.Client.Status(), d} }

type deafStatus struct {
	client.SubResourceWriter
	d *deaf
}

func (s *deafStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.d.hear(s.SubResourceWriter.Update(ctx, o, opts...))
}

// An operator that does not hear of what it has done does nothing twice.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t, newDeaf)
	c := b.cluster("x")
	e := b.restore("x")
	b.complete(e)
	b.wantRestored(e, c)
}

// The same of a roll-back.
func TestLostAnswersOfARollBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, newDeaf)
	b.kubernetes.seedless.Store(true)
	c := b.cluster("x")
	e := b.restore("x")
	b.until(e, "a seed", func(s *v1beta2.RestoreStatus) bool { return s.Phase == v1beta2.RestoreSeeding && len(b.pods(c)) == 1 })
	apiservertest.Delete(t, b.client, e)
	b.untilGone(e)
	b.wantGivenBack(e, c)
}
