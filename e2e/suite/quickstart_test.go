package suite

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/e2e/docs"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestQuickStart runs the blocks of README's quick start as a new user pastes them: in order, without a pause.
// The members have no volumes, so a Pod that is deleted before all members serve costs the cluster its quorum.
func TestQuickStart(t *testing.T) {
	t.Parallel()
	s := aNamespace(t, "restricted")
	s.must(env.Install(s.ctx, s.ns, harness.Install{}))
	blocks := quickStart(t)
	last := len(blocks) - 1
	c := s.existing("example")

	s.pastes(strings.Join(blocks[:last], ""))
	c.settles(3, oneMinute)
	s.pastes(blocks[last])
	c.becomes("gone without a trace", harness.Nothing, twoMinutes)
}

var (
	quickStartSection = regexp.MustCompile(`(?s)\n## Quick start.*?\n(.*?)\n## `)
	appliesMain       = regexp.MustCompile(
		`(?m)^kubectl apply -k "` + docs.Repository + `/deploy/etcd-operator\?ref=main"\n`)
)

// quickStart returns the commands of README's quick start, without those that cannot run here:
//   - The first block clones the repository and builds the images. The suite runs in a checkout, with images that are
//     built and loaded.
//   - The line that installs the operator from GitHub's main. The test has installed that folder of the checkout.
func quickStart(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(env.Root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	section := quickStartSection.FindSubmatch(text)
	if section == nil {
		t.Fatal("README.md has no section Quick start")
	}
	page, err := docs.Parse(string(section[1]))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, block := range page.Blocks {
		if block.Language == "sh" { // other blocks show output
			blocks = append(blocks, block.Text)
		}
	}
	if len(blocks) < 3 || !strings.HasPrefix(blocks[0], "git clone ") || !appliesMain.MatchString(blocks[1]) {
		t.Fatalf("README's quick start does not begin with git clone and kubectl apply -k: %q", blocks)
	}
	blocks[1] = appliesMain.ReplaceAllString(blocks[1], "")
	return blocks[1:]
}

// pastes runs commands in the checkout. The default namespace of kubectl is the scene's. It ends the test at
// the first command that fails.
func (s *scene) pastes(commands string) {
	s.t.Helper()
	config, err := env.Kubectl.Run(s.ctx, "config", "view", "--raw", "--flatten")
	s.must(err)
	file := filepath.Join(s.t.TempDir(), "kubeconfig")
	s.must(os.WriteFile(file, []byte(config), 0o600))
	commands = "kubectl config set-context --current --namespace=" + s.ns + "\n" + commands
	shell := exec.CommandContext(s.ctx, "bash", "-exc", commands)
	shell.Dir = env.Root
	shell.Env = append(os.Environ(), "KUBECONFIG="+file, "PATH="+env.Kubectl.Dir()+":"+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	s.tell("pasted:\n%s", out)
	s.must(err)
}
