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

// S3 is a place in a store as an agent is told of it, whose Secret, if there is one, is
// mounted at secretDir.
func S3(s *v1beta2.S3Source, secretDir string) *agent.S3 {
	bucket, key := s.BucketAndKey()
	place := &agent.S3{
		Bucket: bucket, Key: key,
		Endpoint: s.EndpointURL(), ForcePathStyle: s.ForcePathStyle, Region: s.Region,
		StorageClass: s.StorageClass, ServerSideEncryption: s.ServerSideEncryption, KMSKeyID: s.KMSKeyID,
	}
	if s.AWSSecret != "" {
		place.SecretDir = secretDir
	}
	return place
}

// PVC is a place on a volume as an agent is told of it that has it mounted at dir.
func PVC(p *v1beta2.PVCSource, dir string) *agent.PVC {
	return &agent.PVC{Claim: p.ClaimName, Dir: dir, Path: p.Path}
}
