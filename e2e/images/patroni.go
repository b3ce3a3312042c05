package images

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
)

const (
	// Patroni is the image of Patroni with PostgreSQL, made of Debian's packages. It is for tests.
	Patroni = "registry.local/patroni:debian"
	// debianRelease is that of the packages: 13, with Patroni 4.0 and PostgreSQL 17.
	debianRelease = "trixie"
	// debianMirror has the packages.
	debianMirror = "http://deb.debian.org/debian"
	// debianTimeout bounds the download and the installation of all packages.
	debianTimeout = 15 * time.Minute
)

// mmdebstrap makes the root file system, as "apt-get install patroni postgresql-17 python3-etcd"
// does in an image of Debian: Debian's patroni only suggests the last, without which it can't use
// etcd. It leaves out what nobody needs there: texts, and the JIT compiler, which
// PostgreSQL loads when it is there, and which is as large as all the rest.
var mmdebstrap = []string{
	"mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--include=patroni,postgresql-17,python3-etcd,python3-psycopg2",
	`--aptopt=APT::Install-Recommends "false"`, "--dpkgopt=force-unsafe-io",
	"--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*",
	"--dpkgopt=path-exclude=/usr/share/locale/*", "--dpkgopt=path-exclude=/usr/share/i18n/*",
	"--dpkgopt=path-exclude=/usr/lib/*/libLLVM*", "--dpkgopt=path-exclude=/usr/lib/*/libz3*",
	"--dpkgopt=path-exclude=/usr/lib/postgresql/*/bitcode/*", "--skip=output/dev",
	// Patroni makes the database, not the package.
	`--essential-hook=mkdir -p "$1/etc/postgresql-common" && echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.conf"`,
	debianRelease,
}

// BuildPatroni makes the image Patroni in root/out/images. Its packages are fetched once: the file
// system is kept in the user's cache folder, for as long as what is in it does not change.
func BuildPatroni(ctx context.Context, root string) (Image, error) {
	fileSystem, err := debianRoot(ctx)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", Patroni, err)
	}
	tar := filepath.Join(root, "out", "images", "patroni.tar")
	// The key of the file system is in its name.
	key := Patroni + " " + filepath.Base(fileSystem)
	if upToDate(tar, key) {
		return Image{Ref: Patroni, Tar: tar}, nil
	}
	if err := image.Write(ctx, tar, Patroni, image.Spec{Root: fileSystem, User: "postgres"}); err != nil {
		return Image{}, err
	}
	return Image{Ref: Patroni, Tar: tar, Changed: true}, os.WriteFile(keyFile(tar), []byte(key), 0o644)
}

// debianRoot is the tar with the root file system.
func debianRoot(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: set HOME or XDG_CACHE_HOME: %w", err)
	}
	key := sha256.Sum256([]byte(strings.Join(slices.Concat(mmdebstrap, []string{debianMirror}), "\n")))
	tar := filepath.Join(cache, "etcd-operators", "debian", fmt.Sprintf("patroni-%x.tar", key[:8]))
	if _, err := os.Stat(tar); !errors.Is(err, fs.ErrNotExist) {
		return tar, err
	}
	if _, err := exec.LookPath(mmdebstrap[0]); err != nil {
		return "", errors.New("mmdebstrap is missing: install Debian's package of that name")
	}
	if err := os.MkdirAll(filepath.Dir(tar), 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, debianTimeout)
	defer cancel()
	part := fmt.Sprintf("%s.%d.tar", tar, os.Getpid()) // its name tells mmdebstrap to write a tar
	argv := slices.Concat(mmdebstrap, []string{part, debianMirror})
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it clears up
	cmd.WaitDelay = time.Minute
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, output), os.RemoveAll(part))
	}
	return tar, os.Rename(part, tar)
}
