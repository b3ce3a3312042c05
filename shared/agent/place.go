package agent

import (
	"cmp"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// Store is a place in an object store.
type Store struct {
	// Type is S3 if it is empty.
	Type   v1beta2.StorageType `json:"type,omitempty"`
	Bucket string              `json:"bucket"`
	Key    string              `json:"key,omitempty"`
	// Newest says that, in place of the object of that Key, the newest snapshot is meant
	// whose key begins with Prefix; empty: of the whole bucket.
	Newest bool   `json:"newest,omitempty"`
	Prefix string `json:"prefix,omitempty"`
	// Endpoint is the URL of the store; empty: AWS itself.
	Endpoint       string `json:"endpoint,omitempty"`
	ForcePathStyle bool   `json:"forcePathStyle,omitempty"`
	// Region is empty if the Secret's config or the environment says it.
	Region string `json:"region,omitempty"`
	// StorageClass, ServerSideEncryption and KMSKeyID are for what is written.
	StorageClass         string `json:"storageClass,omitempty"`
	ServerSideEncryption string `json:"serverSideEncryption,omitempty"`
	KMSKeyID             string `json:"kmsKeyID,omitempty"`
	// Tags and Checksums are for what is written, too.
	Tags      map[string]string `json:"tags,omitempty"`
	Checksums string            `json:"checksums,omitempty"`
	// CADir is the folder where the certificates of the CAs are mounted that alone are
	// trusted; empty: those of the Secret's ca_bundle, else the system's.
	CADir string `json:"caDir,omitempty"`
	// SecretDir is the folder where the Secret with the files credentials and config
	// is mounted; empty: the SDK's default chain.
	SecretDir string `json:"secretDir,omitempty"`
	// Secret is that Secret's name, for what a person is told.
	Secret string `json:"secret,omitempty"`
}

// Field is the field of a spec that tells of the place.
func (s *Store) Field() string { return strings.ToLower(string(cmp.Or(s.Type, v1beta2.StorageS3))) }

// PVC is a place on a volume.
type PVC struct {
	// Claim is the name of the PersistentVolumeClaim, for the location that is
	// reported.
	Claim string `json:"claim"`
	// Dir is where the volume is mounted.
	Dir string `json:"dir"`
	// Path is that of the file, below Dir.
	Path string `json:"path"`
}

// Location is how people write where a file of the volume lies.
func (p *PVC) Location(file string) string { return "pvc://" + p.Claim + "/" + file }
