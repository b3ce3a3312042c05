// Package tunnel reaches the members of a cluster from this machine: through port-forwards of
// the API server, with the certificate and the user that the EtcdCluster names.
//
// Each member is reached directly and by its own name, so that its certificate is checked as in
// the cluster. Nothing is written to the disk.
package tunnel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

const (
	// openTimeout bounds the opening of one port-forward: the API server asks the kubelet, which
	// answers within a second where it answers at all.
	openTimeout = 15 * time.Second
	// reopenPause is the pause between attempts to reopen a lost port-forward. It doubles up to maxReopenPause:
	// a member that restarts serves again within seconds.
	reopenPause, maxReopenPause = 200 * time.Millisecond, 10 * time.Second
	// watchPause is from the end of one watch of a Pod to the next, and getTimeout bounds the look at it.
	watchPause, getTimeout = 5 * time.Second, 30 * time.Second
	// dialTimeout bounds the first connection to etcd behind it.
	dialTimeout = 10 * time.Second
	// maxMessage is the size of the largest answer that is accepted. A page of [keyspace] can turn out larger
	// than intended, or a single value can be large. etcd accepts requests of at most 1.5 MiB by default.
	maxMessage = 16 << 20
	// maxMetrics is how much of a member's metrics is read: etcd has some 100 KiB of them.
	maxMetrics = 4 << 20
)

// ErrGone is wrapped by the error of a [Forward] to a Pod that does not exist or has ended.
var ErrGone = errors.New("the Pod is gone")

// Forward opens a port-forward to a port of a Pod from a port of 127.0.0.1 (0: any), until Stop
// is called.
type Forward func(ctx context.Context, pod string, local, port int) (*Port, error)

// Port is a port-forward.
type Port struct {
	// Local is the port of 127.0.0.1.
	Local int
	// Lost is closed when the port-forward has ended, such as with its Pod.
	Lost <-chan struct{}
	Stop func()
}

// Member is one member behind its port-forward.
type Member struct {
	// Name is that of the member and of its Pod.
	Name string
	// Port and MetricsPort are the local ports that lead to its client port and its metrics.
	Port, MetricsPort int
	// Host is its DNS name in the cluster, for which its certificate is.
	Host string
}

// Identity is who the plugin is to etcd.
type Identity struct {
	// TLS is nil for a cluster that serves clients in the clear.
	TLS *tls.Config
	// Files are the keys of the TLS Secret, for a program that wants them as files.
	Files map[string][]byte
	// Credentials are the user's of spec.auth.rootSecret; empty where it names none.
	Credentials etcdclient.Credentials
}

// IdentityOf reads the Secrets that a cluster names for its operators.
func IdentityOf(ctx context.Context, a *kube.Access, cluster *v1beta2.EtcdCluster) (*Identity, error) {
	id := &Identity{}
	if name := cluster.OperatorTLSSecret(); name != "" {
		secret, err := secretOf(ctx, a, name, "the operators' client certificate")
		if err != nil {
			return nil, err
		}
		if id.TLS, err = etcdclient.ParseTLS(secret.Data); err != nil {
			return nil, fmt.Errorf("read the certificate in Secret %s: %w", name, err)
		}
		id.Files = secret.Data
	}
	if name := cluster.Spec.RootSecret(); name != "" {
		secret, err := secretOf(ctx, a, name, "the password of etcd's user")
		if err != nil {
			return nil, err
		}
		id.Credentials = etcdclient.Credentials{
			Username: cmp.Or(string(secret.Data[corev1.BasicAuthUsernameKey]), v1beta2.DefaultRootUser),
			Password: string(secret.Data[corev1.BasicAuthPasswordKey]),
		}
		if id.Credentials.Password == "" {
			return nil, fmt.Errorf("spec.auth.rootSecret: Secret %s has no key password: add it", name)
		}
	}
	return id, nil
}

func secretOf(ctx context.Context, a *kube.Access, name, what string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if err := a.Get(ctx, client.ObjectKey{Namespace: a.Namespace, Name: name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %s (%s), for which you need the right to get it: %w", name, what, err)
	}
	return secret, nil
}

// Tunnel is a set of port-forwards to the members of one cluster.
type Tunnel struct {
	Members  []Member
	Identity *Identity
	// Failed says why a member has no port-forward, by its name.
	Failed map[string]error

	stops []func()
	// left is the number of members that can still be reached. none ends when the last one is gone.
	left atomic.Int32
	none chan struct{}
}

// Open opens port-forwards to the Pods of a cluster, side by side. It succeeds if one of them
// can be reached; Failed tells of the others. The caller closes it.
func Open(ctx context.Context, a *kube.Access, cluster *v1beta2.EtcdCluster, pods []corev1.Pod, forward Forward) (*Tunnel, error) {
	identity, err := IdentityOf(ctx, a, cluster)
	if err != nil {
		return nil, err
	}
	t := &Tunnel{Identity: identity, Failed: map[string]error{}, none: make(chan struct{})}
	t.left.Store(int32(len(pods)))
	members, failures := make([]*Member, len(pods)), make([]error, len(pods))
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range pods {
		all.Go(func() {
			m := &Member{Name: pods[i].Name, Host: member.Host(cluster, pods[i].Name)}
			gone := sync.OnceFunc(func() {
				if t.left.Add(-1) == 0 {
					close(t.none)
				}
			})
			for _, to := range []struct {
				port int
				at   *int
			}{{member.ClientPort, &m.Port}, {member.MetricsPort, &m.MetricsPort}} {
				local, stop, err := keep(ctx, forward, m.Name, to.port, gone)
				if err != nil {
					failures[i] = err
					gone()
					return
				}
				*to.at = local
				mu.Lock()
				t.stops = append(t.stops, stop)
				mu.Unlock()
			}
			members[i] = m
		})
	}
	all.Wait()
	for i, m := range members {
		if m != nil {
			t.Members = append(t.Members, *m)
			continue
		}
		t.Failed[pods[i].Name] = failures[i]
	}
	if len(t.Members) == 0 {
		t.Close()
		if err := errors.Join(failures...); err != nil {
			return nil, fmt.Errorf("no member of EtcdCluster %s can be reached: %w", cluster.Name, err)
		}
		return nil, fmt.Errorf("EtcdCluster %s has no Pod that runs", cluster.Name)
	}
	return t, nil
}

// While returns a context that also ends, with a cause, when the Pods of all members are gone.
func (t *Tunnel) While(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-ctx.Done():
		case <-t.none:
			cancel(fmt.Errorf("no member can be reached any more: %w", ErrGone))
		}
	}()
	return ctx, func() { cancel(nil) }
}

// keep opens a port-forward, and reopens it at the same local port when it is lost. client-go ends a
// port-forward when one connection through it fails, for example if etcd resets the connection. stop ends it.
// When the Pod is gone, keep does not reopen it, and calls gone.
func keep(ctx context.Context, forward Forward, pod string, port int, gone func()) (local int, stop func(), err error) {
	p, err := forward(ctx, pod, 0, port)
	if err != nil {
		return 0, nil, err
	}
	local = p.Local
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				p.Stop()
				return
			case <-p.Lost:
			}
			for pause := reopenPause; ctx.Err() == nil; pause = min(2*pause, maxReopenPause) {
				again, err := forward(ctx, pod, local, port)
				if err == nil {
					p = again
					break
				}
				if errors.Is(err, ErrGone) {
					gone()
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		}
	}()
	return local, func() { cancel(); <-ended }, nil
}

// Close ends the port-forwards.
func (t *Tunnel) Close() {
	for _, stop := range t.stops {
		stop()
	}
	t.stops = nil
}

// Endpoint is where a member is asked.
func (m *Member) Endpoint() etcdclient.Endpoint {
	return etcdclient.Endpoint{Name: m.Name, Addr: local(m.Port), MetricsAddr: local(m.MetricsPort), ServerName: m.Host}
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Endpoints are those of all members.
func (t *Tunnel) Endpoints() []etcdclient.Endpoint {
	var all []etcdclient.Endpoint
	for i := range t.Members {
		all = append(all, t.Members[i].Endpoint())
	}
	return all
}

// Context makes calls of [etcdclient] those of the tunnel's identity.
func (t *Tunnel) Context(ctx context.Context) context.Context {
	ctx = etcdclient.By(ctx, t.Identity.TLS)
	if t.Identity.Credentials.Password == "" {
		return ctx
	}
	return etcdclient.As(ctx, etcdclient.NewSession(func(context.Context) (etcdclient.Credentials, error) {
		return t.Identity.Credentials, nil
	}))
}

// Ask asks all members what they know, within a time: those that do not answer up to three times more,
// since client-go ends a port-forward when one connection through it fails (see keep), and a busy API
// server takes a while to open it again.
func (t *Tunnel) Ask(ctx context.Context, within time.Duration) map[string]etcdclient.Answer {
	const attempts = 4
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	client := etcdclient.Client{Deadline: within / attempts}
	silent, answers := t.Endpoints(), map[string]etcdclient.Answer{}
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return answers
			case <-time.After(2 * reopenPause):
			}
		}
		maps.Copy(answers, client.Ask(ctx, silent))
		silent = slices.DeleteFunc(silent, func(e etcdclient.Endpoint) bool {
			a := answers[e.Name]
			return a.Reached || a.RefusedBecause != ""
		})
		if len(silent) == 0 {
			break
		}
	}
	return answers
}

// Named is the member of a name.
func (t *Tunnel) Named(name string) (*Member, error) {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i], nil
		}
	}
	if err := t.Failed[name]; err != nil {
		return nil, fmt.Errorf("member %s cannot be reached: %w", name, err)
	}
	return nil, fmt.Errorf("member %s does not exist: run \"kubectl etcd members\" to see the members", name)
}

// Client is a client of one member, for what [etcdclient] does not do. The caller closes it.
func (t *Tunnel) Client(ctx context.Context, m *Member) (*clientv3.Client, error) {
	config := clientv3.Config{
		Context: ctx, Endpoints: []string{"http://" + local(m.Port)},
		DialTimeout: dialTimeout, MaxCallRecvMsgSize: maxMessage, Logger: zap.NewNop(),
		Username: t.Identity.Credentials.Username, Password: t.Identity.Credentials.Password,
	}
	if t.Identity.TLS != nil {
		config.Endpoints, config.TLS = []string{"https://" + local(m.Port)}, t.Identity.TLS
		config.DialOptions = []grpc.DialOption{grpc.WithAuthority(m.Host)}
	}
	c, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("connect to member %s: %w", m.Name, err)
	}
	return c, nil
}

// Metrics reads a member's metrics, which it serves in the clear.
func (m *Member) Metrics(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+local(m.MetricsPort)+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of member %s: %w", m.Name, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxMetrics))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("read the metrics of member %s: %w", m.Name, err)
	}
	return data, nil
}

// ByAPIServer forwards ports as kubectl port-forward does.
func ByAPIServer(config *rest.Config, namespace string) (Forward, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return func(ctx context.Context, pod string, localPort, port int) (*Port, error) {
		url := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, err)
		}
		overSPDY := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
		overWebSocket, err := portforward.NewSPDYOverWebsocketDialer(url, config)
		if err != nil {
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, err)
		}
		// An API server before 1.31, or a proxy in front of it, might not upgrade to WebSockets.
		dialer := portforward.NewFallbackDialer(overWebSocket, overSPDY, func(error) bool { return true })
		end, ready, lost, failed := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
		var once sync.Once
		stop := func() { once.Do(func() { close(end) }) }
		forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("%d:%d", localPort, port)}, end, ready, io.Discard, io.Discard)
		if err != nil {
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, err)
		}
		go func() {
			failed <- forwarder.ForwardPorts()
			close(lost)
		}()
		ctx, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		select {
		case <-ready:
		case err := <-failed:
			err = cmp.Or(err, io.ErrUnexpectedEOF)
			if isGone(ctx, clients.CoreV1().Pods(namespace), pod) {
				err = fmt.Errorf("%w: %w", ErrGone, err)
			}
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, err)
		case <-ctx.Done():
			stop()
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, ctx.Err())
		}
		ports, err := forwarder.GetPorts()
		if err != nil {
			stop()
			return nil, fmt.Errorf("forward a port to Pod %s: %w", pod, err)
		}
		go func() {
			// It outlives ctx, and ends with the port-forward.
			watching, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-lost
				cancel()
			}()
			if ended(watching, clients.CoreV1().Pods(namespace), pod) {
				stop()
			}
		}()
		return &Port{Local: int(ports[0].Local), Lost: lost, Stop: stop}, nil
	}, nil
}

// isGone reports whether a Pod does not exist, or all of its containers have ended for good.
func isGone(ctx context.Context, pods typed.PodInterface, name string) bool {
	p, err := pods.Get(ctx, name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && (p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded)
}

// ended waits until a Pod is deleted or its containers have ended: a port-forward to it stays open
// until the next connection. It is false if ctx ends first, or without the right to watch Pods.
func ended(ctx context.Context, pods typed.PodInterface, name string) bool {
	var uid types.UID
	for {
		ended, err := watched(ctx, pods, name, &uid)
		if ended || apierrors.IsForbidden(err) {
			return ended
		}
		select { // an API server ends a watch now and then
		case <-ctx.Done():
			return false
		case <-time.After(watchPause):
		}
	}
}

// watched is ended as far as one watch tells. uid is that of the Pod, which the first one finds out.
func watched(ctx context.Context, pods typed.PodInterface, name string, uid *types.UID) (bool, error) {
	events, err := pods.Watch(ctx, metav1.SingleObject(metav1.ObjectMeta{Name: name}))
	if err != nil {
		return false, err
	}
	defer events.Stop()
	getting, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	pod, err := pods.Get(getting, name, metav1.GetOptions{}) // it might be gone before the watch began
	if err != nil {
		return apierrors.IsNotFound(err), err
	}
	if *uid == "" {
		*uid = pod.UID
	}
	for {
		if pod.UID != *uid || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case e, isOpen := <-events.ResultChan():
			seen, isPod := e.Object.(*corev1.Pod)
			switch {
			case !isOpen || !isPod:
				return false, nil
			case e.Type == watch.Deleted:
				return true, nil
			}
			pod = seen
		}
	}
}
