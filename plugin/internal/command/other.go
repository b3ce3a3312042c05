package command

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"

	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// Version is what kubectl etcd version shows.
type Version struct {
	Plugin string `json:"plugin"`
	Go     string `json:"go"`
	// Etcd are the newest patches of the supported minors of etcd.
	Etcd []string `json:"etcd"`
	// Kubernetes is the version of the API server; empty if it did not answer.
	Kubernetes string `json:"kubernetes,omitempty"`
	// Operators are the images of the Pods of the operators that serve the namespace.
	Operators []string `json:"operators,omitempty"`
	// Trouble says why the API server did not answer.
	Trouble string `json:"trouble,omitempty"`
}

func (a *App) version() *cobra.Command {
	var o output
	var clientOnly bool
	cmd := &cobra.Command{
		Use: "version", Short: "Show the versions of the plugin, the operators and Kubernetes", Args: cobra.NoArgs, DisableFlagsInUseLine: true,
		Long: `Show the versions of the plugin, of the operators that serve the namespace, and of Kubernetes. The exit
code is 1 if the API server does not answer.`,
		Example: example("version", "version --client"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := Version{Plugin: a.Version, Go: runtime.Version(), Etcd: etcdversion.All()}
			if !clientOnly {
				a.askServer(cmd, &v)
			}
			if err := a.print(o, v, func(screen.Format) error {
				fmt.Fprintf(a.Out, "Plugin:      %s (%s)\nEtcd:        %s are supported\n", v.Plugin, v.Go, strings.Join(v.Etcd, ", "))
				if v.Kubernetes != "" {
					fmt.Fprintf(a.Out, "Kubernetes:  %s\n", v.Kubernetes)
				}
				for _, image := range v.Operators {
					fmt.Fprintf(a.Out, "Operator:    %s\n", image)
				}
				if v.Trouble != "" {
					fmt.Fprintf(a.ErrOut, "The API server does not answer: %s\n", v.Trouble)
				}
				return nil
			}); err != nil {
				return err
			}
			if v.Trouble != "" {
				return ExitError{Code: 1}
			}
			return nil
		},
	}
	o.addTo(cmd)
	cmd.Flags().BoolVar(&clientOnly, "client", false, "of the plugin only")
	return cmd
}

func (a *App) askServer(cmd *cobra.Command, v *Version) {
	access, err := a.Connect(false)
	if err != nil {
		v.Trouble = err.Error()
		return
	}
	for _, p := range operators(cmd.Context(), access) {
		for _, c := range p.Spec.Containers {
			v.Operators = append(v.Operators, fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, c.Image))
		}
	}
	if access.Config == nil {
		return
	}
	d, err := discovery.NewDiscoveryClientForConfig(access.Config)
	if err != nil {
		v.Trouble = err.Error()
		return
	}
	info, err := d.ServerVersion()
	if err != nil {
		v.Trouble = err.Error()
		return
	}
	v.Kubernetes = info.GitVersion
}

// kubectlComplete is the script by which kubectl completes the arguments of the plugin: kubectl
// looks for a program of this name in the PATH.
const kubectlComplete = `#!/bin/sh
# Save this as kubectl_complete-etcd in a folder of your PATH, and make it executable.
exec kubectl-etcd __complete "$@"
`

func (a *App) completion(root *cobra.Command) *cobra.Command {
	shells := []string{"kubectl", "bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "Write the script for shell completion", DisableFlagsInUseLine: true,
		Long: `Write the script for shell completion.

For "kubectl etcd", which you normally want, write the script of the shell kubectl to a file
named kubectl_complete-etcd in your PATH. kubectl's own completion must be set up. The scripts of
bash, zsh, fish and powershell complete the program kubectl-etcd when it is called by its own name.`,
		Example:   example("completion kubectl > ~/bin/kubectl_complete-etcd && chmod +x ~/bin/kubectl_complete-etcd", "completion bash > /etc/bash_completion.d/kubectl-etcd"),
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: completions(shells),
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Out)
			}
			_, err := fmt.Fprint(a.Out, kubectlComplete)
			return err
		},
	}
}
