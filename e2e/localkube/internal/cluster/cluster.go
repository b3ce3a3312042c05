// Package cluster brings up, changes and takes down the one Kubernetes cluster of this machine.
//
// Every step first looks at what is there and does only what is missing, so that a command that was interrupted, or a
// cluster whose processes were killed, is mended by running `up` again. Nothing is kept in memory between commands:
// the truth is the processes, mounts and interfaces themselves, and small files in the state folder.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/build"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/daemon"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/lockfile"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Time limits of whole commands, an order of magnitude above what they take.
const (
	UpTimeout   = 5 * time.Minute // without building
	DownTimeout = 2 * time.Minute
	LoadTimeout = 5 * time.Minute
	NodeTimeout = 2 * time.Minute
	// lockTimeout is how long a command waits for another one, which may be building nothing: builds have locks of
	// their own.
	lockTimeout = 5 * time.Minute
)

// Cluster is the machine's cluster, up or not.
type Cluster struct {
	Layout topology.Layout
	Log    *progress.Log
}

// New returns the machine's cluster.
func New(log *progress.Log) Cluster {
	return Cluster{Layout: topology.SystemLayout, Log: log}
}

// CheckRoot says what to do if this process may not change the machine.
func CheckRoot() error {
	if os.Geteuid() != 0 {
		return errors.New("localkube must run as root: it creates network namespaces, mounts and cgroups")
	}
	return nil
}

// locked runs do while no other command changes the cluster.
func (c Cluster) locked(ctx context.Context, command string, timeout time.Duration, do func(context.Context) error) error {
	if err := CheckRoot(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	lock, err := lockfile.Acquire(waiting, c.Layout.Lock, "localkube "+command, func(holder string) {
		c.Log.Printf("waiting for %s", holder)
	})
	if err != nil {
		return err
	}
	defer lock.Release()
	ctx, cancelDo := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("localkube %s took longer than %s", command, timeout))
	defer cancelDo()
	return do(ctx)
}

func (c Cluster) daemons() daemon.Dir { return daemon.Dir(c.Layout.Daemons()) }

// nodes returns the nodes that the cluster has, running or not, in order.
func (c Cluster) nodes() ([]topology.Node, error) {
	var nodes []topology.Node
	for _, n := range topology.All() {
		_, err := os.Stat(c.Layout.Node(n).State)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// builder returns what builds the cluster's programs.
func (c Cluster) builder() (build.Builder, error) {
	source, err := build.FindSource()
	if err != nil {
		return build.Builder{}, err
	}
	cache, err := build.CacheDir()
	if err != nil {
		return build.Builder{}, err
	}
	return build.Builder{Source: source, Cache: cache, Log: c.Log}, nil
}

// put writes the file only if its text changes: kube-proxy ends when its configuration is rewritten.
func put(path, text string) error {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// putAll writes several files.
func putAll(files map[string]string) error {
	for path, text := range files {
		if err := put(path, text); err != nil {
			return err
		}
	}
	return nil
}
