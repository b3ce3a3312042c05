package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupPoll is how often a cgroup is looked at again while its processes die.
const cgroupPoll = 20 * time.Millisecond

// Cgroup is one cgroup of ours, of the same name in every hierarchy.
type Cgroup struct {
	name        string
	hierarchies []string // mount points
}

// OpenCgroup returns the cgroup with that name, which need not exist yet.
func OpenCgroup(name string) (Cgroup, error) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	return Cgroup{name: name, hierarchies: parseHierarchies(string(mounts))}, err
}

// parseHierarchies returns the mount points of cgroup v1's hierarchies and of v2's.
func parseHierarchies(mounts string) []string {
	var found []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 3 || (fields[2] != "cgroup" && fields[2] != "cgroup2") {
			continue
		}
		if point := unescape(fields[1]); !slices.Contains(found, point) {
			found = append(found, point)
		}
	}
	return found
}

// Create makes the cgroup in every hierarchy. In cgroup v1 a new cpuset is empty, and takes no process until it is told
// which processors and memory it has: those of its parent.
func (c Cgroup) Create() error {
	if len(c.hierarchies) == 0 {
		return errors.New("no cgroup file system is mounted: Kubernetes cannot run on this machine")
	}
	for _, hierarchy := range c.hierarchies {
		dir := filepath.Join(hierarchy, c.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(filepath.Join(hierarchy, file), filepath.Join(dir, file)); err != nil {
				return err
			}
		}
	}
	return nil
}

func inherit(from, to string) error {
	parent, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not the cpuset hierarchy, or v2's root, whose children inherit by themselves
	}
	if err != nil {
		return err
	}
	now, err := os.ReadFile(to)
	if err != nil || strings.TrimSpace(string(now)) != "" {
		return err
	}
	return os.WriteFile(to, parent, 0o644)
}

// Kill ends every process in the cgroup and below it, at once.
func (c Cgroup) Kill(ctx context.Context) error {
	for {
		pids, err := c.pids()
		if err != nil || len(pids) == 0 {
			return err
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes %v of cgroup %s are still there after SIGKILL: %w", pids, c.name, ctx.Err())
		case <-time.After(cgroupPoll):
		}
	}
}

func (c Cgroup) pids() ([]int, error) {
	var pids []int
	err := c.walk(func(dir string) error {
		data, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			return ignoreGone(err)
		}
		for field := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 && !slices.Contains(pids, pid) && !zombie(pid) {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids, err
}

// zombie tells whether the process is dead and only waits for its parent, which may take its time.
func zombie(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	end := strings.LastIndexByte(string(data), ')')
	return end >= 0 && strings.HasPrefix(string(data[end+1:]), " Z")
}

// Remove removes the cgroup and those below it. It must hold no process.
func (c Cgroup) Remove(ctx context.Context) error {
	for {
		err := c.remove()
		if err == nil {
			return nil
		}
		select { // a dying process keeps its cgroup for a moment
		case <-ctx.Done():
			return fmt.Errorf("removing cgroup %s: %w", c.name, err)
		case <-time.After(cgroupPoll):
		}
	}
}

func (c Cgroup) remove() error {
	var dirs []string
	err := c.walk(func(dir string) error {
		dirs = append(dirs, dir)
		return nil
	})
	if err != nil {
		return err
	}
	for _, dir := range slices.Backward(dirs) {
		if err := ignoreGone(unix.Rmdir(dir)); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// walk visits the cgroup and those below it, parents first.
func (c Cgroup) walk(visit func(dir string) error) error {
	for _, hierarchy := range c.hierarchies {
		err := filepath.WalkDir(filepath.Join(hierarchy, c.name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return ignoreGone(err)
			}
			if !entry.IsDir() {
				return nil
			}
			return visit(path)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
