package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// bucket and key are those of backup.yaml.
	bucket = "mybucket"
	key    = "example/etcd.backup"
)

// addBackups adds the backup operator and a store, which start while the show goes on.
func (s *stage) addBackups(ctx context.Context) error {
	s.say.chapter("Add the backup operator, and an S3 store")
	if err := s.kubectl(ctx, "apply", "-k", "deploy/etcd-backup-operator"); err != nil {
		return err
	}
	s.starting.Go(func() error { return s.startBackups(ctx) })
	return nil
}

// backUp makes a backup while the client writes on, and looks into it.
func (s *stage) backUp(ctx context.Context) error {
	s.say.chapter("Back up to the S3 store while the client keeps writing")
	if err := s.starting.Wait(); err != nil {
		return err
	}
	s.say.now("the backup operator and the store are ready: %s, with bucket %s", s.store.Endpoint, bucket)
	before, err := s.client.Acknowledged(ctx)
	if err != nil {
		return err
	}
	if err := s.kubectl(ctx, "apply", "-f", "e2e/demo/backup.yaml"); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "wait", "--for=condition=Complete", "etcdbk/"+name, "--timeout="+stepTimeout.String()); err != nil {
		return err
	}
	s.say.now("** the backup is complete")
	if err := s.kubectl(ctx, "get", "etcdbk"); err != nil {
		return err
	}
	snapshot, err := s.store.Object(ctx, bucket, key)
	if err != nil {
		return err
	}
	missing := snapshot.Missing(before)
	s.say.line("etcdutl reads the stored snapshot: %d keys, revision %d. Writes acknowledged before the backup that are missing: %d.",
		snapshot.Keys, snapshot.Revision, len(missing))
	if len(missing) > 0 {
		return fmt.Errorf("the backup lacks %d writes that were acknowledged before it began", len(missing))
	}
	return s.noticed(ctx)
}

// startBackups starts the store, and waits for it and the operator.
func (s *stage) startBackups(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := s.env.AwaitBackupCRD(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.env.AwaitDeployment(ctx, s.view, namespace, harness.BackupOperatorName) })
	group.Go(func() (err error) {
		s.store, err = s.env.StartStore(ctx, s.view, namespace, bucket, "")
		return err
	})
	return group.Wait()
}

// tidyBackup removes what addBackups and backUp have put there, if the show came that far.
func (s *stage) tidyBackup(ctx context.Context) error {
	if _, err := s.env.Kubectl.Run(ctx, "get", "crd", "etcdbackups."+v1beta2.GroupName); err != nil {
		return nil //nolint:nilerr // nothing was installed
	}
	for _, words := range [][]string{
		{"etcdbk", name, archived}, {"deployment", harness.BackupOperatorName, "s3", "--cascade=foreground"},
		{"service", "s3"}, {"pod", "inspect-s3"}, {"secret", harness.StoreSecret},
		{"-k", "deploy/etcd-backup-operator/base"},
	} {
		if err := s.kubectl(ctx, append(append([]string{"delete"}, words...), "--ignore-not-found")...); err != nil {
			return err
		}
	}
	return nil
}
