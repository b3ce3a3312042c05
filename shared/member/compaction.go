package member

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// DefaultRetention is how much of the history members keep where the spec says nothing of
// it: what was recorded when the cluster began, or what is to be recorded if it begins now.
// It is not in [TemplateHash].
func DefaultRetention(c *v1beta2.EtcdCluster) string {
	if b := c.Status.Bootstrap; b != nil {
		return b.AutoCompactionRetention
	}
	return v1beta2.DefaultAutoCompactionRetention
}

// retention is how much of the history members keep, as the spec says; the default if it
// says nothing, nor the user in a variable: it would be of the wrong kind for his mode.
func retention(c *v1beta2.EtcdCluster, user []corev1.EnvVar) string {
	if e := c.Spec.Etcd; e != nil && e.AutoCompactionRetention != "" {
		return e.AutoCompactionRetention
	}
	if slices.ContainsFunc(user, func(u corev1.EnvVar) bool { return u.Name == EnvCompaction || u.Name == EnvCompactionMode }) {
		return ""
	}
	return DefaultRetention(c)
}

// Compacts reports whether the members of a cluster compact the history by themselves, by
// what their Pods are made with.
func Compacts(c *v1beta2.EtcdCluster) bool {
	user := podPolicy(c).EtcdEnv
	env := slices.Concat(settings(c, user), user)
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
		return e.Name == EnvCompaction && strings.Trim(e.Value, "0hms. ") != ""
	})
}
