package member_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/shared/member"
)

// A quota that comes from another object is unknown. If it is set several times, the last value counts, as in
// Kubernetes.
func TestQuotaOfEnvironment(t *testing.T) {
	set := func(value string) corev1.EnvVar { return corev1.EnvVar{Name: member.EnvQuota, Value: value} }
	from := corev1.EnvVar{Name: member.EnvQuota, ValueFrom: &corev1.EnvVarSource{}}
	for name, tc := range map[string]struct {
		env  []corev1.EnvVar
		want int64
	}{
		"none": {nil, 2 << 30}, "empty": {[]corev1.EnvVar{set("")}, 2 << 30}, "one": {[]corev1.EnvVar{set("5")}, 5},
		"two": {[]corev1.EnvVar{set("5"), set("6")}, 6}, "from another object": {[]corev1.EnvVar{set("5"), from}, 0},
	} {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: member.ContainerEtcd, Env: tc.env}}}}
		if got := member.Quota(p); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
