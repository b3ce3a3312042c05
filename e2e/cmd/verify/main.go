// Command verify finds modules in the module cache that were changed since they were loaded, as "go mod verify" does,
// for all modules of a repository at once: what several of them require is read once, and not by each.
//
//	go run ./cmd/verify ..
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/e2e/git"
)

// timeout bounds all of it, the loading of what is missing among it.
const timeout = 30 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("name the repository's folder")
	}
	files, err := git.Run(ctx, args[0], "ls-files", "*go.mod")
	if err != nil {
		return err
	}
	cache, err := output(ctx, ".", "env", "GOMODCACHE")
	if err != nil {
		return err
	}
	sums := map[string]string{} // by folder
	for _, file := range strings.Fields(string(files)) {
		if err := required(ctx, filepath.Join(args[0], filepath.Dir(file)), sums); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for dir, sum := range sums {
		group.Go(func() error { return check(strings.TrimSpace(string(cache)), dir, sum) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("%d modules are as they were loaded\n", len(sums))
	return nil
}

// required adds the folders of the modules that a module requires, with the sums that its go.sum has.
func required(ctx context.Context, dir string, sums map[string]string) error {
	out, err := output(ctx, dir, "mod", "download", "-json")
	if err != nil {
		return err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var loaded struct{ Dir, Sum string }
		if err := decoder.Decode(&loaded); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go mod download in %s: %w", dir, err)
		}
		sums[loaded.Dir] = loaded.Sum
	}
}

// check compares a module's folder in the cache with its sum.
func check(cache, dir, sum string) error {
	name, err := filepath.Rel(cache, dir)
	if err != nil {
		return err
	}
	escaped, version, _ := strings.Cut(name, "@")
	path, err := module.UnescapePath(escaped)
	if err != nil {
		return err
	}
	if version, err = module.UnescapeVersion(version); err != nil {
		return err
	}
	is, err := dirhash.HashDir(dir, path+"@"+version, dirhash.Hash1)
	if err != nil {
		return err
	}
	if is != sum {
		return fmt.Errorf("%s was changed since it was loaded: run go clean -modcache", dir)
	}
	return nil
}

func output(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s in %s: %w\n%s", strings.Join(args, " "), dir, err, stderr.String())
	}
	return out, nil
}
