package cluster

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
)

// Registry lets nodes find a registry at a URL, such as http://172.30.1.2:5000, and not where its name says.
func (c Cluster) Registry(ctx context.Context, name, at string) error {
	if u, err := url.Parse(at); err != nil || u.Scheme == "" || u.Host == "" {
		return fmt.Errorf("invalid URL %q: give one such as http://172.30.1.2:5000", at)
	}
	return c.locked(ctx, "registry", LoadTimeout, func(context.Context) error {
		nodes, err := c.nodes()
		if err != nil {
			return err
		}
		if len(nodes) == 0 {
			return errNotUp
		}
		// containerd reads it at each pull.
		return put(filepath.Join(c.Layout.Registries(), name, "hosts.toml"),
			fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", at, at))
	})
}
