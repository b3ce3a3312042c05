package member

import (
	"slices"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// The comparison of compactions costs nothing, and every member has it; the one at the start
// is the user's to ask for, since a cluster whose members all start at once waits for it.
func TestChecks(t *testing.T) {
	c := &v1beta2.EtcdCluster{Spec: v1beta2.ClusterSpec{Size: 3}}
	c.Name = "x"
	hash := TemplateHash(c)
	for name, tc := range map[string]struct {
		etcd    *v1beta2.EtcdPolicy
		atStart bool
	}{
		"no settings":  {},
		"other ones":   {etcd: &v1beta2.EtcdPolicy{LogLevel: "warn"}},
		"asked for":    {etcd: &v1beta2.EtcdPolicy{InitialCorruptCheck: true}, atStart: true},
		"switched off": {etcd: &v1beta2.EtcdPolicy{InitialCorruptCheck: false}},
	} {
		c.Spec.Etcd = tc.etcd
		o := options(c)
		pod, err := NewPod(c, o)
		if err != nil {
			t.Fatal(err)
		}
		command := pod.Spec.Containers[0].Command
		if !slices.Contains(command, "--check-compactions") || slices.Contains(command, "--check-at-start") != tc.atStart || command[len(command)-1] != "--" {
			t.Errorf("%s: the launcher's command is %q", name, command)
		}
		if tc.etcd == nil && pod.Annotations[v1beta2.AnnotationTemplate] != hash {
			t.Errorf("%s: the template's hash has changed: running members would be restarted", name)
		}
	}
}
