package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

const (
	// patroniPort is where Patroni's REST API is.
	patroniPort = 8008
	// PatroniScope is the name of the PostgreSQL cluster; its keys are in etcd below
	// /service/<scope>.
	PatroniScope = "example"
)

// PatroniServers are the Pods of the two servers.
var PatroniServers = []string{"patroni-0", "patroni-1"}

// RowClients are the Pods that write rows, and the order in which each tries the servers.
var RowClients = []struct{ Name, Servers string }{
	{"rows-0", "patroni-0.patroni,patroni-1.patroni"},
	{"rows-1", "patroni-1.patroni,patroni-0.patroni"},
}

//go:embed patroni.yaml
var patroniText string

var patroniManifests = template.Must(template.New("patroni").Parse(patroniText))

// Patroni is two PostgreSQL servers, one of which leads by a key in etcd, and two clients that
// write rows the whole time.
type Patroni struct {
	env       *Env
	namespace string
}

// LoadPatroni gives localkube the image with Patroni and PostgreSQL. Debian's packages are fetched
// the first time, which takes minutes.
func (e *Env) LoadPatroni(ctx context.Context) error {
	if e.Local == nil {
		return ErrNoNodeAccess
	}
	built, err := images.BuildPatroni(ctx, e.Root)
	if err != nil {
		return err
	}
	return e.Local.load(ctx, []string{built.Tar})
}

// StartPatroni starts Patroni and its clients, and waits until both servers are ready. etcd is the
// part of its configuration by which it reaches etcd, and certificate is the Secret that it mounts.
func (e *Env) StartPatroni(ctx context.Context, v *View, namespace, etcd, certificate string) (*Patroni, error) {
	var text bytes.Buffer
	if err := patroniManifests.Execute(&text, map[string]any{
		"Password": rand.Text(), "Image": images.Patroni, "Certificate": certificate, "Clients": RowClients,
		"Etcd": regexp.MustCompile(`(?m)^`).ReplaceAllString(strings.TrimSpace(etcd), "    "),
	}); err != nil {
		return nil, err
	}
	if out, err := e.Kubectl.Apply(ctx, namespace, text.String()); err != nil {
		return nil, fmt.Errorf("start Patroni: %w: %s", err, out)
	}
	p := &Patroni{env: e, namespace: namespace}
	for _, name := range PatroniServers {
		if err := v.Await(ctx, name, func() string { return notReady(v, namespace, name) }); err != nil {
			return nil, err
		}
	}
	return p, Poll(ctx, "the table of the rows", func(ctx context.Context) (string, error) {
		_, err := p.SQL(ctx, "CREATE TABLE IF NOT EXISTS rows (client text, n bigint, PRIMARY KEY (client, n))")
		return "", err
	})
}

// notReady says what a Pod lacks to be ready.
func notReady(v *View, namespace, name string) string {
	var pod corev1.Pod
	switch {
	case !v.Get(namespace, name, &pod):
		return "there is no Pod " + name
	case !podReady(&pod):
		return "it is not ready: " + podState(&pod)
	}
	return ""
}

// SQL runs a statement on the server that takes writes, and returns a line for each row.
func (p *Patroni) SQL(ctx context.Context, statement string) ([]string, error) {
	out, err := p.env.Kubectl.Run(ctx, "-n", p.namespace, "exec", RowClients[0].Name, "--", "psql", "-qAtX", "-F", " ", "-c", statement)
	if err != nil || strings.TrimSpace(out) == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSpace(out), "\n"), nil
}

// Rows reads what the clients have logged, each in its own order.
func (p *Patroni) Rows(ctx context.Context) (Rows, error) {
	all := Rows{Tried: map[Row]bool{}}
	for _, client := range RowClients {
		log, err := p.env.Clientset.CoreV1().Pods(p.namespace).GetLogs(client.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return all, err
		}
		all.read(client.Name, string(log))
	}
	return all, nil
}

// View is what a server tells, by its REST API.
func (p *Patroni) View(ctx context.Context, server string) (view PatroniView, err error) {
	for path, into := range map[string]any{"cluster": &view, "history": &view.History, "config": &view.Config} {
		if err := p.ask(ctx, http.MethodGet, server, path, nil, into); err != nil {
			return view, err
		}
	}
	return view, nil
}

// Switchover asks Patroni to make another server the leader.
func (p *Patroni) Switchover(ctx context.Context, from, to string) error {
	return p.ask(ctx, http.MethodPost, from, "switchover", map[string]string{"leader": from, "candidate": to}, nil)
}

// ask asks a server's REST API, through the API server. An answer that is no JSON is left unread.
func (p *Patroni) ask(ctx context.Context, verb, server, path string, body, into any) error {
	request := p.env.Clientset.CoreV1().RESTClient().Verb(verb).Namespace(p.namespace).
		Resource("pods").Name(fmt.Sprintf("%s:%d", server, patroniPort)).SubResource("proxy").Suffix(path)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		request = request.Body(text)
	}
	answer, err := request.DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("ask %s for %s: %w: %s", server, path, err, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

// Remount makes the kubelet look at once at what the servers have mounted.
func (p *Patroni) Remount(ctx context.Context) error {
	return p.env.remount(ctx, p.namespace, PatroniServers...)
}
