package suite

import (
	"context"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// aClusterWideOperator begins a scene in the namespace of the shipped installations
// for all namespaces, with every operator. What an earlier run left of it goes first.
func aClusterWideOperator(t *testing.T) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	s := &scene{t: t, ctx: ctx, ns: harness.ClusterWideNamespace, last: time.Now()}
	s.must(env.UninstallClusterWide(ctx))
	_, err := env.Kubectl.Run(ctx, "wait", "--for=delete", "--timeout=60s", "namespace/"+s.ns)
	s.must(err)
	t.Cleanup(func() {
		if err := env.UninstallClusterWide(context.Background()); err != nil {
			t.Errorf("clear up: %v", err)
		}
	})
	t.Cleanup(s.end)
	s.must(env.InstallClusterWide(ctx))
	s.view, err = env.Watch(ctx, s.ns)
	s.must(err)
	s.operatorsRun()
	return s
}

// movesToHelm installs the chart of all operators over what kubectl has installed for all
// namespaces.
func (s *scene) movesToHelm() {
	s.t.Helper()
	s.helmInstalls(umbrella, s.umbrella(), "--set", "global.clusterWide=true")
	s.operatorsRun()
	for _, kind := range []string{"clusterrole", "clusterrolebinding"} {
		for _, operator := range harness.Operators {
			if by := s.kubectl("get", kind, operator, "-o", `jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}`); by != "Helm" {
				s.t.Errorf("%s %s is managed by %q", kind, operator, by)
			}
		}
	}
	s.helmTests(umbrella)
}

// TestClusterWide: one operator of each kind serves the annotated clusters, backups and
// restores of all namespaces, beside one that serves the others of its own. They are installed by
// kubectl, and go on as a release of the chart of all operators, which restarts no member.
func TestClusterWide(t *testing.T) {
	t.Parallel()
	home := aClusterWideOperator(t)
	namespaced := anOperator(t)
	bare := aNamespace(t, "restricted")

	annotated := bare.cluster("etcd", harness.Size(3), harness.ClusterWide)
	plain := bare.cluster("plain", harness.Size(1))
	beside := namespaced.cluster("annotated", harness.Size(1), harness.ClusterWide)
	own := namespaced.cluster("own", harness.Size(1))

	annotated.settles(3, oneMinute)
	beside.settles(1, oneMinute)
	own.settles(1, oneMinute)
	plain.stays("left alone by an operator that it is not annotated for", 3*time.Second, func(s harness.State) string {
		if len(s.Pods) > 0 || s.Cluster.Status.Phase != "" {
			return "something was done to it"
		}
		return ""
	})
	w := annotated.writes()
	members := annotated.restarts()
	home.movesToHelm()
	annotated.settles(3, oneMinute)
	annotated.isUnrestarted(members)
	home.within(oneMinute, func(ctx context.Context) error { return env.KillOperator(ctx, home.ns) })
	annotated.losesPods(annotated.follower())
	annotated.settles(3, twoMinutes)

	bare.must(bare.view.WatchBackups(bare.ctx))
	st, of := bare.aStore(), harness.OfCluster(annotated.Name)
	left := bare.backup("left", w.Writer, st.at("left"), of)
	bare.backup("backup", w.Writer, st.at("backup"), of, harness.BackupClusterWide).isStored(oneMinute)
	left.stays("left alone by an operator that it is not annotated for", 3*time.Second, func(s harness.BackupState) string {
		if len(s.Jobs) > 0 || s.Backup != nil && s.Backup.Status.Phase != "" {
			return "something was done to it"
		}
		return ""
	})

	bare.must(bare.view.WatchRestores(bare.ctx))
	alone := bare.restore("alone", harness.AsTemplate(harness.Size(1)), st.at("backup").from)
	made := bare.restore("made", harness.AsTemplate(harness.Size(1), harness.ClusterWide), st.at("backup").from, harness.RestoreClusterWide)
	made.completes(twoMinutes)
	bare.existing(made.Name).isMirrored().holds(bare.snapshotAt(st.at("backup")))
	if s := alone.State(); len(s.Jobs) > 0 || s.Restore == nil || s.Restore.Status.Phase != "" {
		t.Errorf("something was done to a restore that no operator is annotated for: %+v", s)
	}
	w.lostNothing(3)
}
