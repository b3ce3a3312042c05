package member

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Compacts reports whether the members of a cluster compact the history by themselves, by
// what their Pods are made with.
func Compacts(c *v1beta2.EtcdCluster) bool {
	user := podPolicy(c).EtcdEnv
	env := slices.Concat(settings(c, user), user)
	return slices.ContainsFunc(env, func(e corev1.EnvVar) bool {
		return e.Name == EnvCompaction && strings.Trim(e.Value, "0hms. ") != ""
	})
}
