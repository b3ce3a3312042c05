package snapshotname

import (
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestName(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for name, c := range map[string]struct {
		revision int64
		due      time.Time
		want     string
	}{
		"plain":                     {revision: 17, due: noon, want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"another zone is UTC":       {revision: 17, due: noon.In(berlin), want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"fractions are dropped":     {revision: 17, due: noon.Add(999 * time.Millisecond), want: "dir/etcd_v17_2026-03-01-12:00:00"},
		"the revision isn't padded": {revision: 1000000, due: noon, want: "dir/etcd_v1000000_2026-03-01-12:00:00"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Name("dir/etcd", c.revision, c.due); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	const good = "_v17_2026-03-01-12:00:00"
	for name, c := range map[string]struct {
		path, name string
		ok         bool
		reason     string
	}{
		"our own":              {path: "a", name: "a" + good, ok: true},
		"a path like a name":   {path: "a" + good, name: "a" + good + good, ok: true, reason: "only the part behind the path counts"},
		"the empty path":       {path: "", name: good, ok: true, reason: "a bucket's root is a path, too"},
		"a longer path":        {path: "a", name: "a_v1_b" + good, reason: "it is a neighbour's whose path begins like ours and a revision"},
		"another path":         {path: "a", name: "b" + good, reason: "not ours"},
		"the path alone":       {path: "a", name: "a", reason: "a one-shot backup's"},
		"a suffix":             {path: "a", name: "a" + good + ".zst", reason: "we never write one"},
		"a folder":             {path: "a", name: "a" + good + "/x", reason: "we never write one"},
		"a sign":               {path: "a", name: "a_v+17_2026-03-01-12:00:00", reason: "we never write one"},
		"a negative revision":  {path: "a", name: "a_v-17_2026-03-01-12:00:00", reason: "there is none"},
		"a padded revision":    {path: "a", name: "a_v017_2026-03-01-12:00:00", reason: "we never write one"},
		"no revision":          {path: "a", name: "a_v_2026-03-01-12:00:00", reason: "we always write one"},
		"a revision too large": {path: "a", name: "a_v9223372036854775808_2026-03-01-12:00:00", reason: "an int64 can't hold it"},
		"no such day":          {path: "a", name: "a_v17_2026-02-30-12:00:00", reason: "there is none"},
		"a fraction":           {path: "a", name: "a_v17_2026-03-01-12:00:00.5", reason: "time.Parse takes it; we never write one"},
		"a zone":               {path: "a", name: "a_v17_2026-03-01-12:00:00Z", reason: "we never write one"},
		"a short hour":         {path: "a", name: "a_v17_2026-03-01-2:00:00", reason: "time.Parse may take it; we never write one"},
		"nothing":              {path: "a", name: "", reason: "not ours"},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Parse(c.path, c.name)
			if ok != c.ok {
				t.Fatalf("Parse(%q, %q) is %t, want %t: %s", c.path, c.name, ok, c.ok, c.reason)
			}
			if want := (Snapshot{Name: c.name, Revision: 17, Time: noon}); ok && got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestMarkedNames(t *testing.T) {
	name := MarkedName("dir/etcd", MarkNoQuorum, 17, noon)
	if want := "dir/etcd_noquorum_v17_2026-03-01-12:00:00"; name != want {
		t.Errorf("got %q, want %q", name, want)
	}
	if _, ok := Parse("dir/etcd", name); ok {
		t.Errorf("%q is taken for a snapshot of dir/etcd", name)
	}
}

func TestParseAny(t *testing.T) {
	for name, c := range map[string]struct {
		in, path string
		marked   bool
	}{
		"plain":                {in: "dir/etcd_v17_2026-03-01-12:00:00", path: "dir/etcd"},
		"a path like a name":   {in: "a_v1_2026-03-01-12:00:00_v17_2026-03-01-12:00:00", path: "a_v1_2026-03-01-12:00:00"},
		"the empty path":       {in: "_v17_2026-03-01-12:00:00"},
		"without a quorum":     {in: "etcd_noquorum_v17_2026-03-01-12:00:00", path: "etcd_noquorum", marked: true},
		"of an ill member":     {in: "etcd_unhealthy_v17_2026-03-01-12:00:00", path: "etcd_unhealthy", marked: true},
		"a path with a word":   {in: "noquorum_v17_2026-03-01-12:00:00", path: "noquorum"},
		"a path with versions": {in: "etcd_v3_v17_2026-03-01-12:00:00", path: "etcd_v3"},
	} {
		t.Run(name, func(t *testing.T) {
			path, s, ok := ParseAny(c.in)
			if !ok || path != c.path || s != (Snapshot{Name: c.in, Revision: 17, Time: noon}) || Marked(path) != c.marked {
				t.Errorf("got %q, %+v, %t, marked %t", path, s, ok, Marked(path))
			}
			if Name(path, s.Revision, s.Time) != c.in {
				t.Error("it is another name")
			}
		})
	}
	for _, other := range []string{"", "etcd.backup", "etcd_v17", "etcd_v17_", "etcd_v017_2026-03-01-12:00:00", "etcd_v17_2026-03-01-12:00:00.zst", "etcd_v17_2026-02-30-12:00:00"} {
		if _, _, ok := ParseAny(other); ok {
			t.Errorf("%q is taken for a snapshot's name", other)
		}
	}
}

func ExampleName() {
	fmt.Println(Name("prod/etcd", 1234, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)))
	// Output: prod/etcd_v1234_2026-03-01-12:00:00
}
