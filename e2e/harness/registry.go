package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// registryTimeout bounds how long localkube's own lock may be waited for, which other commands hold.
const registryTimeout = 5 * time.Minute

// Registry is a registry that takes nobody without its credentials, if it has some. Its images are in memory.
type Registry struct {
	// Addr is where it listens, such as 172.30.1.2:41234, without TLS.
	Addr string

	env            *Env
	server         *http.Server
	as             string
	user, password string

	mu     sync.Mutex
	pulled map[string]bool
}

// StartRegistry starts one in this process, and lets localkube's nodes find it under a name. Without a user
// everybody may pull and push. Whoever has it calls its Stop.
func (e *Env) StartRegistry(ctx context.Context, as, user, password string) (*Registry, error) {
	if e.Local == nil {
		return nil, ErrNoNodeAccess
	}
	api, err := url.Parse(e.Config.Host)
	if err != nil {
		return nil, err
	}
	// The first node is the machine itself.
	listener, err := net.Listen("tcp", net.JoinHostPort(api.Hostname(), "0"))
	if err != nil {
		return nil, fmt.Errorf("start a registry: %w", err)
	}
	r := &Registry{Addr: listener.Addr().String(), env: e, as: as, user: user, password: password, pulled: map[string]bool{}}
	r.server = &http.Server{Handler: r.guard(registry.New(registry.Logger(log.New(io.Discard, "", 0)))), ReadHeaderTimeout: killDelay}
	go func() { _ = r.server.Serve(listener) }() // it ends by Stop
	if err := e.Local.registry(ctx, as, "http://"+r.Addr); err != nil {
		return nil, errors.Join(err, r.server.Close())
	}
	return r, nil
}

// Stop ends it. Nodes resolve its name by DNS again.
func (r *Registry) Stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), registryTimeout)
	defer cancel()
	return errors.Join(r.env.Local.registry(ctx, r.as), r.server.Close())
}

// guard lets those pass who have the credentials, and remembers what they pull.
func (r *Registry) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if user, password, _ := req.BasicAuth(); user != r.user || password != r.password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		if repository, _, is := strings.Cut(req.URL.Path, "/blobs/"); is && req.Method == http.MethodGet {
			r.mu.Lock()
			r.pulled[strings.TrimPrefix(repository, "/v2/")] = true
			r.mu.Unlock()
		}
		next.ServeHTTP(w, req)
	})
}

// Pulled tells whether a part of an image of that repository, such as coreos/etcd, was pulled.
func (r *Registry) Pulled(repository string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pulled[repository]
}

// Mirror puts the images of the operators there, as on the nodes, and that of etcd's default version,
// under the names that they have in other registries.
func (r *Registry) Mirror(ctx context.Context) error {
	tars := map[string]string{} // by the image's name
	for _, product := range images.Products {
		tars[product.Ref] = filepath.Join(r.env.Root, "out", "images", product.Name()+".tar")
	}
	etcd, err := r.env.etcdTar(ctx)
	if err != nil {
		return err
	}
	tars[etcdImage] = etcd
	for ref, tar := range tars {
		if err := r.push(ctx, ref, tar); err != nil {
			return fmt.Errorf("push %s: %w", ref, err)
		}
	}
	return nil
}

func (r *Registry) push(ctx context.Context, ref, tar string) error {
	_, rest, _ := strings.Cut(ref, "/")
	to, err := name.NewTag(path.Join(r.Addr, rest), name.Insecure)
	if err != nil {
		return err
	}
	img, err := tarball.ImageFromPath(tar, nil)
	if err != nil {
		return err
	}
	// It is another image than the one that the nodes have: kubelet would ask all Pods for credentials
	// that use an image which was pulled with some, whatever its name.
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	mirrored := *config.Config.DeepCopy()
	mirrored.Labels = map[string]string{"mirrored": "true"}
	if img, err = mutate.Config(img, mirrored); err != nil {
		return err
	}
	return remote.Write(to, img, remote.WithContext(ctx), remote.WithAuth(&authn.Basic{Username: r.user, Password: r.password}))
}

// etcdTar writes the image of etcd's default version, of the programs that localkube has.
func (e *Env) etcdTar(ctx context.Context) (string, error) {
	programs, err := e.Local.programs(ctx, "ETCD_BINARIES")
	if err != nil {
		return "", err
	}
	spec := image.Spec{Files: map[string]string{}}
	for _, program := range []string{"etcd", "etcdctl", "etcdutl"} {
		spec.Files["/usr/local/bin/"+program] = filepath.Join(programs, "v"+etcdversion.Default, program)
	}
	tar := filepath.Join(e.Root, "out", "images", "etcd.tar")
	return tar, image.Write(ctx, tar, etcdImage, spec)
}
