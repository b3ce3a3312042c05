package agent

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// TestTLSIsSwitched restores the snapshot of a cluster without TLS as one with it, between
// members and with clients, and that one's as one without.
func TestTLSIsSwitched(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcdVersion string) {
		t.Parallel()
		o := startOrigin(t, etcdVersion)
		ours, dir := etcdtest.NewCA(t, "ours"), t.TempDir()
		etcdtest.Mount(t, dir, ours.Issue(t, "member", "127.0.0.1").Files(ours))
		secured := etcdtest.NewMember(t, etcdVersion, "secured")
		secured.PeerURL = strings.Replace(secured.PeerURL, "http://", "https://", 1)
		verify := onVolume(t, o.content)
		must(t, restoring(t, verify, must(t, verify).Snapshot, secured, o.revision+bump))
		secured.StartSecure(t, dir, "new", secured)
		secured.WaitReady(t)
		client := secured.DialSecure(t, ours.Issue(t, "client").Config(t, ours))
		checkRestored(t, client, o, o.revision+bump)
		members, err := client.MemberList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(members.Members) != 1 || len(members.Members[0].PeerURLs) != 1 || members.Members[0].PeerURLs[0] != secured.PeerURL {
			t.Errorf("the members are %v, want one at %s", members.Members, secured.PeerURL)
		}

		of := &origin{member: secured, client: client}
		of.take(t)
		plain := etcdtest.NewMember(t, etcdVersion, "plain")
		verify = onVolume(t, of.content)
		must(t, restoring(t, verify, must(t, verify).Snapshot, plain, of.revision+bump))
		plain.Start(t, "new", plain)
		plain.WaitReady(t)
		checkRestored(t, connect(t, plain), of, of.revision+bump)
	})
}
