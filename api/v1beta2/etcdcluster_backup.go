package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterBackup restricts the backups of a cluster.
type ClusterBackup struct {
	// The maximum age of the newest good backup, such as 24h. When it is older, the condition
	// BackedUp is False with the reason BackupTooOld. EtcdBackups make the backups. Default:
	// no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h)){1,4}$') && duration(self) >= duration('1s')",message="maxAge must be a duration of at least 1s with its unit, such as 12h, 168h (a week) or 1h30m"
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`

	// Where EtcdBackups can store this cluster's snapshots, whoever creates them:
	// s3://mybucket/etcd is everything below that path in a bucket of AWS,
	// s3://mybucket/etcd?endpoint=https://minio.example.com:9000 the same in another store,
	// oss://mybucket/etcd a folder in OSS and gcs://mybucket/etcd one in Google Cloud Storage
	// (with ?endpoint= as well),
	// abs://mycontainer/etcd?endpoint=https://myaccount.blob.core.windows.net one in Azure, and
	// pvc://myclaim/etcd a folder on a PersistentVolumeClaim. A bucket or a claim without a path
	// is all of it. In Azure every account can have a container of that name: the endpoint must
	// be here and in the EtcdBackup. EtcdBackups to any other store are refused, whether they
	// name this EtcdCluster in clusterRef or its members in etcdEndpoints. Default: any store.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.size() > 0",message="allowedStores must not be empty: remove it to allow every store, or add a store, such as s3://mybucket/etcd"
	// +kubebuilder:validation:items:MaxLength=1536
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^(s3|oss|gcs)://[A-Za-z0-9][-._A-Za-z0-9]{1,254}(/[^?\\\\x00-\\\\x1f\\\\x7f]*)?([?]endpoint=https?://([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#\\\\s\\\\x00-\\\\x1f\\\\x7f]*)?)?$') || self.matches('^abs://[a-z0-9][-a-z0-9]{1,61}[a-z0-9](/[^?\\\\x00-\\\\x1f\\\\x7f]*)?[?]endpoint=https?://([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#\\\\s\\\\x00-\\\\x1f\\\\x7f]*)?$') || self.matches('^pvc://[a-z0-9]([-.a-z0-9]*[a-z0-9])?(/[^\\\\x00-\\\\x1f\\\\x7f]*)?$')",message="each entry of allowedStores must be a store, such as s3://mybucket/etcd, s3://mybucket/etcd?endpoint=https://minio.example.com:9000, oss://mybucket/etcd, gcs://mybucket/etcd, abs://mycontainer/etcd?endpoint=https://myaccount.blob.core.windows.net or pvc://myclaim/etcd"
	AllowedStores []string `json:"allowedStores,omitempty"`
}
