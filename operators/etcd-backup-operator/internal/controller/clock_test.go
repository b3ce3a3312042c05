package controller_test

import (
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/controller"
)

// An operator whose node's clock is ten years ahead tells the agent the API server's time:
// the agent can be on that very node.
func TestTheAgentIsToldTheAPIServersTime(t *testing.T) {
	t.Parallel()
	var clock shifted
	clock.ahead.Store(int64(10 * 365 * 24 * time.Hour))
	b := newBench(t, func(r *controller.Reconciler) { r.Now = clock.now })
	begun := time.Now().Truncate(time.Second)
	j := b.job(b.create("x", func(e *v1beta2.EtcdBackup) {
		e.Spec.BackupPolicy = &v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}
	}))
	tk := told(t, &j)
	if tk.ServerTime.Before(begun) || tk.ServerTime.After(time.Now()) || !tk.Time.After(begun.AddDate(9, 0, 0)) {
		t.Errorf("the agent is told %s for the API server's time %s, of a backup due at %s", tk.ServerTime, begun, tk.Time)
	}
}
