package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// This file completes what somebody types, from what can be read: what cannot be read is not offered.

// complete registers what completes a flag, which exists.
func complete(cmd *cobra.Command, flag string, values func(cmd *cobra.Command, args []string, typed string) []cobra.Completion) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(cmd, args, typed), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // there is no such flag: a bug of this program
	}
}

// backupNames completes the name of an EtcdBackup.
func (a *App) backupNames(cmd *cobra.Command, _ []string, _ string) []cobra.Completion {
	return a.names(cmd.Context(), &v1beta2.EtcdBackupList{})
}

// entryNames completes a stored backup: of the EtcdBackup that is named, or of all of the cluster.
func (a *App) entryNames(cmd *cobra.Command, backup, cluster string) []cobra.Completion {
	access, err := a.Connect(false)
	if err != nil {
		return nil
	}
	backups, err := access.Backups(cmd.Context(), cluster)
	if err != nil {
		return nil
	}
	var entries []cobra.Completion
	for _, b := range backups {
		if backup != "" && b.Name != backup {
			continue
		}
		for _, r := range b.Status.History {
			if r.Succeeded {
				entries = append(entries, r.Name)
			}
		}
	}
	return entries
}

// clusterThenVersion completes a cluster, and then a version that it can be moved to.
func (a *App) clusterThenVersion(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return slices.Clone(etcdversion.All()), cobra.ShellCompDirectiveNoFileComp
	}
	return a.clusterNames(cmd, args, typed)
}

// operatorList completes the last of some operators, which commas separate.
func operatorList(_ *cobra.Command, _ []string, typed string) []cobra.Completion {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var lists []cobra.Completion
	for _, name := range operatorNames {
		if !slices.Contains(strings.Split(before, ","), name) {
			lists = append(lists, before+name)
		}
	}
	return lists
}

// completeFlags completes the flags of kubectl that every command has.
func (a *App) completeFlags(root *cobra.Command, flags *genericclioptions.ConfigFlags) {
	complete(root, "namespace", func(cmd *cobra.Command, _ []string, _ string) []cobra.Completion {
		return a.names(cmd.Context(), &corev1.NamespaceList{})
	})
	complete(root, "context", func(*cobra.Command, []string, string) []cobra.Completion {
		config, err := flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil
		}
		var names []cobra.Completion
		for name := range config.Contexts {
			names = append(names, name)
		}
		slices.Sort(names)
		return names
	})
}
