package host

import (
	"slices"
	"testing"
)

func TestParseMountsFindsOursInnermostFirst(t *testing.T) {
	const info = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
50 27 254:0 /var/lib/lk /var/lib/lk rw,relatime shared:1 - ext4 /dev/vda rw
51 50 0:50 / /var/lib/lk/pods/a\040b rw - tmpfs tmpfs rw
52 27 0:51 / /var/lib/lk-other rw - tmpfs tmpfs rw
53 27 0:4 net:[4026532] /run/lk/n2/netns rw - nsfs nsfs rw
`
	got := parseMounts(info, []string{"/var/lib/lk", "/run/lk"})
	want := []string{"/run/lk/n2/netns", "/var/lib/lk/pods/a b", "/var/lib/lk"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParseHierarchies(t *testing.T) {
	const mounts = `/dev/vda / ext4 rw 0 0
tmpfs /sys/fs/cgroup tmpfs rw 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0
cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0
`
	got := parseHierarchies(mounts)
	want := []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPodsResolverLeavesOutTheMachinesOwn(t *testing.T) {
	for name, c := range map[string]struct {
		resolv, want string
		server       bool
	}{
		"a server elsewhere": {resolv: "search a.b\nnameserver 10.0.0.1\n", want: "search a.b\nnameserver 10.0.0.1\n", server: true},
		"systemd's stub":     {resolv: "nameserver 127.0.0.53\noptions edns0\n", want: "options edns0\n"},
		"both families":      {resolv: "nameserver ::1\nnameserver fd00::1\n", want: "nameserver fd00::1\n", server: true},
		"noise":              {resolv: "nameserver not-an-address\n", want: ""},
		"nothing":            {},
	} {
		t.Run(name, func(t *testing.T) {
			if got, server := forPods(c.resolv); got != c.want || server != c.server {
				t.Errorf("got %q, %t, want %q, %t", got, server, c.want, c.server)
			}
		})
	}
}
