// Package launchertest serves, in tests, what launchers and members tell on the metrics port.
package launchertest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// served counts the addresses of Serve.
var served atomic.Int32

// ServeState serves what a launcher says until the test ends, and returns its address.
func ServeState(t testing.TB, says func() launcher.State) (ip string) {
	t.Helper()
	return Serve(t, launcher.StatePath, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(says()); err != nil {
			t.Error(err)
		}
	})
}

// Serve serves one path of a member's metrics port until the test ends, and returns the
// address: of all of 127.0.0.0/8 Linux answers, and the process's id keeps packages apart.
func Serve(t testing.TB, path string, answer http.HandlerFunc) (ip string) {
	t.Helper()
	ip = fmt.Sprintf("127.%d.%d.%d", 80+served.Add(1)%170, os.Getpid()/256%250, 1+os.Getpid()%250)
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(member.MetricsPort)))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, answer)
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: mux}
	go func() { _ = s.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = s.Close() })   // nobody asks any more
	return ip
}
