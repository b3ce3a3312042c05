package etcdtest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
)

// Ports are given out from firstPort on, lastPort excluded: below the range from which
// Linux takes the ports of outgoing connections (32768 to 60999), among them those of
// etcds that already dial a member which is not started yet.
const (
	firstPort, lastPort = 10000, 32000
	portsPerBlock       = 100
)

// errNoPorts says that other processes have all ports, or that somebody listens on each.
var errNoPorts = errors.New("all ports are given out")

var ports = blocks{first: firstPort, last: lastPort}

// FreeAddrs returns addresses on 127.0.0.1 that nothing listens on and that nobody else is given,
// until all of them are.
func FreeAddrs(t testing.TB, n int) []string {
	t.Helper()
	addrs, err := PickAddrs(n)
	if err != nil {
		t.Fatal(err)
	}
	return addrs
}

// PickAddrs is FreeAddrs for a program that is no test.
func PickAddrs(n int) ([]string, error) { return ports.pick(n) }

// blocks gives out ports from first on, last excluded, in blocks. Several packages are tested side
// by side, and a port is listened on some time after it was given out: so each process has blocks of
// its own. It listens on the first port of each until it ends.
type blocks struct {
	first, last int

	mu sync.Mutex
	// next is the port that is given out next, unless it is end, that of the block.
	next, end int
	// held are the listeners on the first ports of the blocks, and again is the one whose block is
	// given out next once more, when no other can be had.
	held  []net.Listener
	again int
}

// pick returns addresses that nothing listens on.
func (b *blocks) pick(n int) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var addrs []string
	for tried := 0; len(addrs) < n; tried++ {
		if tried > b.last-b.first {
			return nil, errNoPorts
		}
		if b.next == b.end {
			if err := b.begin(); err != nil {
				return nil, err
			}
		}
		addr := address(b.next)
		b.next++
		if slices.Contains(addrs, addr) {
			continue
		}
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// begin begins the first block that no process has, or else one of its own once more.
func (b *blocks) begin() error {
	for first := b.first; first < b.last; first += portsPerBlock {
		if held, err := net.Listen("tcp", address(first)); err == nil {
			b.held = append(b.held, held)
			b.next, b.end = first+1, first+portsPerBlock
			return nil
		}
	}
	if len(b.held) == 0 {
		return errNoPorts
	}
	first := b.held[b.again%len(b.held)].Addr().(*net.TCPAddr).Port
	b.again++
	b.next, b.end = first+1, first+portsPerBlock
	return nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
