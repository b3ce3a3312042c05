package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/snapshotcheck"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

// bucket is the one that the store of a scene has; the examples call it so.
const bucket = "mybucket"

// backsUp installs etcd-backup-operator in the scene, beside etcd-operator or without.
func (s *scene) backsUp() {
	s.t.Helper()
	s.must(env.Install(s.ctx, s.ns, harness.Install{Operator: harness.BackupOperatorName}))
	s.must(s.view.WatchBackups(s.ctx))
	s.within(oneMinute, func(ctx context.Context) error {
		return env.AwaitDeployment(ctx, s.view, s.ns, harness.BackupOperatorName)
	})
	s.tell("the backup operator runs in %s", s.ns)
}

// place is where backups are stored.
type place struct {
	to harness.BackupOption
	// location is what the status calls it.
	location string
	// open opens what is stored there, or at another name beside it.
	open func(ctx context.Context, location string) (snapshotcheck.Snapshot, error)
	// from restores what is stored there, and keys are all that are in it.
	from harness.RestoreOption
	keys func(ctx context.Context) (mirror.Content, error)
}

// store is the S3 store of a scene.
type store struct {
	*harness.Store
	s *scene
}

// aStore starts an S3 store.
func (s *scene) aStore() *store { s.t.Helper(); return s.aStoreWith("") }

// aStoreWith has a store speak TLS by the certificate in a Secret.
func (s *scene) aStoreWith(certificate string) *store {
	s.t.Helper()
	st := &store{s: s}
	s.within(oneMinute, func(ctx context.Context) (err error) {
		st.Store, err = env.StartStore(ctx, s.view, s.ns, bucket, certificate)
		return err
	})
	s.tell("there is an S3 store")
	return st
}

// at is a key in the store's bucket.
func (st *store) at(key string) place { return st.by(st.Endpoint, bucket+"/"+key) }

// by is a path that is written through another endpoint.
func (st *store) by(endpoint, path string) place {
	bucket, key, _ := strings.Cut(path, "/")
	return place{
		to: harness.ToS3(endpoint, path), from: harness.FromS3(endpoint, path), location: "s3://" + path,
		open: func(ctx context.Context, location string) (snapshotcheck.Snapshot, error) {
			bucket, key, _ := strings.Cut(strings.TrimPrefix(location, "s3://"), "/")
			return st.Object(ctx, bucket, key)
		},
		keys: func(ctx context.Context) (mirror.Content, error) { return st.KeysOf(ctx, bucket, key) },
	}
}

// objects are the names of what is in the bucket, with their versions.
func (st *store) objects() map[string]string {
	st.s.t.Helper()
	all, err := st.Objects(st.s.ctx, bucket)
	st.s.must(err)
	versions := map[string]string{}
	for _, o := range all {
		versions[o.Name] = o.ETag
	}
	return versions
}

// holdsNothingHalf: no upload was left behind.
func (st *store) holdsNothingHalf() {
	st.s.t.Helper()
	keys, err := st.Uploads(st.s.ctx, bucket)
	st.s.must(err)
	if len(keys) > 0 {
		st.s.t.Errorf("uploads to %v are neither complete nor aborted", keys)
	}
}

// volume is one on which backups are stored.
type volume struct {
	*harness.Inspector
	s     *scene
	claim string
}

// aVolume claims a volume, which is made when the first Pod needs it.
func (s *scene) aVolume(claim string) *volume {
	s.t.Helper()
	s.must(env.Client.Create(s.ctx, harness.Claim(s.ns, claim, "")))
	return s.existingVolume(claim)
}

// existingVolume is one that kubectl has claimed.
func (s *scene) existingVolume(claim string) *volume { return &volume{s: s, claim: claim} }

// at is a file on the volume.
func (v *volume) at(path string) place {
	prefix := "pvc://" + v.claim + "/"
	return place{
		to: harness.ToVolume(v.claim, path), from: harness.FromVolume(v.claim, path), location: prefix + path,
		open: func(ctx context.Context, location string) (snapshotcheck.Snapshot, error) {
			if err := v.look(ctx); err != nil {
				return snapshotcheck.Snapshot{}, err
			}
			return v.File(ctx, strings.TrimPrefix(location, prefix))
		},
		keys: func(ctx context.Context) (mirror.Content, error) {
			if err := v.look(ctx); err != nil {
				return mirror.Content{}, err
			}
			return v.KeysOfFile(ctx, path)
		},
	}
}

// look starts an inspector on the volume, unless there is one.
func (v *volume) look(ctx context.Context) (err error) {
	if v.Inspector == nil {
		v.Inspector, err = env.StartInspector(ctx, v.s.view, v.s.ns, "inspect-"+v.claim, "", v.claim)
	}
	return err
}

// files are the names of what is on the volume.
func (v *volume) files() []string {
	v.s.t.Helper()
	v.s.within(oneMinute, v.look)
	all, err := v.Files(v.s.ctx)
	v.s.must(err)
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}

// backup is an EtcdBackup of a scene. Its methods are a test's sentences, and end the
// test when they don't come true.
type backup struct {
	*harness.Backup
	s       *scene
	to      place
	created time.Time
	// acknowledged are the writes that were acknowledged before it was created, and so
	// must be in it.
	acknowledged []writer.Span
}

// backup creates an EtcdBackup of the etcd that w writes to.
func (s *scene) backup(name string, w *harness.Writer, to place, options ...harness.BackupOption) *backup {
	s.t.Helper()
	b := s.existingBackup(name, w, to)
	var err error
	b.Backup, err = env.CreateBackup(s.ctx, s.view, s.ns, name, append([]harness.BackupOption{to.to}, options...)...)
	s.must(err)
	return b
}

// existingBackup is one that kubectl creates, from now on.
func (s *scene) existingBackup(name string, w *harness.Writer, to place) *backup {
	s.t.Helper()
	acknowledged, err := w.Acknowledged(s.ctx)
	s.must(err)
	return &backup{Backup: env.Backup(s.view, s.ns, name), s: s, to: to, acknowledged: acknowledged, created: time.Now()}
}

// becomes: the check holds within the limit.
func (b *backup) becomes(what string, limit time.Duration, check harness.BackupCheck) {
	b.s.t.Helper()
	b.s.within(limit, func(ctx context.Context) error { return b.Await(ctx, what, check) })
	b.s.tell("%s is %s", b.Name, what)
}

// stays: the check holds all the time.
func (b *backup) stays(what string, long time.Duration, check harness.BackupCheck) {
	b.s.t.Helper()
	b.s.must(b.Stays(b.s.ctx, what, long, check))
	b.s.tell("%s stayed %s", b.Name, what)
}

// isStored: it succeeds within the limit, and where it is to be there is a snapshot as
// the status tells, with all that was written before.
func (b *backup) isStored(limit time.Duration) v1beta2.BackupSnapshot {
	b.s.t.Helper()
	b.s.within(limit, func(ctx context.Context) error { return b.Await(ctx, "stored", harness.Stored) })
	took := time.Since(b.created) // or less, if the test has looked late
	got := *b.Status().Snapshot
	b.s.tell("%s is stored within %.1f s: %s, %s", b.Name, took.Seconds(), got.Location, got.ReadableSize)
	if got.Location != b.to.location {
		b.s.t.Errorf("it is stored at %s, want %s", got.Location, b.to.location)
	}
	b.opens(v1beta2.BackupRecord{Location: got.Location, Size: got.Size, SHA256: got.SHA256, Revision: got.Revision}, got.Compression)
	return got
}

// opens opens what a record tells of, and compares it with what was written.
func (b *backup) opens(r v1beta2.BackupRecord, packing v1beta2.Compression) {
	b.s.t.Helper()
	got, err := b.to.open(b.s.ctx, r.Location)
	b.s.must(err)
	if got.Size != r.Size || got.SHA256 != r.SHA256 || got.Packed != (packing == v1beta2.CompressionZstd) {
		b.s.t.Errorf("%s: the status tells of %d bytes, %s, packed %q; stored are %d, %s, packed %t",
			r.Location, r.Size, r.SHA256, packing, got.Size, got.SHA256, got.Packed)
	}
	if got.Revision < r.Revision {
		b.s.t.Errorf("%s holds revision %d, and the status tells of %d", r.Location, got.Revision, r.Revision)
	}
	if missing := got.Missing(b.acknowledged); len(missing) > 0 || len(got.Foreign) > 0 {
		b.s.t.Errorf("%s lacks %d of the %d writes that were acknowledged before, %v; foreign keys %v", r.Location,
			len(missing), writer.Count(b.acknowledged), missing[:min(5, len(missing))], got.Foreign)
	}
	b.s.tell("%s opens: revision %d, %d writes", r.Location, got.Revision, writer.Count(got.Writes))
}

// records are its successful backups that are remembered, newest first.
func (b *backup) records() []v1beta2.BackupRecord {
	return slices.DeleteFunc(slices.Clone(b.Status().History), func(r v1beta2.BackupRecord) bool { return !r.Succeeded })
}

func (b *backup) suspend(suspended bool) {
	b.s.t.Helper()
	b.s.must(b.Patch(b.s.ctx, map[string]any{"spec": map[string]any{"suspend": suspended}}))
}

// tells: there is an event of that reason about it that has all the words.
func (b *backup) tells(reason string, words ...string) {
	b.s.t.Helper()
	b.s.tellsOf("EtcdBackup", b.Name, reason, words...)
}

// tellsOf: there is, soon, an event of that reason about an object that has all the
// words.
func (s *scene) tellsOf(kind, name, reason string, words ...string) {
	s.t.Helper()
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, fmt.Sprintf("an event %s with %q about %s", reason, words, name), func(ctx context.Context) (string, error) {
			var all eventsv1.EventList
			if err := env.Client.List(ctx, &all, client.InNamespace(s.ns)); err != nil {
				return "", err
			}
			var seen []string
			for _, e := range all.Items {
				if e.Regarding.Kind != kind || e.Regarding.Name != name {
					continue
				}
				if e.Reason == reason && containsAll(e.Note, words) {
					return "", nil
				}
				seen = append(seen, e.Reason+": "+e.Note)
			}
			return "there are only\n" + strings.Join(seen, "\n"), nil
		})
	})
}

// endpoint is the URL of the Service for clients.
func (c *cluster) endpoint() string { return "http://" + c.Name + "-client:2379" }

// endpointOf is the URL of one member.
func (c *cluster) endpointOf(member string) string {
	return fmt.Sprintf("http://%s.%s.%s.svc:2379", member, c.Name, c.Namespace)
}
