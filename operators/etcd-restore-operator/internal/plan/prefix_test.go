package plan

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

const newestKey = "mybucket/prod/etcd_v42_2026-03-01-12:00:00"

// prefix is a restore of the newest under a prefix.
func prefix(s *scene) {
	s.Restore.Spec.S3 = &v1beta2.S3Source{Prefix: "mybucket/prod/", AWSSecret: "aws"}
}

// foundNewest is what the Job reports of it.
func foundNewest() *task.Snapshot {
	s := found()
	s.Location = "s3://" + newestKey
	return s
}

// foundIt has the Job done that found the newest.
func foundIt(s *scene) {
	job(reported)(s)
	s.Job.Result = &task.Result{Snapshot: foundNewest()}
}

// pinned is a restore whose status says which one it is.
func pinned(s *scene) {
	verified(s)
	s.Restore.Status.Snapshot = snapshotOf(foundNewest())
}

// What was found under a prefix is settled before the cluster is touched, and is what the
// seed gets: by its key, ETag and digest, whatever lies under the prefix by then.
func TestTheNewestIsPinned(t *testing.T) {
	d := noted(observe(prefix))
	if start, ok := d.Action.(StartJob); !ok || start.Source.Store.Prefix != "mybucket/prod/" || start.Source.Store.Path != "" {
		t.Errorf("at first: %+v", d.Action)
	}
	d = noted(observe(prefix, foundIt))
	if s := d.Status.Snapshot; d.Action != nil || s == nil || s.Location != "s3://"+newestKey || s.ETag != "etag" || s.SHA256 != "abc" {
		t.Errorf("then: %+v, the snapshot %+v", d.Action, s)
	}
	later := func(s *scene) { // somebody has stored a newer one, and the Job says so
		foundIt(s)
		s.Job.Result.Snapshot.Location, s.Job.Result.Snapshot.ETag = "s3://mybucket/prod/etcd_v43_2026-03-02-12:00:00", "newer"
	}
	for _, c := range []change{pinned, fenced, named, seeded()} {
		o := observe(c, prefix, pinned, later)
		d := noted(o)
		if s := d.Status.Snapshot; s.Location != "s3://"+newestKey || s.ETag != "etag" {
			t.Errorf("the snapshot has become %+v", s)
		}
		for _, broken := range oracle(o, d) {
			t.Error(broken)
		}
	}
	// The scene in which a seed is due.
	o := observe(named, prefix, func(s *scene) {
		s.Restore.Status.Snapshot = snapshotOf(foundNewest())
		s.Pods, s.Claims = nil, []Claim{{Name: s.Restore.Status.SeedMember, UID: "claim"}}
	})
	create, ok := noted(o).Action.(CreateSeed)
	if !ok || create.Source.Store.Path != newestKey || create.Source.Store.Prefix != "" || create.Want.ETag != "etag" {
		t.Errorf("the seed is made so: %+v", noted(o))
	}
}

func TestPrefixesThatMakeNoSense(t *testing.T) {
	for name, c := range map[string]struct {
		s3     v1beta2.S3Source
		reason string
		says   string
	}{
		"both":         {v1beta2.S3Source{Path: "mybucket/key", Prefix: "mybucket/"}, "StorageAmbiguous", "s3.prefix must not be set together with s3.path"},
		"a URL":        {v1beta2.S3Source{Prefix: "s3://mybucket/"}, "PathInvalid", "without s3://"},
		"bucket alone": {v1beta2.S3Source{Prefix: "mybucket"}, "PathInvalid", "mybucket/ for the whole bucket"},
		"neither":      {v1beta2.S3Source{}, "PathInvalid", "s3.path"},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(observe(spec(func(s *v1beta2.RestoreSpec) { s.S3 = &c.s3 })))
			if d.Reason != c.reason || !strings.Contains(d.Message, c.says) || d.Status.Phase != v1beta2.RestoreFailed {
				t.Errorf("%s: %s: %s", d.Status.Phase, d.Reason, d.Message)
			}
		})
	}
	// A place that the status cannot hold whole is not guessed at.
	d := noted(observe(prefix, pinned, status(func(s *v1beta2.RestoreStatus) {
		s.Snapshot.Location = "s3://mybucket/" + strings.Repeat("x", 10) + "\x01"
	})))
	if d.Reason != "LocationInvalid" || d.Status.Phase != v1beta2.RestoreFailed {
		t.Errorf("%s: %s", d.Reason, d.Message)
	}
	if want := `"s3://mybucket/xxxxxxxxxx\u0001"`; !strings.Contains(d.Message, want) {
		t.Errorf("got %s, want the key escaped once: %s", d.Message, want)
	}
}

// The catalogue is reported with the snapshot and with a failure, by a restore that only
// verifies.
func TestCatalogue(t *testing.T) {
	told := &task.Catalogue{Total: 25, Others: 2, Base: "s3://mybucket/prod/etcd", Entries: []task.Entry{
		{Name: "_v42_2026-03-01-12:00:00", Size: 7, ClusterID: "00000000000000c1"},
		{Name: "_noquorum_v41_2026-03-01-06:00:00", Size: 6},
		{Name: "nonsense"},
	}}
	want := &v1beta2.SnapshotCatalogue{Total: 25, OtherObjects: 2, Newest: []v1beta2.CatalogueEntry{
		{Location: "s3://" + newestKey, Time: metav1.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Revision: 42, ClusterID: "00000000000000c1", Size: 7},
		{Location: "s3://mybucket/prod/etcd_noquorum_v41_2026-03-01-06:00:00", Time: metav1.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC), Revision: 41, Size: 6, Unconfirmed: true},
	}}
	good, bad := &task.Result{Snapshot: foundNewest(), Catalogue: told}, &task.Result{Failure: &agent.Failure{Reason: "CorruptSnapshot", Message: corruptSnapshot, Permanent: true}, Catalogue: told}
	for name, c := range map[string]struct {
		o    Observation
		want *v1beta2.SnapshotCatalogue
	}{
		"good":         {observe(verifyOnly, prefix, foundIt, func(s *scene) { s.Job.Result = good }), want},
		"bad":          {observe(verifyOnly, prefix, foundIt, func(s *scene) { s.Job.Result = bad }), want},
		"kept":         {observe(verifyOnly, prefix, pinned, status(func(s *v1beta2.RestoreStatus) { s.Catalogue = want })), want},
		"of a restore": {observe(prefix, foundIt, func(s *scene) { s.Job.Result = good }), nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(c.o)
			if diff := cmp.Diff(c.want, d.Status.Catalogue); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestSimulateAPrefix is the simulation of restores of the newest under a prefix, where
// each look at the Job finds a newer one: seeds are made of the one that was recorded.
func TestSimulateAPrefix(t *testing.T) {
	runs, made, found := min(*seeds, 300), 0, 0
	for seed := range runs {
		var w *world
		plan := func(o Observation) Decision {
			if o.Restore.Spec.S3.Prefix == "" {
				return Plan(o) // another restore, that somebody has made meanwhile
			}
			if o.Job != nil && o.Job.Result != nil && o.Job.Result.Snapshot != nil {
				found++
				newer := *o.Job.Result
				s := *newer.Snapshot
				s.Location = "s3://" + s3().Store.Path + time.Unix(int64(found), 0).UTC().Format("_v42_2006-01-02-15:04:05")
				j := *o.Job
				newer.Snapshot, j.Result, o.Job = &s, &newer, &j
			}
			d := noted(o)
			if create, ok := d.Action.(CreateSeed); ok {
				made++
				recorded := o.Restore.Status.Snapshot
				if s := create.Source.Store; s.Prefix != "" || "s3://"+s.Path != recorded.Location || !cmp.Equal(create.Want, recorded) {
					w.fail("the seed is made of %+v, %+v, and %+v is recorded", s, create.Want, recorded)
				}
			}
			return d
		}
		w = newWorld(seed, randomConfig(rand.New(rand.NewSource(seed))), plan)
		for _, r := range w.restores {
			r.Spec.S3 = &v1beta2.S3Source{Prefix: "mybucket/", AWSSecret: "aws"}
		}
		w.changed()
		w.at = [kinds]int{len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1, len(w.log) - 1}
		w.run()
		if w.broken != "" {
			t.Fatalf("seed %d, %+v: %s\n%s", seed, w.config, w.broken, strings.Join(w.trace, "\n"))
		}
	}
	if int64(made) < runs/4 {
		t.Errorf("%d seeds were made in %d runs: the world does not do much", made, runs)
	}
}
