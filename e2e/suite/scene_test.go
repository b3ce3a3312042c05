package suite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

const (
	// testTimeout bounds one test.
	testTimeout = 12 * time.Minute
	// programTimeout bounds a test in which a real program goes through one event after the other.
	programTimeout = 30 * time.Minute
	// oneMinute is for what takes a few seconds on an idle machine. Here two tests
	// share two busy cores.
	oneMinute = time.Minute
	// twoMinutes is for what takes a dozen seconds there.
	twoMinutes = 2 * time.Minute
	// fourMinutes is for several of those, one after the other.
	fourMinutes = 4 * time.Minute
)

// scene is what one test plays in: a namespace of its own.
type scene struct {
	t    *testing.T
	ctx  context.Context
	ns   string
	view *harness.View
	last time.Time
}

// aNamespace begins a scene in a new namespace with a Pod Security level.
func aNamespace(t *testing.T, podSecurity string) *scene {
	t.Helper()
	return aNamespaceFor(t, podSecurity, testTimeout)
}

// aNamespaceFor begins one that may last so long.
func aNamespaceFor(t *testing.T, podSecurity string, limit time.Duration) *scene {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errors.New("the test took too long"))
	t.Cleanup(cancel)
	s := &scene{t: t, ctx: ctx, ns: namespaceName(t), last: time.Now()}
	s.must(env.CreateNamespace(ctx, s.ns, podSecurity))
	t.Cleanup(s.end)
	var err error
	s.view, err = env.Watch(ctx, s.ns)
	s.must(err)
	return s
}

// anOperator begins a scene with the operator, as it is shipped.
func anOperator(t *testing.T) *scene { return anOperatorWith(t, harness.Install{}) }

// anOperatorWith begins a scene with the operator.
func anOperatorWith(t *testing.T, how harness.Install) *scene {
	t.Helper()
	s := aNamespace(t, "restricted")
	s.install(how)
	return s
}

func (s *scene) install(how harness.Install) {
	s.t.Helper()
	s.must(env.Install(s.ctx, s.ns, how))
	s.within(oneMinute, func(ctx context.Context) error { return env.AwaitOperator(ctx, s.view, s.ns) })
	s.tell("the operator runs in %s", s.ns)
}

// end tells all about a test that failed, and clears up.
func (s *scene) end() {
	if s.t.Failed() {
		dir := filepath.Join(env.Root, "out", "e2e", "failures", fileName(s.t))
		s.t.Logf("%s", env.Dump(s.ns, dir))
		if *keep {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), oneMinute)
	defer cancel()
	if err := env.SaveOperatorLog(ctx, s.ns, filepath.Join(env.Root, "out", "e2e", "logs", fileName(s.t)+".log")); err != nil {
		s.t.Logf("the operator's log is not kept: %v", err)
	}
	if err := errors.Join(env.Uninstall(ctx, s.ns), env.DeleteNamespace(ctx, s.ns)); err != nil {
		s.t.Errorf("clear up: %v", err)
	}
}

func fileName(t *testing.T) string { return strings.ReplaceAll(t.Name(), "/", "-") }

// namespaceName is e2e-<test>-<random>, with at most 63 characters.
func namespaceName(t *testing.T) string {
	name := strings.ToLower(strings.NewReplacer("Test", "", "/", "-", "_", "-", ".", "-", "#", "-").Replace(t.Name()))
	if len(name) > 40 {
		name = strings.TrimRight(name[:40], "-")
	}
	return fmt.Sprintf("e2e-%s-%04x", name, rand.IntN(1<<16))
}

// tell logs a step, with how long it took.
func (s *scene) tell(format string, args ...any) {
	s.t.Helper()
	now := time.Now()
	s.t.Logf("%6.1fs  %s", now.Sub(s.last).Seconds(), fmt.Sprintf(format, args...))
	s.last = now
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// patience is how much longer than its limit a step may take: the limits are those of two cores
// that do nothing else, and a machine that others share is slower. How fast things are, bench tells.
const patience = 3

// within fails the test if do does not succeed in time.
func (s *scene) within(limit time.Duration, do func(context.Context) error) {
	s.t.Helper()
	limit *= patience
	ctx, cancel := context.WithTimeoutCause(s.ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	s.must(do(ctx))
}

// kubectl runs kubectl in the scene's namespace.
func (s *scene) kubectl(args ...string) string {
	s.t.Helper()
	out, err := env.Kubectl.Run(s.ctx, append([]string{"-n", s.ns}, args...)...)
	s.must(err)
	return out
}

// isLong skips a test that takes minutes, where a shorter one tries nearly the same, unless all
// are asked for: "make test" runs with -short, "make torture" does not.
func isLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("a long test: make torture runs it")
	}
}

// needsNodeAccess skips a test on a cluster whose nodes can't be reached into.
func needsNodeAccess(t *testing.T) {
	t.Helper()
	if env.Local == nil {
		t.Skip(harness.ErrNoNodeAccess)
	}
}
