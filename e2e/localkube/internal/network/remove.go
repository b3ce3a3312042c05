package network

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/shell"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/internal/topology"
)

// Remove removes all that Machine, Attach, Cut, CNI and kube-proxy made in the machine's own network namespace. The
// nodes' namespaces end with their mounts. before lists the nft tables that are to stay even if they are empty.
func Remove(ctx context.Context, before []string) error {
	var errs []error
	for _, n := range topology.All() {
		errs = append(errs, Heal(ctx, n), deleteLink(ctx, n.Link()))
	}
	errs = append(errs, deletePods(ctx, nil))
	errs = append(errs, deleteTable(ctx, nil, "ip "+topology.NetworkTable), ForgetServices(ctx, ""))
	for _, family := range []string{"ip", "ip6"} {
		errs = append(errs, cleanIptables(ctx, family, before))
	}
	return errors.Join(errs...)
}

// ForgetServices removes kube-proxy's rules in a node's network namespace; "" is the machine's own.
func ForgetServices(ctx context.Context, netns string) error {
	var inside []string
	if netns != "" {
		inside = enter(netns)
	}
	return errors.Join(deleteTable(ctx, inside, "ip kube-proxy"), deleteTable(ctx, inside, "ip6 kube-proxy"))
}

// ours tells whether a saved rule or chain is one of kubelet's, kube-proxy's or the portmap plugin's chains.
func ours(rule string) bool { return strings.Contains(rule, "KUBE-") || strings.Contains(rule, "CNI-") }

// cleanIptables takes the rules of kubelet, kube-proxy and the portmap plugin out of iptables, and drops the tables
// that iptables made for them.
func cleanIptables(ctx context.Context, family string, before []string) error {
	tool := map[string]string{"ip": "iptables", "ip6": "ip6tables"}[family]
	saved, err := shell.Run(ctx, tool+"-save")
	if err != nil {
		return nil //nolint:nilerr // no such family in this kernel, or iptables isn't installed yet: nothing can be there
	}
	if ours(saved) {
		if _, err := (shell.Cmd{Argv: []string{tool + "-restore"}, Stdin: withoutOurs(saved)}).Run(ctx); err != nil {
			return err
		}
	}
	return dropEmptyTables(ctx, family, before)
}

func withoutOurs(saved string) string {
	var kept strings.Builder
	for line := range strings.Lines(saved) {
		if !ours(line) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// dropEmptyTables deletes iptables' own nft tables that weren't there before and hold no rule.
func dropEmptyTables(ctx context.Context, family string, before []string) error {
	for _, name := range []string{"filter", "nat", "mangle", "raw", "security"} {
		full := family + " " + name
		if slices.Contains(before, full) {
			continue
		}
		content, err := shell.Run(ctx, "nft", "list", "table", family, name)
		if err != nil {
			continue // no such table
		}
		if !hasRules(content) {
			if err := deleteTable(ctx, nil, full); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasRules tells whether a table in nft's own words holds more than its base chains.
func hasRules(content string) bool {
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		frame := line == "" || line == "}" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "table ") ||
			strings.HasPrefix(line, "chain ") || strings.HasPrefix(line, "type ")
		if !frame {
			return true
		}
	}
	return false
}

func deleteLink(ctx context.Context, name string) error {
	if !exists(name) {
		return nil
	}
	if _, err := shell.Run(ctx, "ip", "link", "delete", name); err != nil && exists(name) {
		return err
	}
	return nil
}

// ForgetPods removes the links of a node's pods. A pod's network namespace outlives its processes for as long as one of
// their connections waits for an acknowledgement, some two minutes on a node that was cut off. Until then it would
// answer at an address that another pod has once the node runs again.
func ForgetPods(ctx context.Context, netns string) error { return deletePods(ctx, enter(netns)) }

// deletePods deletes the pods' bridge, and each pod's link at both ends; inside is as for applyTable.
func deletePods(ctx context.Context, inside []string) error {
	ip := func(args ...string) (string, error) {
		argv := append(append(slices.Clone(inside), "ip"), args...)
		return shell.Run(ctx, argv[0], argv[1:]...)
	}
	remove := func(link string) error {
		_, err := ip("link", "delete", link)
		if _, gone := ip("link", "show", link); gone != nil {
			return nil //nolint:nilerr // its other end has ended it meanwhile
		}
		return err
	}
	if _, err := ip("link", "show", topology.PodBridge); err != nil {
		return nil //nolint:nilerr // no pod has run here
	}
	ports, err := ip("-brief", "link", "show", "master", topology.PodBridge)
	errs := []error{err}
	for line := range strings.Lines(ports) {
		name, _, _ := strings.Cut(strings.Fields(line)[0], "@")
		errs = append(errs, remove(name))
	}
	return errors.Join(append(errs, remove(topology.PodBridge))...)
}
