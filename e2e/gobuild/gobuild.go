// Package gobuild runs go build and shows how far it is: with empty caches it takes minutes.
package gobuild

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Patience is how long a build may take before it is counted what is left to do: a shorter one found most in
// the cache.
const Patience = 3 * time.Second

// waitDelay is how long a killed build's pipes may stay open before they are closed under it.
const waitDelay = 2 * time.Second

// NoDebug is the flag by which the compiler leaves out what debuggers need, which takes it a tenth of
// its time: what is stripped has none of it, nor what "go test" runs.
const NoDebug = "-gcflags=all=-dwarf=false"

// common are the flags of every build. What several programs have in common is compiled once if all are
// built with the same ones, so the Makefile has them, too.
var common = []string{"-trimpath", NoDebug}

// eager is an environment in which the compiler takes a fifth less time and more memory, 0.8 GiB for
// Kubernetes' largest package: it does not collect its garbage below one GiB. The caller's own setting counts.
var eager = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// Build is one call of go build.
type Build struct {
	// What is built, in words.
	What string
	// Dir is the folder of the module, and Env the whole environment; nil: the caller's.
	Dir string
	Env []string
	// Flags are those of go build that decide what is built, beside those of every build; Packages are
	// the packages, and Output is its -o.
	Flags, Packages []string
	Output          string
	// Out is told how far a build is that takes longer: a bar if it is a terminal, else a line
	// now and then; nil: nobody is.
	Out io.Writer
	// Bar is that of several builds, and is told instead.
	Bar *Bar
}

// Run builds. Its error has what go build said.
func (b Build) Run(ctx context.Context) error {
	bar := b.Bar
	if bar == nil {
		bar = NewBar(ctx, b.Out, b)
		defer bar.End()
	}
	bar.begin(b.What)
	defer bar.end()
	cmd := b.command(ctx, "build", "-v", "-o", b.Output)
	said := &lines{each: func(string) { bar.add() }}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Run(); err != nil {
		return b.failure(ctx, err, said.rest.String()+string(said.partial))
	}
	return nil
}

// command is go with a subcommand, its own flags, and those of the build.
func (b Build) command(ctx context.Context, sub string, own ...string) *exec.Cmd {
	args := slices.Concat([]string{sub}, own, common, b.Flags, b.Packages)
	cmd := exec.CommandContext(ctx, "go", args...)
	env := b.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = b.Dir, slices.Concat(eager, env), waitDelay
	return cmd
}

// failure says what failed, and the end of what it said.
func (b Build) failure(ctx context.Context, err error, said string) error {
	if ctx.Err() != nil {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	const most = 2000 // characters: enough for a compiler's last lines
	if said = strings.TrimSpace(said); len(said) > most {
		said = "..." + said[len(said)-most:]
	}
	return fmt.Errorf("go build %s in %s: %w\n%s", strings.Join(b.Packages, " "), b.Dir, err, said)
}

// staleFolder is go list's template for the folder of a package that is not in the cache. Of one whose program is
// there, nothing else is needed.
const staleFolder = `{{if and .Stale (ne .StaleReason "not installed but available in build cache")}}{{.Dir}}{{end}}`

// stale are the folders of the packages that are still to be compiled. It loads the modules that are missing.
func (b Build) stale(ctx context.Context) ([]string, error) {
	cmd := b.command(ctx, "list", "-deps", "-f", staleFolder)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, b.failure(ctx, err, said.String())
	}
	return strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' }), nil
}

// lines counts go build's lines that name a package, and keeps the others.
type lines struct {
	each func(pkg string)

	partial []byte
	rest    bytes.Buffer
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		n, line, err := bufio.ScanLines(l.partial, false)
		if n == 0 || err != nil {
			return len(p), err
		}
		l.take(string(line))
		l.partial = l.partial[n:]
	}
}

func (l *lines) take(line string) {
	if line == "" || strings.ContainsAny(line, " \t:") {
		fmt.Fprintln(&l.rest, line)
		return
	}
	l.each(line)
}
