package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestBadSpecs: what can't work is refused when it is applied, with the field and
// what to write instead. Nothing is created (--dry-run=server).
func TestBadSpecs(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"SizeZero":       {`size: 0`, []string{"spec.size", "greater than or equal to 1"}},
		"SizeTooLarge":   {`size: 8`, []string{"spec.size", "less than or equal to 7"}},
		"VersionShort":   {`version: "3.6"`, []string{"spec.version", "set all three numbers"}},
		"VersionWord":    {`version: latest`, []string{"spec.version", "set all three numbers"}},
		"ReservedLabel":  {`pod: {labels: {etcd_cluster: mine}}`, []string{"spec.pod.labels", "etcd_cluster is reserved for the operator"}},
		"ReservedEnv":    {`pod: {etcdEnv: [{name: ETCD_INITIAL_CLUSTER_STATE, value: new}]}`, []string{"spec.pod.etcdEnv", "ETCD_INITIAL_CLUSTER_STATE must not be set"}},
		"TaggedImage":    {`repository: "quay.io/coreos/etcd:v3.6.16"`, []string{"spec.repository", "set the tag in version"}},
		"VolumeOfNoSize": {`pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce]}}`, []string{"persistentVolumeClaimSpec", "resources.requests.storage"}},
		"ShortTimeout":   {`recovery: {memberTimeout: 1s}`, []string{"memberTimeout", "at least 10s"}},
		"UnknownField":   {`sice: 3`, []string{"spec.sice"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := env.Kubectl.Apply(s.ctx, s.ns, manifest("bad", tc.spec), "--dry-run=server")
			if err == nil || !containsAll(out, tc.want) {
				t.Errorf("want a refusal with %q, got: %v\n%s", tc.want, err, out)
			}
			t.Logf("%s", out)
		})
	}
	out, err := env.Kubectl.Apply(s.ctx, s.ns, manifest("1st", "size: 1"), "--dry-run=server")
	if err == nil || !containsAll(out, []string{"metadata.name", "a letter first"}) {
		t.Errorf("want a refusal of the name, got: %v\n%s", err, out)
	}
}

func manifest(name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: EtcdCluster\nmetadata: {name: %s}\nspec: {%s}\n", v1beta2.GroupVersion, name, spec)
}

// TestUnsupportedVersion: what admission can't know is said on the object.
func TestUnsupportedVersion(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("old", harness.Size(1), harness.Version("3.1.10"))
	c.becomes("refused", harness.Condition(v1beta2.ConditionVersionUnsupported, true, ""), oneMinute)
	c.becomes("not Available", harness.Condition(v1beta2.ConditionAvailable, false, "VersionUnsupported"), oneMinute)
	if n := len(c.State().Pods); n != 0 {
		t.Errorf("%d Pods were made for a version that is not run", n)
	}
}

// TestNameConflict: a Service that is somebody else's is left alone.
func TestNameConflict(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.kubectl("create", "service", "clusterip", "taken-client", "--tcp=80:80")
	c := s.cluster("taken", harness.Size(1))
	c.becomes("stopped by a name", harness.Condition(v1beta2.ConditionNameConflict, true, ""), oneMinute)
	s.kubectl("delete", "service", "taken-client")
	c.settles(1, twoMinutes) // a Service that was not ours is looked for once in a minute
}

// TestDeletion: nothing of a deleted cluster is left.
func TestDeletion(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	kept := s.cluster("kept", harness.Size(1), harness.Volumes)
	c := s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.becomes("protected", harness.All(harness.Settled(3), budgetKeeps(2)), oneMinute)
	kept.settles(1, oneMinute)
	s.must(c.Delete(s.ctx))
	c.becomes("gone without a trace", harness.Nothing, twoMinutes)
	if out := s.kubectl("get", "pods,pvc,services,pdb,endpointslices", "-l", "etcd_cluster=etcd", "-o", "name"); out != "" {
		t.Errorf("left over: %s", out)
	}
	kept.settles(1, oneMinute)
}

// TestDeletionWhileForming: also when it is not finished.
func TestDeletionWhileForming(t *testing.T) {
	isLong(t)
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("etcd", harness.Size(5), harness.Volumes)
	c.becomes("forming", func(s harness.State) string { return atLeast(len(s.Pods), 1, "Pods") }, oneMinute)
	s.must(c.Delete(s.ctx))
	c.becomes("gone without a trace", harness.Nothing, twoMinutes)
	c = s.cluster("etcd", harness.Size(3), harness.Volumes)
	c.settles(3, oneMinute)
}

// TestExamples: each of them works, as it stands but for what this Kubernetes does not have: a
// registry of the user's (see TestAirGapped), and maybe zones.
func TestExamples(t *testing.T) {
	t.Parallel()
	clusters := map[string]struct {
		name   string
		size   int
		change func(string) string
	}{
		"cluster-single.yaml":     {"example-single", 1, asItIs},
		"cluster-pvc.yaml":        {"example-pvc", 3, asItIs},
		"cluster-tuned.yaml":      {"example-tuned", 3, asItIs},
		"cluster-air-gapped.yaml": {"example-air-gapped", 3, replacing("registry.example.com/coreos/etcd", "quay.io/coreos/etcd")},
		"cluster-zones.yaml":      {"example-zones", 3, inZones},
		"consumer-apisix.yaml":    {"example-apisix", 3, asItIs},
		"consumer-kamaji.yaml":    {"example-kamaji", 3, asItIs},
		"consumer-kubeadm.yaml":   {"example-kubeadm", 3, asItIs},
		"consumer-patroni.yaml":   {"example-patroni", 3, asItIs},
	}
	// These files have tests of their own: TestQuickStart, TestPredecessorsDeployment, TestAutoTLS,
	// TestStaticTLS and TestCertManager. TestBackupExamples, TestRestoreExamples and TestVerifyExamples apply
	// all files of their kinds. The tests in e2e/manifests apply the files that use a cloud identity, and all
	// files unchanged, to a bare API server.
	others := []string{"cluster.yaml", "predecessor-deployment.yaml", "cluster-tls.yaml", "cluster-tls-static.yaml", "cluster-tls-cert-manager.yaml"}
	elsewhere := func(file string) bool {
		return slices.Contains(others, file) || slices.ContainsFunc([]string{"backup-", "restore-", "verify-", "identity-"}, func(kind string) bool { return strings.HasPrefix(file, kind) })
	}

	s := anOperator(t)
	for _, base := range exampleFiles(t, "*.yaml") {
		want, known := clusters[base]
		switch {
		case elsewhere(base):
		case !known:
			t.Errorf("no test applies examples/%s", base)
		default:
			s.applyExample(base, func(text string) string { return onlyCluster(want.change(text)) })
			c := s.existing(want.name)
			c.settles(want.size, twoMinutes)
			s.must(c.Delete(s.ctx))
		}
	}
}

// inZones is for [scene.applyExample]: nodes that are not localkube's may be in no zone.
func inZones(text string) string {
	if env.Local != nil {
		return text
	}
	return replacing("topology.kubernetes.io/zone", "kubernetes.io/hostname")(text)
}

// replacing is for [scene.applyExample].
func replacing(old, by string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, by) }
}

// onlyCluster is the EtcdCluster of an example. Beside it there can be backups, for which this
// Kubernetes has no store, and what configures programs that it does not have.
func onlyCluster(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n---\n"), func(document string) bool {
		return !strings.Contains("\n"+document, "\nkind: EtcdCluster\n")
	}), "\n---\n")
}
