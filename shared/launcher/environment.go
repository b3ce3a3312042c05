package launcher

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// EnvSkipPeerSAN is the variable that keeps etcd 3.6 and later from comparing the names in
// a peer's certificate with those that a reverse look-up of its address gives. A launcher
// that finds it gives it to an older etcd under the name that it had, envSkipPeerSANBefore.
// A Pod can't do that: its image changes and its environment doesn't, and 3.6 refuses to
// start with both.
const (
	EnvSkipPeerSAN       = "ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION"
	envSkipPeerSANBefore = "ETCD_EXPERIMENTAL_PEER_SKIP_CLIENT_SAN_VERIFICATION"
)

// versionTimeout is how long an etcd may take to tell its version: some 20 ms on an idle
// machine.
const versionTimeout = 30 * time.Second

// environment is what the etcd at bin is started with: the launcher's own environment, with the
// names of variables that this etcd knows.
func environment(ctx context.Context, bin string) ([]string, error) {
	env := os.Environ()
	if os.Getenv(EnvSkipPeerSAN) == "" {
		return env, nil
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.Env = []string{} // etcd would take its settings from it
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", bin, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "etcd Version: %d.%d.", &major, &minor); err != nil {
		return nil, fmt.Errorf("ask %s for its version: it says %q", bin, out)
	}
	if major > 3 || minor >= 6 {
		return env, nil
	}
	for i, e := range env {
		if value, ok := strings.CutPrefix(e, EnvSkipPeerSAN+"="); ok {
			env[i] = envSkipPeerSANBefore + "=" + value
		}
	}
	return env, nil
}
