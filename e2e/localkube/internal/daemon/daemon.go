// Package daemon starts programs that outlive localkube, and finds and stops them again in a later run.
//
// Each daemon has a record in a folder: its identity (pid, start time, boot), its arguments and a fingerprint of
// its configuration. A daemon runs as it should when the recorded process is alive and was started with the same
// arguments and fingerprint; otherwise Start stops what is left of it and starts it anew. A crash between the start
// of a process and the writing of its record leaves a process without a record: Strays finds those.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Spec says how a daemon is to run.
type Spec struct {
	Name string
	Argv []string
	Env  []string // whole environment; nil: the caller's
	// Fingerprint changes when the daemon must be restarted though its arguments stay: say, a configuration file's hash.
	Fingerprint string
	LogPath     string
	// Before runs right before the process starts, when no earlier one runs any more; nil: nothing.
	Before func(context.Context) error
}

// Record is what is remembered of a started daemon.
type Record struct {
	Identity
	Argv        []string  `json:"argv"`
	Fingerprint string    `json:"fingerprint"`
	Started     time.Time `json:"started"`
}

// Dir is the folder that holds the records.
type Dir string

const (
	poll = 20 * time.Millisecond
	// killGrace is how long a daemon has to end after SIGTERM. All of them survive a crash; an API server without its
	// etcd takes as long as it is given.
	killGrace = 3 * time.Second
	// deathTime is how long the kernel may take to end a process after SIGKILL.
	deathTime = 10 * time.Second
)

// Start makes the daemon run as spec says, and tells whether it had to be (re)started.
func (d Dir) Start(ctx context.Context, spec Spec) (started bool, err error) {
	record, err := d.Read(spec.Name)
	if err != nil {
		return false, err
	}
	if record != nil && SystemProc.Alive(record.Identity) {
		if slices.Equal(record.Argv, spec.Argv) && record.Fingerprint == spec.Fingerprint {
			return false, nil
		}
		if err := d.Stop(ctx, spec.Name); err != nil {
			return false, err
		}
	}
	if spec.Before != nil {
		if err := spec.Before(ctx); err != nil {
			return false, fmt.Errorf("before starting %s: %w", spec.Name, err)
		}
	}
	id, err := spawn(spec)
	if err != nil {
		return false, fmt.Errorf("starting %s: %w", spec.Name, err)
	}
	return true, d.write(spec.Name, Record{Identity: id, Argv: spec.Argv, Fingerprint: spec.Fingerprint, Started: time.Now()})
}

// spawn starts the process in a session of its own, so that no signal to localkube's terminal or group reaches it.
func spawn(spec Spec) (Identity, error) {
	log, err := os.OpenFile(spec.LogPath, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return Identity{}, err
	}
	defer func() { _ = log.Close() }() // the daemon has its own descriptor of it
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Env, "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return Identity{}, err
	}
	id, err := SystemProc.Identify(cmd.Process.Pid)
	if err != nil {
		return Identity{}, errors.Join(err, cmd.Process.Kill())
	}
	return id, cmd.Process.Release()
}

// Running returns the daemon's record if it is alive, or nil.
func (d Dir) Running(name string) (*Record, error) {
	record, err := d.Read(name)
	if err != nil || record == nil || !SystemProc.Alive(record.Identity) {
		return nil, err
	}
	return record, nil
}

// Stop asks the daemon to end, kills it if it doesn't within three seconds, and forgets it. No daemon is no error.
func (d Dir) Stop(ctx context.Context, name string) error {
	return d.end(ctx, name, syscall.SIGTERM)
}

// Kill ends the daemon at once, as a machine that loses its power does, and forgets it.
func (d Dir) Kill(ctx context.Context, name string) error {
	return d.end(ctx, name, syscall.SIGKILL)
}

func (d Dir) end(ctx context.Context, name string, signal syscall.Signal) error {
	record, err := d.Read(name)
	if err != nil || record == nil {
		return err
	}
	if err := End(ctx, record.Identity, signal); err != nil {
		return fmt.Errorf("stopping %s: %w", name, err)
	}
	return os.Remove(d.path(name))
}

// End sends the signal, then SIGKILL if that wasn't enough, and returns when the process is gone.
func End(ctx context.Context, id Identity, signal syscall.Signal) error {
	if signal != syscall.SIGKILL && SystemProc.Alive(id) {
		_ = syscall.Kill(id.PID, signal)
		if gone(ctx, id, killGrace) {
			return nil
		}
	}
	if !SystemProc.Alive(id) {
		return nil
	}
	_ = syscall.Kill(id.PID, syscall.SIGKILL)
	if !gone(ctx, id, deathTime) {
		return fmt.Errorf("process %d is still there after SIGKILL", id.PID)
	}
	return nil
}

func gone(ctx context.Context, id Identity, within time.Duration) bool {
	deadline := time.Now().Add(within)
	for SystemProc.Alive(id) {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return false
		}
		time.Sleep(poll)
	}
	return true
}

// Names returns the names of all recorded daemons, sorted.
func (d Dir) Names() ([]string, error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".json"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// Read returns the daemon's record, or nil if there is none. A record that can't be read counts as none: it is
// written by rename, so only a foreign hand can have broken it, and Strays still finds its process.
func (d Dir) Read(name string) (*Record, error) {
	data, err := os.ReadFile(d.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return &record, nil
}

func (d Dir) write(name string, record Record) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	temporary := d.path(name) + ".tmp"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, d.path(name))
}

func (d Dir) path(name string) string { return filepath.Join(string(d), name+".json") }

// Strays returns living processes of the named programs with an argument that names something in one of the folders.
// programs are base names of argv[0]; folders are absolute paths.
func Strays(programs, folders []string) ([]Identity, error) {
	return SystemProc.Find(func(argv []string) bool { return isOurs(argv, programs, folders) })
}

func isOurs(argv, programs, folders []string) bool {
	if !slices.Contains(programs, filepath.Base(argv[0])) {
		return false
	}
	for _, arg := range argv[1:] {
		for _, folder := range folders {
			if strings.Contains(arg, folder+"/") {
				return true
			}
		}
	}
	return false
}
