package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// destroy takes a majority of the members away, with all that they have stored.
func (s *stage) destroy(ctx context.Context) error {
	s.say.chapter("Disaster: destroy two of three members and their data")
	if err := s.prepareRestore(ctx); err != nil {
		return err
	}
	lost := []string{s.cluster.Leader(), s.cluster.Follower()}
	if err := s.kubectl(ctx, "delete", "pod", lost[0], lost[1], "--force", "--grace-period=0"); err != nil {
		return err
	}
	if err := s.until(ctx, "the quorum is lost for good", harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost")); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "etcd"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return s.env.AwaitDeployment(ctx, s.view, namespace, harness.RestoreOperatorName)
}

// startWatcher starts the client that watches all keys until the end of the show.
func (s *stage) startWatcher(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	s.watcher, err = s.cluster.StartMirror(ctx, "")
	return err
}

// prepareRestore installs the restore operator, which starts meanwhile.
func (s *stage) prepareRestore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := s.kubectl(ctx, "apply", "-k", "deploy/etcd-restore-operator"); err != nil {
		return err
	}
	if err := s.env.AwaitRestoreCRD(ctx); err != nil {
		return err
	}
	return s.view.WatchRestores(ctx)
}

// restore brings the cluster back as it was backed up, and compares every key.
func (s *stage) restore(ctx context.Context) error {
	s.say.chapter("Restore the cluster from the backup")
	if err := s.kubectl(ctx, "apply", "-f", "e2e/demo/restore.yaml"); err != nil {
		return err
	}
	began := time.Now()
	r := s.env.Restore(s.view, namespace, name)
	serving, err := s.untilRestored(ctx, r, "the cluster serves the backup's data", harness.Restored)
	if err != nil {
		return err
	}
	if err := s.until(ctx, "three members are healthy", harness.Healthy(3)); err != nil {
		return err
	}
	whole := time.Since(began)
	if _, err := s.untilRestored(ctx, r, "the restore is complete", harness.RestoreCompleted); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "etcdrs"); err != nil {
		return err
	}
	s.say.line("Time from kubectl apply: %.1f s until the cluster served, %.1f s until it had three healthy members.", serving.Seconds(), whole.Seconds())
	return s.compare(ctx)
}

// untilRestored waits for the check, tells each phase, and returns how long it took.
func (s *stage) untilRestored(ctx context.Context, r *harness.Restore, what string, check harness.RestoreCheck) (time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("timed out after %s", stepTimeout))
	defer cancel()
	began := time.Now()
	seen := func(state harness.RestoreState) string {
		s.eyes.look(s.cluster.State())
		return s.eyes.onRestore(check)(state)
	}
	if err := r.Await(ctx, what, seen); err != nil {
		return 0, err
	}
	s.say.now("** %s", what)
	return time.Since(began), nil
}

// compare compares what the cluster holds with what is stored.
func (s *stage) compare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	stored, err := s.store.KeysOf(ctx, bucket, key)
	if err != nil {
		return err
	}
	holds, err := s.watcher.Cluster(ctx)
	if err != nil {
		return err
	}
	if diff := holds.Diff(stored); diff != "" {
		return fmt.Errorf("the cluster's keys differ from the backup's: %s", diff)
	}
	s.say.line("All %d keys of the backup are restored, each with its value and revision. The %d writes made after the backup are not.",
		len(stored.Keys), writer.Count(s.written)-len(stored.Keys))
	return s.askTheWatcher(ctx)
}

// askTheWatcher tells what a client has seen that watched all the time.
func (s *stage) askTheWatcher(ctx context.Context) error {
	if err := s.watcher.CatchesUp(ctx); err != nil {
		return err
	}
	seen, err := s.watcher.State(ctx)
	if err != nil {
		return err
	}
	if seen != (mirror.State{Revision: seen.Revision, Keys: seen.Keys, Lists: 2, Compacted: 1}) {
		return fmt.Errorf("unexpected state of the client that watched through the restore: %+v", seen)
	}
	s.say.line("The watching client was told that its revision is compacted, listed again, and is at revision %d: revisions never went backwards.", seen.Revision)
	return nil
}

// tidyRestore removes what restore has put there, if the show came that far.
func (s *stage) tidyRestore(ctx context.Context) error {
	if _, err := s.env.Kubectl.Run(ctx, "get", "crd", "etcdrestores."+v1beta2.GroupName); err != nil {
		return nil //nolint:nilerr // nothing was installed
	}
	for _, words := range [][]string{
		{"etcdrs", name, undone}, {"deployment", harness.RestoreOperatorName, "--cascade=foreground"},
		{"-k", "deploy/etcd-restore-operator/base"},
	} {
		if err := s.kubectl(ctx, append(append([]string{"delete"}, words...), "--ignore-not-found")...); err != nil {
			return err
		}
	}
	return nil
}
