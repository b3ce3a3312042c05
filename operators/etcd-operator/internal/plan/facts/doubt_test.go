package facts

import (
	"strings"
	"testing"
)

// A user copies the commands in the advice.
func TestAdviceOnDoubt(t *testing.T) {
	for _, row := range []struct {
		got  Doubtful
		want string
	}{
		{DoubtfulPVC("ns", "x-a", "x", "1234"), `kubectl -n ns patch pvc x-a --type=merge -p '{"metadata":{"ownerReferences":null,"labels":{"app":"etcd","etcd_cluster":"x","etcd.database.coreos.com/owner":"1234"}}}'`},
		{DoubtfulPod("ns", "x-a", "x", "1234"), `kubectl -n ns patch pod x-a --type=merge -p '{"metadata":{"ownerReferences":[{"apiVersion":"etcd.database.coreos.com/v1beta2","kind":"EtcdCluster","name":"x","uid":"1234","controller":true}]}}'`},
	} {
		if row.got.Name != "x-a" || !strings.Contains(row.got.Advice, row.want) {
			t.Errorf("%s: got %q, want %q in it", row.got.Name, row.got.Advice, row.want)
		}
	}
}
