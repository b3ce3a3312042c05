package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

const (
	// trialName is the name of the one member of a trial.
	trialName = "trial"
	// trialKey is written to see that etcd takes writes. No user's key begins so.
	trialKey = "\x00etcd-restore-agent"
	// trialPoll is the pause before etcd is asked again, and trialAnswer how long it may take
	// to answer what takes no time.
	trialPoll, trialAnswer = 200 * time.Millisecond, 5 * time.Second
)

// expected is what etcd is to serve of a database that was rebuilt.
type expected struct {
	revision, keys int64
	// hash is the HashKV of all; known is false where no key exists, since etcd then hashes
	// what its compaction has not removed yet.
	hash  uint32
	known bool
}

// tryOut rebuilds the database as a restore does, in the folder, starts etcd on it, and
// compares what that serves with what was rebuilt. The source's own hash was compared before.
func (j *job) tryOut(ctx context.Context, dir string, f *fetched) error {
	dataDir := filepath.Join(dir, "data")
	made, err := j.assemble(ctx, f, dataDir, &task.Member{Name: trialName, PeerURL: j.settings.trialPeer, Token: j.task.UID, Bump: 1})
	if err != nil {
		return err
	}
	want := expected{revision: made.Revision, keys: made.Snapshot.TotalKeys}
	if c := made.Cut; c != nil {
		want.keys = c.TotalKeys
	}
	if want.hash, want.known, err = rebuild.HashKV(ctx, f.file, made.Revision, made.Revision); err != nil {
		return err
	}
	// Nobody but this agent can reach it, and it has nobody's password.
	if err := rebuild.DisableAuth(dataDir); err != nil {
		return err
	}
	served, err := j.serve(ctx, dataDir, made.Snapshot.DatabaseSize, want)
	if err != nil {
		return err
	}
	if c := made.Cut; c != nil && !j.task.KeepLeasedKeys { // a verification counts all
		c.TotalKeys += c.WithoutLease
	}
	j.result.Snapshot, j.result.Cut, j.result.Served = made.Snapshot, made.Cut, served
	return nil
}

// serve starts etcd on a data dir, compares what it serves, and stops it.
func (j *job) serve(ctx context.Context, dataDir string, size int64, want expected) (_ *task.Served, err error) {
	ctx, cancel := context.WithTimeout(ctx, j.settings.trial)
	defer cancel()
	etcd, err := startEtcd(ctx, j.settings.etcd, os.Stderr, etcdFlags(dataDir, j.settings.trialClient, j.settings.trialPeer, size)...)
	if err != nil {
		return nil, runner.Refuse(task.ReasonEtcdNotServing, "etcd %s cannot be run: %w: check that the etcd image has the program etcd", j.task.StartEtcd, err)
	}
	defer etcd.stop()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{j.settings.trialClient}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }() // etcd is stopped
	j.log.Info("starting etcd on the rebuilt database", "version", j.task.StartEtcd)
	version, err := j.awaitEtcd(ctx, etcd, client)
	if err != nil {
		return nil, err
	}
	j.log.Info("comparing what etcd serves with what was rebuilt", "version", version, "keys", want.keys, "revision", want.revision)
	if err := j.compareServed(ctx, client, want); err != nil {
		return nil, etcd.explain(ctx, j.task.StartEtcd, err)
	}
	j.log.Info("etcd serves what was rebuilt", "version", version)
	return &task.Served{EtcdVersion: version, TotalKeys: want.keys}, nil
}

// etcdFlags are those of a member that only this machine can reach. Its data is thrown away, so
// it waits for no disk; its quota has room for the database and for what is written to it.
func etcdFlags(dataDir, client, peer string, size int64) []string {
	return []string{
		"--name=" + trialName, "--data-dir=" + dataDir,
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + trialName + "=" + peer,
		fmt.Sprintf("--quota-backend-bytes=%d", 2*size+1<<30),
		"--unsafe-no-fsync", "--log-level=warn",
	}
}

// awaitEtcd waits until etcd has a leader, and returns its version. It reads its whole database
// before it answers.
func (j *job) awaitEtcd(ctx context.Context, etcd *process, client *clientv3.Client) (version string, err error) {
	defer runner.Narrate(j.settings.progress, func() { j.log.Info("waiting for etcd to read its database") })()
	for {
		status, err := status(ctx, client)
		if err == nil && status.Leader != 0 {
			return status.Version, nil
		}
		select {
		case <-time.After(trialPoll):
			continue
		case <-etcd.ended:
		case <-ctx.Done():
		}
		return "", etcd.explain(ctx, j.task.StartEtcd, fmt.Errorf("it has not answered within %s", j.settings.trial))
	}
}

func status(ctx context.Context, client *clientv3.Client) (*clientv3.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, trialAnswer)
	defer cancel()
	return client.Status(ctx, client.Endpoints()[0])
}

// compareServed reads all that etcd serves, and writes one key.
func (j *job) compareServed(ctx context.Context, client *clientv3.Client, want expected) error {
	all, err := client.Get(ctx, "\x00", clientv3.WithFromKey(), clientv3.WithCountOnly())
	if err != nil {
		return err
	}
	// Of a revision, etcd may answer with the hash that it has kept of its compaction there.
	hash, err := pb.NewMaintenanceClient(client.ActiveConnection()).HashKV(ctx, &pb.HashKVRequest{})
	if err != nil {
		return err
	}
	var differs []string
	if all.Count != want.keys {
		differs = append(differs, fmt.Sprintf("%d keys instead of %d", all.Count, want.keys))
	}
	if r := hash.GetHeader().GetRevision(); r != want.revision {
		differs = append(differs, fmt.Sprintf("revision %d instead of %d", r, want.revision))
	}
	if want.known && hash.GetHash() != want.hash {
		differs = append(differs, fmt.Sprintf("HashKV %d instead of %d", hash.GetHash(), want.hash))
	}
	if len(differs) > 0 {
		return runner.Refuse(task.ReasonServedDataDiffers, "etcd %s serves other data than the snapshot holds: %s; restore another snapshot, and report this with the log of this Pod", j.task.StartEtcd, strings.Join(differs, ", "))
	}
	_, err = client.Put(ctx, trialKey, "v")
	return err
}
