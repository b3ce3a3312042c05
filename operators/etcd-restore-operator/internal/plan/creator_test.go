package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/creator"
)

// Without a check of their rights nobody gets an EtcdCluster through an EtcdRestore, and
// nobody else is asked for one.
func TestCreatorNotChecked(t *testing.T) {
	const absent = "ValidatingAdmissionPolicyBinding x does not exist"
	missing, unknown := creator.Check{Missing: absent}, creator.Check{Unknown: "the server is down"}
	forbidden := creator.Check{Missing: "no permission", Forbidden: true}
	since := func(t time.Time) creator.Check { return creator.Check{Passed: true, Since: t} }
	byTemplate := func(s *scene) { s.Restore.Spec, s.Cluster = template(s.Restore.Spec), nil }
	byCopy := func(s *scene) {
		s.Restore.Spec.Target, s.Restore.Spec.EtcdCluster.Name, s.Cluster = v1beta2.TargetNew, "t", nil
		s.Template = newCluster("t", "template", true)
	}
	made := func(s *scene) {
		byTemplate(s)
		s.Cluster = newCluster("c", "cluster-uid", false)
		annotate(v1beta2.AnnotationRestoredBy, "uid")(s)
	}
	verify := spec(func(s *v1beta2.RestoreSpec) { s.VerifyOnly = true })
	const failed, pending = v1beta2.RestoreFailed, v1beta2.RestorePending
	for name, row := range map[string]struct {
		reason string
		o      Observation
		asks   bool
		phase  v1beta2.RestorePhase // of the refusal; empty if there is none
		says   []string
	}{
		"template": {
			"any image with any Secret", observe(byTemplate, creators(missing)), true, failed,
			[]string{absent, "; run kubectl apply -k deploy/etcd-restore-operator/crd, or start the operator with --trust-creators, then create another EtcdRestore"},
		},
		"copy":           {"the same", observe(byCopy, creators(missing)), true, failed, []string{absent}},
		"forbidden":      {"an API server might learn of the right soon", observe(byTemplate, creators(forbidden)), true, pending, []string{"no permission; run kubectl apply -k deploy/etcd-restore-operator/crd"}},
		"still":          {"it would know of it by now", observe(byTemplate, creators(forbidden), phase(pending), after(time.Minute)), true, failed, []string{"no permission; run kubectl apply -k deploy/etcd-restore-operator/crd"}},
		"too early":      {"it was created when nothing checked it", observe(byTemplate, creators(since(born.Add(time.Second)))), true, failed, []string{"is newer than this EtcdRestore; create another"}},
		"in time":        {"API servers count in seconds", observe(byTemplate, creators(since(born))), true, "", nil},
		"not known":      {"the API server might answer soon", observe(byTemplate, creators(unknown)), true, pending, []string{"the server is down", "retried every 30s"}},
		"nobody looked":  {"that is no consent", observe(byTemplate, creators(creator.Check{})), true, pending, nil},
		"out of time":    {"a wait ends as all do", observe(byTemplate, creators(unknown), spec(func(s *v1beta2.RestoreSpec) { s.TimeoutInSecond = 60 }), phase(pending), after(time.Hour)), true, failed, nil},
		"a wrong spec":   {"that is to be corrected first", observe(byTemplate, creators(missing), spec(func(s *v1beta2.RestoreSpec) { s.S3 = nil })), true, failed, nil},
		"checked":        {"they can do so themselves", observe(byTemplate), true, "", nil},
		"made already":   {"it was accepted, and a policy that is removed later is no reason to end", observe(made, creators(missing)), false, "", nil},
		"settled":        {"the same", observe(made, creators(missing), status(func(s *v1beta2.RestoreStatus) { s.ClusterUID = "cluster-uid" })), false, "", nil},
		"in place":       {"as the archived operator's manifests have it", observe(creators(missing)), false, "", nil},
		"only verifying": {"it touches no cluster", observe(byTemplate, verify, creators(missing)), false, "", nil},
		"being deleted":  {"it makes nothing any more", observe(byTemplate, deleted, creators(missing)), false, "", nil},
		"failed before":  {"it makes nothing any more", observe(byTemplate, phase(failed), creators(missing)), false, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AsksCreator(row.o); got != row.asks {
				t.Errorf("%s: asks %t, want %t", row.reason, got, row.asks)
			}
			d := noted(row.o)
			if row.phase == "" {
				if d.Reason == v1beta2.RestoreReasonCreatorNotChecked {
					t.Errorf("%s: %s", row.reason, d.Message)
				}
				return
			}
			if d.Action != nil || d.Status.Phase != row.phase {
				t.Errorf("%s: %T in phase %s: %s: %s", row.reason, d.Action, d.Status.Phase, d.Reason, d.Message)
			}
			if again := d.RequeueAfter; row.phase == pending && again != retry && (row.o.Creator != forbidden || again != learning) {
				t.Errorf("%s: looks again in %s", row.reason, d.RequeueAfter)
			}
			for _, words := range row.says {
				if d.Reason != v1beta2.RestoreReasonCreatorNotChecked || !strings.Contains(d.Message, words) {
					t.Errorf("%s: %q is not said: %s: %s", row.reason, words, d.Reason, d.Message)
				}
			}
		})
	}
}
