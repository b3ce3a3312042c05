package agent

import (
	"bytes"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/archive"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

var midnight = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// putAs stores an object of a cluster; none if it does not tell, as the predecessor's.
func (s *store) putAs(t *testing.T, key, cluster string, content []byte) {
	t.Helper()
	b := bucketName
	in := &s3.PutObjectInput{Bucket: &b, Key: &key, Body: bytes.NewReader(content)}
	if cluster != "" {
		in.Metadata = map[string]string{clusterIDKey: cluster}
	}
	if _, err := s.Client.PutObject(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

// under is a task that verifies the newest snapshot under a prefix.
func (s *store) under(t *testing.T, prefix string) task.Task {
	tk := s.task(t, "")
	tk.Store.Newest, tk.Store.Prefix = true, prefix
	return tk
}

// at is the name of a snapshot of so many hours after midnight.
func at(dir string, revision int64, hours int) string {
	return snapshotname.Name(dir, revision, midnight.Add(time.Duration(hours)*time.Hour))
}

func TestTheNewestUnderAPrefix(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	junk := []byte("no snapshot")
	s := startStore(t)
	const other = "00000000000000ff"
	newest := at("prod/etcd", 100, 9)
	// The newest by its name is neither the last in order, nor the one stored last, nor the
	// one of the highest revision.
	s.putAs(t, newest, clusterID, o.content)
	for key, cluster := range map[string]string{
		at("prod/etcd", 9_000, 1): clusterID, at("prod/etcd", 99, 2): clusterID, at("prod/etcd", 101, 8): clusterID,
		at("prod/etcd_noquorum", 200, 20): clusterID, at("prod/etcd_unhealthy", 200, 21): clusterID,
		"prod/etcd_v300_2026-03-02-00:00:00.copy": clusterID, "prod/zzz": clusterID, at("prodder/etcd", 1, 23): clusterID,
		at("mixed/a", 1, 1): other, at("mixed/b", 1, 3): other, at("legacy/etcd", 5, 2): "",
		at("only/etcd_noquorum", 1, 1): clusterID, "once/etcd.backup": clusterID,
	} {
		s.putAs(t, key, cluster, junk)
	}
	s.putAs(t, at("mixed/a", 1, 2), clusterID, o.content)
	s.putAs(t, at("legacy/etcd", 5, 4), "", o.content) // as the predecessor's: nothing is told of it
	where := func(key string) string { return "s3://" + bucketName + "/" + key }
	for name, c := range map[string]struct {
		prefix, cluster string
		catalogue       bool
		want            string
		reason, words   string
	}{
		"by the time in its name":      {prefix: "prod/", want: newest},
		"by the name of the backup":    {prefix: "prod/etcd", want: newest},
		"of the cluster":               {prefix: "prod/", cluster: clusterID, want: newest},
		"of one of several clusters":   {prefix: "mixed/", cluster: clusterID, want: at("mixed/a", 1, 2)},
		"the predecessor's":            {prefix: "legacy/", want: at("legacy/etcd", 5, 4)},
		"of several, and which?":       {prefix: "mixed/", reason: task.ReasonAmbiguousPrefix, words: "mixed/a, mixed/b"},
		"of several, to be looked at":  {prefix: "mixed/", catalogue: true, reason: task.ReasonCorruptSnapshot, words: "not a snapshot of etcd"},
		"of a cluster that nobody has": {prefix: "prod/", cluster: other, reason: task.ReasonWrongCluster, words: "none of the newest 4 snapshots"},
		"the predecessor's, of whom?":  {prefix: "legacy/", cluster: clusterID, reason: task.ReasonWrongCluster, words: "s3.path"},
		"without a quorum alone":       {prefix: "only/", reason: task.ReasonSnapshotNotFound, words: "1 with such names were not confirmed"},
		"one that has no time":         {prefix: "once/", reason: task.ReasonSnapshotNotFound, words: "1 objects have other names"},
		"nothing":                      {prefix: "none/", reason: task.ReasonSnapshotNotFound, words: "correct s3.prefix"},
		"without a quorum, named":      {prefix: "prod/etcd_noquorum", reason: task.ReasonSnapshotNotFound, words: "s3.path"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := s.under(t, c.prefix)
			tk.ClusterID, tk.Catalogue = c.cluster, c.catalogue
			if c.reason != "" {
				mustFail(t, tk, c.reason, c.words)
				return
			}
			found := must(t, tk).Snapshot
			if found.Location != where(c.want) || found.ETag == "" || found.SHA256 == "" || found.TotalKeys == 0 {
				t.Errorf("found %+v, want %s", found, where(c.want))
			}
		})
	}
}

// A newer snapshot that is stored while the newest is found, fetched or tried again
// changes nothing.
func TestTheNewestIsSettledOnce(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	s := startStore(t)
	first := at("etcd", 1, 1)
	s.putAs(t, first, clusterID, o.content)
	stored := 1
	newer := func() {
		stored++
		s.putAs(t, at("etcd", int64(stored), stored), clusterID, []byte("a newer one"))
	}
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		newer()
		s3test.CutDownload(len(o.content)/2)(w, r, forth)
	}})
	// A whole attempt fails: the next one must not look again.
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 7, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")})
	found := must(t, s.under(t, "")).Snapshot // of the whole bucket
	if path.Base(found.Location) != first || stored != 2 {
		t.Errorf("found %+v, want %s", found, first)
	}
}

// What was found is replaced before it is read: that is no lasting failure, and not the
// other one.
func TestTheNewestIsReplaced(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	s := startStore(t)
	first, second := at("etcd", 1, 1), at("etcd", 1, 2)
	s.putAs(t, first, clusterID, o.content)
	s.putAs(t, second, clusterID, []byte("soon pruned"))
	b := bucketName
	s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.During(func() {
		if _, err := s.Client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b, Key: &second}); err != nil {
			t.Error(err)
		}
	})})
	if found := must(t, s.under(t, "etcd")).Snapshot; path.Base(found.Location) != first {
		t.Errorf("found %+v, want %s", found, first)
	}
}

// Whatever is found is gone before it is read: somebody deletes faster than is fetched, and
// another try may do better.
func TestTheNewestIsDeletedEachTime(t *testing.T) {
	t.Parallel()
	s := startStore(t)
	b := bucketName
	for n := range attempts {
		key := at("etcd", 1, attempts-n)
		s.putAs(t, key, clusterID, []byte("soon pruned"))
		s.proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.During(func() {
			if _, err := s.Client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &b, Key: &key}); err != nil {
				t.Error(err)
			}
		})})
	}
	code, result := carry(t.Context(), t, s.under(t, "etcd"))
	checkFailure(t, code, result, agent.ExitRetry, task.ReasonChanged, "since it was found to be the newest")
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	s := startStore(t)
	var want []task.Entry
	for i := range 25 {
		s.putAs(t, at("deep/prod/etcd", int64(i), i), clusterID, o.content)
	}
	for i := 24; i >= 5; i-- {
		name := strings.TrimPrefix(at("deep/prod/etcd", int64(i), i), "deep/prod/etcd_v")
		want = append(want, task.Entry{Name: name, Size: int64(len(o.content)), ClusterID: clusterID})
	}
	s.putAs(t, "deep/prod/etcd.backup", clusterID, o.content)
	tk := s.under(t, "deep/")
	tk.Catalogue = true
	got := must(t, tk).Catalogue
	if got == nil || got.Total != 25 || got.Others != 1 || got.Base != "s3://"+bucketName+"/deep/prod/etcd_v" {
		t.Fatalf("the catalogue is %+v", got)
	}
	if diff := cmp.Diff(want, got.Entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	t.Run("of nothing that is good", func(t *testing.T) {
		s.putAs(t, at("bad/etcd", 1, 1), clusterID, []byte("junk"))
		tk := s.under(t, "bad/")
		tk.Catalogue = true
		code, result := carry(t.Context(), t, tk)
		checkFailure(t, code, result, agent.ExitPermanent, task.ReasonCorruptSnapshot, "not a snapshot of etcd")
		if result.Catalogue == nil || result.Catalogue.Total != 1 || len(result.Catalogue.Entries) != 1 {
			t.Errorf("the catalogue is %+v, want what there is to choose from", result.Catalogue)
		}
	})
	t.Run("of names that do not fit", func(t *testing.T) {
		for i := range 3 {
			s.putAs(t, at(fmt.Sprintf("long/%d/%s", i, strings.Repeat("y", 180)+"/"+strings.Repeat("z", 180)), 1, i), clusterID, o.content)
		}
		for i := range 20 {
			s.putAs(t, at(fmt.Sprintf("long/%d/%s", 100+i, strings.Repeat("y", 200)), 1, i), clusterID, o.content)
		}
		tk := s.under(t, "long/")
		tk.Catalogue = true
		result := must(t, tk) // which checks the message's size
		c := result.Catalogue
		if c.Total != 23 || len(c.Entries) == 0 || len(c.Entries) >= 20 || strings.HasSuffix(result.Snapshot.Location, "…") {
			t.Errorf("%d entries of %d, and the snapshot %s", len(c.Entries), c.Total, result.Snapshot.Location)
		}
	})
}

// More snapshots than the agent keeps track of: it still finds the newest, and counts all.
func TestAnyNumberUnderAPrefix(t *testing.T) {
	var keys []string
	for i := range 3*maxCandidates + 1 {
		keys = append(keys, at("etcd", int64(i), i))
	}
	all := &listing{}
	for _, key := range append(slices.Clone(keys[2000:]), keys[:2000]...) {
		p, s, ok := snapshotname.ParseAny(key)
		if !ok {
			t.Fatal(key)
		}
		all.add(lying{Snapshot: s, path: p})
		if len(all.newest) > 2*maxCandidates {
			t.Fatalf("it keeps track of %d", len(all.newest))
		}
	}
	all.trim()
	if all.newest[0].Name != keys[len(keys)-1] || len(all.newest) != maxCandidates || all.total != int64(len(keys)) {
		t.Errorf("the newest of %d is %s", all.total, all.newest[0].Name)
	}
}

// Where older snapshots were not searched for a revision, they are not said to lack it.
func TestARevisionThatTheNewestDoNotHold(t *testing.T) {
	for name, c := range map[string]struct {
		total int64
		why   error
		want  string
	}{
		"all were searched": {maxCandidates, nil, "no snapshot under s3://b/p holds revision 5: those after it begin at revision 9; set spec.revision to one that a snapshot holds, or back the cluster up again before etcd compacts that revision"},
		"older ones exist":  {maxCandidates + 1, nil, "none of the newest 1000 snapshots under s3://b/p holds revision 5: those after it begin at revision 9; set spec.revision to one that a snapshot holds, or set a longer s3.prefix to search older ones"},
		"with an archive":   {maxCandidates, &archive.GapError{From: 3, To: 6}, "no snapshot under s3://b/p holds revision 5: those after it begin at revision 9, and the archive has a gap: it does not hold revisions 3 to 6; set spec.revision to one that a snapshot holds, or back the cluster up again before etcd compacts that revision"},
	} {
		t.Run(name, func(t *testing.T) {
			err := revisionNotHeld(c.why, "s3", "s3://b/p", 5, &listing{total: c.total}, 0, 9)
			if err.Error() != c.want {
				t.Error(err)
			}
			messages.NoteFailure(&agent.Failure{Reason: task.ReasonRevisionNotHeld, Message: err.Error(), Permanent: true})
		})
	}
}
