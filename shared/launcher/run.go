package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// readHeaderTimeout bounds what a client that sends nothing can hold open.
const readHeaderTimeout = 5 * time.Second

// longestWait is how late a launcher may start etcd: the kubelet holds the liveness probe off for
// half an hour from the start of the container, and most of that is for etcd to open its
// database. A container that has run for so long is also started again without a pause.
const longestWait = 10 * time.Minute

// Options say where a launcher finds what it needs. All are required, but for Checks, Restore,
// LongestWait and those of its identity: a launcher without them does not say who it is, nor does it
// check whose data it finds.
type Options struct {
	Member Member
	// ClusterUID is that of the EtcdCluster.
	ClusterUID string
	// FormerClusterUIDs are those whose volumes this EtcdCluster has adopted.
	FormerClusterUIDs []string
	// NewMember is true for a member that had not run when its Pod was created.
	NewMember bool
	// PodUIDFile is the downward API file that holds the Pod's uid.
	PodUIDFile string
	// DataDir is etcd's --data-dir.
	DataDir string
	// PermitFile is the downward API file that holds the [StartPermit].
	PermitFile string
	// UsedFile records the last attempt used. It must live as long as the Pod,
	// no shorter (a used permit could start etcd again) and no longer.
	UsedFile string
	// Listen is the address of etcd's metrics listener.
	Listen string
	// Command is etcd's command line without the flags that a start adds. Flags that
	// name a file may name several places for it: see [Or].
	Command []string
	// Checks are those for corruption that etcd is to make.
	Checks Checks
	// Restore is set for the seed of a restore.
	Restore *Restore
	// LongestWait is after how long the launcher leaves the start of etcd to another one, in
	// its container started anew; 0: never.
	LongestWait time.Duration

	Log *slog.Logger
}

func (o Options) validate() error {
	for _, f := range []struct{ flag, value string }{
		{"--name", o.Member.Name}, {"--peer-url", o.Member.PeerURL}, {"--data-dir", o.DataDir},
		{"--permit-file", o.PermitFile}, {"--used-file", o.UsedFile}, {"--listen", o.Listen},
	} {
		if f.value == "" {
			return fmt.Errorf("%s is empty", f.flag)
		}
	}
	if len(o.Command) == 0 {
		return errors.New("no command: write it after --, as in -- etcd --name=…")
	}
	if o.Restore != nil {
		return o.Restore.validate()
	}
	return nil
}

// Run waits until etcd may start and then becomes etcd: on success it does not
// return. It returns nil when ctx is done first, or when it has waited for too long.
//
// An error means that the launcher cannot tell what is right, because a file
// that it must trust cannot be read or written. It never starts etcd then.
func Run(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	bin, err := exec.LookPath(o.Command[0])
	if err != nil {
		return fmt.Errorf("find the command: %w", err)
	}
	begun, l := time.Now(), New(o)
	for {
		d, err := o.next(ctx, &l)
		if err != nil {
			return err
		}
		// Before the permit is used up: it is good for the start that succeeds.
		argv, env, err := o.etcd(ctx, bin)
		if err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			o.Log.Info("stopped before etcd was started")
			return nil
		default:
		}
		if waited := time.Since(begun); o.LongestWait > 0 && waited > o.LongestWait {
			o.Log.Info("leave the start of etcd to another launcher, so that the liveness probe gives etcd its time", "reason", d.Reason, "waited", waited.String())
			return nil
		}
		if err := l.Prepare(disk{o}, d); err != nil {
			return err
		}
		o.Log.Info("start etcd", "reason", d.Reason, "message", d.Message, "flags", d.Flags)
		argv = append(argv, d.Flags...)
		if !d.CatchUp {
			return fmt.Errorf("exec %s: %w", bin, syscall.Exec(bin, argv, env))
		}
		if err := o.catchUp(ctx, bin, argv, env); err != nil {
			return err
		}
	}
}

// etcd is the command line and the environment of the etcd at bin, on this disk.
func (o Options) etcd(ctx context.Context, bin string) (argv, env []string, err error) {
	if argv, err = place(o.Command); err != nil {
		return nil, nil, err
	}
	env, err = environment(ctx, bin, o.Checks, o.Log)
	return argv, env, err
}

// next returns the decision to start etcd, as soon as there is one; another one only
// when ctx is done first.
func (o Options) next(ctx context.Context, l *Launcher) (Decision, error) {
	d, err := l.decide(disk{o})
	if err == nil && (!d.Exec || len(d.Peers) > 0) {
		return o.wait(ctx, l, d)
	}
	return d, err
}

// wait serves [State] until a decision is to exec, or ctx is done. When it
// returns, the port is free.
func (o Options) wait(ctx context.Context, l *Launcher, d Decision) (Decision, error) {
	w := waiter{Launcher: l}
	if err := w.report(d); err != nil {
		return d, err
	}
	// net.Listen sets SO_REUSEADDR and close-on-exec, and so does etcd's own:
	// it can listen on the port as soon as this socket is closed.
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return d, fmt.Errorf("serve the state: %w", err)
	}
	srv := &http.Server{Handler: w.handler(), ReadHeaderTimeout: readHeaderTimeout}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	defer func() {
		_ = srv.Close() // closes the listener, whatever it returns
		<-served        //nolint:errcheck // http.ErrServerClosed
	}()

	changed, stop := watch(o.permitDir(), o.Log)
	defer stop()
	for {
		// After the watch has begun, so that no change is missed.
		d, next, err := l.Look(ctx, disk{o})
		if err != nil || d.Exec {
			return d, err
		}
		if err := w.report(d); err != nil {
			return d, err
		}
		select {
		case <-ctx.Done():
			return d, nil
		case err := <-served:
			served <- err
			return d, fmt.Errorf("serve the state: %w", err)
		case <-changed:
		case <-time.After(next):
		}
	}
}

// permitDir is the folder of the permit that counts.
func (o Options) permitDir() string {
	if o.Restore != nil {
		return filepath.Dir(o.Restore.PermitFile)
	}
	return filepath.Dir(o.PermitFile)
}

// watch announces changes in dir. A downward API volume changes by renaming a
// symbolic link, ..data, in the folder, so the folder is what must be watched.
// Where that is impossible, it announces nothing, and the caller's timer serves.
func watch(dir string, log *slog.Logger) (changed <-chan fsnotify.Event, stop func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("cannot watch the start permit file: polling it every second", "error", err)
		return nil, func() {}
	}
	if err := w.Add(dir); err != nil {
		log.Warn("cannot watch the start permit file: polling it every second", "error", err)
	}
	// w.Errors has no reader: fsnotify's sender gives up when the watcher closes,
	// and an event lost to an error is made up for by the timer.
	return w.Events, func() { _ = w.Close() }
}

// waiter is what a waiting launcher says of itself over HTTP.
type waiter struct {
	*Launcher
	state atomic.Pointer[State]
	last  Decision
}

// report makes d what is served, and logs it if it is news.
func (w *waiter) report(d Decision) error {
	state, err := w.State(disk{w.o}, d)
	if err != nil {
		return err
	}
	w.state.Store(&state)
	if d.Reason != w.last.Reason || d.Message != w.last.Message {
		w.o.Log.Info("wait", "reason", d.Reason, "message", d.Message, "lastAttempt", state.Attempt)
	}
	w.last = d
	return nil
}

// handler answers the probes of an etcd container: alive, but not ready.
func (w *waiter) handler() http.Handler {
	alive := func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(rw, "the launcher waits to start etcd")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+StatePath, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(w.state.Load()) // a client that went away is none of our business
	})
	mux.HandleFunc("GET /health", alive)
	mux.HandleFunc("GET /livez", alive)
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, _ *http.Request) {
		http.Error(rw, "the launcher waits to start etcd", http.StatusServiceUnavailable)
	})
	return mux
}
