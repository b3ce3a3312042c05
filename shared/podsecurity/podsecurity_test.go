package podsecurity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestPod(t *testing.T) {
	restricted := corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)), FSGroup: new(int64(65532)),
		FSGroupChangePolicy: new(corev1.FSGroupChangeOnRootMismatch),
		SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	cases := map[string]struct {
		reason string
		user   *corev1.PodSecurityContext
		want   func(*corev1.PodSecurityContext)
	}{
		"nothing": {reason: "restricted by default", want: func(*corev1.PodSecurityContext) {}},
		"another user": {
			reason: "only what is set is replaced",
			user:   &corev1.PodSecurityContext{RunAsUser: new(int64(9000)), FSGroup: new(int64(9000))},
			want: func(w *corev1.PodSecurityContext) {
				w.RunAsUser, w.FSGroup = new(int64(9000)), new(int64(9000))
			},
		},
		"root": {
			reason: "a user who asks for root gets it, and it works",
			user:   &corev1.PodSecurityContext{RunAsUser: new(int64(0))},
			want: func(w *corev1.PodSecurityContext) {
				*w = corev1.PodSecurityContext{RunAsNonRoot: new(false), RunAsUser: new(int64(0)), SeccompProfile: w.SeccompProfile}
			},
		},
		"own seccomp and policy": {
			reason: "only what is set is replaced",
			user: &corev1.PodSecurityContext{
				SeccompProfile:      &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined},
				FSGroupChangePolicy: new(corev1.FSGroupChangeAlways),
				SupplementalGroups:  []int64{5},
			},
			want: func(w *corev1.PodSecurityContext) {
				w.SeccompProfile.Type = corev1.SeccompProfileTypeUnconfined
				w.FSGroupChangePolicy = new(corev1.FSGroupChangeAlways)
				w.SupplementalGroups = []int64{5}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := restricted.DeepCopy()
			tc.want(want)
			if diff := cmp.Diff(want, Pod(tc.user.DeepCopy())); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
