package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// starting is a verification that starts etcd; of no version: of that which is recorded.
func starting(version string) change {
	return func(s *scene) {
		verifyOnly(s)
		s.Restore.Spec.StartEtcd = &v1beta2.StartEtcd{Version: version}
	}
}

// recorded is a restore of what an EtcdBackup has stored, which tells a version of it.
func recorded(version string) change {
	return func(s *scene) {
		backup(newest("s3://mybucket/etcd_v9"))(s)
		s.Backup.Status.Snapshot.EtcdVersion = version
	}
}

func servedBy(version string) func(*Job) {
	return func(j *Job) {
		reported(j)
		j.Result.Served = &task.Served{EtcdVersion: version, TotalKeys: 10}
	}
}

// A verification that starts etcd: of which version, and what is told of it.
func TestStartEtcd(t *testing.T) {
	waits := func(j *Job) { j.Waiting = "0/3 nodes are available" }
	rows := map[string]struct {
		why             string
		o               Observation
		version, reason string
		words           string
	}{
		"a version":                {why: "the user's", o: observe(starting("3.6.16")), version: "3.6.16", reason: "Verifying", words: "starts etcd on it; no cluster is touched"},
		"with a v":                 {why: "as an EtcdCluster may have it", o: observe(starting("v3.6.16")), version: "3.6.16", reason: "Verifying"},
		"of the backup":            {why: "that of its source", o: observe(starting(""), recorded("3.5.21")), version: "3.5.21", reason: "Verifying"},
		"another than the backup":  {why: "the user's counts", o: observe(starting("3.6.16"), recorded("3.5.21")), version: "3.6.16", reason: "Verifying"},
		"none":                     {why: "nothing can be started", o: observe(starting("")), reason: "EtcdVersionUnknown", words: "set startEtcd.version"},
		"an older record":          {why: "its operator did not write it", o: observe(starting(""), recorded("")), reason: "EtcdVersionUnknown"},
		"no version":               {why: "whoever wrote that must not choose an image by it", o: observe(starting(""), recorded("3.5.21@sha256:0")), reason: "EtcdVersionUnknown"},
		"served":                   {why: "all is well", o: observe(starting("3.6.16"), job(servedBy("3.6.16"))), reason: "SnapshotVerified"},
		"an older etcd":            {why: "it serves what it knows", o: observe(starting("3.5.21"), job(servedBy("3.5.21"))), reason: "VersionMismatch", words: "and not to etcd 3.5.21"},
		"two releases on":          {why: "no restore does that", o: observe(starting("3.8.0"), job(servedBy("3.8.0"))), reason: "VersionMismatch"},
		"no version is told":       {why: "an agent of another release", o: observe(starting("3.6.16"), job(servedBy(""))), reason: "VersionMismatch"},
		"nothing is told of it":    {why: "an older agent", o: observe(starting("3.6.16"), job(reported)), reason: "ResultInvalid", words: "did not report what etcd served"},
		"no node":                  {why: "there may be none without members", o: observe(starting("3.6.16"), job(waits)), reason: "PodNotStarting", words: "set pod.affinity: {}"},
		"no node, by the user":     {why: "it is the user's affinity", o: observe(starting("3.6.16"), job(waits), spec(func(s *v1beta2.RestoreSpec) { s.Pod = &v1beta2.AgentPod{Affinity: &corev1.Affinity{}} })), reason: "PodNotStarting", words: "0/3 nodes are available"},
		"no node, without an etcd": {why: "it keeps off nothing", o: observe(verifyOnly, job(waits)), reason: "PodNotStarting", words: "0/3 nodes are available"},
		"good": {why: "what was served is told", o: observe(starting("3.6.16"), verified, func(s *scene) {
			s.Restore.Status.Served = &v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 10}
		}), reason: "SnapshotVerified", words: "etcd 3.6.16 served all of it, with 10 keys"},
	}
	for label, r := range rows {
		t.Run(label, func(t *testing.T) {
			d := noted(r.o)
			version := ""
			if start, ok := d.Action.(StartJob); ok {
				version = start.EtcdVersion
			}
			if d.Reason != r.reason || version != r.version || !strings.Contains(d.Message, r.words) {
				t.Errorf("%s: got %s with etcd %q, want %s with %q:\n%s\n%s", r.why, d.Reason, version, r.reason, r.version, d.Message, r.words)
			}
			if strings.Contains(d.Message, "keeps off") != (label == "no node") {
				t.Errorf("%s: %s", r.why, d.Message)
			}
			for _, broken := range oracle(r.o, d) {
				t.Error(broken)
			}
		})
	}
	nodes := func(s *scene) { s.MemberNodes = []string{"n-1", "n-2"} }
	for label, row := range map[string]struct {
		o    Observation
		want []string
	}{
		"by default":      {observe(starting("3.6.16"), nodes), []string{"n-1", "n-2"}},
		"by the user":     {observe(starting("3.6.16"), nodes, spec(func(s *v1beta2.RestoreSpec) { s.Pod = &v1beta2.AgentPod{Affinity: &corev1.Affinity{}} })), nil},
		"without an etcd": {observe(verifyOnly, nodes), nil},
	} {
		if got := Plan(row.o).Action.(StartJob).AvoidNodes; !slices.Equal(got, row.want) {
			t.Errorf("%s: it keeps off %q, want %q", label, got, row.want)
		}
	}
	d := Plan(observe(starting("3.6.16"), job(servedBy("3.6.16"))))
	if diff := cmp.Diff(&v1beta2.ServedState{EtcdVersion: "3.6.16", TotalKeys: 10}, d.Status.Served); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
