package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

const (
	namespace = "default" // where deploy/etcd-operator installs
	name      = "example" // as examples/cluster.yaml calls it
	// stepTimeout bounds one step; they take a few seconds each.
	stepTimeout = 2 * time.Minute
)

// stage is what the show plays on.
type stage struct {
	env     *harness.Env
	say     *narrator
	eyes    *onlooker
	view    *harness.View
	cluster *harness.Cluster
	client  *harness.Writer
	// written are the writes that were acknowledged until the client was ended.
	written []writer.Span
	// starting is what starts while the show goes on. It sets watcher and store.
	starting errgroup.Group
	watcher  *harness.Mirror
	store    *harness.Store
	// wanted is what the cluster held before the mistake, and second is between the last write and that.
	wanted mirror.Content
	second time.Time
}

// newStage fails if something is there that the show would put there, and remove at its end.
func newStage(ctx context.Context, env *harness.Env, say *narrator) (*stage, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	names := []string{
		"deployment/" + harness.OperatorName, "deployment/" + harness.BackupOperatorName, "deployment/" + harness.RestoreOperatorName,
		"deployment/s3", "service/s3", "secret/" + harness.StoreSecret, "pod/inspect-s3", "pod/" + name + "-writer", "pod/" + name + "-mirror",
	}
	kinds, err := env.Kubectl.Run(ctx, "get", "customresourcedefinitions", "-o", "name")
	if err != nil {
		return nil, err
	}
	for kind, ours := range map[string][]string{"etcdclusters": {name}, "etcdbackups": {name, archived}, "etcdrestores": {name, undone}} {
		if kind += "." + v1beta2.GroupName; strings.Contains(kinds, kind) {
			for _, o := range ours {
				names = append(names, kind+"/"+o)
			}
		}
	}
	there, err := env.Kubectl.Run(ctx, append([]string{"-n", namespace, "get", "--ignore-not-found", "-o", "name"}, names...)...)
	if err != nil {
		return nil, err
	}
	if there != "" {
		return nil, fmt.Errorf("the demo would change what is in namespace %s already, and delete it at the end: %s: remove that first (make clean, if an earlier demo has left it), or set KUBECONFIG to another cluster",
			namespace, strings.Join(strings.Fields(there), ", "))
	}
	return &stage{env: env, say: say, eyes: newOnlooker(say)}, nil
}

func (s *stage) show(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, showTimeout, errors.New("the demo did not finish in time"))
	defer func() {
		cancel()
		// Nothing starts any more once this is over.
		if starting := s.starting.Wait(); starting != nil && !errors.Is(err, starting) && !errors.Is(starting, context.Canceled) {
			err = errors.Join(err, starting)
		}
	}()
	for _, act := range []func(context.Context) error{
		s.install, s.form, s.write, s.addBackups, s.grow, s.heal, s.shrink, s.backUp, s.look, s.judge, s.destroy, s.restore,
		s.record, s.mistake, s.undo,
	} {
		if err := act(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) install(ctx context.Context) error {
	s.say.chapter("Install the operator")
	if err := s.kubectl(ctx, "apply", "-k", "deploy/etcd-operator"); err != nil {
		return err
	}
	if err := s.env.AwaitCRD(ctx); err != nil {
		return err
	}
	var err error
	if s.view, err = s.env.Watch(ctx, namespace); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	if err := s.env.AwaitOperator(ctx, s.view, namespace); err != nil {
		return err
	}
	s.say.now("the operator is ready")
	s.cluster = s.env.Cluster(s.view, namespace, name)
	return nil
}

func (s *stage) form(ctx context.Context) error {
	s.say.chapter("Create an etcd cluster of three members")
	if err := s.kubectl(ctx, "apply", "-f", "examples/cluster.yaml"); err != nil {
		return err
	}
	if err := s.until(ctx, "three members are healthy", harness.Healthy(3)); err != nil {
		return err
	}
	return s.kubectl(ctx, "wait", "--for=jsonpath={.status.ready}=3/3", "etcd/"+name)
}

func (s *stage) write(ctx context.Context) error {
	s.say.chapter("Start a client that writes 100 keys per second, and one that lists and watches them")
	s.starting.Go(func() error { return s.startWatcher(ctx) })
	starting, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	var err error
	if s.client, err = s.cluster.StartWriter(starting, ""); err != nil {
		return err
	}
	s.say.now("the first write to http://%s-client:2379 is acknowledged", name)
	return nil
}

func (s *stage) grow(ctx context.Context) error {
	s.say.chapter("Scale up to five members")
	if err := s.kubectl(ctx, "scale", "etcd", name, "--replicas=5"); err != nil {
		return err
	}
	return s.healthy(ctx, 5)
}

func (s *stage) heal(ctx context.Context) error {
	s.say.chapter("Delete the leader's Pod and its data")
	victim := s.cluster.Leader()
	uid := s.cluster.State().Pod(victim).UID
	if err := s.kubectl(ctx, "delete", "pod", victim, "--wait=false"); err != nil {
		return err
	}
	if err := s.until(ctx, "five members are healthy again", harness.All(harness.Without(uid), harness.Healthy(5))); err != nil {
		return err
	}
	return s.noticed(ctx)
}

func (s *stage) shrink(ctx context.Context) error {
	s.say.chapter("Scale down to three members")
	if err := s.kubectl(ctx, "scale", "etcd", name, "--replicas=3"); err != nil {
		return err
	}
	return s.healthy(ctx, 3)
}

func (s *stage) look(ctx context.Context) error {
	s.say.chapter("What kubectl shows")
	if err := s.until(ctx, "reconciliation is complete", harness.Settled(3)); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "etcd", "-o", "wide"); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "get", "pods", "-l", "etcd_cluster="+name, "-L", "etcd_role"); err != nil {
		return err
	}
	return s.kubectl(ctx, "events", "--for", "etcd/"+name)
}

func (s *stage) judge(ctx context.Context) error {
	s.say.chapter("Read every acknowledged write back")
	r, err := s.client.Finish(ctx)
	if err != nil {
		return err
	}
	s.say.line("%s", r.Window)
	s.say.line("%d acknowledged writes were lost", len(r.Lost))
	if len(r.Lost) > 0 || len(r.Clusters) != 1 || r.Acked == 0 {
		return fmt.Errorf("%d acknowledged writes were lost; cluster IDs that acknowledged writes: %v", len(r.Lost), r.Clusters)
	}
	s.written, err = s.client.Acknowledged(ctx)
	return err
}

// healthy waits for n members and tells what the client noticed meanwhile.
func (s *stage) healthy(ctx context.Context, n int) error {
	if err := s.until(ctx, fmt.Sprintf("%d members are healthy", n), harness.Healthy(n)); err != nil {
		return err
	}
	return s.noticed(ctx)
}

func (s *stage) noticed(ctx context.Context) error {
	w, err := s.client.Cut(ctx)
	if err != nil {
		return err
	}
	s.say.line("Seen by the client: %s.", w)
	return nil
}

// until waits for the check, and tells what is seen meanwhile.
func (s *stage) until(ctx context.Context, what string, check harness.Check) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stepTimeout, fmt.Errorf("timed out after %s", stepTimeout))
	defer cancel()
	if err := s.cluster.Await(ctx, what, s.eyes.and(check)); err != nil {
		return err
	}
	s.say.now("** %s", what)
	return nil
}

// kubectl types a command, and shows it and what it prints.
func (s *stage) kubectl(ctx context.Context, args ...string) error {
	s.say.command(append([]string{"kubectl"}, quoted(args)...)...)
	cmd := s.env.Kubectl.Command(ctx, append([]string{"-n", namespace}, args...)...)
	cmd.Dir = s.env.Root
	out, err := cmd.CombinedOutput()
	s.say.block(string(out))
	if err != nil {
		return fmt.Errorf("kubectl %s: %w", strings.Join(args, " "), err)
	}
	return nil
}

// quoted are words as a shell wants them.
func quoted(words []string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		if w == "" || strings.ContainsAny(w, " {}") {
			out[i] = "'" + w + "'"
		}
	}
	return out
}

// tidy removes from a cluster that stays up what the show has put there, if it has begun; the custom
// resource definition stays, since others might use it.
func (s *stage) tidy(ctx context.Context) error {
	if s == nil || !s.env.StaysUp() {
		return nil
	}
	if err := s.tidyRestore(ctx); err != nil {
		return err
	}
	if err := s.tidyBackup(ctx); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "delete", "etcd", name, "--ignore-not-found"); err != nil {
		return err
	}
	if err := s.kubectl(ctx, "delete", "pod", name+"-writer", name+"-mirror", "--ignore-not-found"); err != nil {
		return err
	}
	// The operator first, while it still has the rights to give up its lease: the
	// next one would wait for 15 s.
	if err := s.kubectl(ctx, "delete", "deployment", harness.OperatorName, "--cascade=foreground", "--ignore-not-found"); err != nil {
		return err
	}
	return s.kubectl(ctx, "delete", "-k", filepath.Join("deploy", "etcd-operator", "base"), "--ignore-not-found")
}
