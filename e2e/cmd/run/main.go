// Command run is "go run" of a program of this module that shows how far it is: on a new machine, compiling all that
// the program needs takes minutes. Meanwhile it loads the modules of what the program is going to build. With
// -localkube it fails at once if the program would bring up localkube and cannot.
//
//	go run ./cmd/run [-localkube] [-load 'FOLDER...'] ./demo
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
	"github.com/etcd-operators/etcd-operators/e2e/localkube/rootcheck"
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
	localkube := flag.Bool("localkube", false, "the program brings up localkube, unless KUBECONFIG names a cluster")
	flag.Parse()
	if flag.NArg() == 0 {
		return errors.New("name the program's package, such as ./demo")
	}
	if *localkube {
		if err := rootcheck.Check(); err != nil {
			return err
		}
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
