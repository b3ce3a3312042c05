package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Identity tells one process from every other that ever had its pid.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is the process's start, in clock ticks since the machine's boot (field 22 of /proc/PID/stat).
	// It stays the same through execve, so that a record made before nsenter becomes kubelet still holds.
	StartTicks uint64 `json:"startTicks"`
	// BootID is the kernel's boot id: start ticks count from the boot, so they mean nothing after another one.
	BootID string `json:"bootID"`
}

// Proc is a /proc file system; tests read a made one.
type Proc string

// SystemProc is the machine's.
const SystemProc Proc = "/proc"

// Identify returns the identity of the process that has pid now.
func (p Proc) Identify(pid int) (Identity, error) {
	stat, err := p.stat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile(filepath.Join(string(p), "sys/kernel/random/boot_id"))
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, StartTicks: stat.startTicks, BootID: strings.TrimSpace(string(boot))}, nil
}

// Alive tells whether the process still runs. A zombie doesn't: it only waits for its parent to notice.
func (p Proc) Alive(id Identity) bool {
	if id.PID <= 0 {
		return false
	}
	stat, err := p.stat(id.PID)
	if err != nil || stat.state == "Z" || stat.state == "X" {
		return false
	}
	now, err := p.Identify(id.PID)
	return err == nil && now == id
}

type stat struct {
	state      string
	startTicks uint64
}

func (p Proc) stat(pid int) (stat, error) {
	data, err := os.ReadFile(filepath.Join(string(p), strconv.Itoa(pid), "stat"))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(data))
}

// parseStat reads a line of proc(5)'s /proc/PID/stat. The second field is the program's name in parentheses, and
// may itself hold spaces and parentheses, so the fields are counted from the last one.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("no program name in %q", line)
	}
	fields := strings.Fields(line[end+1:])
	const state, startTicks = 0, 19 // proc(5)'s fields 3, which is the first after the name, and 22
	if len(fields) <= startTicks {
		return stat{}, fmt.Errorf("too few fields in %q", line)
	}
	ticks, err := strconv.ParseUint(fields[startTicks], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time in %q: %w", line, err)
	}
	return stat{state: fields[state], startTicks: ticks}, nil
}

// Find returns the living processes whose argv match accepts.
func (p Proc) Find(match func(argv []string) bool) ([]Identity, error) {
	entries, err := os.ReadDir(string(p))
	if err != nil {
		return nil, err
	}
	var found []Identity
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		cmdline, err := os.ReadFile(filepath.Join(string(p), entry.Name(), "cmdline"))
		if err != nil || len(cmdline) == 0 {
			continue // gone meanwhile, a kernel thread or a zombie
		}
		if !match(strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")) {
			continue
		}
		if id, err := p.Identify(pid); err == nil {
			found = append(found, id)
		}
	}
	return found, nil
}
