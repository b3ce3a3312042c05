// Package podtest runs members for tests as their Pods would: on the ports of a Pod,
// which are the same for all, and therefore each at a loopback address of its own.
package podtest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

var (
	mu sync.Mutex
	// taken are the addresses that were given out.
	taken = map[string]bool{}
)

// Address is a loopback address on which nothing listens on the ports of a Pod.
// Linux answers at all of 127.0.0.0/8; the process's id keeps packages apart whose
// tests run at the same time.
func Address(t testing.TB) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	for i := 2; i < 255; i++ {
		ip := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()/256%250, os.Getpid()%256, i)
		if !taken[ip] && free(ip) {
			taken[ip] = true
			return ip
		}
	}
	t.Fatal("no loopback address is free")
	return ""
}

func free(ip string) bool {
	for _, port := range []int{member.ClientPort, member.PeerPort, member.MetricsPort} {
		l, err := net.Listen("tcp", At(ip, port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}

// At is ip:port.
func At(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// Member is a member at an address of its own, on the ports of a Pod. Its peer URL is
// that address: no name of a Pod can be looked up here.
func Member(t testing.TB, version, name string) (m *etcdtest.Member, ip string) {
	t.Helper()
	m, ip = etcdtest.NewMember(t, version, name), Address(t)
	m.Client, m.Peer, m.Metrics = At(ip, member.ClientPort), At(ip, member.PeerPort), At(ip, member.MetricsPort)
	m.PeerURL = "http://" + m.Peer
	return m, ip
}
