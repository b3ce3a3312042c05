package host

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"strings"
)

// resolvFiles are where name servers are written down; systemd-resolved's own list comes first, since beside it
// /etc/resolv.conf only names 127.0.0.53.
var resolvFiles = []string{"/run/systemd/resolve/resolv.conf", "/etc/resolv.conf"}

// Resolv returns a resolv.conf for pods, made from the machine's, and whether it names any server.
func Resolv() (text string, hasServer bool, err error) {
	for _, file := range resolvFiles {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", false, err
		}
		if text, hasServer = forPods(string(data)); hasServer {
			return text, true, nil
		}
	}
	return text, false, nil
}

// forPods leaves out the name servers at loopback addresses: in a pod these would be the pod itself, and CoreDNS'
// loop plugin ends it.
func forPods(resolv string) (text string, hasServer bool) {
	var kept strings.Builder
	for line := range strings.Lines(resolv) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "nameserver" {
			address, err := netip.ParseAddr(fields[1])
			if err != nil || address.IsLoopback() {
				continue
			}
			hasServer = true
		}
		kept.WriteString(line)
	}
	return kept.String(), hasServer
}
