package launcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// catchUpInterval is how often etcd is asked whether it has caught up, and
	// catchUpAskTimeout is for one question. etcd answers within the latter when it
	// can: it asks the leader for the index to read at.
	catchUpInterval   = 50 * time.Millisecond
	catchUpAskTimeout = 5 * time.Second
	// stopPatience is how long etcd may take to end before it is killed, which costs
	// nothing: its log is what it goes on with. It serves nobody, so it has nothing
	// to wait for.
	stopPatience = 2 * time.Second
	// clientURLs is etcd's flag for where it serves clients, and noClients is where it
	// does so while it only catches up: so that nobody takes it for the member that
	// serves a moment later.
	clientURLs = "--listen-client-urls="
	noClients  = "://127.0.0.1:0"
)

// catchUp runs etcd until it has what the cluster has, or ctx is done. See
// [StartPermit.CatchUp]. It returns an error if etcd ends by itself.
//
// A crash at any line leaves a data dir that etcd goes on with: it is an etcd like
// any other that is stopped here, or one that has no log yet.
func (o Options) catchUp(ctx context.Context, bin string, argv, env []string) error {
	cmd := exec.Command(bin) //nolint:noctx // ended in two steps below, not by ctx
	cmd.Args = append(argv, toNobody(argv))
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	runtime.LockOSThread() // the child dies with the thread that has made it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = endsWithParent()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s to catch up: %w", bin, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	tick := time.NewTicker(catchUpInterval)
	defer tick.Stop()
	for !hasCaughtUp(ctx, o.Listen) {
		select {
		case err := <-ended:
			return errors.Join(errors.New("etcd has ended before it had caught up with the cluster"), err)
		case <-ctx.Done():
			return o.stop(cmd, ended)
		case <-tick.C:
		}
	}
	o.Log.Info("etcd has caught up with the cluster: restarting it to serve")
	return o.stop(cmd, ended)
}

// toNobody is the flag that makes the etcd of argv serve no clients, by the scheme by
// which it would serve them.
func toNobody(argv []string) string {
	for _, arg := range argv {
		if strings.HasPrefix(arg, clientURLs+"https:") {
			return clientURLs + "https" + noClients
		}
	}
	return clientURLs + "http" + noClients
}

// stop ends etcd.
func (o Options) stop(cmd *exec.Cmd, ended <-chan error) error {
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop etcd: %w", err)
	}
	select {
	case <-ended: //nolint:errcheck // however it ends, its log tells how far it came
	case <-time.After(stopPatience):
		_ = cmd.Process.Kill() // it has ended meanwhile, or is ended now
		<-ended                //nolint:errcheck // it was killed
	}
	return nil
}

// readPath is etcd's check that it has applied all that was committed when it was
// asked; a learner passes it too (etcd 3.4.29, 3.5.11 and later, etcdhttp.HandleHealth).
const readPath = "/readyz/linearizable_read"

// hasCaughtUp tells whether the etcd whose metrics listener is at addr serves
// linearizable reads, to itself if to nobody else.
func hasCaughtUp(ctx context.Context, addr string) bool {
	ctx, cancel := context.WithTimeout(ctx, catchUpAskTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+readPath, nil)
	if err != nil {
		return false
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close() // its status says all
	return resp.StatusCode == http.StatusOK
}
