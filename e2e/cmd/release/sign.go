package main

import (
	"context"
	"flag"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/e2e/release"
)

// sign signs the files of the release, and its images and charts if it is told of their registry.
func sign(ctx context.Context, fs *flag.FlagSet, root string, out *string, args []string) error {
	s := &release.Signer{Cosign: filepath.Join(root, "bin/cosign")}
	fs.StringVar(&s.Key, "key", "", "file of a private key, whose password is in COSIGN_PASSWORD; default: keyless")
	registry := fs.String("registry", "", "where the images and charts are published, such as ghcr.io/etcd-operators; default: sign the files only")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := s.Sign(ctx, *out); err != nil || *registry == "" {
		return err
	}
	return s.SignPublished(ctx, *out, *registry)
}
