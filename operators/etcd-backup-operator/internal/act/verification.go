package act

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	now, err := a.liveRestores(ctx, b)
	if err != nil {
		return err
	}
	var then []string
	for i := range obs.Verifications {
		then = append(then, obs.Verifications[i].Name)
	}
	if err := sameNames("EtcdRestores", now, then); err != nil {
		return err
	}
	err = a.Client.Create(ctx, job.Verification(b, start))
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		return a.adoptedRestore(ctx, b, start.Name)
	case operator.IsRefused(err):
		return fmt.Errorf("create EtcdRestore %s: %w: %w", start.Name, ErrRefused, err)
	}
	return fmt.Errorf("create EtcdRestore %s: %w", start.Name, err)
}

// adoptedRestore reports success if the EtcdRestore that exists is this EtcdBackup's. The operator
// has no right to get it by its name.
func (a *Actor) adoptedRestore(ctx context.Context, b *v1beta2.EtcdBackup, name string) error {
	names, err := a.liveRestores(ctx, b)
	if err != nil || slices.Contains(names, name) {
		return err
	}
	var list v1beta2.EtcdRestoreList
	if err := a.Live.List(ctx, &list, client.InNamespace(b.Namespace), client.MatchingFields{"metadata.name": name}); err != nil {
		return fmt.Errorf("read EtcdRestore %s: %w", name, err)
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("%w: EtcdRestore %s is gone", ErrStale, name)
	}
	return nameTaken(b, &list.Items[0], "EtcdRestore", name)
}

// liveRestores are the names of the EtcdRestores of an EtcdBackup, as the API server has them.
func (a *Actor) liveRestores(ctx context.Context, b *v1beta2.EtcdBackup) (names []string, err error) {
	live, err := observe.OwnRestores(ctx, a.Live, b)
	for i := range live {
		names = append(names, live[i].Name)
	}
	return names, err
}

func (a *Actor) deleteVerification(ctx context.Context, b *v1beta2.EtcdBackup, d plan.DeleteVerification) error {
	return a.delete(ctx, "EtcdRestore", &v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: d.Name}}, d.UID)
}
