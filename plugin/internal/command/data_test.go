package command

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// specOf is the spec of an object that a command has created, as YAML.
func (w *world) specOf(o client.Object, name string) string {
	w.t.Helper()
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, o); err != nil {
		w.t.Fatal(err)
	}
	var spec any
	switch o := o.(type) {
	case *v1beta2.EtcdBackup:
		spec = map[string]any{"annotations": o.Annotations, "spec": o.Spec}
	case *v1beta2.EtcdRestore:
		spec = map[string]any{"annotations": o.Annotations, "spec": o.Spec}
	}
	text, err := yaml.Marshal(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return "# " + name + "\n" + string(text)
}

// carriedOut is what the operators make of backups and restores.
func carriedOut(o client.Object) {
	complete := []metav1.Condition{{Type: "Complete", Status: "True", Reason: "Done", Message: "it is done"}}
	switch o := o.(type) {
	case *v1beta2.EtcdBackup:
		o.Status = v1beta2.BackupStatus{Phase: v1beta2.BackupSucceeded, Conditions: complete, Snapshot: &v1beta2.BackupSnapshot{Revision: 1290, Location: "s3://mybucket/key", Size: 20 << 20}}
	case *v1beta2.EtcdRestore:
		o.Status = v1beta2.RestoreStatus{Phase: v1beta2.RestoreComplete, Conditions: complete, Snapshot: &v1beta2.RestoreSnapshot{TotalKeys: 500, Revision: 1200, EtcdVersion: "3.6", Size: 20 << 20, Location: "s3://mybucket/key", Hash: v1beta2.HashEqual}}
		if o.Spec.Revision > 0 || o.Spec.Time != nil {
			o.Status.Restored = &v1beta2.RestoredState{Revision: 1100, TotalKeys: 490}
		}
		if o.Spec.StartEtcd != nil {
			o.Status.Served = &v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 500}
		}
		if o.Spec.VerifyOnly {
			o.Status.Phase = v1beta2.RestoreVerified
		}
	}
}

func TestBackup(t *testing.T) {
	c := aCluster("example")
	c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	w := aWorld(t, c, aCluster("bare"), aBackup("hourly", "example"))
	w.then = carriedOut
	screens := []string{
		w.run("backup example"), w.specOf(&v1beta2.EtcdBackup{}, "example-20260101-120000"),
		w.run("backup bare"), w.run("backup bare --pvc backups"), w.run("backup bare --pvc backups/bare.db --s3 b/k"),
		w.run("backup bare --pvc backups/bare.db --name before"), w.specOf(&v1beta2.EtcdBackup{}, "before"),
		w.run("backup bare --s3 b/k --s3-secret aws --s3-endpoint http://minio:9000 --s3-path-style --name s3"), w.specOf(&v1beta2.EtcdBackup{}, "s3"),
		w.run("backup example --name again"), // there are two of the cluster by now, one of which is repeated
	}
	w.then = func(o client.Object) {
		o.(*v1beta2.EtcdBackup).Status = v1beta2.BackupStatus{Phase: v1beta2.BackupFailed, Failure: &v1beta2.BackupFailure{Reason: "StoreUnavailable", Message: "the store does not answer"}}
	}
	golden(t, "backup", append(screens, w.run("backup example --like hourly --name third"))...)
}

// Whatever store an EtcdBackup names is taken over with its settings, under a path of its own.
func TestBackupInEachStore(t *testing.T) {
	const path = "Path"
	stores := 0
	for i, field := range reflect.VisibleFields(reflect.TypeFor[v1beta2.BackupSpec]()) {
		if field.Type.Kind() != reflect.Pointer || field.Type.Elem().Kind() != reflect.Struct {
			continue
		}
		if _, isStore := field.Type.Elem().FieldByName(path); !isStore {
			continue
		}
		stores++
		store := reflect.New(field.Type.Elem())
		store.Elem().FieldByName(path).SetString("place/etcd.backup")
		b := &v1beta2.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "from"}, Spec: v1beta2.BackupSpec{ClusterRef: &v1beta2.ClusterReference{Name: "example"}}}
		reflect.ValueOf(&b.Spec).Elem().Field(i).Set(store)
		w := aWorld(t, aCluster("example"), b)
		screen := w.run("backup example --name again --wait=false")
		made := &v1beta2.EtcdBackup{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "again"}, made); err != nil {
			t.Fatalf("%s: %v\n%s", field.Name, err, screen)
		}
		got := reflect.ValueOf(made.Spec).Field(i)
		if got.IsNil() || got.Elem().FieldByName(path).String() != "place/etcd.backup-again" {
			t.Errorf("%s: the backup goes to %+v", field.Name, made.Spec)
		}
	}
	if stores != 5 {
		t.Errorf("%d stores", stores)
	}
}

func TestBackups(t *testing.T) {
	w := aWorld(t, aCluster("example"), aBackup("hourly", "example"), aBackup("other", "other"))
	golden(t, "backups", w.run("backups example"), w.run("backups -o wide"), w.run("backups missing"))
	if got := w.run("backups example -o json"); !strings.Contains(got, `"name": "hourly-2"`) || !strings.Contains(got, `"backup": "hourly"`) {
		t.Error(got)
	}
}

func TestVerify(t *testing.T) {
	none := aBackup("none", "example")
	none.Status.History = nil
	w := aWorld(t, aBackup("hourly", "example"), none)
	w.then = carriedOut
	screens := []string{
		w.run("verify none"), w.run("verify hourly --entry hourly-1"), w.run("verify hourly --entry hourly-2 --start-etcd"),
		w.specOf(&v1beta2.EtcdRestore{}, "hourly-verify-20260101-120000"), w.run("verify hourly"), w.run("verify hourly --any-node"),
	}
	anywhere := aWorld(t, aBackup("hourly", "example"))
	anywhere.then = carriedOut
	screens = append(screens, anywhere.run("verify hourly --start-etcd --any-node"), anywhere.specOf(&v1beta2.EtcdRestore{}, "hourly-verify-20260101-120000"))
	golden(t, "verify", screens...)
}

// What programs read is all that is on the standard output, also of a backup that is not good.
func TestVerifyForPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(client.Object)
		phase v1beta2.RestorePhase
		fails bool
	}{
		"good": {carriedOut, v1beta2.RestoreVerified, false},
		"bad": {func(o client.Object) {
			if r, ok := o.(*v1beta2.EtcdRestore); ok {
				r.Status = v1beta2.RestoreStatus{Phase: v1beta2.RestoreFailed, Conditions: []metav1.Condition{{Type: "Complete", Status: "False", Reason: "Damaged", Message: "it is damaged"}}}
			}
		}, v1beta2.RestoreFailed, true},
	} {
		for _, format := range []string{"json", "yaml"} {
			t.Run(name+"/"+format, func(t *testing.T) {
				w, out := aWorld(t, aBackup("hourly", "example")), &bytes.Buffer{}
				w.then = c.then
				app := w.app(&bytes.Buffer{})
				app.Out = out
				root := New(app, nil)
				root.SetArgs([]string{"verify", "hourly", "--start-etcd", "-o", format})
				if err := root.ExecuteContext(t.Context()); (err != nil) != c.fails {
					t.Errorf("it ends with %v", err)
				}
				r := &v1beta2.EtcdRestore{}
				if err := yaml.UnmarshalStrict(out.Bytes(), r); err != nil || r.Kind != "EtcdRestore" || r.Status.Phase != c.phase {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
}

func TestRestore(t *testing.T) {
	plain := aBackup("plain", "example")
	plain.Spec.Archive, plain.Status.Archive = nil, nil
	plain.Status.History[0].CompletionTime = &metav1.Time{Time: now.Add(-100 * 60 * 1e9)}
	w := aWorld(t, aCluster("example"), aCluster("bare"), aBackup("hourly", "example"), plain, aBackup("other", "elsewhere"))
	w.then = carriedOut
	const name = "example-restore-20260101-120000"
	screens := []string{
		w.run("restore bare"), w.run("restore example --to-revision 1 --to-time 10m"), w.run("restore example --to-time yesterday"),
		w.run("restore example --into example"), w.run("restore example --prefix a/"), w.run("restore example --from other"), w.run("restore example --from other --into copy"), w.run("restore example --from plain --to-time 10m"),
		w.run("restore example --to-time 10m"),
		w.run("restore example --to-time 10m --yes"), w.specOf(&v1beta2.EtcdRestore{}, name),
		w.run("restore example --into copy --entry hourly-2 --from hourly --to-revision 1100 --prefix app/ --yes"), w.specOf(&v1beta2.EtcdRestore{}, "copy"),
	}
	golden(t, "restore", screens...)

	failing := aWorld(t, aCluster("example"), aBackup("hourly", "example"))
	failing.then = func(o client.Object) {
		o.(*v1beta2.EtcdRestore).Status = v1beta2.RestoreStatus{Phase: v1beta2.RestoreFailed, Reason: "HashMismatch: restore another snapshot"}
	}
	if got := failing.run("restore example --yes"); !strings.Contains(got, "error: EtcdRestore "+name+" has failed: HashMismatch: restore another snapshot") {
		t.Error(got)
	}
}

// A time is read in both forms.
func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{"10m": "2026-01-01T11:50:00Z", "-90s": "2026-01-01T11:58:30Z", "2026-01-01T01:00:00+01:00": "2026-01-01T00:00:00Z"} {
		m := moment{now: nowOf}
		if err := m.Set(text); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, m.String()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// An EtcdCluster that was deleted is created again from a backup, with the spec of its manifest or a
// minimal one.
func TestRestoreOfAClusterThatIsGone(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const manifest = `apiVersion: etcd.database.coreos.com/v1beta2
kind: EtcdCluster
metadata:
  name: example
  uid: of-the-one-that-is-gone
  labels: {team: storage, etcd.database.coreos.com/owner: x}
  annotations: {etcd.database.coreos.com/scope: clusterwide, etcd.database.coreos.com/restart: x, kubectl.kubernetes.io/last-applied-configuration: x, note: kept}
spec:
  size: 3
  version: 3.6.16
  paused: true
  TLS: {auto: {}}
  pod:
    persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	write("example.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n---\n"+manifest)
	write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\n")
	write("two.yaml", manifest+"---\n"+manifest)
	write("typo.yaml", strings.Replace(manifest, "size:", "sise:", 1))
	write("static.yaml", strings.Replace(manifest, "{auto: {}}", "{static: {member: {peerSecret: peer, serverSecret: server}, operatorSecret: operator}}", 1))

	backup := aBackup("hourly", "example")
	backup.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "example-aaaaaaaaaa", Labels: map[string]string{v1beta2.LabelCluster: "example", v1beta2.LabelOwner: "former"},
	}}
	peer := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "peer"}}
	w := aWorld(t, backup, aBackup("of-other", "other"), aCluster("other"), claim, peer)
	w.then = carriedOut
	created := func(name string) string { return w.specOf(&v1beta2.EtcdRestore{}, name) }
	screens := []string{
		w.run("restore example"), w.run("restore nothing"), w.run("restore example --size 3"), w.run("restore example --version 3.6.16"),
		w.run("restore example --template example.yaml --size 3 --version 3.6.16"),
		w.run("restore example --template secret.yaml"), w.run("restore example --template two.yaml"),
		w.run("restore example --template typo.yaml"), w.run("restore example --template missing.yaml"), w.run("restore example --template -"),
		w.run("restore example --template static.yaml"),
		w.run("restore other --template example.yaml"), w.run("restore other --into copy --size 1 --version 3.6.16"),
		w.run("restore nothing --size 1 --version 3.6.16"),
		w.run("restore example --template example.yaml --yes"), created("example"),
		w.run("restore example --size 1 --version 3.6.16 --yes"),
		w.run("restore example --size 1 --version v3.6.16 --into again --from hourly --entry hourly-2 --to-revision 1100 --prefix app/ --yes"), created("again"),
		w.run("restore other --into copy --template example.yaml --yes"), created("copy"),
	}
	w.answers = manifest
	screens = append(screens, w.run("restore example --template - --into piped --yes"), created("piped"))
	t.Chdir(home)
	golden(t, "restore-gone", screens...)
}
