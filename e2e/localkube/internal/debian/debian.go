// Package debian gets from Debian's archive what doesn't come from Go modules: the container runtime, the tools for
// the network, and a static busybox.
package debian

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/progress"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
)

// installTimeout bounds one call of apt-get, downloads included.
const installTimeout = 10 * time.Minute

// needed maps a package to a program that shows that it, or something as good, is there.
var needed = map[string]string{
	"containerd": "containerd",
	"runc":       "runc",
	"iptables":   "iptables",
	"nftables":   "nft",
	"iproute2":   "ip",
	"util-linux": "nsenter",
}

// policyPath is invoke-rc.d(8)'s script that decides whether an installed package may start its daemon.
const policyPath = "/usr/sbin/policy-rc.d"

// Ensure installs what is missing, without letting the packages start their daemons.
func Ensure(ctx context.Context, log *progress.Log) error {
	missing := missing(needed, func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	})
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("apt-get not found: install the packages that provide %s", strings.Join(missing, ", "))
	}
	log.Printf("installing Debian packages: %s", strings.Join(missing, " "))
	undo, err := forbidDaemons()
	if err != nil {
		return err
	}
	_, err = aptGet(ctx, "", append([]string{"install", "--no-install-recommends"}, missing...)...)
	return errors.Join(err, undo())
}

func missing(needed map[string]string, has func(program string) bool) []string {
	var packages []string
	for name, program := range needed {
		if !has(program) {
			packages = append(packages, name)
		}
	}
	slices.Sort(packages)
	return packages
}

// forbidDaemons puts a policy-rc.d in place unless the machine has its own, and returns what takes it away again.
func forbidDaemons() (undo func() error, err error) {
	nothing := func() error { return nil }
	file, err := os.OpenFile(policyPath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nothing, nil
	}
	if err != nil {
		return nothing, err
	}
	const forbidden = 101 // invoke-rc.d(8): action forbidden by policy
	_, err = fmt.Fprintf(file, "#!/bin/sh\nexit %d\n", forbidden)
	return func() error { return os.Remove(policyPath) }, errors.Join(err, file.Close())
}

// Busybox puts Debian's static busybox at path, unless it is there already. Nothing is installed.
func Busybox(ctx context.Context, path string, log *progress.Log) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	log.Printf("fetching Debian's busybox-static")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "busybox-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a leftover in a cache folder harms nobody
	if _, err := aptGet(ctx, dir, "download", "busybox-static"); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("apt-get download busybox-static gave %v: %w", archives, err)
	}
	if _, err := shell.Run(ctx, "dpkg", "-x", archives[0], filepath.Join(dir, "x")); err != nil {
		return err
	}
	for _, inside := range []string{"bin/busybox", "usr/bin/busybox"} {
		if err := os.Rename(filepath.Join(dir, "x", inside), path); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s holds no busybox", filepath.Base(archives[0]))
}

// aptGet runs apt-get in dir; if it fails, the package lists may be missing or old, so it gets them and tries again.
func aptGet(ctx context.Context, dir string, args ...string) (string, error) {
	run := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, installTimeout)
		defer cancel()
		env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		// _apt may not write into dir; as root, apt-get only warns about that.
		argv := append([]string{"apt-get", "-q", "-y", "-o", "APT::Sandbox::User=root", "-o", "DPkg::Lock::Timeout=300"}, args...)
		return shell.Cmd{Argv: argv, Dir: dir, Env: env}.Run(ctx)
	}
	if out, err := run(args...); err == nil {
		return out, nil
	}
	if _, err := run("update"); err != nil {
		return "", err
	}
	return run(args...)
}
