package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// complaining is a member's status with errors.
func complaining(id uint64, revision int64, errors ...string) *pb.StatusResponse {
	s := answering(id, revision, 3, false)
	s.Errors = errors
	return s
}

// leaderless is the status of a member that is cut off.
func leaderless(id uint64, revision int64) *pb.StatusResponse {
	s := answering(id, revision, 0, false)
	s.Errors = []string{errNoLeader}
	return s
}

func alarm(id uint64, kind string) string {
	if id == 0 {
		return "alarm:" + kind + " "
	}
	return fmt.Sprintf("memberID:%d alarm:%s ", id, kind)
}

func TestUnhealthySources(t *testing.T) {
	for name, c := range map[string]struct {
		members  []*pb.StatusResponse
		isolated []uint64 // those that no quorum answers
		want     uint64
		mark     string
		quorum   bool
		says     string
		reason   string
	}{
		"named by a CORRUPT alarm": {
			members: []*pb.StatusResponse{complaining(1, 9, alarm(1, "CORRUPT")), complaining(2, 8, alarm(1, "CORRUPT"))},
			want:    2, quorum: true,
			reason: "its higher revision is worth nothing",
		},
		"named by others alone": {
			members: []*pb.StatusResponse{answering(1, 9, 3, false), complaining(2, 8, alarm(1, "CORRUPT"))},
			want:    2, quorum: true,
			reason: "it might not have heard of the alarm",
		},
		"reports errors": {
			members: []*pb.StatusResponse{complaining(1, 9, "etcdserver: the disk is on fire"), answering(2, 8, 3, false)},
			want:    2, quorum: true,
		},
		"NOSPACE": {
			members: []*pb.StatusResponse{complaining(1, 9, alarm(1, "NOSPACE")), complaining(2, 8, alarm(1, "NOSPACE"))},
			want:    1, quorum: true,
			reason: "a full database can be read, and is to be backed up",
		},
		"cut off": {
			members:  []*pb.StatusResponse{answering(1, 9, 3, false), answering(2, 8, 3, false)},
			isolated: []uint64{1}, want: 2, quorum: true,
			reason: "nobody confirms that it is up to date, whatever revision it has",
		},
		"without a leader": {
			members: []*pb.StatusResponse{leaderless(1, 9), answering(2, 8, 3, false)},
			want:    2, quorum: true,
		},
		"nobody has a quorum": {
			members:  []*pb.StatusResponse{leaderless(1, 9), leaderless(2, 8)},
			isolated: []uint64{1, 2}, want: 1, mark: snapshotname.MarkNoQuorum,
			reason: "it may be the last backup",
		},
		"a leader that is alone": {
			members:  []*pb.StatusResponse{answering(3, 9, 3, false)},
			isolated: []uint64{3}, want: 3, mark: snapshotname.MarkNoQuorum,
			reason: "it takes itself for the leader until it finds out",
		},
		"corrupt, or without a quorum": {
			members:  []*pb.StatusResponse{complaining(1, 9, alarm(1, "CORRUPT")), leaderless(2, 8)},
			isolated: []uint64{2}, want: 2, mark: snapshotname.MarkNoQuorum,
			reason: "while any other answers, it is not taken",
		},
		"all are corrupt": {
			members: []*pb.StatusResponse{complaining(1, 8, alarm(1, "CORRUPT"), alarm(2, "CORRUPT")), complaining(2, 9)},
			want:    2, mark: snapshotname.MarkUnhealthy, quorum: true, says: "CORRUPT",
			reason: "it may be the last backup",
		},
		"corrupt, it is not known which": {
			members: []*pb.StatusResponse{complaining(1, 9, alarm(0, "CORRUPT")), answering(2, 8, 3, false)},
			want:    1, mark: snapshotname.MarkUnhealthy, quorum: true, says: "CORRUPT",
		},
		"one that reports errors": {
			members: []*pb.StatusResponse{complaining(1, 9, "etcdserver: the disk is on fire")},
			want:    1, mark: snapshotname.MarkUnhealthy, quorum: true, says: "on fire",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var endpoints []string
			for _, m := range c.members {
				id := m.Header.MemberId
				endpoints = append(endpoints, serve(t, &fake{content: snapshotOf(1024), status: m, isolated: slices.Contains(c.isolated, id)}))
			}
			want := "file"
			if c.mark != "" {
				want = snapshotname.MarkedName("file", c.mark, c.members[0].Header.Revision, due)
				for _, m := range c.members {
					if m.Header.MemberId == c.want {
						want = snapshotname.MarkedName("file", c.mark, m.Header.Revision, due)
					}
				}
			}
			got := mustSave(t, toPVC(endpoints, t.TempDir(), "file"))
			if got.MemberID != hex(c.want) || got.Location != "pvc://claim/"+want || got.Quorum == nil || *got.Quorum != c.quorum {
				t.Errorf("%s is taken from %s (quorum %t), want %s from %x (%t): %s", got.Location, got.MemberID, *got.Quorum, want, c.want, c.quorum, c.reason)
			}
			if (c.says == "") != (got.Unhealthy == "") || !strings.Contains(got.Unhealthy, c.says) {
				t.Errorf("unhealthy is %q, want words of %q", got.Unhealthy, c.says)
			}
		})
	}
}

// What was made without a quorum costs no other backup its place.
func TestWithoutAQuorumNothingIsDeletedOrReplaced(t *testing.T) {
	dir := t.TempDir()
	of := map[string]string{metaCluster: hex(7), metaRevision: "3"}
	older := snapshotname.Name("etcd", 3, due.AddDate(0, 0, -1))
	storeFile(t, dir, older, of)
	storeFile(t, dir, "once", of)
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024), isolated: true})}
	repeated := toPVC(endpoints, dir, "etcd")
	repeated.Repeated, repeated.MaxBackups, repeated.OverwriteAlways = true, 1, true
	for _, tk := range []func() string{
		func() string { return mustSave(t, repeated).Location },
		func() string { return mustSave(t, repeated).Location }, // again, as after a crash
		func() string { return mustSave(t, toPVC(endpoints, dir, "once")).Location },
	} {
		if where := tk(); !strings.Contains(where, "_noquorum_v5_") {
			t.Errorf("it is stored at %s", where)
		}
	}
	for name, size := range map[string]int64{older: 1, "once": 1} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != size {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	stranger := repeated
	stranger.UID = "another"
	mustFail(t, stranger, "AlreadyExists", 2, "cannot replace the backup")

	stranger.Endpoints = []string{serve(t, &fake{content: snapshotOf(1024), status: complaining(1, 5, "etcdserver: the disk is on fire")})}
	storeFile(t, dir, snapshotname.MarkedName("etcd", snapshotname.MarkUnhealthy, 5, due), of)
	mustFail(t, stranger, "AlreadyExists", 2, "the best available source, is unhealthy: it reports errors: etcdserver: the disk is on fire")
}

func TestTheSourceOfARealCluster(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 3)
		c.fill(t, 5, 10)
		client, place := c.client(t), t.TempDir()
		save := func() (member string, quorum bool, mark bool) {
			t.Helper()
			got := mustSave(t, toPVC(c.endpoints(), place, "file"))
			return got.MemberID, *got.Quorum, strings.Contains(got.Location, "_v")
		}
		status, err := client.Status(t.Context(), c.endpoints()[0])
		if err != nil {
			t.Fatal(err)
		}
		raise := func(id uint64, kind pb.AlarmType) {
			t.Helper()
			_, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(t.Context(), &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: id, Alarm: kind})
			if err != nil {
				t.Fatal(err)
			}
		}
		raise(status.Header.MemberId, pb.AlarmType_NOSPACE)
		if _, quorum, mark := save(); !quorum || mark {
			t.Error("a full database is taken for an unhealthy one")
		}
		raise(status.Header.MemberId, pb.AlarmType_CORRUPT)
		if member, quorum, mark := save(); member == hex(status.Header.MemberId) || !quorum || mark {
			t.Errorf("with a CORRUPT alarm it is taken from %s (quorum %t)", member, quorum)
		}
		list, err := client.MemberList(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range list.Members {
			raise(m.ID, pb.AlarmType_CORRUPT)
		}
		got := mustSave(t, toPVC(c.endpoints(), place, "file"))
		if !strings.Contains(got.Location, "file_unhealthy_v") || got.Unhealthy == "" || !*got.Quorum {
			t.Errorf("with all named by a CORRUPT alarm: %+v", got)
		}
	})
}

// A follower that was frozen while the others wrote, and is alone now, is not what replaces
// a backup.
func TestAFrozenFollower(t *testing.T) {
	c, dir := startCluster(t, etcdtest.Newest(), 3), t.TempDir()
	c.fill(t, 3, 10)
	for _, m := range c.members {
		m.WaitReady(t)
	}
	signal := func(s syscall.Signal, members ...int) {
		for _, i := range members {
			if err := syscall.Kill(c.processes[i].Pid(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() { signal(syscall.SIGCONT, 0, 1, 2) })
	signal(syscall.SIGSTOP, 2)
	client := (&cluster{members: c.members[:2]}).client(t)
	for range 20 {
		etcdtest.Eventually(t, "a write", func() error { // it may have been the leader
			_, err := client.Put(t.Context(), "later", "x")
			return err
		})
	}
	good := mustSave(t, toPVC(c.endpoints(), dir, "file"))
	signal(syscall.SIGSTOP, 0, 1)
	signal(syscall.SIGCONT, 2)
	lonely := mustSave(t, toPVC(c.endpoints(), dir, "file"))
	if !*good.Quorum || *lonely.Quorum || !strings.Contains(lonely.Location, "file_noquorum_v") || lonely.Location == good.Location {
		t.Errorf("good: %+v\nalone: %+v", good, lonely)
	}
	if info, err := os.Stat(filepath.Join(dir, "file")); err != nil || info.Size() != good.Size {
		t.Errorf("the good backup is %v (%v), want %d bytes", info, err, good.Size)
	}
}

func TestNotesOnTheSource(t *testing.T) {
	for name, c := range map[string]struct {
		version  string
		revision int64
		want     []string
	}{
		"as it should be":  {"3.6.16", 2, nil},
		"3.5":              {"3.5.0", 2, nil},
		"never written to": {"3.7.3", 1, []string{v1beta2.ReasonSourceEmpty}},
		"3.4":              {"3.4.39", 9, []string{v1beta2.ReasonSourceTooOld}},
		"3.4, empty":       {"3.4.39", 1, []string{v1beta2.ReasonSourceEmpty, v1beta2.ReasonSourceTooOld}},
		"to come":          {"3.10.0", 9, []string{v1beta2.ReasonSourceTooOld}},
	} {
		t.Run(name, func(t *testing.T) {
			status := answering(1, c.revision, 2, false)
			status.Version = c.version
			got := mustSave(t, toPVC([]string{serve(t, &fake{content: snapshotOf(1024), status: status})}, t.TempDir(), "file"))
			var reasons []string
			for _, n := range got.Notes {
				reasons = append(reasons, n.Reason)
			}
			if !slices.Equal(reasons, c.want) {
				t.Errorf("notes are %+v, want %v", got.Notes, c.want)
			}
		})
	}
	t.Run("a real one that nothing was written to", func(t *testing.T) {
		etcdtest.EachVersion(t, func(t *testing.T, version string) {
			c := startCluster(t, version, 1)
			if got := mustSave(t, toPVC(c.endpoints(), t.TempDir(), "file")); len(got.Notes) != 1 || got.Notes[0].Reason != v1beta2.ReasonSourceEmpty {
				t.Errorf("notes are %+v", got.Notes)
			}
		})
	})
}

// An endpoint whose status is refused at once is given up while the read beside it might
// only begin.
func TestAnEndpointThatFailsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2000 {
		if a := askOne(ctx, "http://127.0.0.1:1", nil, nil, nil); a.err == nil {
			t.Fatal("it answers")
		}
	}
}
