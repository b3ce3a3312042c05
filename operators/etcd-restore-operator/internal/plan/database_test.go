package plan

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// etcd refuses writes on a database that has reached its quota: that is said before anything
// is stopped.
func TestQuota(t *testing.T) {
	const gib = int64(1 << 30)
	env := func(value string) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", Value: value}}
	}
	rows := map[string]struct {
		reason   string
		quota    string
		env      []corev1.EnvVar
		database int64
		want     string // at least so many bytes are asked for; empty: it fits
		revision int64  // that it is restored as of
	}{
		"small":                     {reason: "2 GiB are etcd's default", database: 26 << 20},
		"just fits":                 {reason: "there is room for what etcd writes itself", database: 2*gib - 1<<20},
		"the default":               {reason: "the first write would be refused", database: 2 * gib, want: "2148532224"},
		"no room to grow":           {reason: "nor would there be room for a write", database: 2*gib - 1<<20 + 1, want: "2147483649"},
		"as of a revision":          {reason: "a cut may make it larger", database: 2*gib - 17<<20, revision: 40},
		"no room for the cut":       {reason: "a cut may make it larger", database: 2*gib - 17<<20 + 1, revision: 40, want: "2147483649"},
		"a larger quota":            {reason: "it is asked for", quota: "8Gi", database: 5 * gib},
		"a smaller one":             {reason: "it is asked for", quota: "16Mi", database: 26 << 20, want: "28311552"},
		"by the environment":        {reason: "that takes precedence", quota: "8Gi", env: env("16777216"), database: 26 << 20, want: "28311552"},
		"larger by the environment": {reason: "that takes precedence", quota: "16Mi", env: env("8589934592"), database: 26 << 20},
		"zero":                      {reason: "it is etcd's default", env: env("0"), database: 3 * gib, want: "3222274048"},
		"none":                      {reason: "a negative one is none", env: env("-1"), database: 100 * gib},
		"of a Secret":               {reason: "nobody knows it", env: []corev1.EnvVar{{Name: "ETCD_QUOTA_BACKEND_BYTES", ValueFrom: &corev1.EnvVarSource{}}}, database: 100 * gib},
		"no number":                 {reason: "etcd will say so", env: env("8Gi"), database: 100 * gib},
		"beyond all":                {reason: "nothing overflows", database: math.MaxInt64, want: "4611686018427387903"},
	}
	for label, row := range rows {
		o := observe(first, verified)
		storage := o.Cluster.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests
		delete(storage, "storage")
		o.Cluster.Spec.Pod.EtcdEnv = row.env
		if row.quota != "" {
			o.Cluster.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse(row.quota))}
		}
		o.Restore.Status.Snapshot.DatabaseSize, o.Restore.Spec.Revision = row.database, row.revision
		d := noted(o)
		if (d.Reason == "QuotaTooSmall") != (row.want != "") || !strings.Contains(d.Message, row.want) {
			t.Errorf("%s: %s: %s: %s", label, row.reason, d.Reason, d.Message)
		}
		if row.want != "" && (d.Action != nil || d.Status.Phase != v1beta2.RestoreFailed || !strings.Contains(d.Message, "spec.etcd.quotaBackendBytes")) {
			t.Errorf("%s: %s: %v, %s", label, d.Status.Phase, d.Action, d.Message)
		}
	}
}

// A new cluster has the quota of its template.
func TestQuotaOfATemplate(t *testing.T) {
	o := observe(verified, spec(func(s *v1beta2.RestoreSpec) {
		s.EtcdCluster, s.ClusterTemplate = nil, &v1beta2.ClusterTemplate{}
		s.ClusterTemplate.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse("16Mi"))}
	}))
	o.Cluster = nil
	if r := newView(o).checkQuota(); r == nil || r.reason != "QuotaTooSmall" {
		t.Errorf("%+v", r)
	}
}

func TestEmptySnapshot(t *testing.T) {
	rows := map[string]struct {
		reason  string
		keys    int64
		allow   bool
		cluster func(*v1beta2.EtcdCluster)
		refused bool
	}{
		"a snapshot with keys": {reason: "it is not empty", keys: 1},
		"a cluster with much":  {reason: "its revision says so", refused: true},
		"with consent":         {reason: "it is written down", allow: true},
		"a cluster with a few": {reason: "etcd-operator has seen a write", cluster: func(c *v1beta2.EtcdCluster) { c.Status.Written, c.Status.HighestRevision = true, fewRevisions }, refused: true},
		"an empty cluster":     {reason: "nothing is lost; the predecessor's tests do it", cluster: func(c *v1beta2.EtcdCluster) { c.Status.HighestRevision = fewRevisions }},
		"compared a while ago": {reason: "an earlier release has compared it", cluster: func(c *v1beta2.EtcdCluster) {
			c.Status.HighestRevision, c.Status.Consistency = fewRevisions, &v1beta2.ConsistencyStatus{Revision: 7}
		}, refused: true},
		"compared while empty": {reason: "nothing is lost", cluster: func(c *v1beta2.EtcdCluster) {
			c.Status.HighestRevision, c.Status.Consistency = fewRevisions, &v1beta2.ConsistencyStatus{Revision: 1}
		}},
		"a cluster never looked": {reason: "nobody knows of a key", cluster: func(c *v1beta2.EtcdCluster) { c.Status = v1beta2.ClusterStatus{CurrentVersion: "3.6.16"} }},
	}
	for label, row := range rows {
		o := observe(first, verified, spec(func(s *v1beta2.RestoreSpec) { s.AllowEmptySnapshot = row.allow }))
		o.Restore.Status.Snapshot.TotalKeys = row.keys
		if row.cluster != nil {
			row.cluster(o.Cluster)
		}
		d := noted(o)
		if refused := d.Reason == "EmptySnapshot"; refused != row.refused {
			t.Errorf("%s: %s: %s: %s", label, row.reason, d.Reason, d.Message)
		}
		if row.refused && (d.Status.Phase != v1beta2.RestoreFailed || !strings.Contains(d.Message, "allowEmptySnapshot: true")) {
			t.Errorf("%s: %s: %s", label, d.Status.Phase, d.Message)
		}
	}
	t.Run("a new cluster", func(t *testing.T) {
		o := observe(verified, spec(func(s *v1beta2.RestoreSpec) { *s = template(*s) }))
		o.Cluster, o.Restore.Status.Snapshot.TotalKeys = nil, 0
		if d := noted(o); d.Reason == "EmptySnapshot" {
			t.Error(d.Message)
		}
	})
}

// Of a revision, the keys count that are there at it, and not those of the whole snapshot.
func TestEmptyAtARevision(t *testing.T) {
	keys := func(n int64) *task.Cut { return &task.Cut{Revision: 20, TotalKeys: n} }
	rows := map[string]struct {
		reason   string
		snapshot int64
		cut      *task.Cut
		refused  string
	}{
		"none there":         {reason: "all would be lost", snapshot: 7, cut: keys(0), refused: "is empty as of revision 20"},
		"deleted later":      {reason: "that is what is undone", cut: keys(5)},
		"both":               {reason: "nothing is lost", snapshot: 7, cut: keys(5)},
		"an earlier agent's": {reason: "it has not counted them", snapshot: 7},
		"another revision's": {reason: "it is not what was asked for", snapshot: 7, cut: &task.Cut{Revision: 19}},
	}
	for label, row := range rows {
		t.Run(label, func(t *testing.T) {
			o := observe(first, phase(v1beta2.RestoreVerifying), asOfRevision(20), job(reported))
			o.Job.Result.Snapshot.TotalKeys, o.Job.Result.Cut = row.snapshot, row.cut
			d := noted(o)
			if d.Status.Snapshot == nil {
				t.Fatalf("%s: %s", d.Reason, d.Message)
			}
			o.Restore.Status, o.Job = d.Status, nil
			d = noted(o)
			if (d.Reason == "EmptySnapshot") != (row.refused != "") || !strings.Contains(d.Message, row.refused) {
				t.Errorf("%s: %s: %s", row.reason, d.Reason, d.Message)
			}
		})
	}
}

// What the Job compares with the users of the snapshot.
func TestCredentials(t *testing.T) {
	rows := map[string]struct {
		spec v1beta2.ClusterSpec
		want Credentials
	}{
		"nothing":               {v1beta2.ClusterSpec{}, Credentials{}},
		"a Secret":              {v1beta2.ClusterSpec{Auth: &v1beta2.AuthPolicy{RootSecret: "root"}}, Credentials{RootSecret: "root"}},
		"certificates of ours":  {v1beta2.ClusterSpec{TLS: &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}}, Credentials{CommonName: "root"}},
		"cert-manager's":        {v1beta2.ClusterSpec{TLS: &v1beta2.TLSPolicy{CertManager: &v1beta2.CertManagerTLS{}}}, Credentials{CommonName: "root"}},
		"somebody else's":       {v1beta2.ClusterSpec{TLS: &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "mine"}}}, Credentials{TLSSecret: "mine"}},
		"both":                  {v1beta2.ClusterSpec{Auth: &v1beta2.AuthPolicy{RootSecret: "root"}, TLS: &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{OperatorSecret: "mine"}}}, Credentials{RootSecret: "root", TLSSecret: "mine"}},
		"members alone use TLS": {v1beta2.ClusterSpec{TLS: &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{}}}, Credentials{}},
	}
	for label, row := range rows {
		o := observe(first)
		o.Cluster.Spec = row.spec
		start, ok := noted(o).Action.(StartJob)
		if diff := cmp.Diff(row.want, start.Credentials); !ok || diff != "" {
			t.Errorf("%s (-want +got):\n%s", label, diff)
		}
	}
}

// A seed that is prepared beside the members is held against the same as a snapshot that a
// Job has checked, before a member is stopped.
func TestASeedIsHeldAgainstTheCluster(t *testing.T) {
	o := observe(proven)
	if d := noted(o); d.Status.Phase != v1beta2.RestoreVerifying {
		t.Fatalf("with a snapshot that fits: %s: %s", d.Reason, d.Message)
	}
	o.Restore.Status.Snapshot.TotalKeys = 0
	if d := noted(o); d.Reason != "EmptySnapshot" || d.Status.Phase != v1beta2.RestoreRollingBack {
		t.Errorf("empty: %s: %s", d.Reason, d.Message)
	}
	o = observe(proven)
	o.Cluster.Spec.Etcd = &v1beta2.EtcdPolicy{QuotaBackendBytes: new(resource.MustParse("16Mi"))}
	if d := noted(o); d.Reason != "QuotaTooSmall" || d.Status.Phase != v1beta2.RestoreRollingBack {
		t.Errorf("small quota: %s: %s", d.Reason, d.Message)
	}
}

// The alarms of a snapshot are told when it is verified, and stay in the status.
func TestAlarmsAreTold(t *testing.T) {
	for alarms, words := range map[string][]string{
		"":                {"etcd 3.6"},
		"NOSPACE":         {"NOSPACE, which is cleared"},
		"NOSPACE,CORRUPT": {"NOSPACE,CORRUPT, which is cleared", "compare it with another snapshot"},
	} {
		o := observe(first, phase(v1beta2.RestoreVerifying), job(reported))
		o.Job.Result.Snapshot.Alarms, o.Job.Result.Snapshot.AuthEnabled = alarms, true
		d := noted(o)
		if d.Status.Snapshot == nil || d.Status.Snapshot.ClearedAlarms != alarms || !d.Status.Snapshot.AuthEnabled {
			t.Errorf("%s: %+v", alarms, d.Status.Snapshot)
		}
		for _, w := range words {
			if !strings.Contains(d.Message, w) {
				t.Errorf("%s: %q is not in %s", alarms, w, d.Message)
			}
		}
		if alarms == "" && strings.Contains(d.Message, "cleared") {
			t.Error(d.Message)
		}
	}
}

// How the data compares with the hash of its source is told when it is verified.
func TestTheHashIsTold(t *testing.T) {
	for _, hash := range []v1beta2.HashComparison{"", v1beta2.HashEqual, v1beta2.HashNotRecorded, v1beta2.HashNotComparable, v1beta2.HashSkipped} {
		o := observe(first, phase(v1beta2.RestoreVerifying), job(reported))
		o.Job.Result.Snapshot.Hash = string(hash)
		d := noted(o)
		if d.Status.Snapshot == nil || d.Status.Snapshot.Hash != hash {
			t.Errorf("%q: %+v", hash, d.Status.Snapshot)
		}
		if said := strings.Contains(d.Message, "its data has the hash of its source"); said != (hash == v1beta2.HashEqual) {
			t.Errorf("%q: %s", hash, d.Message)
		}
	}
}

// Why a seed is not adopted is said in etcd-operator's own words.
func TestAdoptionNews(t *testing.T) {
	const words = "seed c-seed refuses writes and is not adopted"
	o := observe(seeded(ready, noPermit), offered)
	o.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta2.ConditionProgressing, Status: metav1.ConditionFalse, Reason: "Fenced", Message: words}}
	if d := noted(o); d.Action != nil || !strings.Contains(d.Message, "etcd-operator says: "+words) {
		t.Errorf("%v: %s", d.Action, d.Message)
	}
	o.Cluster.Status.Conditions = nil
	if d := noted(o); d.Action != nil || strings.Contains(d.Message, "says") {
		t.Errorf("%v: %s", d.Action, d.Message)
	}
}
