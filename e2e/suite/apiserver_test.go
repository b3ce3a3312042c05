package suite

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/objects"
)

// enoughWrites are so many that there are some of each kind.
const enoughWrites = 100

// TestAPIServer: two kube-apiservers keep their objects in a cluster, while it is upgraded, loses
// its leader, replaces its CA and is restored in its place. Every object that they acknowledged is
// there, and after the restore exactly what was there at the backup. Resource versions never go
// back, and a client that watches is never shown an old state as a new one.
func TestAPIServer(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	t.Parallel()
	d := aDatastore(t, "consumer-kubeadm.yaml", "example-kubeadm")
	a := d.anAPIServer()
	d.lives(a)
	a.holdsWhatItAcknowledged()

	resume := a.writer.Pause()
	backedUp, version := a.list()
	d.isBackedUp("nightly")
	resume()
	a.writesEnough()
	resume = a.writer.Pause()
	_, latest := a.list()
	d.isRestored("in-place", "nightly")
	restored, now := a.list()
	if diff := restored.Diff(backedUp); diff != "" {
		t.Errorf("the objects are not those of the backup: %s", diff)
	}
	if least := latest + theLeastBump; now < least {
		t.Errorf("the resource version is %d after the restore, want %d at least: it was %d at the backup, and %d before the restore", now, least, version, latest)
	}
	d.s.tell("%d objects are as they were at resource version %d; it is %d now, and was %d", len(restored), version, now, latest)
	a.writer.GivesUp(restored)
	resume()
	a.goesOn("the restore")
	a.writesEnough()
	a.holdsWhatItAcknowledged()
	a.watcherSawNothingOld(1)
}

// apiServer is two kube-apiservers with their clients.
type apiServer struct {
	*harness.APIServer
	d       *datastore
	writer  *objects.Writer
	watcher *objects.Watcher
}

// anAPIServer starts kube-apiservers on the cluster, a client that writes and one that watches.
func (d *datastore) anAPIServer() *apiServer {
	d.s.t.Helper()
	a := &apiServer{d: d}
	flags := harness.EtcdFlags(d.connect("kubernetes"))
	d.s.within(twoMinutes, func(ctx context.Context) (err error) {
		a.APIServer, err = env.StartAPIServer(ctx, d.s.view, d.s.ns, flags, d.State().Cluster.ClientTLSSecret())
		return err
	})
	d.s.tell("two kube-apiservers run on %s, by %q", d.Name, flags)
	d.s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a namespace", func(ctx context.Context) (string, error) {
			_, err := a.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "objects"}}, metav1.CreateOptions{})
			return "", err
		})
	})
	a.writer, a.watcher = objects.NewWriter(a.objects()), objects.NewWatcher(a.objects())
	ctx, stop := context.WithCancel(d.s.ctx)
	d.s.t.Cleanup(stop)
	go a.writer.Run(ctx)
	go a.watcher.Run(ctx)
	a.writesEnough()
	return a
}

func (a *apiServer) objects() typedcorev1.ConfigMapInterface {
	return a.Client.CoreV1().ConfigMaps("objects")
}

// goesOn is for [program].
func (a *apiServer) goesOn(after string) {
	a.d.s.t.Helper()
	a.acknowledges(1, "after "+after)
}

// writesEnough waits for more writes of each kind.
func (a *apiServer) writesEnough() {
	a.d.s.t.Helper()
	a.acknowledges(enoughWrites, "in all")
}

// acknowledges waits until so many more writes are acknowledged, that begin from now on.
func (a *apiServer) acknowledges(more int, when string) {
	s := a.d.s
	s.t.Helper()
	a.writer.Pause()() // what is under way began before
	before, _ := a.writer.Writes()
	now, failures := before, map[string]int{}
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, fmt.Sprintf("%d writes by kube-apiserver %s", more, when), func(context.Context) (string, error) {
			if now, failures = a.writer.Writes(); now < before+more {
				return fmt.Sprintf("%d are acknowledged; failures: %v", now-before, failures), nil
			}
			return "", nil
		})
	})
	s.tell("kube-apiserver acknowledges writes %s: %d so far; failures: %v", when, now, failures)
}

// reloads is for [program]: kube-apiserver reads CAs when it starts, and a restart is what its
// users are told to do.
func (a *apiServer) reloads() {
	a.d.s.t.Helper()
	a.d.s.within(twoMinutes, a.Restart)
	a.d.s.tell("the kube-apiservers are restarted")
}

// list is all objects, by a consistent read.
func (a *apiServer) list() (all objects.Content, version int64) {
	s := a.d.s
	s.t.Helper()
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a list of all objects", func(ctx context.Context) (_ string, err error) {
			all, version, err = objects.List(ctx, a.objects())
			return "", err
		})
	})
	return all, version
}

// holdsWhatItAcknowledged: each object that was acknowledged is there as it was acknowledged last,
// and the watching client knows the same. No kube-apiserver has crashed on the way.
func (a *apiServer) holdsWhatItAcknowledged() {
	s := a.d.s
	s.t.Helper()
	resume := a.writer.Pause()
	defer resume()
	all, version := a.list()
	if broken := a.writer.Check(all); len(broken) > 0 {
		s.t.Errorf("%d objects are wrong: %q", len(broken), broken[:min(5, len(broken))])
	}
	if restarts := a.Restarts(); restarts > 0 {
		s.t.Errorf("kube-apiserver has crashed %d times", restarts)
	}
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "the watching client to catch up", func(context.Context) (string, error) {
			has, err := a.watcher.Copy()
			if err != nil {
				return "", err
			}
			return has.Diff(all), nil
		})
	})
	s.tell("%d objects are as they were acknowledged, at resource version %d", len(all), version)
}

// watcherSawNothingOld: the watching client was told that what it knew had expired so often at
// least, has listed again then, and was never shown anything older than what it knew.
func (a *apiServer) watcherSawNothingOld(expired int) {
	a.d.s.t.Helper()
	lists, told, broken := a.watcher.Report()
	if told < expired || lists <= told {
		a.d.s.t.Errorf("the watching client was told %d times to list again, want %d at least, and has listed %d times", told, expired, lists)
	}
	if len(broken) > 0 {
		a.d.s.t.Errorf("the watching client saw time go backwards %d times: %q", len(broken), broken[:min(5, len(broken))])
	}
	a.d.s.tell("the watching client was told %d times to list again, and has listed %d times", told, lists)
}
