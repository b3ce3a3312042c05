package harness

import "testing"

func TestReadable(t *testing.T) {
	for line, want := range map[string]string{
		`[pod/etcd-operator-1/etcd-operator] {"level":"info","ts":"2026-11-23T07:53:53Z","msg":"3 of 3 members are healthy","controllerKind":"EtcdCluster","EtcdCluster":{"name":"db"},"name":"db"}` + "\n": "2026-11-23T07:53:53Z info EtcdCluster db: 3 of 3 members are healthy\n",
		"[pod/etcd-operator-1/etcd-operator] panic: no JSON\n": "[pod/etcd-operator-1/etcd-operator] panic: no JSON\n",
	} {
		if got := readable(line); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
