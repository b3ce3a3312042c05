package v1beta2

// StorageType is where snapshots are stored.
type StorageType string

// The storage types.
const (
	// StorageS3 is a bucket of AWS or of another S3-compatible store.
	StorageS3 StorageType = "S3"
	// StoragePVC is a volume.
	StoragePVC StorageType = "PVC"
	// StorageABS is Azure Blob Storage.
	StorageABS StorageType = "ABS"
	// StorageGCS is Google Cloud Storage.
	StorageGCS StorageType = "GCS"
	// StorageOSS is Alibaba Cloud OSS.
	StorageOSS StorageType = "OSS"
)

// Compression is how a snapshot is compressed.
type Compression string

// The compressions.
const (
	// CompressionNone stores the snapshot as etcd sends it.
	CompressionNone Compression = "none"
	// CompressionZstd stores it as one zstd frame (RFC 8878).
	CompressionZstd Compression = "zstd"
)

// S3Source is a place in an S3 store.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecret) && self.caSecret.size() > 0) || !(has(self.caConfigMap) && self.caConfigMap.size() > 0)",message="caSecret must not be set together with caConfigMap: remove one of them; a ConfigMap can hold the certificates of several CAs"
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || self.kmsKeyID.size() == 0 || (has(self.serverSideEncryption) && self.serverSideEncryption.startsWith('aws:kms'))",message="kmsKeyID must not be set unless serverSideEncryption is aws:kms or aws:kms:dsse: set serverSideEncryption, or remove kmsKeyID"
type S3Source struct {
	// The bucket and the key, such as mybucket/etcd.backup. A one-shot backup is
	// stored under exactly this name, a repeated one under
	// <path>_v<revision>_<2006-01-02-15:04:05>, in UTC. A restore reads exactly this
	// name.
	// +optional
	// +kubebuilder:validation:MaxLength=1280
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\\\\x00-\\\\x1f\\\\x7f]+$')",message="path must be a bucket and a key, such as mybucket/etcd.backup, without s3://"
	Path string `json:"path,omitempty"`

	// For restores, instead of path: the bucket and what the keys of repeated backups
	// begin with, such as mybucket/prod/. The newest snapshot there is restored, by the time
	// in its name; with spec.clusterID, only snapshots of that cluster count. Snapshots that
	// were made without a quorum do not count. The choice is made once, before anything else
	// is done.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\\x00-\\x1f\\x7f]*$')",message="prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without s3://"
	Prefix string `json:"prefix,omitempty"`

	// The Secret with the keys credentials and, optionally, config: AWS' own files,
	// of which the profile default is used. Without it, the default chain of AWS'
	// SDK finds credentials, by pod.serviceAccountName for example.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="awsSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as aws"
	AWSSecret string `json:"awsSecret,omitempty"`

	// The URL of the store, if it is not AWS' own, such as
	// http://minio.default:9000. Without a scheme it is reached by https.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^(https?://)?([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#\\\\s\\\\x00-\\\\x1f\\\\x7f]*)?$')",message="endpoint must be the URL of an S3 store, such as https://s3.example.com or http://minio.default:9000"
	Endpoint string `json:"endpoint,omitempty"`

	// The Secret whose key ca.crt holds the PEM certificate of the private CA that has
	// signed the store's certificate. Only this key is mounted, and only this CA is trusted.
	// Default: the CAs of ca_bundle in the config of awsSecret (a key of that Secret), else
	// the public CAs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	CASecret string `json:"caSecret,omitempty"`

	// The ConfigMap with the PEM certificates of the CAs, under any keys. Must not be set
	// together with caSecret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="caConfigMap must be the name of a ConfigMap of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	CAConfigMap string `json:"caConfigMap,omitempty"`

	// Puts the bucket into the path of the URL instead of the host name, as many stores
	// require.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`

	// The region of the bucket. Default: the region in the config of awsSecret or in the
	// Pod's environment; else us-east-1 for a store with an endpoint. For AWS' own store one
	// of them must be set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_.A-Za-z0-9]*$')",message="region must consist of letters, digits, dashes, underscores and dots, such as eu-central-1"
	Region string `json:"region,omitempty"`

	// The storage class of the objects that are stored, such as STANDARD_IA. Default:
	// the bucket's. A class whose objects cannot be read at once is rejected, since a
	// restore would wait for hours: set GLACIER_IR instead. Ignored by restores.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_A-Za-z0-9]*$')",message="storageClass must consist of letters, digits, dashes and underscores, such as STANDARD_IA"
	// +kubebuilder:validation:XValidation:rule="!(self.upperAscii() in ['GLACIER', 'DEEP_ARCHIVE'])",messageExpression="'storageClass must not be ' + self + ', because a restore would wait hours for its objects: set GLACIER_IR or STANDARD_IA'"
	StorageClass string `json:"storageClass,omitempty"`

	// How the store encrypts the objects that are stored: AES256, aws:kms or
	// aws:kms:dsse. Default: the bucket's setting. Ignored by restores: the store decrypts
	// by itself.
	// +optional
	// +kubebuilder:validation:Enum="";AES256;"aws:kms";"aws:kms:dsse"
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`

	// The key for aws:kms. Default: AWS' own for S3.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^[-_.:/A-Za-z0-9]*$')",message="kmsKeyID must be the id, alias or ARN of a key, such as alias/backups: use only letters, digits, dashes, underscores, dots, colons and slashes"
	KMSKeyID string `json:"kmsKeyID,omitempty"`

	// Tags of the objects that are stored, set when they are created. The operator adds
	// sha256 and size afterwards, where the store supports tags. Ignored by restores.
	// +optional
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() > 0 && k.size() <= 128 && self[k].size() <= 256)",message="each tag must have a key of 1 to 128 characters and a value of at most 256 characters: set a shorter key or value"
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k in ['sha256', 'size'] || k.startsWith('aws:'))",messageExpression="self.filter(k, k in ['sha256', 'size'] || k.startsWith('aws:'))[0] + ' is reserved for the operator and for the store (as are sha256, size and aws:*): remove it, or use another key'"
	Tags map[string]string `json:"tags,omitempty"`

	// When uploads carry a checksum. WhenSupported: always a CRC32. WhenRequired: a
	// Content-MD5 once the store asks for one, as buckets with Object Lock do. Default:
	// request_checksum_calculation in the config of awsSecret, else WhenRequired, since many
	// stores do not support CRC32. Ignored by restores.
	// +optional
	// +kubebuilder:validation:Enum="";WhenSupported;WhenRequired
	Checksums string `json:"checksums,omitempty"`
}

// PVCSource is a place on a volume.
type PVCSource struct {
	// The PersistentVolumeClaim of this namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="claimName must be the name of a PVC of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-backups"
	ClaimName string `json:"claimName"`

	// The file on the volume, such as backups/etcd.db. A one-shot backup is stored
	// under exactly this name, a repeated one under
	// <path>_v<revision>_<2006-01-02-15:04:05>, in UTC, and folders are made as needed.
	// A restore reads exactly this file, and writes nothing to the volume.
	// +required
	// +kubebuilder:validation:MaxLength=1280
	// +kubebuilder:validation:XValidation:rule="self.matches('^([^/\\\\x00-\\\\x1f\\\\x7f]{1,255}/)*[^/\\\\x00-\\\\x1f\\\\x7f]{1,255}$') && !self.matches('(^|/)[.][.]?(/|$)')",message="path must be the path of a file on the volume, such as backups/etcd.db, without a slash at either end, without .., and with at most 255 characters between slashes"
	Path string `json:"path"`
}

// ABSSource is a place in Azure Blob Storage.
type ABSSource struct {
	// The container and the blob, as s3.path.
	// +optional
	// +kubebuilder:validation:MaxLength=1280
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][-a-z0-9]{1,61}[a-z0-9]/[^\\\\x00-\\\\x1f\\\\x7f]+$')",message="path must be a container and a blob, such as mycontainer/etcd.backup, without abs://"
	Path string `json:"path,omitempty"`

	// For restores, instead of path: the container and what the names of repeated backups
	// begin with, as s3.prefix.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][-a-z0-9]{1,61}[a-z0-9]/[^\\x00-\\x1f\\x7f]*$')",message="prefix must be a container and the beginning of blobs' names, such as mycontainer/prod/, or mycontainer/ for the whole container, without abs://"
	Prefix string `json:"prefix,omitempty"`

	// The Secret with the keys storage-account and storage-key, and cloud if it is not
	// AzurePublicCloud. Without it, the workload identity of pod.serviceAccountName is used;
	// then endpoint must be set.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="absSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as azure"
	ABSSecret string `json:"absSecret,omitempty"`

	// The URL of the storage account, such as https://myaccount.blob.core.windows.net.
	// Default: that of the account in absSecret. Without a scheme it is reached by https.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^(https?://)?([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?(/[^?#\\\\s\\\\x00-\\\\x1f\\\\x7f]*)?$')",message="endpoint must be the URL of a storage account, such as https://myaccount.blob.core.windows.net"
	Endpoint string `json:"endpoint,omitempty"`

	// The Secret whose key ca.crt holds the PEM certificate of the private CA that has
	// signed the certificate of an endpoint of your own. Only this key is mounted, and only
	// this CA is trusted. It needs absSecret. Default: the public CAs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	CASecret string `json:"caSecret,omitempty"`
}

// GCSSource is a place in Google Cloud Storage.
type GCSSource struct {
	// The bucket and the object, as s3.path.
	// +optional
	// +kubebuilder:validation:MaxLength=1280
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][-._a-z0-9]{1,220}[a-z0-9]/[^\\\\x00-\\\\x1f\\\\x7f]+$')",message="path must be a bucket and an object, such as mybucket/etcd.backup, without gcs://"
	Path string `json:"path,omitempty"`

	// For restores, instead of path: the bucket and what the names of repeated backups
	// begin with, as s3.prefix.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9][-._a-z0-9]{1,220}[a-z0-9]/[^\\x00-\\x1f\\x7f]*$')",message="prefix must be a bucket and the beginning of objects' names, such as mybucket/prod/, or mybucket/ for the whole bucket, without gcs://"
	Prefix string `json:"prefix,omitempty"`

	// The Secret with the key credentials.json, the key of a service account, or
	// access-token. Without it, the workload identity of pod.serviceAccountName is used.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="gcpSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as google"
	GCPSecret string `json:"gcpSecret,omitempty"`

	// The URL of the store, without a path. Default: https://storage.googleapis.com. A store
	// that is not Google's needs credentials.json in gcpSecret. Without a scheme it is reached
	// by https.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^(https?://)?([-._A-Za-z0-9]+|\\\\[[0-9A-Fa-f:.]+\\\\])(:[0-9]{1,5})?/?$')",message="endpoint must be the URL of a store, without a path, such as https://storage.googleapis.com"
	Endpoint string `json:"endpoint,omitempty"`

	// The Secret whose key ca.crt holds the PEM certificate of the private CA that has
	// signed the certificate of an endpoint of your own. Only this key is mounted, and only
	// this CA is trusted. Default: the public CAs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	CASecret string `json:"caSecret,omitempty"`
}

// OSSSource is a place in Alibaba Cloud OSS.
type OSSSource struct {
	// The bucket and the key, as s3.path.
	// +optional
	// +kubebuilder:validation:MaxLength=1280
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\\\\x00-\\\\x1f\\\\x7f]+$')",message="path must be a bucket and a key, such as mybucket/etcd.backup, without oss://"
	Path string `json:"path,omitempty"`

	// For restores, instead of path: the bucket and what the keys of repeated backups
	// begin with, as s3.prefix.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\\x00-\\x1f\\x7f]*$')",message="prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without oss://"
	Prefix string `json:"prefix,omitempty"`

	// The Secret with the keys accessKeyID and accessKeySecret, and securityToken if the
	// access key is a temporary one. Without it, the RAM role of pod.serviceAccountName is
	// assumed (RRSA).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="ossSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as oss"
	OSSSecret string `json:"ossSecret,omitempty"`

	// The URL of the store in the bucket's region, such as
	// https://oss-cn-hangzhou.aliyuncs.com, which is the default. Without a scheme it is
	// reached by https.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.size() == 0 || self.matches('^(https?://)?[-._A-Za-z0-9]+(:[0-9]{1,5})?/?$')",message="endpoint must be the URL of OSS in a region, such as https://oss-cn-hangzhou.aliyuncs.com"
	Endpoint string `json:"endpoint,omitempty"`

	// The Secret whose key ca.crt holds the PEM certificate of the private CA that has
	// signed the certificate of an endpoint of your own. Only this key is mounted, and only
	// this CA is trusted. Default: the public CAs.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",message="caSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as store-ca"
	CASecret string `json:"caSecret,omitempty"`
}
