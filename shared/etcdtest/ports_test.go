package etcdtest

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pickedByOne is how many addresses a process picks: far more than a package needs.
const pickedByOne = 2500

// asPicker has this program pick addresses, print them, and keep them until its input ends.
const asPicker = "PICK_ADDRESSES"

func TestMain(m *testing.M) {
	if os.Getenv(asPicker) == "" {
		os.Exit(m.Run())
	}
	addrs, err := PickAddrs(pickedByOne)
	fmt.Println(strings.Join(addrs, " "), err)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
}

// Packages are tested side by side, and what one of them was given is taken some time later.
func TestAddressesOfSeveralProcesses(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]int{}
	for i := range 3 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), asPicker+"=1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			stdin.Close() // it ends then
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
		line, err := bufio.NewReader(stdout).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(line)
		if len(words) != pickedByOne+1 || words[pickedByOne] != "<nil>" {
			t.Fatalf("process %d has picked %s", i, line)
		}
		for _, addr := range words[:pickedByOne] {
			if other, isTaken := by[addr]; isTaken {
				t.Fatalf("processes %d and %d were given %s", other, i, addr)
			}
			by[addr] = i
		}
	}
}

// A process that was given all ports, and has closed most of them, is given them once more.
func TestAddressesThatWereAllGivenOut(t *testing.T) {
	b, all := aFewPorts(t)
	for i, addr := range all {
		again, err := b.pick(1)
		if err != nil || again[0] != addr {
			t.Fatalf("after %d ports in use, got %v, %v; want %s", i, again, err, addr)
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if addrs, err := b.pick(1); !errors.Is(err, errNoPorts) {
		t.Errorf("all ports are in use, and %v, %v was given", addrs, err)
	}
	if addrs, err := (&blocks{first: b.first, last: b.last}).pick(1); !errors.Is(err, errNoPorts) {
		t.Errorf("another process has all ports, and %v, %v was given", addrs, err)
	}
}

func TestAddressesAreGivenOutOnce(t *testing.T) {
	b, all := aFewPorts(t)
	if addrs, err := b.pick(len(all) + 1); !errors.Is(err, errNoPorts) {
		t.Errorf("there are %d ports, and %d, %v were given", len(all), len(addrs), err)
	}
}

// aFewPorts are two blocks, and the addresses in them, all of which were given out. They are below those
// of all other tests, where nobody listens.
func aFewPorts(t *testing.T) (*blocks, []string) {
	t.Helper()
	const size, usable = 2 * portsPerBlock, 2 * (portsPerBlock - 1) // without those that are held
	for first := 2000; first+size <= firstPort; first += size {
		b := &blocks{first: first, last: first + size}
		t.Cleanup(func() {
			for _, l := range b.held {
				l.Close()
			}
		})
		if all, err := b.pick(usable); err == nil {
			return b, all
		}
	}
	t.Fatal("somebody listens in each range")
	return nil, nil
}
