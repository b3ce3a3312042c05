// Package podsecurity holds the security contexts of the Pods that we make: those of
// the restricted Pod Security Standard, unless the user asks for something else.
package podsecurity

import corev1 "k8s.io/api/core/v1"

// UserID is the user and group that our Pods run as: "nonroot" of distroless images.
const UserID = 65532

// Pod is what the user sets, and for each field that they don't, what the restricted
// Pod Security Standard asks for. It changes and returns user, which may be nil.
func Pod(user *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	s := user
	if s == nil {
		s = &corev1.PodSecurityContext{}
	}
	if s.RunAsNonRoot == nil {
		// A user who asks for root gets it: left true, the kubelet would refuse
		// to start the container.
		s.RunAsNonRoot = new(s.RunAsUser == nil || *s.RunAsUser != 0)
	}
	if s.RunAsUser == nil && *s.RunAsNonRoot {
		s.RunAsUser = new(int64(UserID))
	}
	if s.RunAsGroup == nil && *s.RunAsNonRoot {
		s.RunAsGroup = new(int64(UserID))
	}
	if s.FSGroup == nil && *s.RunAsNonRoot {
		s.FSGroup = new(int64(UserID))
	}
	if s.FSGroupChangePolicy == nil && s.FSGroup != nil {
		// A volume that is right at its root is right below: the alternative
		// walks over every file at every start.
		s.FSGroupChangePolicy = new(corev1.FSGroupChangeOnRootMismatch)
	}
	if s.SeccompProfile == nil {
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return s
}

// Container is what a container that needs nothing may do: read its root file system,
// and no more.
func Container() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem:   new(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
