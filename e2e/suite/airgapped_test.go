package suite

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// TestAirGapped: the operators, the members and the backups of the example run by images of a
// registry of the user's alone, which takes nobody without credentials, and so does the etcd that
// proves a backup. The backups go to a store with a certificate of the user's own CA.
func TestAirGapped(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	t.Parallel()
	const registry, user, password = "registry.example.com", "etcd", "not-for-everybody"
	s := aNamespace(t, "restricted")
	r, err := env.StartRegistry(s.ctx, registry, user, password)
	s.must(err)
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.must(r.Mirror(s.ctx))
	s.tell("%s has the images", registry)
	s.kubectl("create", "secret", "docker-registry", "registry", "--docker-server="+registry, "--docker-username="+user, "--docker-password="+password)
	s.helmInstalls(umbrella, s.umbrella(), "--set", "global.imageRegistry="+registry+",global.imagePullSecrets[0].name=registry,etcd-restore-operator.extraArgs[0]=--etcd-repository="+registry+"/coreos/etcd")
	s.operatorsRun()
	s.must(s.view.WatchBackups(s.ctx))

	ours := etcdtest.NewCA(t, "ours")
	s.puts("store", ours.Issue(t, "store", harness.StoreHost(s.ns)).Files(ours))
	s.puts("store-ca", map[string][]byte{"ca.crt": etcdtest.Bundle(ours)})
	st := s.aStoreWith("store")

	const name = "example-air-gapped"
	s.applyExample("cluster-air-gapped.yaml", replacing("https://s3.example.com", st.Endpoint))
	c := s.existing(name)
	c.settles(3, twoMinutes)
	w := c.writes()
	b := s.existingBackup(name, w.Writer, st.at(name+"/etcd.backup"))
	s.must(b.Patch(s.ctx, map[string]any{"spec": map[string]any{"backupPolicy": map[string]any{"schedule": nil, "backupIntervalInSecond": 3600}}}))
	b.becomes("stored", twoMinutes, harness.MadeTimes(1))
	b.opens(b.records()[0], v1beta2.CompressionNone)
	b.becomes("proved", fourMinutes, harness.BackupCondition(v1beta2.ConditionVerified, true, v1beta2.BackupReasonVerified))

	for _, repository := range []string{"coreos/etcd", "etcd-operators/etcd-operator", "etcd-operators/etcd-backup-operator", "etcd-operators/etcd-restore-operator"} {
		if !r.Pulled(repository) {
			t.Errorf("nobody has pulled %s/%s", registry, repository)
		}
	}
	s.runsOnlyFrom(registry, "etcd_cluster="+name)
	s.runsOnlyFrom(registry, "etcd_backup="+name)
	for _, operator := range harness.Operators {
		s.runsOnlyFrom(registry, "app.kubernetes.io/name="+operator)
	}
	s.pulledOnlyFrom(registry, name)
	w.lostNothing(3)
}

// pulledOnlyFrom: the events of the Pods of a cluster and its backups, also of those that are gone, tell of images of a
// registry alone, and of an etcd that is no member.
func (s *scene) pulledOnlyFrom(registry, name string) {
	s.t.Helper()
	started := false
	for line := range strings.Lines(s.kubectl("get", "events", "-o", `jsonpath={range .items[?(@.involvedObject.kind=="Pod")]}{.involvedObject.name} {.message}{"\n"}{end}`)) {
		pod, message, _ := strings.Cut(line, " ")
		_, image, isOfImage := strings.Cut(message, "image \"")
		if !isOfImage || !strings.HasPrefix(pod, name+"-") || pod == name+"-writer" {
			continue
		}
		if !strings.HasPrefix(image, registry+"/") {
			s.t.Errorf("Pod %s: %s", pod, message)
		}
		started = started || strings.HasPrefix(image, registry+"/coreos/etcd:") && !member.IsName(name, pod)
	}
	if !started {
		s.t.Errorf("no event tells of an image of etcd for a Pod that proves a backup")
	}
}

// runsOnlyFrom: each container of the Pods with a label has an image of a registry.
func (s *scene) runsOnlyFrom(registry, label string) {
	s.t.Helper()
	images := strings.Fields(s.kubectl("get", "pods", "-l", label, "-o", "jsonpath={.items[*].spec['initContainers','containers'][*].image}"))
	if len(images) == 0 {
		s.t.Errorf("no Pod has the label %s", label)
	}
	for _, image := range images {
		if !strings.HasPrefix(image, registry+"/") {
			s.t.Errorf("a Pod with the label %s runs %s", label, image)
		}
	}
}
