// Package build makes the programs of the cluster from Go modules, once: the output lies in the user's cache folder
// under a key made of everything that it depends on, so that a fresh clone finds it, and a changed go.mod doesn't.
//
// An output folder is written under another name and renamed when it is complete: an interrupted build leaves nothing
// that a later one could take for its result.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/lockfile"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
)

// formatVersion is part of every key: raise it when the same inputs are to give another output.
const formatVersion = "1"

const (
	// parallel is go build's -p. Each compiler of Kubernetes' largest packages takes a GiB or more.
	parallel = "2"
	// stepTimeout bounds one go build: the largest takes 12 minutes on two cores.
	stepTimeout = 45 * time.Minute
)

// Builder makes outputs.
type Builder struct {
	Source string // see FindSource
	Cache  string // see CacheDir
	Log    *progress.Log

	bar *gobuild.Bar
}

// Output is a finished build.
type Output struct {
	Recipe Recipe
	Key    string
	Dir    string
}

// Bin is the folder of the programs.
func (o Output) Bin() string { return filepath.Join(o.Dir, "bin") }

// CacheDir is where outputs are kept.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: set HOME or XDG_CACHE_HOME: %w", err)
	}
	return filepath.Join(dir, "etcd-operators", "localkube"), nil
}

// Together is a builder that shows how far all of some recipes are together, until end is called.
func (b Builder) Together(ctx context.Context, recipes ...Recipe) (together Builder, end func(), err error) {
	var missing []gobuild.Build
	for _, recipe := range recipes {
		out, err := b.output(recipe)
		if err != nil {
			return b, nil, err
		}
		if done(out) {
			continue
		}
		for i := range recipe.Steps {
			missing = append(missing, b.stepOf(out, i))
		}
	}
	b.bar = gobuild.NewBar(ctx, b.Log.Out(), missing...)
	return b, b.bar.End, nil
}

// output is what a recipe gives, built or not.
func (b Builder) output(recipe Recipe) (Output, error) {
	module := b.module(recipe)
	key, err := Key(os.DirFS(module), recipe)
	if err != nil {
		return Output{}, fmt.Errorf("reading %s: %w", module, err)
	}
	return Output{Recipe: recipe, Key: key, Dir: filepath.Join(b.Cache, fmt.Sprintf("%s-%s-%s", recipe.Name, recipe.Version, key))}, nil
}

func (b Builder) module(recipe Recipe) string { return filepath.Join(b.Source, recipe.Module) }

// Ensure returns the recipe's output, building it first if it isn't there.
func (b Builder) Ensure(ctx context.Context, recipe Recipe) (Output, error) {
	out, err := b.output(recipe)
	if err != nil || done(out) {
		return out, err
	}
	lock, err := lockfile.Acquire(ctx, out.Dir+".lock", "localkube build", func(holder string) {
		b.Log.Printf("waiting for %s to build %s %s", holder, recipe.Name, recipe.Version)
	})
	if err != nil {
		return Output{}, err
	}
	defer lock.Release()
	if done(out) {
		return out, nil
	}
	if err := b.build(ctx, out); err != nil {
		return Output{}, fmt.Errorf("building %s %s in %s: %w", recipe.Name, recipe.Version, b.module(recipe), err)
	}
	return out, nil
}

func done(out Output) bool {
	_, err := os.Stat(out.Dir)
	return err == nil
}

func (b Builder) build(ctx context.Context, out Output) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("go not found in PATH: install Go, or run as a user whose cache holds the build")
	}
	if err := os.RemoveAll(out.partial()); err != nil {
		return err
	}
	b.Log.Printf("building %s %s (once; kept in %s)", out.Recipe.Name, out.Recipe.Version, b.Cache)
	for i := range out.Recipe.Steps {
		if err := b.step(ctx, out, i); err != nil {
			return err
		}
	}
	if err := os.Rename(out.partial(), out.Dir); err != nil {
		return err
	}
	b.Log.Printf("built %s %s", out.Recipe.Name, out.Recipe.Version)
	return nil
}

// partial is the folder of an output that is not complete.
func (o Output) partial() string { return o.Dir + ".partial" }

// into is the folder of the programs of step i, until the output is complete.
func (o Output) into(i int) string { return filepath.Join(o.partial(), "bin", o.Recipe.Steps[i].Into) }

// stepOf is step i of an output's recipe.
func (b Builder) stepOf(out Output, i int) gobuild.Build {
	recipe := out.Recipe
	return gobuild.Build{
		What: fmt.Sprintf("building %s %s, part %d of %d", recipe.Name, recipe.Version, i+1, len(recipe.Steps)),
		Dir:  b.module(recipe), Env: environment(os.Environ()), Output: out.into(i) + "/", Packages: recipe.Steps[i].Packages,
		Flags: []string{"-p", parallel, "-ldflags", recipe.Steps[i].LDFlags}, Out: b.Log.Out(), Bar: b.bar,
	}
}

func (b Builder) step(ctx context.Context, out Output, i int) error {
	if err := os.MkdirAll(out.into(i), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := b.stepOf(out, i).Run(ctx); err != nil {
		return err
	}
	for from, to := range out.Recipe.Steps[i].Rename {
		if err := os.Rename(filepath.Join(out.into(i), from), filepath.Join(out.into(i), to)); err != nil {
			return err
		}
	}
	return nil
}

// environment is the caller's without what would make the output depend on it: a workspace, flags, another target.
func environment(caller []string) []string {
	env := slices.DeleteFunc(slices.Clone(caller), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GOWORK", "GOFLAGS", "CGO_ENABLED", "GOOS", "GOARCH"}, key)
	})
	return append(env, "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
}

// Key names a build by everything that its output depends on: the module's files, the recipe, and the processor.
// The Go toolchain is left out, so that a finished build serves where there is none.
func Key(module fs.FS, recipe Recipe) (string, error) {
	sum := sha256.New()
	plan, err := json.Marshal(recipe)
	if err != nil {
		return "", err
	}
	sum.Write(fmt.Appendf(nil, "%s\n%s\n%s\n", formatVersion, runtime.GOARCH, plan))
	err = fs.WalkDir(module, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".mod" && ext != ".sum" {
			return nil
		}
		content, err := fs.ReadFile(module, path)
		if err != nil {
			return err
		}
		sum.Write(fmt.Appendf(nil, "%s %x\n", path, sha256.Sum256(content)))
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:12], err
}
