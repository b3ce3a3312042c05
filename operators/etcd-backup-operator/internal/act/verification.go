package act

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/job"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/observe"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/operator"
)

// startVerification makes an EtcdRestore, if what was observed still holds at the API server
// itself.
func (a *Actor) startVerification(ctx context.Context, b *v1beta2.EtcdBackup, obs *plan.Observation, start plan.StartVerification) error {
	var serverTime time.Time
	ctx = withServerTime(ctx, &serverTime)
	if err := a.sameBackup(ctx, b); err != nil {
		return err
	}
	// Which is newer is told by the second in which they were created.
	if st := b.Status.Verification; st != nil && st.Last != nil && !serverTime.IsZero() && !serverTime.Truncate(time.Second).After(st.Last.StartTime.Time) {
		return fmt.Errorf("%w: the last EtcdRestore was created in this second", ErrStale)
	}
	live, err := observe.OwnRestores(ctx, a.Live, b)
	if err != nil {
		return err
	}
	var now, then []string
	for i := range live {
		now = append(now, live[i].Name)
	}
	for i := range obs.Verifications {
		then = append(then, obs.Verifications[i].Name)
	}
	slices.Sort(now)
	slices.Sort(then)
	if !slices.Equal(now, then) {
		return fmt.Errorf("%w: the EtcdRestores are %v, not %v", ErrStale, now, then)
	}
	err = a.Client.Create(ctx, job.Verification(b, start))
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err): // not of this EtcdBackup, or it had been listed
		return fmt.Errorf("%w: EtcdRestore %s exists already and does not belong to this EtcdBackup: delete it", ErrRefused, start.Name)
	case operator.IsRefused(err):
		return fmt.Errorf("create EtcdRestore %s: %w: %w", start.Name, ErrRefused, err)
	}
	return fmt.Errorf("create EtcdRestore %s: %w", start.Name, err)
}

func (a *Actor) deleteVerification(ctx context.Context, b *v1beta2.EtcdBackup, d plan.DeleteVerification) error {
	r := &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: d.Name}}
	err := a.Client.Delete(ctx, r, client.Preconditions{UID: new(types.UID(d.UID))}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete EtcdRestore %s: %w", d.Name, err)
	}
	return nil
}
