package agentpod

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// secretMode lets the Pod's group (fsGroup) read what is mounted, and nobody else.
const secretMode = 0o440

// Files are what a Pod mounts for its agent.
type Files struct {
	Volumes []corev1.Volume
	Mounts  []corev1.VolumeMount
}

// Mount mounts a volume. A read-only one is so for the agent alone: the kubelet still
// gives it to the Pod's group, so that the agent can read it.
func (f *Files) Mount(name, path string, readOnly bool, source corev1.VolumeSource) {
	f.Volumes = append(f.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	f.Mounts = append(f.Mounts, corev1.VolumeMount{Name: name, MountPath: path, ReadOnly: readOnly})
}

// Secret mounts a Secret of the namespace. Without an optional one the Pod starts all
// the same.
func (f *Files) Secret(name, secret, path string, optional bool) {
	source := &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(secretMode))}
	if optional {
		source.Optional = new(true)
	}
	f.Mount(name, path, true, corev1.VolumeSource{Secret: source})
}

// Claim mounts the volume of a PersistentVolumeClaim of the namespace.
func (f *Files) Claim(name, claim, path string, readOnly bool) {
	f.Mount(name, path, readOnly, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
}

// caKey is the only key of a Secret with a CA that is mounted: beside it there may be
// the key of a server.
const caKey = "ca.crt"

// Store mounts what an agent needs to reach a place in a store: the Secret with the
// credentials at secretDir, and the certificates of a private CA beside that. Without
// what is optional the Pod starts all the same.
func (f *Files) Store(name string, s *v1beta2.StorePlace, secretDir string, optional bool) {
	if s.AWSSecret != "" {
		f.Secret(name, s.AWSSecret, secretDir, optional)
	}
	ca, mode := name+"-ca", new(int32(secretMode))
	var may *bool
	if optional {
		may = new(true)
	}
	switch {
	case s.CASecret != "":
		f.Mount(ca, caDir(secretDir), true, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: s.CASecret, DefaultMode: mode, Optional: may, Items: []corev1.KeyToPath{{Key: caKey, Path: caKey}},
		}})
	case s.CAConfigMap != "":
		f.Mount(ca, caDir(secretDir), true, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: s.CAConfigMap}, DefaultMode: mode, Optional: may,
		}})
	}
}

// caDir is where CAs are mounted beside a store's Secret.
func caDir(secretDir string) string { return secretDir + "-ca" }

// Store is a place in a store as an agent is told of it, for which [Files.Store] has mounted
// what is needed.
func Store(s *v1beta2.StorePlace, secretDir string) *agent.Store {
	bucket, key := s.BucketAndKey()
	prefix := ""
	if s.Prefix != "" {
		key = ""
		bucket, prefix = s.BucketAndPrefix()
	}
	place := &agent.Store{
		Type:   s.Type,
		Bucket: bucket, Key: key, Newest: s.Prefix != "", Prefix: prefix,
		Endpoint: s.EndpointURL(), ForcePathStyle: s.ForcePathStyle, Region: s.Region,
		StorageClass: s.StorageClass, ServerSideEncryption: s.ServerSideEncryption, KMSKeyID: s.KMSKeyID,
		Tags: s.Tags, Checksums: s.Checksums,
	}
	if s.AWSSecret != "" {
		place.SecretDir, place.Secret = secretDir, s.AWSSecret
	}
	if s.CASecret != "" || s.CAConfigMap != "" {
		place.CADir = caDir(secretDir)
	}
	return place
}

// PVC is a place on a volume as an agent is told of it that has it mounted at dir.
func PVC(p *v1beta2.PVCSource, dir string) *agent.PVC {
	return &agent.PVC{Claim: p.ClaimName, Dir: dir, Path: p.Path}
}
