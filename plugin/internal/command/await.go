package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/runbook"
)

// waiting are the flags of a command that waits for what it has asked for.
type waiting struct {
	wait    bool
	timeout time.Duration
	// unseen says that no operator has acted on what it was asked for, and what to check; empty once one
	// has. Nil if no operator is waited for.
	unseen func() string
	// timedOut is what a wait ends with that took too long; nil for errTimeout.
	timedOut error
}

func (w *waiting) addTo(cmd *cobra.Command, timeout time.Duration) {
	cmd.Flags().BoolVar(&w.wait, "wait", true, "wait until it is done, and show the progress")
	w.timeout = timeout
	cmd.Flags().Var((*positive)(&w.timeout), "timeout", "how long to wait")
}

// positive is the value of a flag for a duration, which must be more than 0. Otherwise a wait would end before
// it begins, after the change was requested.
type positive time.Duration

// Set implements pflag.Value.
func (p *positive) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = errors.New("set it to more than 0")
	}
	*p = positive(d)
	return err
}

// String implements pflag.Value.
func (p *positive) String() string { return time.Duration(*p).String() }

// Type implements pflag.Value.
func (p *positive) Type() string { return "duration" }

// errTimeout says that the wait ended, and not the work.
var errTimeout = errors.New("not done yet: the operator continues; run \"kubectl etcd status\" to see its progress")

// await reads by look until it is done, and shows each new line of progress.
func (a *App) await(ctx context.Context, w waiting, look func(context.Context) (progress string, done bool, err error)) error {
	if !w.wait {
		return nil
	}
	begun := time.Now()
	// notSeen says once, after a while, that no operator acts.
	warned := w.unseen == nil
	notSeen := func() string {
		if warned || time.Since(begun) < a.Grace {
			return ""
		}
		warned = true
		return w.unseen()
	}
	timedOut := cmp.Or(w.timedOut, errTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, w.timeout, timedOut)
	defer cancel()
	shown := ""
	show := func(line string) { fmt.Fprintf(a.ErrOut, "%s  %s\n", a.Now().Format(time.TimeOnly), line) }
	for {
		progress, done, err := look(ctx)
		if ctx.Err() != nil {
			return w.ended(ctx, timedOut, time.Since(begun) >= a.Grace)
		}
		switch {
		case isTransient(err):
			progress, done = noAnswer(err), false
		case err != nil:
			return err
		}
		if progress != "" && progress != shown {
			show(progress)
			shown = progress
		}
		if done {
			return nil
		}
		if text := notSeen(); text != "" {
			show(text)
		}
		select {
		case <-ctx.Done():
			return w.ended(ctx, timedOut, time.Since(begun) >= a.Grace)
		case <-time.After(a.Poll):
		}
	}
}

// ended is the error of a wait that has ended before the work: timedOut, unless the user has ended it, or,
// after a while, no operator has begun.
func (w *waiting) ended(ctx context.Context, timedOut error, late bool) error {
	cause := context.Cause(ctx)
	if late && w.unseen != nil && errors.Is(cause, timedOut) {
		if text := w.unseen(); text != "" {
			return fmt.Errorf("not done yet: %s", text)
		}
	}
	return cause
}

// noAnswer is the progress while the API server does not answer.
func noAnswer(err error) string {
	return fmt.Sprintf("the API server does not answer; retrying: %v", err)
}

// tellNoAnswer shows that a watch has failed to read, and goes on.
func (a *App) tellNoAnswer(ctx context.Context, err error) {
	if ctx.Err() == nil { // else the user has ended it
		fmt.Fprintf(a.ErrOut, "%s  %s\n", a.Now().Format(time.TimeOnly), noAnswer(err))
	}
}

// unmoved is waiting.unseen of what the operator was asked by the EtcdCluster, as it is now: it acts if
// it changes its status.
func (s *scene) unmoved() func() string {
	before := s.cluster.Status.DeepCopy()
	return func() string {
		switch {
		case !equality.Semantic.DeepEqual(*before, s.cluster.Status):
			return ""
		case before.ObservedGeneration < s.cluster.Generation:
			return runbook.Unseen("EtcdCluster", s.cluster)
		}
		// The operator may have seen the annotation, and wait.
		return fmt.Sprintf("nothing has happened to %s yet: unless the last line says what the operator waits for, check that one runs for it: kubectl get pods -A -l %s=etcd-operator",
			s.title(), v1beta2.LabelName)
	}
}

// unread is waiting.unseen of a new object that has no status yet.
func unread(kind string, o metav1.Object, hasStatus func() bool) func() string {
	return func() string {
		if hasStatus() {
			return ""
		}
		return runbook.Unseen(kind, o)
	}
}
