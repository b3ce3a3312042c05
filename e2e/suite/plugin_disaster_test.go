package suite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// TestPluginInDisasters: by kubectl etcd alone, a person installs the operators, is led to another
// member when one is lost, gets back what was there before a mistake, recovers a cluster from a
// survivor, starts one on the volumes that an earlier one has left, and one that is gone from a
// backup, and replaces a member without a volume. It runs beside no other
// test: what it installs is in part everybody's.
func TestPluginInDisasters(t *testing.T) {
	isLong(t)
	s := aNamespaceFor(t, "restricted", programTimeout)
	p := s.aPlugin()
	p.runs("install", "--source", filepath.Join(env.Root, "deploy"), "--operators", strings.Join(harness.Operators, ","), "--force-conflicts", "--yes").
		shows(strings.Join(harness.Operators, ", ") + ": ready")
	s.must(s.view.WatchBackups(s.ctx))
	s.must(s.view.WatchRestores(s.ctx))
	st := s.aStore()
	retain := func(c *v1beta2.EtcdCluster) {
		c.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
	}
	c := s.cluster("etcd", harness.Size(3), harness.Volumes, retain)
	c.settles(3, oneMinute)
	greeting := func(cluster, want string) {
		t.Helper()
		p.runs("ctl", cluster, "--", "get", "greeting", "--print-value-only").shows(want)
	}

	forward, status, events, logs := p.starts("port-forward", c.Name, "--port", "0"), p.starts("status -w", c.Name), p.starts("events -w", c.Name), p.starts("logs -f", c.Name, "--pretty", "--tail", "0")
	lost := forward.leadsTo()
	status.shows("3/3 members serve")
	events.shows("Bootstrapped")
	c.losesPods(lost)
	if next := forward.leadsTo(); next == lost {
		t.Errorf("the port-forward leads to %s, which was lost", lost)
	}
	c.settles(3, oneMinute)
	p.runs("pause", c.Name)
	status.shows("Operator", "Paused")
	p.runs("resume", c.Name)
	status.shows("Operator", "UpToDate")
	events.shows("RestartingMember", lost)
	logs.shows(lost, "starting an etcd server")
	for _, r := range []*running{forward, status, events, logs} {
		r.ends()
	}
	p.runs("logs", c.Name, "--operator", "--tail", "50").shows("etcd-operator-", lost)

	b := s.backup("archived", c.holdsKeys(10).Writer, st.at("etcd.backup"), harness.OfCluster(c.Name), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}))
	s.must(b.Patch(s.ctx, map[string]any{"spec": map[string]any{"archive": map[string]any{"interval": "1s"}}}))
	p.runs("ctl", c.Name, "--", "put", "greeting", "hello").shows("OK")
	b.becomes("recorded before the mistake", twoMinutes, recordedAfter(time.Now().Add(time.Second)))
	before := b.Status().Archive.RecoveryTime.UTC().Format(time.RFC3339)
	p.runs("ctl", c.Name, "--", "put", "greeting", "oops").shows("OK")
	b.becomes("recorded after the mistake", twoMinutes, recordedAfter(time.Now()))
	p.runs("restore", c.Name, "--to-time", before, "--into", "before", "--yes").shows("EtcdCluster " + s.ns + "/before is restored")
	greeting("before", "hello")
	greeting(c.Name, "oops")

	p.runs("backup", c.Name, "--s3", bucket+"/by-hand", "--s3-secret", harness.StoreSecret, "--s3-endpoint", st.Endpoint, "--s3-path-style", "--name", "by-hand").
		shows("Stored revision", "in s3://"+bucket+"/by-hand")
	p.runs("verify", "by-hand", "--start-etcd", "--any-node").shows("Good: 11 keys", "has served its 11 keys")
	p.runs("restore", c.Name, "--from", "by-hand", "--into", "part", "--prefix", "greeting", "--yes").shows("EtcdCluster " + s.ns + "/part is restored")
	p.runs("ctl", "part", "--", "get", "--prefix", "", "--keys-only").shows("greeting").lacks(writer.DefaultPrefix)

	survivor := c.leader()
	c.losesAllBut(survivor)
	c.becomes("lost", harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost"), twoMinutes)
	p.diagnoses(c.Name).shows("quorum-lost", "data at risk: yes")
	p.runs("status", c.Name).shows("QuorumLost")
	p.runs("recover", c.Name, "--yes").shows("serves again, from the data of member " + survivor)
	greeting(c.Name, "oops")
	c.settles(3, twoMinutes)

	s.must(c.Delete(s.ctx))
	c.becomes("gone but for its volumes", func(st harness.State) string { return atMost(len(st.Pods), 0, "Pods") }, twoMinutes)
	c = s.cluster("etcd", harness.Size(3), harness.Volumes, retain)
	c.becomes("told that there are volumes", harness.Condition(v1beta2.ConditionProgressing, false, "ClusterExisted"), oneMinute)
	p.diagnoses(c.Name).shows("ClusterExisted")
	p.runs("adopt-volumes", c.Name, "--yes").shows("serves the data of the volumes")
	greeting(c.Name, "oops")
	c.settles(3, twoMinutes)

	manifest := filepath.Join(t.TempDir(), "etcd.yaml")
	s.must(os.WriteFile(manifest, []byte(s.kubectl("get", "etcd", c.Name, "-o", "yaml")), 0o600))
	retained := strings.Fields(s.kubectl("get", "pvc", "-l", "etcd_cluster="+c.Name, "-o", "name"))
	s.must(c.Delete(s.ctx))
	c.becomes("gone but for its volumes", func(st harness.State) string { return atMost(len(st.Pods), 0, "Pods") }, twoMinutes)
	p.runs("restore", c.Name, "--template", manifest, "--to-time", before, "--yes").shows("PVCs of an earlier EtcdCluster", "EtcdCluster "+s.ns+"/etcd is restored")
	greeting(c.Name, "hello")
	s.kubectl(append([]string{"delete"}, retained...)...)
	s.existing(c.Name).settles(3, twoMinutes)

	plain := s.cluster("plain", harness.Size(3))
	plain.settles(3, oneMinute)
	replaced := plain.follower()
	p.runs("replace", plain.Name, replaced, "--yes").shows("Evicted Pod "+replaced, "is replaced")
	plain.becomes("settled without it", harness.All(withoutMember(replaced), harness.Settled(3)), oneMinute)
}

// running is a command of kubectl etcd that goes on until it is ended.
type running struct {
	s    *scene
	call string
	cmd  *exec.Cmd
	// lines are what it prints, until it ends; complaints are of its standard error.
	lines      chan string
	complaints *bytes.Buffer
}

// starts starts one.
func (p plugin) starts(command string, args ...string) *running {
	p.s.t.Helper()
	r := &running{
		s: p.s, call: strings.Join(append([]string{command}, args...), " "), cmd: p.command(p.s.ctx, command, args...),
		lines: make(chan string), complaints: &bytes.Buffer{},
	}
	stdout, err := r.cmd.StdoutPipe()
	p.s.must(err)
	r.cmd.Stderr = r.complaints
	p.s.must(r.cmd.Start())
	go func() {
		defer close(r.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			select {
			case r.lines <- scanner.Text():
			case <-p.s.ctx.Done():
				return
			}
		}
	}()
	return r
}

// shows awaits its next line that has all words.
func (r *running) shows(words ...string) string {
	r.s.t.Helper()
	limit := time.After(twoMinutes)
	for {
		select {
		case line, isOpen := <-r.lines:
			if !isOpen {
				r.s.t.Fatalf("kubectl etcd %s has ended without a line with %q: %v\n%s", r.call, words, r.cmd.Wait(), r.complaints)
			}
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				r.s.tell("kubectl etcd %s says: %s", r.call, line)
				return line
			}
		case <-limit:
			r.s.t.Fatalf("kubectl etcd %s shows no line with %q within %s", r.call, words, twoMinutes)
		}
	}
}

// leadsTo awaits the next member that a port-forward names, through which etcd answers then.
func (r *running) leadsTo() (member string) {
	r.s.t.Helper()
	url, rest, _ := strings.Cut(r.shows(" leads to member "), " leads to member ")
	member, _, _ = strings.Cut(rest, ".")
	r.s.within(oneMinute, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err != nil || !strings.Contains(string(body), `"health":"true"`) {
			return fmt.Errorf("etcd says %s: %w", body, err)
		}
		return nil
	})
	return member
}

// ends is Ctrl-C, which is no failure.
func (r *running) ends() {
	r.s.t.Helper()
	r.s.must(r.cmd.Process.Signal(os.Interrupt))
	for range r.lines { // what it has still to say
	}
	r.s.must(r.cmd.Wait())
}
