package plan

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// What an EtcdBackup must not do although its creator may write it: docs/design/security.md.

// maxRestricted is how many etcd cluster ids a Job is told at most: of 19 bytes each, they
// are far below the 128 KiB that Linux takes for an environment variable.
const maxRestricted = 4000

// checkPassword refuses to send a password in the clear to an endpoint that somebody wrote.
func checkPassword(spec *v1beta2.BackupSpec) *step {
	if spec.AuthSecret == "" || spec.ClusterRef != nil {
		return nil
	}
	for i, e := range spec.EtcdEndpoints {
		if strings.HasPrefix(e, "http://") {
			return warn(v1beta2.BackupReasonPasswordInTheClear, fmt.Sprintf(
				"the password in Secret %s cannot be sent to spec.etcdEndpoints[%d] without TLS: set spec.clusterRef for an EtcdCluster of this namespace, or an https:// endpoint", spec.AuthSecret, i))
		}
	}
	return nil
}

// refuseStore refuses a store that an EtcdCluster does not allow, where the EtcdBackup says
// that it is of that EtcdCluster. Where it does not, by an address for example, the Job finds
// out by etcd's cluster id.
func refuseStore(o *Observation) *step {
	for i := range o.Restricted {
		c := &o.Restricted[i]
		foreign := disallowed(c, &o.Backup.Spec)
		if foreign == nil || !isOf(o.Backup, c) {
			continue
		}
		store := storeOf(foreign)
		return warn(v1beta2.BackupReasonStoreNotAllowed, fmt.Sprintf(
			"EtcdCluster %s does not allow backups in %s: use one of its spec.backup.allowedStores (%s), or add %s to them",
			c.Name, store, conditiontext.Clip(strings.Join(c.Spec.AllowedStores(), ", ")), store))
	}
	return nil
}

// refuseMany refuses a backup whose Job cannot be told of all EtcdClusters that restrict
// their stores: one that it does not know of could be its source.
func refuseMany(o *Observation) *step {
	forbidden, pinned := restrictedIDs(o)
	count := len(forbidden) + len(pinned)
	if count <= maxRestricted {
		return nil
	}
	return warn(v1beta2.BackupReasonTooManyRestrictedClusters, fmt.Sprintf(
		"too many EtcdClusters restrict their stores: %d have spec.backup.allowedStores, and a Job can check at most %d; install an etcd-backup-operator without --cluster-wide in namespace %s, and remove the annotation %s from this EtcdBackup",
		count, maxRestricted, o.Backup.Namespace, v1beta2.AnnotationScope))
}

// restrictedIDs are the etcd cluster ids of the EtcdClusters that do not allow the store,
// and of those that do.
func restrictedIDs(o *Observation) (forbidden, pinned []string) {
	for i := range o.Restricted {
		c := &o.Restricted[i]
		switch {
		case c.Status.ClusterID == "":
		case disallowed(c, &o.Backup.Spec) == nil:
			pinned = append(pinned, c.Status.ClusterID)
		default:
			forbidden = append(forbidden, c.Status.ClusterID)
		}
	}
	slices.Sort(forbidden)
	slices.Sort(pinned)
	return forbidden, pinned
}

// isOf reports whether an EtcdBackup says that it is of an EtcdCluster: by its name, by a
// name of its Services or members, or by a Secret that is for it alone.
func isOf(b *v1beta2.EtcdBackup, c *v1beta2.EtcdCluster) bool {
	spec, same := &b.Spec, b.Namespace == c.Namespace
	if spec.ClusterRef != nil {
		return same && spec.ClusterRef.Name == c.Name
	}
	for _, secret := range []string{c.OperatorTLSSecret(), c.ClientTLSSecret()} {
		if same && secret != "" && spec.ClientTLSSecret == secret {
			return true
		}
	}
	if root := c.Spec.RootSecret(); same && root != "" && spec.AuthSecret == root {
		return true
	}
	return slices.ContainsFunc(spec.EtcdEndpoints, func(e string) bool {
		u, err := url.Parse(e)
		return err == nil && namesHost(u.Hostname(), b.Namespace, c)
	})
}

// namesHost reports whether a host, looked up by a Pod of a namespace, is a Service or a
// member of an EtcdCluster: <service>, <service>.<namespace>, <service>.<namespace>.svc, or
// that with a domain, and for a member <member>. before it.
func namesHost(host, namespace string, c *v1beta2.EtcdCluster) bool {
	labels := strings.Split(strings.TrimSuffix(strings.ToLower(host), "."), ".")
	if strings.HasPrefix(labels[0], c.Name+"-") && len(labels) > 1 && labels[1] == member.PeerServiceName(c.Name) {
		labels = labels[1:]
	}
	if labels[0] != member.PeerServiceName(c.Name) && labels[0] != member.ClientServiceName(c.Name) {
		return false
	}
	switch {
	case len(labels) == 1:
		return namespace == c.Namespace
	case len(labels) == 2:
		return labels[1] == c.Namespace
	}
	return labels[1] == c.Namespace && labels[2] == "svc"
}

// storeOf is where an EtcdBackup stores, as allowedStores has it.
func storeOf(spec *v1beta2.BackupSpec) string {
	if spec.StorageType == v1beta2.StoragePVC {
		return schemePVC + spec.PVC.ClaimName + "/" + spec.PVC.Path
	}
	place := spec.Store()
	store := place.Location()
	if place.Endpoint != "" {
		store += endpointMark + normalEndpoint(place.Endpoint)
	}
	return store
}

// The parts of an allowed store.
const (
	schemePVC    = "pvc://"
	endpointMark = "?endpoint="
)

// disallowed is the place of a spec, the first or the second, that an EtcdCluster does not allow;
// nil if it allows all.
func disallowed(c *v1beta2.EtcdCluster, spec *v1beta2.BackupSpec) *v1beta2.BackupSpec {
	for _, place := range []*v1beta2.BackupSpec{spec, spec.Copy()} {
		if place != nil && !allows(c, place) {
			return place
		}
	}
	return nil
}

// allows reports whether an EtcdCluster allows the store of a spec that was checked.
func allows(c *v1beta2.EtcdCluster, spec *v1beta2.BackupSpec) bool {
	return slices.ContainsFunc(c.Spec.AllowedStores(), func(allowed string) bool {
		if claim, ok := strings.CutPrefix(allowed, schemePVC); ok {
			return spec.StorageType == v1beta2.StoragePVC && isBelow(spec.PVC.ClaimName+"/"+spec.PVC.Path, claim)
		}
		store := spec.Store()
		if store == nil {
			return false
		}
		place, ok := strings.CutPrefix(allowed, store.Type.Scheme())
		place, endpoint, _ := strings.Cut(place, endpointMark)
		if store.Type == v1beta2.StorageABS && store.Endpoint == "" {
			return false // a Secret names the account, and every account can have such a container
		}
		return ok && isBelow(store.Path, place) && normalEndpoint(store.Endpoint) == normalEndpoint(endpoint)
	})
}

// isBelow reports whether a path is a folder, or lies in it. Some stores resolve dots.
func isBelow(path, folder string) bool {
	folder = strings.TrimRight(folder, "/")
	return folder != "" && !dotsPattern.MatchString(path) && (path == folder || strings.HasPrefix(path, folder+"/"))
}

// normalEndpoint is the URL of a store with what it may leave out.
func normalEndpoint(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	if !strings.Contains(endpoint, "://") {
		endpoint = "https://" + endpoint
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return endpoint
	}
	u.Scheme, u.Host, u.Path = strings.ToLower(u.Scheme), strings.ToLower(u.Host), strings.TrimRight(u.Path, "/")
	if u.Scheme == "https" {
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	if u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":80")
	}
	return u.String()
}
