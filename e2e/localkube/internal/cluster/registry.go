package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Registry lets nodes find a registry at a URL, such as http://172.30.1.2:5000, and not where its name says.
// An empty URL takes that back.
func (c Cluster) Registry(ctx context.Context, name, at string) error {
	if u, err := url.Parse(at); at != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		return fmt.Errorf("invalid URL %q: give one such as http://172.30.1.2:5000", at)
	}
	if !filepath.IsLocal(name) || name == "." || strings.Contains(name, "/") {
		return fmt.Errorf("invalid registry %q: give one such as registry.example.com", name)
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
		folder := filepath.Join(c.Layout.Registries(), name)
		if at == "" {
			return os.RemoveAll(folder)
		}
		return put(filepath.Join(folder, "hosts.toml"),
			fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", at, at))
	})
}
