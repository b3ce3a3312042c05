package member

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A cluster that begins keeps an hour of its history; one that runs is as it was, and what
// the user says counts.
func TestDefaultCompaction(t *testing.T) {
	const none = "none"
	began := func(retention string) *v1beta2.BootstrapStatus {
		return &v1beta2.BootstrapStatus{Member: "x-a", Token: "t", AutoCompactionRetention: retention}
	}
	env := func(name, value string) *v1beta2.PodPolicy {
		return &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{{Name: name, Value: value}}}
	}
	for name, tc := range map[string]struct {
		reason    string
		etcd      *v1beta2.EtcdPolicy
		pod       *v1beta2.PodPolicy
		bootstrap *v1beta2.BootstrapStatus
		want      string
		compacts  bool
	}{
		"it begins":                {"it would fill up", nil, nil, nil, "1h", true},
		"it began with it":         {"it was recorded", nil, nil, began("1h"), "1h", true},
		"it began with another":    {"another release had that", nil, nil, began("5h"), "5h", true},
		"it began without":         {"nobody has asked for a change", nil, nil, began(""), none, false},
		"the spec says":            {"it is the user's", &v1beta2.EtcdPolicy{AutoCompactionRetention: "30m"}, nil, nil, "30m", true},
		"the spec says later":      {"it is the user's", &v1beta2.EtcdPolicy{AutoCompactionRetention: "30m"}, nil, began(""), "30m", true},
		"the spec keeps all":       {"it is the user's", &v1beta2.EtcdPolicy{AutoCompactionRetention: "0"}, nil, nil, "0", false},
		"the spec says other":      {"it is of something else", &v1beta2.EtcdPolicy{LogLevel: "warn"}, nil, nil, "1h", true},
		"revisions":                {"it is the user's", &v1beta2.EtcdPolicy{AutoCompactionMode: "revision", AutoCompactionRetention: "1000"}, nil, nil, "1000", true},
		"a variable says":          {"it is the user's", nil, env(EnvCompaction, "2h"), nil, "2h", true},
		"a variable keeps all":     {"it is the user's", nil, env(EnvCompaction, "0"), nil, "0", false},
		"a variable says of what":  {"1h is no number of revisions: etcd would not start", nil, env(EnvCompactionMode, "revision"), nil, none, false},
		"a variable says other":    {"it is of something else", nil, env("ETCD_LOG_LEVEL", "warn"), nil, "1h", true},
		"a variable before a spec": {"it always was", &v1beta2.EtcdPolicy{AutoCompactionRetention: "30m"}, env(EnvCompaction, "2h"), nil, "2h", true},
	} {
		c := newCluster(tc.pod)
		before := TemplateHash(c)
		c.Status.Bootstrap = tc.bootstrap
		if after := TemplateHash(c); after != before {
			t.Errorf("%s: what was recorded restarts the members", name)
		}
		c.Spec.Etcd = tc.etcd
		pod, err := NewPod(c, options(c))
		if err != nil {
			t.Fatal(err)
		}
		got := none
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Name == EnvCompaction {
				got = e.Value
			}
		}
		if got != tc.want || Compacts(c) != tc.compacts {
			t.Errorf("%s: the retention is %s, and it compacts: %t; want %s, since %s", name, got, Compacts(c), tc.want, tc.reason)
		}
	}
}
