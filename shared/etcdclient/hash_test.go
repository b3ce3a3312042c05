package etcdclient

import (
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// A value that was altered in the file of one of two members: both serve, neither says a word,
// and their hashes at the same revision differ. Before that they are the same.
func TestHashKV(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		a, b := etcdtest.NewMember(t, version, "a"), etcdtest.NewMember(t, version, "b")
		a.Start(t, "new", a, b)
		second := b.Start(t, "new", a, b)
		a.WaitReady(t)
		b.WaitReady(t)
		cli, err := clientv3.New(clientv3.Config{Endpoints: []string{a.Client}, Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		defer cli.Close()
		put, err := cli.Put(t.Context(), "k", "true")
		if err != nil {
			t.Fatal(err)
		}
		hashes := func() (one, other Hash) {
			t.Helper()
			etcdtest.Eventually(t, "both to hash their data", func() error {
				var e1, e2 error
				one, e1 = Client{}.HashKV(t.Context(), Endpoint{Name: "a", Addr: a.Client}, put.Header.Revision)
				other, e2 = Client{}.HashKV(t.Context(), Endpoint{Name: "b", Addr: b.Client}, put.Header.Revision)
				return errors.Join(e1, e2)
			})
			return one, other
		}
		one, other := hashes()
		told := put.Header.Revision
		if strings.HasPrefix(version, "3.5.") {
			told = 0
		}
		if one.Value != other.Value || one.HashRevision != told || one.CompactRevision != other.CompactRevision || one.MemberID == other.MemberID || one.ClusterID != other.ClusterID {
			t.Errorf("members with the same data have %+v and %+v", one, other)
		}

		second.Terminate()
		etcdtest.Alter(t, b.Dir, "true", "lies")
		b.Start(t, "existing", a, b)
		b.WaitReady(t)
		one, other = hashes()
		if one.Value == other.Value || one.HashRevision != other.HashRevision || one.CompactRevision != other.CompactRevision {
			t.Errorf("members with other data have %+v and %+v", one, other)
		}
		alarms, err := cli.AlarmList(t.Context())
		if err != nil || len(alarms.Alarms) > 0 {
			t.Errorf("etcd itself has noticed: %v, %v", alarms, err)
		}
		if _, err := (Client{}).HashKV(t.Context(), Endpoint{Name: "a", Addr: a.Client}, put.Header.Revision+100); err == nil {
			t.Error("a revision that is to come has a hash")
		}
	})
}
