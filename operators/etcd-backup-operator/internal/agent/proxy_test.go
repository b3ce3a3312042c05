package agent

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// memberEnv names the member that the child of TestEtcdIsNotReachedThroughTheProxy dials.
const memberEnv = "ETCD_BACKUP_TEST_MEMBER"

// TestDialChild dials a member from an environment of its own: Go reads that of a proxy
// once in a process.
func TestDialChild(t *testing.T) {
	member := os.Getenv(memberEnv)
	if member == "" {
		return // TestEtcdIsNotReachedThroughTheProxy runs it
	}
	conn, err := dial(member, &tls.Config{MinVersion: tls.VersionTLS12}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	<-t.Context().Done() // until the parent has seen where it came to
}

// A proxy that the user has named is for stores: etcd's data and passwords do not pass it.
func TestEtcdIsNotReachedThroughTheProxy(t *testing.T) {
	// Not loopback, which no proxy is asked for.
	listen := func() (port string, first <-chan struct{}) {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "0.0.0.0:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		accepted := make(chan struct{}, 1)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
			accepted <- struct{}{}
		}()
		if _, port, err = net.SplitHostPort(l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		return port, accepted
	}
	memberPort, member := listen()
	proxyPort, proxy := listen()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestDialChild$")
	url := "http://127.0.0.1:" + proxyPort
	child.Env = append([]string{"PATH=" + os.Getenv("PATH")}, memberEnv+"=https://0.0.0.0:"+memberPort, "HTTPS_PROXY="+url, "HTTP_PROXY="+url, "NO_PROXY=")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-member:
	case <-proxy:
		t.Error("the member was looked for behind the proxy")
	case <-ctx.Done():
		t.Error("nobody was dialled")
	}
	cancel()
	_ = child.Wait() // it was killed
}
