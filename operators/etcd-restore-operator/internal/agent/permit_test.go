package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/build"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/roundtriptest"
)

// TestPermitRoundTrips: the agent and the launcher read the permit that the operator writes on the seed's Pod.
// The launcher starts etcd only once the operator has replaced the permit to prepare by the uid.
func TestPermitRoundTrips(t *testing.T) {
	r := v1beta2.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "ns"}}
	c := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	create := plan.CreateSeed{Name: "x-a", Version: "3.6.16", Source: plan.Source{PVC: &v1beta2.PVCSource{ClaimName: "backups", Path: "etcd"}}}
	file := filepath.Join(t.TempDir(), "permit")
	type written struct {
		UID, Reader uint64
		Starts      bool
	}
	roundtriptest.Check(t, func(w written) (written, error) {
		uid, reader := fmt.Sprintf("%016x", w.UID), fmt.Sprintf("%016x", w.Reader)
		r.UID = types.UID(uid)
		pod, err := build.Seed(&r, &c, create, "image")
		if err != nil {
			return w, err
		}
		text := pod.Annotations[v1beta2.AnnotationRestorePermit]
		if w.Starts {
			text = uid
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return w, err
		}
		want := permitNone // the permit of another EtcdRestore
		if reader == uid {
			want = map[bool]permit{false: permitPrepare, true: permitStart}[w.Starts]
		}
		got, err := readPermit(file, reader)
		if err != nil || got != want {
			return w, fmt.Errorf("the agent reads the permit %d, %w; want %d", got, err, want)
		}
		starts, err := datadir.IsPermitted(file, reader)
		if err != nil || starts != (want == permitStart) {
			return w, fmt.Errorf("the launcher reads that it can start: %t, %w; want permit %d", starts, err, want)
		}
		return w, nil
	})
}
