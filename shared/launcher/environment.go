package launcher

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-semver/semver"

	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
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

// Checks are what etcd looks for by itself in its data that differs from that of others.
// etcd leaves both off.
type Checks struct {
	// Compactions has the leader compare, every minute, the hashes that members have made
	// of their data as they compacted it, and raise the alarm CORRUPT of who differs from
	// the majority. Not before 3.6: there the alarm names nobody, stops all writes, and
	// leaves it to a person to find out who it is.
	Compactions bool
	// AtStart has a member compare its data with that of those that answer, before it
	// serves, and end if it differs. It asks one after the other, and waits 7 s for one that
	// does not answer.
	AtStart bool
}

// EnvFeatureGates is the variable in which etcd 3.6 and later have what was experimental.
const EnvFeatureGates = "ETCD_FEATURE_GATES"

// lastGated is the last minor that is known to have the gates: the newest that the tests of this
// package run. etcd refuses to start with a gate that it does not know.
var lastGated = int(semver.New(etcdversion.Newest()).Minor)

// checkNames are a check's feature gate, and the variable that it had before 3.6, and still
// has there. A Pod can't have both: 3.6 refuses to start with them, 3.5 knows but the one and
// 3.7 but the other, and a Pod's image changes while its environment doesn't.
type checkNames struct {
	gate, variable string
	// from is the first minor in which the check is turned on.
	from int
}

// names are those of the checks that are wanted.
func (c Checks) names() (all []checkNames) {
	if c.Compactions {
		all = append(all, checkNames{"CompactHashCheck", "ETCD_EXPERIMENTAL_COMPACT_HASH_CHECK_ENABLED", 6})
	}
	if c.AtStart {
		all = append(all, checkNames{"InitialCorruptCheck", "ETCD_EXPERIMENTAL_INITIAL_CORRUPT_CHECK", 5})
	}
	return all
}

// environment is what the etcd at bin is started with: the launcher's own environment, with the
// names of variables that this etcd knows, and with the checks. An etcd that does not tell its
// version is started without checks.
func environment(ctx context.Context, bin string, checks Checks, log *slog.Logger) ([]string, error) {
	env := os.Environ()
	skips := os.Getenv(EnvSkipPeerSAN) != ""
	if !skips && checks == (Checks{}) {
		return env, nil
	}
	minor, err := minorOf(ctx, bin)
	if err != nil && skips {
		return nil, err
	}
	if err != nil {
		log.Warn("etcd is started without checks for corruption", "error", err)
		return env, nil
	}
	if skips && minor < 6 {
		env = rename(env, EnvSkipPeerSAN, envSkipPeerSANBefore)
	}
	return checks.add(env, minor), nil
}

// add turns checks on where the environment does not speak of them: what a user has set, by
// whichever of its names, stays.
func (c Checks) add(env []string, minor int) []string {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, EnvFeatureGates+"=") })
	for _, n := range c.names() {
		isSet := slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, n.variable+"=") })
		switch {
		case isSet || minor < n.from || minor > lastGated:
		case minor < 6:
			env = append(env, n.variable+"=true")
		case i < 0:
			i, env = len(env), append(env, EnvFeatureGates+"="+n.gate+"=true")
		case !strings.Contains(env[i], n.gate): // as etcd itself looks for it
			env[i] = strings.TrimSuffix(env[i], ",") + "," + n.gate + "=true"
		}
	}
	return env
}

// rename gives a variable another name.
func rename(env []string, from, to string) []string {
	for i, e := range env {
		if value, ok := strings.CutPrefix(e, from+"="); ok {
			env[i] = to + "=" + value
		}
	}
	return env
}

// etcdModule is a part of etcd that has its version.
const etcdModule = "go.etcd.io/etcd/api/v3"

// minorOf is the minor of the etcd 3 at bin. Its file tells that in a fraction of a
// millisecond, as Go's linker has written it; else it is asked.
func minorOf(ctx context.Context, bin string) (int, error) {
	var minor int
	if info, err := buildinfo.ReadFile(bin); err == nil {
		i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == etcdModule })
		if i >= 0 {
			if _, err := fmt.Sscanf(info.Deps[i].Version, "v3.%d.", &minor); err == nil {
				return minor, nil
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, "--version")
	cmd.Env = []string{} // etcd would take its settings from it
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its version: %w", bin, err)
	}
	if _, err := fmt.Sscanf(string(out), "etcd Version: 3.%d.", &minor); err != nil {
		return 0, fmt.Errorf("ask %s for its version: it says %q", bin, out)
	}
	return minor, nil
}
