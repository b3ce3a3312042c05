package suite

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/gobuild"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// TestPlugin: a person looks at a cluster with TLS by kubectl etcd, reaches etcd through the API
// server, pauses and resumes the cluster, saves a snapshot, backs the cluster up and replaces a
// member; in the long form it renews certificates, defragments, restarts and upgrades members,
// verifies the backup, and restores it beside the cluster and in place, too.
func TestPlugin(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	if !testing.Short() {
		s.restores()
	}
	s.aVolume("backups")
	c := s.cluster("etcd", harness.Size(3), harness.AutoTLS, harness.Volumes)
	c.settles(3, oneMinute)
	leader := c.leader()
	p := s.aPlugin()

	p.runs("list").shows("etcd", "3/3", "AllHealthy", "UpToDate")
	p.runs("status", c.Name).shows("3/3 members serve", "To do         nothing", "issued by the operator", "Leader").lacks("not asked")
	p.runs("ctl", c.Name, "--", "put", "greeting", "hello").shows("OK").lacks("warn")
	p.runs("ctl", c.Name, "--", "get", "greeting", "--print-value-only").shows("hello")
	p.runs("check", c.Name).shows("3 members have the same data").lacks("Error copying")
	p.runs("top", c.Name, "--for", "0s").shows("1 keys")
	p.runs("logs", c.Name, leader, "--pretty", "--tail", "5").shows(" INFO ")
	p.runs("events", c.Name).shows("Bootstrapped")
	p.runs("connect", c.Name, "-o", "kubernetes").shows("--etcd-servers=https://etcd-client." + s.ns + ".svc:2379")
	p.runs("certs status", c.Name).shows("etcd-server-tls", "CertificatesValid")
	p.runs("diagnose", c.Name).shows("No runbook fits")

	p.runs("move-leader", c.Name).shows(" leads.").lacks("Member " + leader + " leads")
	p.runs("pause", c.Name).shows("is paused")
	p.runs("resume", c.Name).shows("is resumed")

	file := filepath.Join(t.TempDir(), "etcd.db")
	p.runs("snapshot", c.Name, file).shows("Its digest is right")
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Errorf("the snapshot is %v: %v", info, err)
	}
	p.runs("report", c.Name, "--file", filepath.Join(t.TempDir(), "report.tar.gz")).shows("Wrote").lacks("Not in it")

	p.runs("backup", c.Name, "--pvc", "backups/etcd.db", "--name", "by-hand").shows("Stored revision 2 in pvc://backups/etcd.db")
	p.runs("backups", c.Name).shows("by-hand", "stored")
	replaced := c.follower()
	p.runs("replace", c.Name, replaced, "--yes").shows("Member " + replaced + " of EtcdCluster " + s.ns + "/etcd is replaced")
	c.becomes("settled without it", harness.All(withoutMember(replaced), harness.Settled(3)), oneMinute)
	if testing.Short() {
		return
	}
	p.runs("version").shows("Operator:    "+s.ns+"/etcd-operator-", images.Operator)
	p.runs("members", c.Name).shows("Leader", "Voter", "0% of").lacks("not asked")
	p.runs("top", c.Name, "--for", "1s").shows("(none)", "WRITES IN 1S")
	p.runs("certs renew", c.Name).shows("Asked for new certificates", "4 of 4 Secrets have new certificates")
	p.runs("defrag", c.Name, "--yes").shows("is defragmented")
	p.runs("restart", c.Name, "--yes").shows("run in new Pods")
	p.runs("upgrade", c.Name, etcdversion.OfMinor(7), "--yes").shows("run etcd " + etcdversion.OfMinor(7))
	p.runs("install", "--source", filepath.Join(env.Root, "deploy"), "--print").shows("kind: Deployment")
	p.runs("completion", "bash").shows("__start_kubectl-etcd")
	p.runs("verify", "by-hand").shows("Good: 1 keys at revision 2", "Equal")
	p.runs("restore", c.Name, "--into", "copy", "--yes").shows("EtcdCluster " + s.ns + "/copy is restored")
	p.runs("ctl", "copy", "--", "get", "greeting", "--print-value-only").shows("hello")
	p.runs("ctl", c.Name, "--", "put", "greeting", "bye").shows("OK")
	p.runs("restore", c.Name, "--from", "by-hand", "--to-revision", "2", "--yes").shows("EtcdCluster "+s.ns+"/etcd is restored", "It has 1 keys as they were at revision 2")
	p.runs("ctl", c.Name, "--", "get", "greeting", "--print-value-only").shows("hello")
}

// plugin is kubectl etcd in a scene's namespace.
type plugin struct {
	s *scene
	// folder has the program, where kubectl finds it.
	folder string
}

// aPlugin builds the plugin as make does.
func (s *scene) aPlugin() plugin {
	s.t.Helper()
	folder := filepath.Join(env.Root, "bin")
	err := gobuild.Build{
		What: "building kubectl-etcd", Dir: filepath.Join(env.Root, "plugin"), Packages: []string{"."}, Output: filepath.Join(folder, "kubectl-etcd"),
		Env: append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0"), Flags: []string{"-tags=" + images.Tags, "-ldflags=-s -w"},
	}.Run(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.tell("the plugin is built")
	return plugin{s: s, folder: folder}
}

// screen is what the plugin has shown.
type screen struct {
	s          *scene
	call, text string
}

// command is the plugin as a person runs it: by kubectl, with the namespace of the scene.
func (p plugin) command(ctx context.Context, command string, args ...string) *exec.Cmd {
	cmd := env.Kubectl.Command(ctx, slices.Concat([]string{"etcd"}, strings.Fields(command), []string{"-n", p.s.ns}, args)...)
	cmd.Env = append(cmd.Env, "PATH="+p.folder+":"+os.Getenv("PATH"))
	return cmd
}

// runs runs the plugin to its end.
func (p plugin) runs(command string, args ...string) screen {
	p.s.t.Helper()
	sc, err := p.ends(command, args...)
	p.s.must(err)
	return sc
}

// diagnoses runs kubectl etcd diagnose, which finds something.
func (p plugin) diagnoses(cluster string) screen {
	p.s.t.Helper()
	sc, err := p.ends("diagnose", cluster)
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 {
		p.s.t.Errorf("kubectl etcd diagnose ends with %v, want the exit code 1", err)
	}
	return sc
}

// ends runs the plugin to its end, which can be an error.
func (p plugin) ends(command string, args ...string) (screen, error) {
	p.s.t.Helper()
	ctx, cancel := context.WithTimeout(p.s.ctx, twoMinutes)
	defer cancel()
	text, err := p.command(ctx, command, args...).CombinedOutput()
	call := strings.Join(append([]string{command}, args...), " ")
	p.s.tell("kubectl etcd %s\n%s", call, text)
	return screen{s: p.s, call: call, text: string(text)}, err
}

func (sc screen) shows(words ...string) screen {
	sc.s.t.Helper()
	for _, word := range words {
		if !strings.Contains(sc.text, word) {
			sc.s.t.Errorf("kubectl etcd %s does not show %q:\n%s", sc.call, word, sc.text)
		}
	}
	return sc
}

func (sc screen) lacks(words ...string) screen {
	sc.s.t.Helper()
	for _, word := range words {
		if strings.Contains(sc.text, word) {
			sc.s.t.Errorf("kubectl etcd %s shows %q:\n%s", sc.call, word, sc.text)
		}
	}
	return sc
}
