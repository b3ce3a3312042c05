package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
)

// The EtcdBackup and the EtcdRestore of the chapter, as archive.yaml and undo.yaml call them.
const (
	archived = name + "-archive"
	undone   = name + "-undo"
)

// surelyAfter is how long after a write a restore by time surely has it: see docs/tasks/point-in-time.md.
const surelyAfter = 3 * time.Second

// record has every change recorded from now on, one that comes after the snapshot among them.
func (s *stage) record(ctx context.Context) error {
	s.say.chapter("Record every change in the same store")
	if err := s.view.WatchBackups(ctx); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "apply", "-f", "e2e/demo/archive.yaml"); err != nil {
		return err
	}
	if err := s.untilRecorded(ctx, "the first snapshot is stored, and changes are recorded", time.Now()); err != nil {
		return err
	}
	if err := s.etcdctl(ctx, "put", "after-the-snapshot", "recorded"); err != nil {
		return err
	}
	s.second = time.Now().UTC().Truncate(time.Second).Add(surelyAfter)
	return nil
}

// mistake deletes every key of the healthy cluster, some seconds after the last write. It keeps what the
// cluster held before.
func (s *stage) mistake(ctx context.Context) (err error) {
	s.say.chapter("Mistake: delete every key of a healthy cluster")
	if s.wanted, err = s.watcher.Cluster(ctx); err != nil {
		return err
	}
	s.say.line("The cluster is at revision %d, and holds %d keys.", s.wanted.Revision, len(s.wanted.Keys))
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(s.second)):
	}
	if err := s.etcdctl(ctx, "del", "--prefix", ""); err != nil {
		return err
	}
	left, err := s.watcher.Cluster(ctx)
	if err != nil {
		return err
	}
	if len(left.Keys) > 0 {
		return fmt.Errorf("%d keys are left after all were deleted", len(left.Keys))
	}
	if err := s.untilRecorded(ctx, "both are recorded, that write and the mistake", time.Now()); err != nil {
		return err
	}
	return s.kubectl(ctx, "get", "etcdbk", archived, "-o",
		`jsonpath=The archive holds revisions {.status.archive.oldestRevision} to {.status.archive.revision}, and all until {.status.archive.recoveryTime}.{"\n"}`)
}

// undo restores the cluster to the second before the mistake, and compares every key.
func (s *stage) undo(ctx context.Context) error {
	s.say.chapter("Undo it: restore the second before")
	if err := s.applyAt(ctx, s.second.Format(time.RFC3339), filepath.Join("e2e", "demo", "undo.yaml")); err != nil {
		return err
	}
	r := s.env.Restore(s.view, namespace, undone)
	serving, err := s.untilRestored(ctx, r, "the cluster serves the keys of that second", harness.Restored)
	if err != nil {
		return err
	}
	if _, err := s.untilRestored(ctx, r, "the restore is complete", harness.RestoreCompleted); err != nil {
		return err
	}
	if err := s.until(ctx, "three members are healthy", harness.Healthy(3)); err != nil {
		return err
	}
	var holds mirror.Content
	if holds, err = s.watcher.Cluster(ctx); err != nil {
		return err
	}
	if diff := holds.Diff(s.wanted); diff != "" {
		return fmt.Errorf("the cluster's keys differ from those before the mistake: %s", diff)
	}
	s.say.line("All %d keys are back after %.1f s, each with its value and revision.", len(holds.Keys), serving.Seconds())
	return nil
}

// untilRecorded waits until whatever was acknowledged by then is stored.
func (s *stage) untilRecorded(ctx context.Context, what string, then time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	err := s.env.Backup(s.view, namespace, archived).Await(ctx, what, func(state harness.BackupState) string {
		if state.Backup == nil || state.Backup.Status.Archive == nil || state.Backup.Status.Archive.RecoveryTime == nil {
			return "nothing is recorded"
		}
		if at := state.Backup.Status.Archive.RecoveryTime; !at.After(then) {
			return fmt.Sprintf("what was written until %s is recorded", at)
		}
		return ""
	})
	if err == nil {
		s.say.now("** %s", what)
	}
	return err
}

// etcdctl runs it in the leader's Pod.
func (s *stage) etcdctl(ctx context.Context, words ...string) error {
	return s.kubectl(ctx, append([]string{"exec", s.cluster.Leader(), "-c", "etcd", "--", "etcdctl"}, words...)...)
}

// applyAt applies a manifest that says SECOND for a second.
func (s *stage) applyAt(ctx context.Context, second, file string) error {
	s.say.command("sed", "s/SECOND/"+second+"/", file, "| kubectl apply -f -")
	manifest, err := os.ReadFile(filepath.Join(s.env.Root, file))
	if err != nil {
		return fmt.Errorf("read the demo's manifest: %w", err)
	}
	cmd := s.env.Kubectl.Command(ctx, "-n", namespace, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Replace(string(manifest), "SECOND", second, 1))
	out, err := cmd.CombinedOutput()
	s.say.block(string(out))
	if err != nil {
		return fmt.Errorf("kubectl apply: %w", err)
	}
	return nil
}
