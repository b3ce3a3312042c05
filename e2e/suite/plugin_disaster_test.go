package suite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
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

	f := p.forwards(c.Name)
	lost := f.leadsTo()
	c.losesPods(lost)
	if next := f.leadsTo(); next == lost {
		t.Errorf("the port-forward leads to %s, which was lost", lost)
	}
	f.ends()
	c.settles(3, oneMinute)

	b := s.backup("archived", c.holdsKeys(10).Writer, st.at("etcd.backup"), harness.OfCluster(c.Name), harness.Policy(v1beta2.BackupPolicy{BackupIntervalInSecond: 3600}))
	s.must(b.Patch(s.ctx, map[string]any{"spec": map[string]any{"archive": map[string]any{"interval": "1s"}}}))
	p.runs("ctl", c.Name, "--", "put", "greeting", "hello").shows("OK")
	b.becomes("recorded before the mistake", twoMinutes, recordedAfter(time.Now().Add(time.Second)))
	before := b.Status().Archive.RecoveryTime.UTC().Format(time.RFC3339)
	p.runs("ctl", c.Name, "--", "put", "greeting", "oops").shows("OK")
	b.becomes("recorded after the mistake", twoMinutes, recordedAfter(time.Now()))
	p.runs("restore", c.Name, "--to-time", before, "--as", "before", "--yes").shows("EtcdCluster " + s.ns + "/before is restored")
	greeting("before", "hello")
	greeting(c.Name, "oops")

	survivor := c.leader()
	c.losesAllBut(survivor)
	c.becomes("lost", harness.Condition(v1beta2.ConditionAvailable, false, "QuorumLost"), twoMinutes)
	p.runs("recover", c.Name, "--yes").shows("serves again, from the data of member " + survivor)
	greeting(c.Name, "oops")
	c.settles(3, twoMinutes)

	s.must(c.Delete(s.ctx))
	c.becomes("gone but for its volumes", func(st harness.State) string { return atMost(len(st.Pods), 0, "Pods") }, twoMinutes)
	c = s.cluster("etcd", harness.Size(3), harness.Volumes, retain)
	c.becomes("told that there are volumes", harness.Condition(v1beta2.ConditionProgressing, false, "ClusterExisted"), oneMinute)
	p.runs("adopt-volumes", c.Name, "--yes").shows("serves the data of the volumes")
	greeting(c.Name, "oops")
	c.settles(3, twoMinutes)

	manifest := filepath.Join(t.TempDir(), "etcd.yaml")
	s.must(os.WriteFile(manifest, []byte(s.kubectl("get", "etcd", c.Name, "-o", "yaml")), 0o600))
	s.must(c.Delete(s.ctx))
	c.becomes("gone but for its volumes", func(st harness.State) string { return atMost(len(st.Pods), 0, "Pods") }, twoMinutes)
	p.runs("restore", c.Name, "--template", manifest, "--to-time", before, "--yes").shows("PVCs of an earlier EtcdCluster", "EtcdCluster "+s.ns+"/etcd is restored")
	greeting(c.Name, "hello")
	s.existing(c.Name).settles(3, twoMinutes)

	plain := s.cluster("plain", harness.Size(3))
	plain.settles(3, oneMinute)
	replaced := plain.follower()
	p.runs("replace", plain.Name, replaced, "--yes").shows("Evicted Pod "+replaced, "is replaced")
	plain.becomes("settled without it", harness.All(withoutMember(replaced), harness.Settled(3)), oneMinute)
}

// forward is kubectl etcd port-forward, which runs.
type forward struct {
	s      *scene
	cmd    *exec.Cmd
	stdout *bufio.Scanner
}

// forwards starts it, with a local port that is free.
func (p plugin) forwards(cluster string) *forward {
	p.s.t.Helper()
	cmd := p.command(p.s.ctx, "port-forward", cluster, "--port", "0")
	stdout, err := cmd.StdoutPipe()
	p.s.must(err)
	p.s.must(cmd.Start())
	return &forward{p.s, cmd, bufio.NewScanner(stdout)}
}

// leadsTo awaits the next member that it names, through which etcd answers then.
func (f *forward) leadsTo() (member string) {
	f.s.t.Helper()
	if !f.stdout.Scan() {
		f.s.t.Fatalf("kubectl etcd port-forward has ended: %v", f.cmd.Wait())
	}
	line := f.stdout.Text()
	f.s.tell("kubectl etcd port-forward says: %s", line)
	url, rest, _ := strings.Cut(line, " leads to member ")
	member, _, _ = strings.Cut(rest, ".")
	f.s.within(oneMinute, func(ctx context.Context) error {
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
func (f *forward) ends() {
	f.s.t.Helper()
	f.s.must(f.cmd.Process.Signal(os.Interrupt))
	f.s.must(f.cmd.Wait())
}
