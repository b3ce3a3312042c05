package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/etcd-operators/etcd-operators/plugin/internal/command"
)

// The page has the commands in their groups, and of each flag what it is by default.
func TestPage(t *testing.T) {
	nothing := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "kubectl-etcd", Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: command.Name}}
	root.PersistentFlags().StringP("namespace", "n", "", "the namespace")
	root.PersistentFlags().String("server", "", "hidden")
	root.PersistentFlags().Lookup("server").Hidden = true
	root.AddGroup(&cobra.Group{ID: "look", Title: "Look:"}, &cobra.Group{ID: "act", Title: "Act:"})
	show := &cobra.Command{
		Use: "show CLUSTER", Aliases: []string{"s"}, GroupID: "look", Run: nothing, DisableFlagsInUseLine: true,
		Long: "Show <all>, also with --s3.", Example: "  kubectl etcd show a\n  kubectl etcd show b",
	}
	show.Flags().Int("tail", -1, "how many; -1: all|none, with --s3=true")
	show.Flags().Bool("s3", false, "in S3")
	show.Flags().StringSlice("of", []string{"a", "b"}, "of which")
	act := &cobra.Command{Use: "act", GroupID: "act", Long: "Act.", DisableFlagsInUseLine: true}
	act.AddCommand(&cobra.Command{Use: "now", Run: nothing, Long: "Act now.", DisableFlagsInUseLine: true})
	root.AddCommand(act, show)
	_, got, _ := strings.Cut(page(root), "work as well.\n")
	// ' stands for a backquote.
	want := strings.ReplaceAll(`
| Flag | Default | Meaning |
| --- | --- | --- |
| '-n', '--namespace' _string_ |  | the namespace |

## Look

### show

'''
kubectl etcd show CLUSTER
'''

Show &lt;all>, also with '--s3'.

It is also called 's'.

'''sh
kubectl etcd show a
kubectl etcd show b
'''

| Flag | Default | Meaning |
| --- | --- | --- |
| '--of' _strings_ | 'a,b' | of which |
| '--s3' |  | in S3 |
| '--tail' _int_ | '-1' | how many; -1: all\|none, with '--s3=true' |

## Act

### act

'''
kubectl etcd act
'''

Act.

### act now

'''
kubectl etcd act now
'''

Act now.
`, "'", "`")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each command of the plugin is on the page: one that belongs to no group would be on none.
func TestPageHasEachCommand(t *testing.T) {
	root := command.New(&command.App{}, genericclioptions.NewConfigFlags(true))
	got := page(root)
	for _, c := range root.Commands() {
		if !strings.Contains(got, "\n### "+c.Name()+"\n") {
			t.Errorf("%s is not on the page", c.Name())
		}
	}
}
