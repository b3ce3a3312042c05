package agent

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// as is what an etcd held at a revision.
func (o *origin) as(t *testing.T, revision int64) map[string]version {
	t.Helper()
	got, err := o.client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithRev(revision))
	if err != nil {
		t.Fatal(err)
	}
	state := map[string]version{}
	for _, kv := range got.Kvs {
		state[string(kv.Key)] = version{string(kv.Value), kv.CreateRevision, kv.ModRevision, kv.Version}
	}
	return state
}

// A snapshot is restored as of any revision from the last compaction up to its own: every key
// is as it was, with its revisions, and nothing that came later is there.
func TestRestoreAsOfARevision(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcd string) {
		t.Parallel()
		o := startOrigin(t, etcd)
		for name, r := range map[string]int64{
			"the compacted one": 150, "a put": 180, "before a bad deletion": 201, "the first deletion": 202, "the snapshot's own": o.revision,
		} {
			for _, before := range []bool{true, false} {
				if before && name != "a put" {
					continue // to verify first makes no difference to the cut
				}
				t.Run(name, func(t *testing.T) {
					want := o.as(t, r)
					tk := onVolume(t, packed(t, o.content))
					tk.Revision = r
					var found *task.Snapshot
					if before {
						first := must(t, tk)
						if c := first.Cut; c == nil || c.Revision != r || c.TotalKeys != int64(len(want)) {
							t.Errorf("verified %+v, want %d keys", c, len(want))
						}
						found = first.Snapshot
					}
					m := etcdtest.NewMember(t, etcd, "seed")
					tk = restoring(t, tk, found, m, o.revision+bump)
					tk.Member.Bump = bump
					result := must(t, tk)
					if s := result.Snapshot; s.Revision != o.revision || s.OldestRevision != 150 || s.TotalKeys != int64(len(o.state)) {
						t.Errorf("the snapshot is %+v", s)
					}
					if c := result.Cut; c == nil || c.Revision != r || c.TotalKeys != int64(len(want)) {
						t.Errorf("cut %+v, want %d keys", c, len(want))
					}
					m.Start(t, "new", m)
					m.WaitReady(t)
					client := connect(t, m)
					if got, revision := stateOf(t, client); !maps.Equal(got, want) || revision != o.revision+bump {
						t.Errorf("the cluster has %d keys at revision %d, want the %d of revision %d, at %d", len(got), revision, len(want), r, o.revision+bump)
					}
				})
			}
		}
	})
}

func TestARevisionThatTheSnapshotDoesNotHold(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	for name, r := range map[string]int64{"compacted": 149, "later": o.revision + 1} {
		t.Run(name, func(t *testing.T) {
			tk := onVolume(t, o.content)
			tk.Revision = r
			mustFail(t, tk, task.ReasonRevisionNotHeld, "holds revisions 150 to 211")
			tk = restoring(t, tk, nil, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), o.revision+bump)
			mustFail(t, tk, task.ReasonRevisionNotHeld, "holds revisions 150 to 211")
			if got := names(t, filepath.Dir(tk.Member.DataDir)); len(got) > 0 {
				t.Errorf("the volume holds %v", got)
			}
		})
	}
}

// underOnly is what of a state begins with one of the prefixes.
func underOnly(state map[string]version, prefixes ...string) map[string]version {
	some := maps.Clone(state)
	maps.DeleteFunc(some, func(key string, _ version) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(key, p) })
	})
	return some
}

// A new cluster gets the keys under some prefixes alone, each as it was, at a revision or at
// the snapshot's own.
func TestRestoreOfPrefixes(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, etcd string) {
		t.Parallel()
		o := startOrigin(t, etcd)
		for name, c := range map[string]struct {
			revision int64
			prefixes []string
		}{
			"of the snapshot":   {0, []string{"key-1"}},
			"of a revision":     {180, []string{"key-2", "key-55", "key-5"}},
			"nothing is there":  {0, []string{"none/"}},
			"undo one's delete": {201, []string{"key-3"}},
		} {
			t.Run(name, func(t *testing.T) {
				all := o.as(t, cmp.Or(c.revision, o.revision))
				want := underOnly(all, c.prefixes...)
				tk := onVolume(t, packed(t, o.content))
				tk.Revision, tk.Prefixes = c.revision, c.prefixes
				verified := must(t, tk)
				m := etcdtest.NewMember(t, etcd, "seed")
				tk = restoring(t, tk, verified.Snapshot, m, o.revision+bump)
				result := must(t, tk)
				for _, got := range []*task.Cut{verified.Cut, result.Cut} {
					if got == nil || got.Revision != cmp.Or(c.revision, o.revision) || got.TotalKeys != int64(len(want)) || got.LeftOut == nil || *got.LeftOut != int64(len(all)-len(want)) {
						t.Errorf("told %+v, want %d of %d keys", got, len(want), len(all))
					}
				}
				m.Start(t, "new", m)
				m.WaitReady(t)
				if got, revision := stateOf(t, connect(t, m)); !maps.Equal(got, want) || revision != o.revision+bump {
					t.Errorf("the cluster has %d keys at revision %d, want %d, at %d", len(got), revision, len(want), o.revision+bump)
				}
			})
		}
	})
}

// Of several snapshots under a prefix the oldest is restored that holds the revision.
func TestTheSnapshotUnderAPrefixThatHoldsARevision(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest()) // holds 150 to 211
	s := startStore(t)
	const other = "00000000000000ff"
	put := func(key, cluster, oldest string) {
		b := bucketName
		in := &s3.PutObjectInput{Bucket: &b, Key: &key, Body: bytes.NewReader(o.content), Metadata: map[string]string{}}
		for k, v := range map[string]string{clusterIDKey: cluster, oldestRevisionKey: oldest} {
			if v != "" {
				in.Metadata[k] = v
			}
		}
		if _, err := s.Client.PutObject(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	put(at("a/etcd", 140, 1), clusterID, "1")
	put(at("a/etcd", 205, 2), clusterID, "150")
	put(at("a/etcd", 211, 3), clusterID, "150")
	put(at("a/etcd", 900, 4), clusterID, "500")
	put(at("a/etcd_noquorum", 190, 2), clusterID, "1")
	put(at("old/etcd", 211, 1), "", "")
	put(at("old/etcd", 300, 2), "", "not a number")
	put(at("two/etcd", 211, 1), clusterID, "150")
	put(at("two/etcd", 211, 2), other, "150")
	put(at("perhaps/etcd", 211, 1), clusterID, "150")
	put(at("perhaps/etcd", 211, 2), other, "")
	for name, c := range map[string]struct {
		prefix, cluster string
		revision        int64
		want            string
		reason, words   string
	}{
		"the oldest of two":      {prefix: "a/", revision: 180, want: at("a/etcd", 205, 2)},
		"the only one":           {prefix: "a/", revision: 210, want: at("a/etcd", 211, 3)},
		"of an earlier release":  {prefix: "old/", revision: 180, want: at("old/etcd", 211, 1)},
		"of one of two clusters": {prefix: "two/", revision: 180, cluster: clusterID, want: at("two/etcd", 211, 1)},
		"of which cluster?":      {prefix: "two/", revision: 180, reason: task.ReasonClusterAmbiguous, words: other + ", " + clusterID},
		"perhaps of another":     {prefix: "perhaps/", revision: 180, reason: task.ReasonClusterAmbiguous, words: other + ", " + clusterID},
		"in a gap":               {prefix: "a/", revision: 300, reason: task.ReasonRevisionNotHeld, words: "the snapshots before it end at revision 211, and those after it begin at revision 500"},
		"too new":                {prefix: "a/", revision: 901, reason: task.ReasonRevisionNotHeld, words: "end at revision 900"},
		"of no cluster":          {prefix: "a/", revision: 180, cluster: other, reason: task.ReasonRevisionNotHeld, words: "spec.clusterID"},
	} {
		t.Run(name, func(t *testing.T) {
			tk := s.under(t, c.prefix)
			tk.Revision, tk.ClusterID = c.revision, c.cluster
			if c.reason != "" {
				mustFail(t, tk, c.reason, c.words)
				return
			}
			if found := must(t, tk).Snapshot; found.Location != "s3://"+bucketName+"/"+c.want {
				t.Errorf("found %s, want %s", found.Location, c.want)
			}
		})
	}
}

// Retention may delete a snapshot while the restore looks for the revision.
func TestASnapshotThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	o, s := startOrigin(t, etcdtest.Newest()), startStore(t)
	gone, kept := at("a/etcd", 205, 1), at("a/etcd", 211, 2)
	s.put(t, gone, o.content)
	s.put(t, kept, o.content)
	s.proxy.Inject(s3test.Fault{Do: s3test.Answer(404, "NoSuchKey"), When: func(r *http.Request) bool {
		return r.Method == http.MethodHead && strings.Contains(r.URL.Path, "_v205_")
	}})
	tk := s.under(t, "a/")
	tk.Revision = 180
	if found := must(t, tk).Snapshot; found.Location != "s3://"+bucketName+"/"+kept {
		t.Errorf("found %s", found.Location)
	}
}

func TestANegativeRevision(t *testing.T) {
	t.Parallel()
	tk := onVolume(t, []byte("any"))
	tk.Revision = -1
	mustFail(t, tk, agent.ReasonInvalidTask, "negative")
}

// A container that starts again rebuilds what an earlier task prepared as of another revision.
func TestAnotherRevisionIsPreparedAnew(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	tk := onVolume(t, o.content)
	tk = preparing(t, tk, etcdtest.NewMember(t, etcdtest.Newest(), "seed"), o.revision+bump)
	for _, r := range []int64{0, 180, 160, 160, 0} {
		tk.Revision = r
		got := must(t, tk)
		if got.Snapshot == nil || (got.Cut == nil) != (r == 0) || got.Cut != nil && got.Cut.Revision != r {
			t.Errorf("at revision %d it tells %+v", r, got)
		}
	}
	for _, prefixes := range [][]string{{"key-1"}, {"key-1"}, {"key-2"}, {"none"}, nil} {
		tk.Prefixes = prefixes
		want := int64(len(underOnly(o.state, prefixes...)))
		if got := must(t, tk); got.Snapshot == nil || (got.Cut == nil) != (prefixes == nil) || got.Cut != nil && got.Cut.TotalKeys != want {
			t.Errorf("under %q it tells %+v", prefixes, got)
		}
	}
}
