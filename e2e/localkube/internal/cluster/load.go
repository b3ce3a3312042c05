package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Load gives the images in the tars to every node, and to the nodes that are yet to come.
func (c Cluster) Load(ctx context.Context, tars []string) error {
	return c.locked(ctx, "load", LoadTimeout, func(ctx context.Context) error {
		nodes, err := c.nodes()
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			return errNotUp
		}
		var kept []string
		for _, tar := range tars {
			path, err := c.keep(tar)
			if err != nil {
				return err
			}
			kept = append(kept, path)
		}
		group, ctx := errgroup.WithContext(ctx)
		for _, n := range nodes {
			if dir := c.Layout.Node(n); !stopped(dir) { // a stopped node gets them when it starts
				group.Go(func() error { return c.importAll(ctx, dir, kept) })
			}
		}
		if err := group.Wait(); err != nil {
			return err
		}
		c.Log.Printf("loaded %s", strings.Join(tars, ", "))
		return nil
	})
}

// keep copies the tar to where later nodes find it, in place of an earlier one with the same images.
func (c Cluster) keep(tar string) (path string, err error) {
	refs, err := image.Refs(tar)
	if err != nil {
		return "", err
	}
	path = filepath.Join(c.Layout.Loaded(), keptName(refs))
	in, err := os.Open(tar)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.Create(path + ".tmp")
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(out, in); err != nil {
		return "", errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return "", err
	}
	return path, os.Rename(path+".tmp", path)
}

// keptName is the same for the same image names.
func keptName(refs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(refs, "\n")))
	return fmt.Sprintf("%x.tar", sum[:8])
}

// loaded returns the tars that were loaded into this cluster.
func (c Cluster) loaded() ([]string, error) {
	return filepath.Glob(filepath.Join(c.Layout.Loaded(), "*.tar"))
}

// importers is how many images a node takes at a time.
const importers = 2

// importAll gives the tars' images to one node's containerd, unless it has them.
func (c Cluster) importAll(ctx context.Context, dir topology.NodeLayout, tars []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(importers)
	for _, tar := range tars {
		group.Go(func() error { return importOne(ctx, dir, tar) })
	}
	return group.Wait()
}

func importOne(ctx context.Context, dir topology.NodeLayout, tar string) error {
	mark, err := markOf(tar)
	if err != nil {
		return err
	}
	mark = filepath.Join(dir.Imported(), mark)
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		return err // nil if it has them
	}
	if _, err := shell.Run(ctx, "ctr", "--address", dir.Socket(), "--namespace", "k8s.io", "images", "import", tar); err != nil {
		return err
	}
	return os.WriteFile(mark, nil, 0o600)
}

// markOf names a tar by its path, size and time: the tars in question are only ever replaced by renaming.
func markOf(tar string) (string, error) {
	info, err := os.Stat(tar)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", tar, info.Size(), info.ModTime().UnixNano()))
	return fmt.Sprintf("%x", sum[:8]), nil
}
