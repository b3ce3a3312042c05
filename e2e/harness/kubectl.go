package harness

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// Kubectl runs kubectl as a person would.
type Kubectl struct {
	program    string
	kubeconfig string
}

// Run runs kubectl and returns what it prints. An error holds what it complains
// of.
func (k Kubectl) Run(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "", k.env(), append([]string{k.program}, args...)...)
}

// Apply applies manifests, given as text, in a namespace.
func (k Kubectl) Apply(ctx context.Context, namespace, manifests string, args ...string) (string, error) {
	cmd := k.Command(ctx, append([]string{"-n", namespace, "apply", "-f", "-"}, args...)...)
	cmd.Stdin = strings.NewReader(manifests)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Command is kubectl, ready to be run.
func (k Kubectl) Command(ctx context.Context, args ...string) *exec.Cmd {
	return command(ctx, "", k.env(), append([]string{k.program}, args...)...)
}

func (k Kubectl) env() []string { return []string{"KUBECONFIG=" + k.kubeconfig} }

// Dir is the folder of the program, or empty if it is on PATH.
func (k Kubectl) Dir() string {
	if !filepath.IsAbs(k.program) {
		return ""
	}
	return filepath.Dir(k.program)
}
