// Command run is "go run" of a program of this module that shows how far it is: on a new machine, compiling all that
// the program needs takes minutes.
//
//	go run ./cmd/run ./demo
//
// It must be called in the module's folder. The program is left in the repository's bin.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name the program's package, such as ./demo")
	}
	program, err := filepath.Abs(filepath.Join("..", "bin", filepath.Base(args[0])))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err = gobuild.Build{What: "building " + args[0], Packages: args[:1], Output: program, Flags: []string{"-ldflags=-s -w"}, Out: os.Stdout}.Run(ctx)
	if err != nil {
		return err
	}
	stop()
	return fmt.Errorf("start %s: %w", program, syscall.Exec(program, append([]string{program}, args[1:]...), os.Environ()))
}
