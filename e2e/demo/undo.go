package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
)

// The backup and the restore of the chapter, as undo-backup.yaml and undo.yaml call them.
const (
	afterMistake = name + "-now"
	undone       = name + "-undo"
)

// mistake deletes every key of the healthy cluster, and makes a backup after it. It keeps
// what the cluster held before.
func (s *stage) mistake(ctx context.Context) (err error) {
	s.say.chapter("Mistake: delete every key of a healthy cluster")
	if s.wanted, err = s.watcher.Cluster(ctx); err != nil {
		return err
	}
	s.say.line("The cluster is at revision %d, and holds %d keys.", s.wanted.Revision, len(s.wanted.Keys))
	if err := s.kubectl(ctx, "exec", s.cluster.Leader(), "-c", "etcd", "--", "etcdctl", "del", "--prefix", ""); err != nil {
		return err
	}
	left, err := s.watcher.Cluster(ctx)
	if err != nil {
		return err
	}
	if len(left.Keys) > 0 {
		return fmt.Errorf("%d keys are left after all were deleted", len(left.Keys))
	}
	if err := s.kubectl(ctx, "apply", "-f", "e2e/demo/undo-backup.yaml"); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "wait", "--for=condition=Complete", "etcdbk/"+afterMistake, "--timeout="+stepTimeout.String()); err != nil {
		return err
	}
	return s.kubectl(ctx, "get", "etcdbk", afterMistake, "-o",
		`jsonpath=The backup holds revisions {.status.snapshot.oldestRevision} to {.status.snapshot.revision}.{"\n"}`)
}

// undo restores the cluster to the revision before the mistake, and compares every key.
func (s *stage) undo(ctx context.Context) error {
	s.say.chapter("Undo it: restore the revision before")
	if err := s.applyAt(ctx, s.wanted.Revision, filepath.Join("e2e", "demo", "undo.yaml")); err != nil {
		return err
	}
	r := s.env.Restore(s.view, namespace, undone)
	serving, err := s.untilRestored(ctx, r, "the cluster serves the keys of that revision", harness.Restored)
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

// applyAt applies a manifest that says REVISION for a revision.
func (s *stage) applyAt(ctx context.Context, revision int64, file string) error {
	at := strconv.FormatInt(revision, 10)
	s.say.command("sed", "s/REVISION/"+at+"/", file, "| kubectl apply -f -")
	manifest, err := os.ReadFile(filepath.Join(s.env.Root, file))
	if err != nil {
		return fmt.Errorf("read the demo's manifest: %w", err)
	}
	cmd := s.env.Kubectl.Command(ctx, "-n", namespace, "apply", "-f", "-")
	cmd.Stdin = strings.NewReader(strings.Replace(string(manifest), "REVISION", at, 1))
	out, err := cmd.CombinedOutput()
	s.say.block(string(out))
	if err != nil {
		return fmt.Errorf("kubectl apply: %w", err)
	}
	return nil
}
