package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// restricted is an EtcdCluster that allows these stores.
func restricted(namespace, name, id string, stores ...string) v1beta2.EtcdCluster {
	c := v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.Backup = &v1beta2.ClusterBackup{AllowedStores: stores}
	c.Status.ClusterID = id
	c.Status.Members.Ready = []string{name + "-1"}
	return c
}

// restrict has the operator see these EtcdClusters.
func restrict(clusters ...v1beta2.EtcdCluster) change {
	return func(s *scene) { s.Restricted = append(s.Restricted, clusters...) }
}

// A store is allowed if it lies below one of the places, in the same store.
func TestAllowedStores(t *testing.T) {
	s3 := func(path, endpoint string) v1beta2.BackupSpec {
		return v1beta2.BackupSpec{StorageType: v1beta2.StorageS3, S3: &v1beta2.S3Source{Path: path, Endpoint: endpoint}}
	}
	pvc := func(claim, path string) v1beta2.BackupSpec {
		return v1beta2.BackupSpec{StorageType: v1beta2.StoragePVC, PVC: &v1beta2.PVCSource{ClaimName: claim, Path: path}}
	}
	oss := func(path, endpoint string) v1beta2.BackupSpec {
		return v1beta2.BackupSpec{StorageType: v1beta2.StorageOSS, OSS: &v1beta2.OSSSource{Path: path, Endpoint: endpoint}}
	}
	gcs := func(path, endpoint string) v1beta2.BackupSpec {
		return v1beta2.BackupSpec{StorageType: v1beta2.StorageGCS, GCS: &v1beta2.GCSSource{Path: path, Endpoint: endpoint}}
	}
	abs := func(path, endpoint string) v1beta2.BackupSpec {
		return v1beta2.BackupSpec{StorageType: v1beta2.StorageABS, ABS: &v1beta2.ABSSource{Path: path, Endpoint: endpoint}}
	}
	const azure = "https://mine.blob.core.windows.net"
	const minio = "?endpoint=https://minio.example.com:9000"
	for name, row := range map[string]struct {
		reason  string
		allowed string
		spec    v1beta2.BackupSpec
		want    bool
	}{
		"below":                 {"the common case", "s3://b-1/etcd", s3("b-1/etcd/x", ""), true},
		"the place itself":      {"an object of that name", "s3://b-1/etcd/x", s3("b-1/etcd/x", ""), true},
		"a slash at the end":    {"it says the same", "s3://b-1/etcd/", s3("b-1/etcd/x", ""), true},
		"the bucket":            {"all of it", "s3://b-1", s3("b-1/x", ""), true},
		"another bucket":        {"not allowed", "s3://b-1", s3("b-2/x", ""), false},
		"a longer bucket":       {"another one", "s3://b-1", s3("b-11/x", ""), false},
		"a longer folder":       {"another one", "s3://b-1/etcd", s3("b-1/etcdx/y", ""), false},
		"above":                 {"not below", "s3://b-1/etcd", s3("b-1/x", ""), false},
		"upwards":               {"some stores resolve dots", "s3://b-1/etcd", s3("b-1/etcd/../x", ""), false},
		"another store":         {"the bucket's name is not all", "s3://b-1/etcd", s3("b-1/etcd/x", "https://attacker.example.com"), false},
		"its store":             {"named with it", "s3://b-1/etcd" + minio, s3("b-1/etcd/x", "https://minio.example.com:9000"), true},
		"its store, other case": {"hosts have none", "s3://b-1/etcd" + minio, s3("b-1/etcd/x", "https://MINIO.example.com:9000/"), true},
		"its store, no scheme":  {"it is https", "s3://b-1/etcd" + minio, s3("b-1/etcd/x", "minio.example.com:9000"), true},
		"its store in clear":    {"another way to it", "s3://b-1/etcd" + minio, s3("b-1/etcd/x", "http://minio.example.com:9000"), false},
		"its store, port 443":   {"https has it", "s3://b-1?endpoint=https://s3.example.com", s3("b-1/x", "https://s3.example.com:443"), true},
		"AWS, not its store":    {"AWS has such a bucket, too", "s3://b-1/etcd" + minio, s3("b-1/etcd/x", ""), false},
		"OSS":                   {"the common case", "oss://b-1/etcd", oss("b-1/etcd/x", ""), true},
		"OSS, elsewhere":        {"a server of theirs", "oss://b-1/etcd", oss("b-1/etcd/x", "https://attacker.example.com"), false},
		"OSS, not S3":           {"another cloud's bucket", "s3://b-1", oss("b-1/x", ""), false},
		"S3, not OSS":           {"another cloud's bucket", "oss://b-1", s3("b-1/x", ""), false},
		"ABS":                   {"the common case", "abs://box/etcd?endpoint=" + azure, abs("box/etcd/x", azure), true},
		"ABS, another account":  {"a container of theirs", "abs://box/etcd?endpoint=" + azure, abs("box/etcd/x", "https://theirs.blob.core.windows.net"), false},
		"ABS, by a Secret":      {"it can name any account", "abs://box/etcd?endpoint=" + azure, abs("box/etcd/x", ""), false},
		"ABS, older":            {"older than the CRD's rules", "abs://box/etcd", abs("box/etcd/x", ""), false},
		"GCS":                   {"the common case", "gcs://b-1/etcd", gcs("b-1/etcd/x", ""), true},
		"GCS, elsewhere":        {"a server of theirs", "gcs://b-1/etcd", gcs("b-1/etcd/x", "https://attacker.example.com"), false},
		"GCS, not S3":           {"another cloud's bucket", "s3://b-1", gcs("b-1/x", ""), false},
		"a folder of a claim":   {"the common case", "pvc://claim/etcd", pvc("claim", "etcd/x"), true},
		"a claim":               {"all of it", "pvc://claim", pvc("claim", "x"), true},
		"another claim":         {"not allowed", "pvc://claim", pvc("claim2", "x"), false},
		"another folder":        {"not allowed", "pvc://claim/etcd", pvc("claim", "etcd2/x"), false},
		"a claim, a bucket":     {"they have the same name", "pvc://b-1", s3("b-1/x", ""), false},
		"a bucket, a claim":     {"they have the same name", "s3://b-1", pvc("b-1", "x"), false},
		"nonsense":              {"older than the CRD's rules", "b-1", s3("b-1/x", ""), false},
		"no bucket":             {"older than the CRD's rules", "s3:///", s3("b-1/x", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := restricted("ns", "c", "", "s3://elsewhere", row.allowed)
			if got := allows(&c, &row.spec); got != row.want {
				t.Errorf("%s allows %s: %t, want %t: %s", row.allowed, storeOf(&row.spec), got, row.want, row.reason)
			}
		})
	}
}

// A store that the EtcdCluster does not allow is refused, by whatever the EtcdBackup names
// it; the refusal says what to write.
func TestStoreNotAllowed(t *testing.T) {
	c := restricted("ns", "example", "00000000000000aa", "s3://allowed/etcd", "pvc://claim")
	c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: "root"}
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	from := func(endpoint string) change { return spec(func(s *specOf) { s.EtcdEndpoints = []string{endpoint} }) }
	far := "https://10.0.0.7:2379"
	for name, row := range map[string]struct {
		change  change
		refused bool
	}{
		"clusterRef": {func(s *scene) {
			s.Backup.Spec.EtcdEndpoints, s.Backup.Spec.ClusterRef, s.Cluster = nil, &v1beta2.ClusterReference{Name: "example"}, &c
		}, true},
		"its Service":              {from("http://example-client:2379"), true},
		"its Service, other case":  {from("http://Example-Client:2379"), true},
		"its headless Service":     {from("http://example:2379"), true},
		"with the namespace":       {from("http://example-client.ns:2379"), true},
		"with svc":                 {from("http://example-client.ns.svc:2379"), true},
		"with the domain":          {from("http://example-client.ns.svc.cluster.local.:2379"), true},
		"a member":                 {from("http://example-abcde.example.ns.svc:2379"), true},
		"a member, short":          {from("http://example-abcde.example:2379"), true},
		"its operators' Secret":    {spec(func(s *specOf) { s.EtcdEndpoints, s.ClientTLSSecret = []string{far}, "example-operator-tls" }), true},
		"its applications' Secret": {spec(func(s *specOf) { s.EtcdEndpoints, s.ClientTLSSecret = []string{far}, "example-client-tls" }), true},
		"its root's Secret":        {spec(func(s *specOf) { s.EtcdEndpoints, s.AuthSecret = []string{far}, "root" }), true},
		"an address":               {from(far), false}, // the Job finds out
		"another cluster":          {from("http://example2-client:2379"), false},
		"another namespace":        {from("http://example-client.other:2379"), false},
		"a host on the Internet":   {from("https://example-client.ns.example.com:2379"), false},
		"another namespace's EtcdBackup": {func(s *scene) {
			s.Backup.Namespace = "other"
			s.Backup.Spec.EtcdEndpoints = []string{"http://example-client:2379"}
		}, false},
		"another namespace's EtcdBackup, of it": {func(s *scene) {
			s.Backup.Namespace = "other"
			s.Backup.Spec.EtcdEndpoints = []string{"http://example-client.ns.svc:2379"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(observe(restrict(c), row.change))
			if !row.refused {
				start, ok := d.Action.(StartJob)
				if !ok || !slices.Equal(start.Forbidden, []string{"00000000000000aa"}) {
					t.Errorf("%+v, want a Job that knows the id", d)
				}
				return
			}
			if d.Action != nil || d.Reason != "StoreNotAllowed" || d.RequeueAfter != retry {
				t.Fatalf("%+v", d)
			}
			for _, words := range []string{"EtcdCluster example does not allow backups in s3://mybucket/etcd.backup", "s3://allowed/etcd, pvc://claim", "spec.backup.allowedStores"} {
				if !strings.Contains(d.Message, words) {
					t.Errorf("%q is not said: %s", words, d.Message)
				}
			}
		})
	}
}

// Both stores of a backup that is copied must be allowed, and the refusal names the one that is not.
func TestCopyStoreNotAllowed(t *testing.T) {
	copies := spec(func(s *specOf) {
		s.EtcdEndpoints = []string{"http://example-client:2379"}
		s.CopyTo = &v1beta2.BackupCopy{StorageType: v1beta2.StorageGCS, GCS: &v1beta2.GCSSource{Path: "b-1/etcd"}}
	})
	for allowed, refused := range map[string]string{"gcs://b-1": "s3://mybucket/etcd.backup", "s3://mybucket": "gcs://b-1/etcd"} {
		d := noted(observe(restrict(restricted("ns", "example", "00000000000000aa", allowed)), copies))
		if d.Action != nil || d.Reason != "StoreNotAllowed" || !strings.Contains(d.Message, "does not allow backups in "+refused+":") {
			t.Errorf("%s is allowed: %T, %s: %s", allowed, d.Action, d.Reason, d.Message)
		}
	}
	d := noted(observe(restrict(restricted("ns", "example", "00000000000000aa", "s3://mybucket", "gcs://b-1")), copies))
	if start, ok := d.Action.(StartJob); !ok || !slices.Equal(start.Pinned, []string{"00000000000000aa"}) {
		t.Errorf("%+v", d)
	}
}

// The Job is told the ids of all that do not allow its store, and of those that do.
func TestJobsKnowRestrictedClusters(t *testing.T) {
	d := noted(observe(restrict(
		restricted("ns", "a", "00000000000000aa", "s3://mybucket"),
		restricted("ns", "b", "00000000000000bb", "s3://other"),
		restricted("another", "c", "00000000000000cc", "s3://other"),
		restricted("ns", "new", "", "s3://other"),
	)))
	start, ok := d.Action.(StartJob)
	if !ok {
		t.Fatalf("%+v", d)
	}
	if diff := cmp.Diff([][]string{{"00000000000000bb", "00000000000000cc"}, {"00000000000000aa"}}, [][]string{start.Forbidden, start.Pinned}); diff != "" {
		t.Error(diff)
	}
}

// A Job is told of all restrictions, or there is no Job.
func TestRestrictedClustersAreBounded(t *testing.T) {
	var clusters []v1beta2.EtcdCluster
	for i := range maxRestricted {
		clusters = append(clusters, restricted("another", fmt.Sprint("c", i), fmt.Sprintf("%016x", i), "s3://other"))
	}
	fits := append(slices.Clone(clusters), restricted("another", "new", "", "s3://other"))
	if start, ok := noted(observe(restrict(fits...))).Action.(StartJob); !ok || len(start.Forbidden) != maxRestricted {
		t.Errorf("a Job with %d ids, want %d", len(start.Forbidden), maxRestricted)
	}
	for name, last := range map[string]v1beta2.EtcdCluster{
		"forbids": restricted("zzz", "last", "ffffffffffffffff", "s3://other"),
		"allows":  restricted("zzz", "last", "ffffffffffffffff", "s3://mybucket"),
	} {
		t.Run(name, func(t *testing.T) {
			d := noted(observe(restrict(append(slices.Clone(clusters), last)...)))
			if d.Action != nil || d.Reason != "TooManyRestrictedClusters" || d.RequeueAfter != retry {
				t.Fatalf("%T %s: %s, again in %s", d.Action, d.Reason, d.Message, d.RequeueAfter)
			}
			for _, words := range []string{"4001 have spec.backup.allowedStores", "4000", "without --cluster-wide", v1beta2.AnnotationScope} {
				if !strings.Contains(d.Message, words) {
					t.Errorf("%q is not said: %s", words, d.Message)
				}
			}
		})
	}
}

// A password is sent in the clear only to members that etcd-operator tells of.
func TestPasswordInTheClear(t *testing.T) {
	plain := spec(func(s *specOf) { s.AuthSecret = "root" })
	d := noted(observe(plain))
	if d.Action != nil || d.Reason != "PasswordInTheClear" || !strings.Contains(d.Message, "etcdEndpoints[0] without TLS: set spec.clusterRef") {
		t.Errorf("%+v", d)
	}
	d = noted(observe(plain, spec(func(s *specOf) { s.EtcdEndpoints = []string{"https://a:2379", "http://b:2379"} })))
	if d.Action != nil || !strings.Contains(d.Message, "etcdEndpoints[1]") {
		t.Errorf("%+v", d)
	}
	d = noted(observe(plain, spec(func(s *specOf) { s.EtcdEndpoints = []string{"https://a:2379"} })))
	if start, ok := d.Action.(StartJob); !ok || start.AuthSecret != "root" || start.Cluster != "" || start.OwnAuth {
		t.Errorf("%+v", d)
	}
}

// A backup that has ended is not looked at again, whatever the EtcdCluster allows since.
func TestAnEndedBackupIsLeftAlone(t *testing.T) {
	d := noted(observe(restrict(restricted("ns", "example", "00000000000000aa", "s3://allowed/etcd")),
		spec(func(s *specOf) { s.EtcdEndpoints = []string{"http://example-client:2379"} }), before(0, "")))
	if d.Action != nil || d.RequeueAfter != 0 || d.Status.Phase != v1beta2.BackupSucceeded {
		t.Errorf("%v, %s, again after %s", d.Action, d.Status.Phase, d.RequeueAfter)
	}
}
