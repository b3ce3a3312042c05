package harness

import (
	"context"
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

const (
	// Rate is how many writes a Writer begins in a second.
	Rate = 100
	// fillRate and fillSize are how fast large values are written, 8 MiB a second, and
	// how large they are in bytes: what three members take on a disk that others use.
	fillRate, fillSize = 32, 256 << 10
	// keyRate is how fast small values are added.
	keyRate = 1000
)

// Writer is a client that writes to a cluster the whole time: see package writer.
// It is a Pod of the cluster's namespace, and is asked through the API server.
type Writer struct{ *program }

// StartWriter starts a writer and waits until its first write is acknowledged.
// onNode keeps it on one node, so that a test can take the others away; empty
// leaves it to the scheduler.
func (c *Cluster) StartWriter(ctx context.Context, onNode string) (*Writer, error) {
	p := c.writerPod(fmt.Sprintf("--rate=%d", Rate))
	if onNode != "" {
		p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: onNode}
	}
	return c.env.startWriter(ctx, c.view, p)
}

// StartAnotherWriter starts one of that name, with keys of its own, beside others.
func (c *Cluster) StartAnotherWriter(ctx context.Context, name string) (*Writer, error) {
	return c.env.startWriter(ctx, c.view, c.clientPod(name, "write", fmt.Sprintf("--rate=%d", Rate), "--prefix="+name+"/"))
}

// Fill starts a writer of large values, so many bytes in all, and waits until all of
// them are acknowledged. It writes no more then.
func (c *Cluster) Fill(ctx context.Context, bytes int) (*Writer, error) {
	count := bytes / fillSize
	w, err := c.env.startWriter(ctx, c.view, c.writerPod(
		fmt.Sprintf("--rate=%d", fillRate), fmt.Sprintf("--size=%d", fillSize), fmt.Sprintf("--count=%d", count)))
	if err != nil {
		return w, err
	}
	return w, w.allAcknowledged(ctx, count)
}

// Overwrite starts a writer of that name, which writes so many bytes in large values under
// keys of its own, the same for every name, and waits until all of them are acknowledged
// or refused.
func (c *Cluster) Overwrite(ctx context.Context, name string, bytes int) error {
	count := bytes / fillSize
	p := c.clientPod(name, "write",
		fmt.Sprintf("--rate=%d", fillRate), fmt.Sprintf("--size=%d", fillSize), fmt.Sprintf("--count=%d", count), "--prefix=overwritten/")
	w, err := c.env.startWriter(ctx, c.view, p)
	if err != nil {
		return err
	}
	return w.allAcknowledged(ctx, count)
}

// Add starts a writer of that name, which adds so many keys under a prefix, as fast as
// keyRate, and waits until all of them are acknowledged. It writes no more then.
func (c *Cluster) Add(ctx context.Context, name, prefix string, count int) (*Writer, error) {
	p := c.clientPod(name, "write", fmt.Sprintf("--rate=%d", keyRate), fmt.Sprintf("--count=%d", count), "--prefix="+prefix)
	w, err := c.env.startWriter(ctx, c.view, p)
	if err != nil {
		return w, err
	}
	return w, w.allAcknowledged(ctx, count)
}

func (w *Writer) allAcknowledged(ctx context.Context, count int) error {
	return Poll(ctx, "all writes", func(ctx context.Context) (string, error) {
		p, err := w.Progress(ctx)
		if err != nil || p.Acked+p.Failed == count {
			return "", err
		}
		return fmt.Sprintf("%d of %d are acknowledged", p.Acked, count), nil
	})
}

func (c *Cluster) writerPod(args ...string) *corev1.Pod {
	return c.clientPod("writer", "write", args...)
}

// clientPod runs a command of etcd-writer that is a client of the cluster.
func (c *Cluster) clientPod(name, command string, args ...string) *corev1.Pod {
	certificate := c.certificate()
	if certificate != "" {
		args = append(args, "--tls="+tlsFolder)
	}
	p := restrictedPod(c.Namespace, c.Name+"-"+name, append([]string{command, "--endpoint=" + c.Name + "-client:2379"}, args...)...)
	if certificate != "" {
		mount(&p.Spec, "tls", tlsFolder, secretVolume(certificate))
	}
	return p
}

func (e *Env) startWriter(ctx context.Context, v *View, pod *corev1.Pod) (*Writer, error) {
	p, err := e.start(ctx, v, pod, "the writer's first answer")
	return &Writer{p}, err
}

// Progress is how it goes.
func (w *Writer) Progress(ctx context.Context) (p writer.Progress, err error) {
	return p, w.ask(ctx, "GET", "progress", nil, &p)
}

// Acknowledged are the writes that have been acknowledged until now.
func (w *Writer) Acknowledged(ctx context.Context) (all []writer.Span, err error) {
	return all, w.ask(ctx, "GET", "acknowledged", nil, &all)
}

// Cut ends the current window of time and begins the next.
func (w *Writer) Cut(ctx context.Context) (out writer.Window, err error) {
	return out, w.ask(ctx, "POST", "cut", nil, &out)
}

// Verify reads back all that was acknowledged until now; writing goes on.
func (w *Writer) Verify(ctx context.Context) (r writer.Report, err error) {
	return r, w.ask(ctx, "POST", "verify", nil, &r)
}

// Finish stops writing and reads everything back.
func (w *Writer) Finish(ctx context.Context) (r writer.Report, err error) {
	return r, w.ask(ctx, "POST", "finish", nil, &r)
}

// Members is etcd's own member list, as a client sees it.
func (w *Writer) Members(ctx context.Context) (m []writer.Member, err error) {
	return m, w.ask(ctx, "GET", "members", nil, &m)
}

// EnableAuth enables etcd's authentication with the user root of this password, which the
// writer is from then on.
func (w *Writer) EnableAuth(ctx context.Context, password string) error {
	return w.ask(ctx, "POST", "enable-auth", url.Values{"password": {password}}, &struct{}{})
}

// DeleteKeys deletes all keys that begin with a prefix, and tells the revision of that.
func (w *Writer) DeleteKeys(ctx context.Context, prefix string) (revision int64, err error) {
	return revision, w.ask(ctx, "POST", "delete", url.Values{"prefix": {prefix}}, &revision)
}

// Stranger is what etcd tells a client that shows no credentials; empty if it answers.
func (w *Writer) Stranger(ctx context.Context) (told string, err error) {
	return told, w.ask(ctx, "GET", "stranger", nil, &told)
}

// RootSecret is a Secret with the password of etcd's user root.
func RootSecret(namespace, name, password string) *corev1.Secret {
	s := secret(namespace, name, map[string][]byte{corev1.BasicAuthUsernameKey: []byte("root"), corev1.BasicAuthPasswordKey: []byte(password)})
	s.Type = corev1.SecretTypeBasicAuth
	return &s
}

// MoveLeader makes a member the leader.
func (w *Writer) MoveLeader(ctx context.Context, to string) error {
	return w.ask(ctx, "POST", "move-leader", url.Values{"to": {to}}, &struct{}{})
}
