package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestBackupsStayWhereTheyAreAllowed: an EtcdCluster says where its backups can be stored,
// and nobody stores them elsewhere, by whichever address the members are named.
func TestBackupsStayWhereTheyAreAllowed(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	st := s.aStore()
	c := s.cluster("etcd", harness.Size(1), func(c *v1beta2.EtcdCluster) {
		c.Spec.Backup = &v1beta2.ClusterBackup{AllowedStores: []string{"s3://" + bucket + "/allowed?endpoint=" + st.Endpoint}}
	})
	c.settles(1, oneMinute)
	w := c.writes()
	of := harness.OfCluster(c.Name)
	allowed := s.backup("allowed", w.Writer, st.at("allowed/etcd"), of)
	byName := s.backup("by-name", w.Writer, st.at("elsewhere/etcd"), of)
	byService := s.backup("by-service", w.Writer, st.at("elsewhere/etcd"), harness.OfEndpoints(c.endpoint()))
	byAddress := s.backup("by-address", w.Writer, st.at("elsewhere/etcd"), harness.OfEndpoints("http://"+c.State().Pods[0].Status.PodIP+":2379"))

	allowed.isStored(oneMinute)
	byName.becomes("refused", oneMinute, harness.Refused("StoreNotAllowed", "EtcdCluster "+c.Name+" does not allow", "spec.backup.allowedStores"))
	byService.becomes("refused", oneMinute, harness.Refused("StoreNotAllowed", "EtcdCluster "+c.Name+" does not allow"))
	byAddress.becomes("refused by its Job", oneMinute, harness.Refused("StoreNotAllowed", "the EtcdCluster of etcd cluster "))
	for name := range st.objects() {
		if !strings.HasPrefix(name, "allowed/") {
			t.Errorf("%s was stored", name)
		}
	}
	w.lostNothing(1)
}

// TestCreatorsReachNoMore: an account that may create EtcdBackups and EtcdRestores, and
// nothing else, gets neither a password nor a volume, an account or an EtcdCluster by them.
func TestCreatorsReachNoMore(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	s.backsUp()
	s.restores()
	s.kubectl("create", "serviceaccount", "creator")
	s.kubectl("create", "role", "creator", "--verb=create", "--resource=etcdbackups.etcd.database.coreos.com,etcdrestores.etcd.database.coreos.com")
	s.kubectl("create", "rolebinding", "creator", "--role=creator", "--serviceaccount="+s.ns+":creator")
	const toS3 = `storageType: S3, s3: {path: mybucket/etcd.backup, awsSecret: aws}`
	const fromS3 = `backupStorageType: S3, s3: {path: mybucket/etcd.backup, awsSecret: aws}`
	for name, tc := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"Password":    {"EtcdBackup", `etcdEndpoints: ["https://example.com:2379"], authSecret: postgres, ` + toS3, []string{"cannot use Secret postgres", "resourceNames: [postgres], verbs: [use]"}},
		"Certificate": {"EtcdBackup", `etcdEndpoints: ["https://example.com:2379"], clientTLSSecret: web, ` + toS3, []string{"cannot use Secret web"}},
		"Volume":      {"EtcdBackup", `clusterRef: {name: x}, storageType: PVC, pvc: {claimName: data, path: etcd.db}`, []string{"cannot use PVC data"}},
		"Account":     {"EtcdBackup", `clusterRef: {name: x}, pod: {serviceAccountName: etcd-operator}, ` + toS3, []string{"cannot use ServiceAccount etcd-operator"}},
		"NewCluster":  {"EtcdRestore", `clusterTemplate: {spec: {size: 1}}, ` + fromS3, []string{"cannot create EtcdClusters", "this EtcdRestore creates one"}},
		"InPlace":     {"EtcdRestore", `etcdCluster: {name: x}, target: InPlace, ` + fromS3, []string{"cannot update EtcdCluster x", "this EtcdRestore replaces its data"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "object.yaml")
			manifest := strings.Replace(backupManifest("denied", tc.spec), "kind: EtcdBackup", "kind: "+tc.kind, 1)
			s.must(os.WriteFile(file, []byte(manifest), 0o600))
			out, err := env.Kubectl.Run(s.ctx, "-n", s.ns, "create", "-f", file, "--as=system:serviceaccount:"+s.ns+":creator")
			if told := out + errorText(err); err == nil || !containsAll(told, tc.want) {
				t.Errorf("want a refusal with %q, got: %v\n%s", tc.want, err, out)
			}
		})
	}
}

// errorText is what an error says, if there is one.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
