package etcdtest

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
)

// Ports are given out from firstPort on, lastPort excluded: below the range from which
// Linux takes the ports of outgoing connections (32768 to 60999), among them those of
// etcds that already dial a member which is not started yet. Several packages are tested side by
// side, and what is given out is taken some time later: so each process has blocks of its own.
const (
	firstPort, lastPort = 10000, 32000
	portsPerBlock       = 100
)

// errNoPorts says that other processes have all ports.
var errNoPorts = errors.New("all ports are given out")

// ports are those that this process has, and has not given out.
var ports struct {
	sync.Mutex
	next, end int
	// held has a socket for each block, in Linux' abstract namespace: none of two processes can
	// have one of the same name, and it is gone when its process ends.
	held []net.Listener
}

// FreeAddrs returns addresses on 127.0.0.1 that nothing listens on and that nobody
// else is given.
func FreeAddrs(t testing.TB, n int) []string {
	t.Helper()
	addrs, err := PickAddrs(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// PickAddrs is FreeAddrs for a program that is no test.
func PickAddrs(n int) ([]string, error) {
	ports.Lock()
	defer ports.Unlock()
	var addrs []string
	for len(addrs) < n {
		if ports.next == ports.end {
			if err := takeBlock(); err != nil {
				return nil, err
			}
		}
		addr := fmt.Sprintf("127.0.0.1:%d", ports.next)
		ports.next++
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// takeBlock takes the first block that no process has.
func takeBlock() error {
	for first := firstPort; first < lastPort; first += portsPerBlock {
		if held, err := net.Listen("unix", fmt.Sprintf("@etcdtest-ports-%d", first)); err == nil {
			ports.held = append(ports.held, held)
			ports.next, ports.end = first, first+portsPerBlock
			return nil
		}
	}
	return errNoPorts
}
