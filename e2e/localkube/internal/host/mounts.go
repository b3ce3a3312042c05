package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Share makes dir a shared mount of itself, so that mounts under it propagate to and from pods that ask for it
// (mountPropagation), while the propagation of / stays as it is.
func Share(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mounts, err := mountsUnder(dir)
	if err != nil || slices.Contains(mounts, dir) {
		return err
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s on itself: %w", dir, err)
	}
	if err := unix.Mount("", dir, "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return fmt.Errorf("sharing the mount %s: %w", dir, err)
	}
	return nil
}

// Unmount unmounts everything at and below the folders, the innermost first.
func Unmount(ctx context.Context, folders ...string) error {
	const rounds = 5 // propagation between shared mounts can leave some for a second look
	for range rounds {
		mounts, err := mountsUnder(folders...)
		if err != nil || len(mounts) == 0 {
			return err
		}
		for _, mount := range mounts {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := unix.Unmount(mount, 0); errors.Is(err, unix.EBUSY) {
				// Detached, it is gone as soon as the last dying process lets go of it.
				_ = unix.Unmount(mount, unix.MNT_DETACH)
			}
		}
	}
	mounts, err := mountsUnder(folders...)
	if err == nil && len(mounts) > 0 {
		err = fmt.Errorf("still mounted: %s", strings.Join(mounts, ", "))
	}
	return err
}

func mountsUnder(folders ...string) ([]string, error) {
	info, err := os.ReadFile("/proc/self/mountinfo")
	return parseMounts(string(info), folders), err
}

// parseMounts returns the mount points at and below the folders, the last mounted first.
func parseMounts(info string, folders []string) []string {
	var mounts []string
	for line := range strings.Lines(info) {
		fields := strings.Fields(line)
		const mountPoint = 4 // proc(5): ID, parent, device, root, mount point
		if len(fields) <= mountPoint {
			continue
		}
		point := unescape(fields[mountPoint])
		if slices.ContainsFunc(folders, func(f string) bool { return point == f || strings.HasPrefix(point, f+"/") }) {
			mounts = append(mounts, point)
		}
	}
	slices.Reverse(mounts)
	return mounts
}

// unescape undoes proc(5)'s octal escapes of blanks.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
