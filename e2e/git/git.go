// Package git runs git, and exports commits.
package git

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Export writes the files of a commit of the repository at root to a folder.
func Export(ctx context.Context, root, hash, to string) error {
	text, err := Run(ctx, root, "archive", "--format=tar", hash)
	if err != nil {
		return err
	}
	return unpack(bytes.NewReader(text), to)
}

// Run runs git in a folder, and returns what it prints.
func Run(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", root}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

// unpack writes the folders, files and links of a tar to a new folder.
func unpack(from io.Reader, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	for entries := tar.NewReader(from); ; {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeXGlobalHeader:
		case tar.TypeDir:
			if err := root.MkdirAll(filepath.Clean(h.Name), 0o755); err != nil {
				return err
			}
		case tar.TypeReg:
			content, err := io.ReadAll(entries)
			if err != nil {
				return err
			}
			if err := root.WriteFile(h.Name, content, h.FileInfo().Mode().Perm()); err != nil {
				return err
			}
		case tar.TypeSymlink:
			if err := root.Symlink(h.Linkname, filepath.Clean(h.Name)); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s is not a file, a folder or a link", h.Name)
		}
	}
}
