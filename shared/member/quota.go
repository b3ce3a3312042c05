package member

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// defaultQuota is etcd's own (DefaultQuotaBytes of its package storage).
const defaultQuota = 2 << 30

// Quota is what the database of a Pod's member may grow to, in bytes, as the Pod's etcd was told
// it; 0 if there is no limit, or none that can be read. etcd tells it by itself from 3.6 on.
func Quota(p *corev1.Pod) int64 {
	for _, c := range p.Spec.Containers {
		if c.Name != ContainerEtcd {
			continue
		}
		var quota corev1.EnvVar // if it is set several times, the last value counts
		for _, e := range c.Env {
			if e.Name == EnvQuota {
				quota = e
			}
		}
		if quota.Value == "" && quota.ValueFrom == nil { // etcd treats an empty value as unset
			return defaultQuota
		}
		n, err := strconv.ParseInt(quota.Value, 10, 64)
		if err != nil || n < 0 {
			return 0
		}
		return cmp.Or(n, defaultQuota)
	}
	return 0
}
