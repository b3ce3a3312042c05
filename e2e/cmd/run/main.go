// Command run is "go run" of a program of this module that shows how far it is: on a new machine, compiling all that
// the program needs takes minutes. Meanwhile it loads the modules of what the program is going to build.
//
//	go run ./cmd/run [-load 'FOLDER...'] ./demo
//
// It must be called in the module's folder. The program is left in the repository's bin.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
)

// timeout bounds the build, which takes six minutes on two cores with empty caches.
const timeout = time.Hour

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

func run() error {
	load := flag.String("load", "", "folders of Go modules")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("name the program's package, such as ./demo")
	}
	program, err := filepath.Abs(filepath.Join("..", "bin", filepath.Base(flag.Arg(0))))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	building, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	loading := time.AfterFunc(gobuild.Patience, func() {
		for _, folder := range strings.Fields(*load) {
			cmd := exec.CommandContext(building, "go", "mod", "download")
			cmd.Dir = folder
			_ = cmd.Run() // what it could not load, the build tells
		}
	})
	err = gobuild.Build{What: "building " + flag.Arg(0), Packages: []string{flag.Arg(0)}, Output: program, Flags: []string{"-ldflags=-s -w"}, Out: os.Stdout}.Run(building)
	loading.Stop()
	if err != nil {
		return err
	}
	stop()
	return fmt.Errorf("start %s: %w", program, syscall.Exec(program, append([]string{program}, flag.Args()[1:]...), os.Environ()))
}
