package etcdclient

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestParseAlarms(t *testing.T) {
	rows := map[string]struct {
		reason string
		errors []string
		alarms []Alarm
		rest   []string
	}{
		"nothing":      {reason: "a healthy member"},
		"of 3.5":       {"it writes a blank behind it", []string{"memberID:10276657743932975437 alarm:NOSPACE "}, []Alarm{{10276657743932975437, NoSpace}}, nil},
		"two blanks":   {"protobuf's text format varies on purpose", []string{"memberID:77  alarm:CORRUPT"}, []Alarm{{77, Corrupt}}, nil},
		"nobody":       {"what is zero is not written", []string{"alarm:CORRUPT"}, []Alarm{{0, Corrupt}}, nil},
		"no leader":    {"not an alarm", []string{"etcdserver: no leader"}, nil, []string{"etcdserver: no leader"}},
		"a later kind": {"nobody knows what it is: the member is not well", []string{"memberID:77 alarm:FLOODED"}, nil, []string{"memberID:77 alarm:FLOODED"}},
		"too long":     {"not an id", []string{"memberID:99999999999999999999 alarm:NOSPACE"}, nil, []string{"memberID:99999999999999999999 alarm:NOSPACE"}},
		"several": {"the order is that of members", []string{"memberID:9 alarm:NOSPACE", "etcdserver: no leader", "memberID:7 alarm:CORRUPT", "memberID:7 alarm:NOSPACE"},
			[]Alarm{{7, Corrupt}, {7, NoSpace}, {9, NoSpace}}, []string{"etcdserver: no leader"}},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			alarms, rest := parseAlarms(r.errors)
			if diff := cmp.Diff(r.alarms, alarms); diff != "" {
				t.Errorf("%s: alarms (-want +got):\n%s", r.reason, diff)
			}
			if diff := cmp.Diff(r.rest, rest); diff != "" {
				t.Errorf("%s: the rest (-want +got):\n%s", r.reason, diff)
			}
		})
	}
}

// dial connects to one member as any client does.
func dial(t *testing.T, m *etcdtest.Member) *clientv3.Client {
	t.Helper()
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{m.Client}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cli.Close() })
	return cli
}

// raise raises an alarm, as etcd does itself.
func raise(t *testing.T, m *etcdtest.Member, a Alarm) {
	t.Helper()
	kind := pb.AlarmType(pb.AlarmType_value[string(a.Kind)])
	_, err := pb.NewMaintenanceClient(dial(t, m).ActiveConnection()).Alarm(within(t), &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: a.MemberID, Alarm: kind})
	if err != nil {
		t.Fatal(err)
	}
}

// Members change, and a quorum is seen to answer, while an alarm is raised: what an
// operator decides by must hold then, too. That a database is full, or that one differs
// from the others, is no reason to believe that members are away.
func TestUnderAlarm(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		for _, kind := range []AlarmKind{NoSpace, Corrupt} {
			t.Run(string(kind), func(t *testing.T) {
				t.Parallel() // etcd waits for 5 s after a change
				members, _ := grow(t, version, 3)
				before := unhurried.Ask(within(t), endpoints(members...))
				raised := Alarm{before["m2"].MemberID, kind}
				raise(t, members[0], raised)
				if _, err := dial(t, members[0]).Put(within(t), "k", "v"); err == nil {
					t.Error("a write was accepted")
				}
				etcdtest.Eventually(t, "all members to know of the alarm", func() error {
					for name, a := range unhurried.Ask(within(t), endpoints(members...)) {
						if !slices.Equal(a.Alarms, []Alarm{raised}) || len(a.Errors) > 0 {
							return fmt.Errorf("%s knows of %+v, and complains of %q", name, a.Alarms, a.Errors)
						}
						if !a.Read || len(a.Members) != 3 {
							return fmt.Errorf("%s is not seen to answer for a quorum: %+v", name, a)
						}
					}
					return nil
				})

				eventually(t, "remove a member", func() error { return unhurried.Remove(within(t), endpoints(members[0]), raised.MemberID) })
				joiner := etcdtest.NewMember(t, version, "joiner")
				var id uint64
				eventually(t, "add a member", func() (err error) {
					id, err = unhurried.AddLearner(within(t), endpoints(members[0]), joiner.PeerURL)
					return err
				})
				joiner.Start(t, "existing", members[0], members[1], joiner)
				joiner.WaitServing(t)
				eventually(t, "promote it", func() error { return unhurried.Promote(within(t), endpoints(members[0]), id) })

				if err := unhurried.Disarm(within(t), endpoints(members[0]), raised); err != nil {
					t.Fatal(err)
				}
				if _, err := dial(t, members[0]).Put(within(t), "k", "v"); err != nil {
					t.Errorf("a write is refused although no alarm is raised: %v", err)
				}
				if err := unhurried.Disarm(within(t), endpoints(members[0]), raised); err != nil {
					t.Errorf("to disarm what is not raised is an error: %v", err)
				}
			})
		}
	})
}

// A cluster of one that nobody trusts is still one that answers.
func TestCorruptAlone(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		members, _ := grow(t, version, 1)
		raise(t, members[0], Alarm{0, Corrupt})
		a := unhurried.Ask(within(t), endpoints(members...))["m0"]
		if !a.Read || !slices.Equal(a.Alarms, []Alarm{{0, Corrupt}}) {
			t.Errorf("it says %+v", a)
		}
	})
}

const smallQuota = 16 << 20

// fill writes until etcd refuses to take more.
func fill(t *testing.T, m *etcdtest.Member) {
	t.Helper()
	cli := dial(t, m)
	value := strings.Repeat("x", 512<<10)
	for range 100 {
		_, err := cli.Put(within(t), "k", value)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("it was not filled with 50 MB")
}

// A database that is full serves again once it was compacted and defragmented and its
// alarm is disarmed.
func TestRepairOfSpace(t *testing.T) {
	etcdtest.EachVersionAtOnce(t, func(t *testing.T, version string) {
		m := etcdtest.NewMember(t, version, "m0")
		etcdtest.Start(t, []string{fmt.Sprintf("ETCD_QUOTA_BACKEND_BYTES=%d", smallQuota)}, append(m.Command(t),
			"--initial-cluster="+etcdtest.InitialCluster(m), "--initial-cluster-state=new")...)
		m.WaitReady(t)
		fill(t, m)

		full := unhurried.Ask(within(t), endpoints(m))["m0"]
		raised := Alarm{full.MemberID, NoSpace}
		if !slices.Equal(full.Alarms, []Alarm{raised}) || full.DBSize < smallQuota/2 || full.DBSizeInUse > full.DBSize || full.DBSizeInUse < smallQuota/2 {
			t.Fatalf("it is full and says %+v", full)
		}
		if told := full.Quota == smallQuota; told == (version < "3.6") {
			t.Errorf("it says that its quota is %d", full.Quota)
		}
		for range 2 { // the second time it is compacted already
			if err := unhurried.Compact(within(t), endpoints(m), full.Revision); err != nil {
				t.Fatal(err)
			}
		}
		etcdtest.Eventually(t, "the space in the file to be free", func() error {
			if a := unhurried.Ask(within(t), endpoints(m))["m0"]; a.DBSize < full.DBSize || a.DBSizeInUse > smallQuota/4 {
				return fmt.Errorf("of %d bytes %d are in use", a.DBSize, a.DBSizeInUse)
			}
			return nil
		})
		if err := unhurried.Defragment(within(t), endpoint(m)); err != nil {
			t.Fatal(err)
		}
		if a := unhurried.Ask(within(t), endpoints(m))["m0"]; a.DBSize > smallQuota/4 || !a.Read {
			t.Errorf("after the defragmentation it says %+v", a)
		}
		if err := unhurried.Disarm(within(t), endpoints(m), raised); err != nil {
			t.Fatal(err)
		}
		if _, err := dial(t, m).Put(within(t), "k", "v"); err != nil {
			t.Errorf("a write is refused: %v", err)
		}
	})
}
