package s3test

import (
	"context"
	"net"
	"strings"
	"testing"
)

// Domain is that of virtual-hosted addresses: a server takes BUCKET.Domain for the bucket's
// host. [Resolve] makes it known.
const Domain = "stores.test"

// Resolve makes names that no hosts file knows resolve to this machine until the test ends,
// which must not run beside others.
func Resolve(t testing.TB) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go answerNames(server)
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = server.Close() // it only read
	})
}

// answerNames answers every question for an IPv4 address by 127.0.0.1 (RFC 1035, section 4).
func answerNames(server net.PacketConn) {
	const header = 12
	buffer := make([]byte, 512)
	for {
		n, from, err := server.ReadFrom(buffer)
		if err != nil {
			return
		}
		end := header
		for end < n && buffer[end] != 0 {
			end += 1 + int(buffer[end])
		}
		end += 5 // the root, type and class
		if end > n {
			continue
		}
		isA := buffer[end-4] == 0 && buffer[end-3] == 1
		answer := append([]byte{buffer[0], buffer[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buffer[header:end]...)
		if isA {
			answer[7] = 1
			answer = append(answer, 0xc0, header, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
		}
		_, _ = server.WriteTo(answer, from) // who asked asks again
	}
}

// Virtual is an endpoint on this machine at a host of Domain.
func Virtual(endpoint string) string { return strings.Replace(endpoint, "127.0.0.1", Domain, 1) }
