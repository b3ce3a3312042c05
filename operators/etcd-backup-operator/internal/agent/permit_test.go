package agent

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// of is what is stored with a backup of a cluster at a revision. That of serve is 7, at 5.
func of(cluster uint64, revision int64) map[string]string {
	return map[string]string{metaCluster: hex(cluster), metaRevision: fmt.Sprint(revision)}
}

// putObject puts an object that was not made by the agent under test.
func (s *store) putObject(t *testing.T, key string, metadata map[string]string) {
	t.Helper()
	b := bucketName
	if _, err := s.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &b, Key: &key, Body: strings.NewReader("x"), Metadata: metadata}); err != nil {
		t.Fatal(err)
	}
}

// size is that of an object; what putObject and storeFile put there has 1.
func (s *store) size(t *testing.T, key string) int64 {
	t.Helper()
	return *s.object(t, key).ContentLength
}

func TestWhatMayBeReplaced(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024)})}
	for name, c := range map[string]struct {
		there   map[string]string
		always  bool
		refused string
		words   string
	}{
		"the same cluster's":           {there: of(7, 5)},
		"an older one":                 {there: of(7, 4)},
		"another cluster's":            {there: of(8, 4), refused: v1beta2.BackupReasonOtherCluster, words: "overwritePolicy to Always"},
		"a higher revision":            {there: of(7, 308), refused: v1beta2.BackupReasonNewerBackup, words: "308"},
		"nothing is told":              {there: map[string]string{}, refused: v1beta2.BackupReasonUnknownBackup, words: "archived operator"},
		"half is told":                 {there: map[string]string{metaCluster: hex(7)}, refused: v1beta2.BackupReasonUnknownBackup, words: "overwritePolicy"},
		"no number":                    {there: map[string]string{metaCluster: hex(7), metaRevision: "x"}, refused: v1beta2.BackupReasonUnknownBackup, words: "overwritePolicy"},
		"another's, with consent":      {there: of(8, 400), always: true},
		"a higher one, with consent":   {there: of(7, 400), always: true},
		"nothing told, with consent":   {there: map[string]string{}, always: true},
		"one that is marked":           {there: withMark(of(7, 4)), refused: v1beta2.BackupReasonUnknownBackup, words: "overwritePolicy"},
		"its own, stored once already": {there: with(of(7, 5), metaUID, "0123-uid")},
		"its own at a higher revision": {there: with(of(7, 308), metaUID, "0123-uid"), refused: v1beta2.BackupReasonNewerBackup, words: "308"},
	} {
		for _, repeated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, repeated %t", name, repeated), func(t *testing.T) {
				path, at := strings.ReplaceAll(name, " ", "-")+"/etcd", ""
				if at = path; repeated {
					at = snapshotname.Name(path, 5, due)
				}
				s.putObject(t, at, c.there)
				dir := t.TempDir()
				if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(at)), 0o700); err != nil {
					t.Fatal(err)
				}
				own(t, filepath.Join(dir, filepath.Dir(at)))
				storeFile(t, dir, at, c.there)
				for _, tk := range []task.Task{toS3(endpoints, s.place(t, path)), toPVC(endpoints, dir, path)} {
					tk.Repeated, tk.OverwriteAlways = repeated, c.always
					if c.refused == "" {
						mustSave(t, tk)
					} else {
						mustFail(t, tk, c.refused, agent.ExitPermanent, c.words)
					}
				}
				info, err := os.Stat(filepath.Join(dir, at))
				if err != nil {
					t.Fatal(err)
				}
				for what, size := range map[string]int64{"object": s.size(t, at), "file": info.Size()} {
					if replaced := size != 1; replaced != (c.refused == "") {
						t.Errorf("the %s was replaced: %t", what, replaced)
					}
				}
			})
		}
	}
}

func with(m map[string]string, key, value string) map[string]string {
	m = maps.Clone(m)
	m[key] = value
	return m
}

func withMark(m map[string]string) map[string]string { return with(m, metaMark, "noquorum") }

// A store that does not tell what lies there is asked to replace nothing.
func TestWhatIsHiddenIsNotReplaced(t *testing.T) {
	s := startStore(t)
	s.proxy.Inject(s3test.Fault{When: s3test.IsMethod("HEAD"), Do: s3test.Answer(403, "AccessDenied")})
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024)})}
	s.putObject(t, "there", of(8, 1))
	mustFail(t, toS3(endpoints, s.place(t, "there")), v1beta2.BackupReasonUnknownBackup, agent.ExitPermanent, "s3:GetObject")
	mustSave(t, toS3(endpoints, s.place(t, "free")))
	consent := toS3(endpoints, s.place(t, "there"))
	consent.OverwriteAlways = true
	mustSave(t, consent)

	lonely := toS3([]string{serve(t, &fake{content: snapshotOf(1024), isolated: true})}, s.place(t, "there"))
	lonely.OverwriteAlways = true
	marked := snapshotname.MarkedName("there", snapshotname.MarkNoQuorum, 5, due)
	s.putObject(t, marked, of(7, 4))
	mustFail(t, lonely, v1beta2.BackupReasonUnknownBackup, agent.ExitPermanent, "s3:GetObject")
	if s.size(t, marked) != 1 {
		t.Error("a backup without a quorum replaced another one")
	}
}

// Of two runs that overlap, the one with the lower revision does not replace the other's.
func TestANewerBackupThatComesUpMeanwhileIsKept(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: snapshotOf(12 << 20)})}
	s.proxy.Inject(s3test.Fault{When: s3test.IsPart("1"), Times: 1, Do: s3test.During(func() { s.putObject(t, "key", of(7, 6)) })})
	mustFail(t, toS3(endpoints, s.place(t, "key")), v1beta2.BackupReasonNewerBackup, agent.ExitPermanent, "another run meanwhile")
	if s.size(t, "key") != 1 {
		t.Error("the newer backup was replaced")
	}
	s.checkKeys(t, "key")
}

// The two ways in which all of production's backups were lost.
func TestAnEmptyRecreatedClusterCostsNothing(t *testing.T) {
	s, dir := startStore(t), t.TempDir()
	var old []string
	for i := range 5 {
		name := snapshotname.Name("etcd", int64(300+i), due.Add(-time.Duration(i+1)*time.Hour))
		old = append(old, name)
		metadata := of(8, int64(300+i)) // another id
		if i < 2 {
			metadata = of(7, int64(300+i)) // the same id, as with the same URLs and token
		}
		s.putObject(t, name, metadata)
		storeFile(t, dir, name, metadata)
	}
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024), status: answering(1, 1, 2, false)})}
	for _, tk := range []task.Task{toS3(endpoints, s.place(t, "etcd")), toPVC(endpoints, dir, "etcd")} {
		for i := range 3 {
			tk.Repeated, tk.MaxBackups, tk.MaxAge, tk.Time = true, 2, time.Minute, due.Add(time.Duration(i)*time.Hour)
			got := mustSave(t, tk)
			if got.Spared != len(old) || got.Deleted != min(i, 1) || got.RetentionError != "" {
				t.Errorf("run %d: %+v", i, got)
			}
		}
	}
	keys := s.Keys(t, bucketName)
	for _, name := range old {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("the file is gone: %v", err)
		}
		if !strings.Contains(strings.Join(keys, "\n"), name) {
			t.Errorf("the object %s is gone", name)
		}
	}
}

// A single clock that is ten years ahead deletes nothing: neither the operator's, which says
// when a backup was due, nor that of the agent's node.
func TestAClockThatIsAhead(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024)})}
	now := time.Now().UTC().Truncate(time.Second)
	for name, c := range map[string]struct {
		due     time.Time
		deleted int
	}{
		"no clock":       {now, 1},
		"the operator's": {now.AddDate(10, 0, 0), 1},
		"the node's":     {now.AddDate(-10, 0, 0), 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := strings.ReplaceAll(name, " ", "-")
			for _, age := range []time.Duration{time.Hour, 3 * time.Hour} {
				s.putObject(t, snapshotname.Name(path, 4, now.Add(-age)), of(7, 4))
			}
			tk := toS3(endpoints, s.place(t, path))
			tk.Repeated, tk.MaxAge, tk.Time = true, 2*time.Hour, c.due
			if got := mustSave(t, tk); got.Deleted != c.deleted || got.RetentionError != "" {
				t.Errorf("deleted %d, want %d: %+v", got.Deleted, c.deleted, got)
			}
		})
	}
}

// On a volume no store tells the time. The operator and the Job can run on one node whose
// clock is ten years ahead: then the API server's counts.
func TestOnAVolumeTheAPIServersClockCounts(t *testing.T) {
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024)})}
	ahead := time.Now().UTC().Truncate(time.Second)
	now := ahead.AddDate(-10, 0, 0)
	dir := t.TempDir()
	names := map[time.Duration]string{}
	for _, age := range []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour} {
		names[age] = snapshotname.Name("etcd", 4, now.Add(-age))
		storeFile(t, dir, names[age], of(7, 4))
	}
	tk := toPVC(endpoints, dir, "etcd")
	tk.Repeated, tk.MaxAge, tk.Time, tk.ServerTime = true, 2*time.Hour, ahead, now
	if got := mustSave(t, tk); got.Deleted != 2 || got.RetentionError != "" {
		t.Errorf("deleted %d, want the two that are older than maxAge: %+v", got.Deleted, got)
	}
	for age, name := range names {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != (age <= tk.MaxAge) {
			t.Errorf("the backup of %s ago: %v", age, err)
		}
	}
}

// An older run that ends last deletes nothing that is newer.
func TestAnOlderRunThatEndsLast(t *testing.T) {
	s := startStore(t)
	endpoints := []string{serve(t, &fake{content: snapshotOf(1024)})}
	for i, revision := range []int64{3, 4, 5, 5} {
		s.putObject(t, snapshotname.Name("etcd", revision, due.Add(time.Duration(i-1)*time.Hour)), of(7, revision))
	}
	tk := toS3(endpoints, s.place(t, "etcd"))
	tk.Repeated, tk.MaxBackups, tk.MaxAge, tk.Time = true, 1, time.Second, due.Add(30*time.Minute)
	if got := mustSave(t, tk); got.Deleted != 2 {
		t.Errorf("deleted %d, want the two that are older", got.Deleted)
	}
	s.checkKeys(t, snapshotname.Name("etcd", 5, due.Add(30*time.Minute)), snapshotname.Name("etcd", 5, due.Add(time.Hour)), snapshotname.Name("etcd", 5, due.Add(2*time.Hour)))
}

// clocked is a place with a clock of its own.
type clocked struct {
	destination
	at time.Time
}

func (c *clocked) clock(context.Context, string) (time.Time, error) { return c.at, nil }

func TestTheEarliestClockCounts(t *testing.T) {
	past, future := due, time.Now().AddDate(10, 0, 0)
	for name, c := range map[string]struct{ due, server, stored, want time.Time }{
		"the operator's": {past, future, future, past},
		"the store's":    {future, future, past, past},
		"the store's, where the operator's is right": {past, past, past.Add(-time.Hour), past.Add(-time.Hour)},
		"the API server's":                           {future, past, future, past},
		"the API server's, on a volume":              {future, past, time.Time{}, past},
		"no other":                                   {past, time.Time{}, time.Time{}, past},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{task: task.Task{Time: c.due, ServerTime: c.server}}
			got, err := j.earliest(t.Context(), &clocked{at: c.stored}, "name")
			if err != nil || !got.Equal(c.want) {
				t.Errorf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
	j := &job{task: task.Task{Time: future, ServerTime: future}}
	if got, err := j.earliest(t.Context(), &clocked{at: future}, "name"); err != nil || time.Since(got).Abs() > time.Minute {
		t.Errorf("got %s, %v; want this machine's", got, err)
	}
}
