package member

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// TestLauncherReadsItsFlags: the launcher parses exactly the options with which a member's Pod or a restore's
// Pod was built.
func TestLauncherReadsItsFlags(t *testing.T) {
	for _, file := range goldenCases(t) {
		for _, checks := range []bool{false, true} {
			for _, restore := range []*launcher.Restore{nil, {Name: "ns/r", UID: "u-1", PermitFile: "/etc/restore/permit"}} {
				c := cluster(t, file)
				if c.Spec.Etcd == nil {
					c.Spec.Etcd = &v1beta2.EtcdPolicy{}
				}
				c.Spec.Etcd.InitialCorruptCheck = checks
				o := options(c)
				o.FormerOwners, o.Restore = []string{"u-2", "u-3"}, restore
				pod, err := NewPod(c, o)
				if err != nil {
					t.Fatal(err)
				}
				etcd := pod.Spec.Containers[slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == ContainerEtcd })]
				argv := slices.Concat(etcd.Command, etcd.Args)
				got, err := launcher.ParseRun(argv[2:]) // after the program and the word run
				if err != nil {
					t.Fatalf("%s: %v: %q", file, err, argv)
				}
				want := launcher.Options{
					Member: launcher.Member{Name: o.Name, PeerURL: PeerURL(c, o.Name)}, ClusterUID: string(c.UID), FormerClusterUIDs: o.FormerOwners,
					DataDir: DataDir, PermitFile: permitMount + "/" + permitFile, PodUIDFile: permitMount + "/" + podUIDFile, UsedFile: usedPath, Listen: ":2381",
					Command: etcdCommand(c, o.Name), Checks: launcher.Checks{Compactions: true, AtStart: checks}, Restore: restore,
				}
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(launcher.Options{}, "LongestWait")); diff != "" {
					t.Errorf("%s: -written +read:\n%s", file, diff)
				}
			}
		}
	}
}
