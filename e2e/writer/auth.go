package writer

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// EnableAuth enables etcd's authentication, as a user does with etcdctl, with the user
// root of this password, which the writer is from then on.
func (w *Writer) EnableAuth(ctx context.Context, password string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*askTimeout)
	defer cancel()
	c := w.client()
	if _, err := c.UserAdd(ctx, rootUser, password); err != nil {
		return fmt.Errorf("add the user %s: %w", rootUser, err)
	}
	if _, err := c.RoleAdd(ctx, rootUser); err != nil {
		return fmt.Errorf("add the role %s: %w", rootUser, err)
	}
	if _, err := c.UserGrantRole(ctx, rootUser, rootUser); err != nil {
		return fmt.Errorf("grant it: %w", err)
	}
	if _, err := c.AuthEnable(ctx); err != nil {
		return fmt.Errorf("enable authentication: %w", err)
	}
	w.mu.Lock()
	w.password = password
	w.mu.Unlock()
	return w.reconnect()
}

// rootUser is etcd's user, and role, of all rights.
const rootUser = "root"

// Stranger is what etcd tells a client that shows no credentials; empty if it answers.
func (w *Writer) Stranger(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.o.Endpoint}, TLS: w.o.TLS, Logger: zap.NewNop()})
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := c.Get(ctx, w.o.Prefix); err != nil {
		return err.Error(), nil
	}
	return "", nil
}

// fresh is a connection of its own, with a token of the cluster that now is. (etcd does not
// refuse a token of one that was restored since, but waits until the log is as long as it
// was when the token was made.)
func (w *Writer) fresh() (*clientv3.Client, error) {
	return clientv3.New(w.credentials(clientv3.Config{Endpoints: []string{w.o.Endpoint}, TLS: w.o.TLS, Logger: zap.NewNop()}))
}

// credentials are added to the options of a connection, once authentication is enabled.
func (w *Writer) credentials(config clientv3.Config) clientv3.Config {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.password != "" {
		// clientv3 authenticates before it returns, and etcd takes its time for that: it hashes the
		// password, which a busy machine does slowly.
		config.Username, config.Password, config.DialTimeout = rootUser, w.password, 4*askTimeout
	}
	return config
}
