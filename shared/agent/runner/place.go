package runner

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/objectstore/abs"
	"github.com/etcd-operators/etcd-operators/shared/objectstore/gcs"
	"github.com/etcd-operators/etcd-operators/shared/objectstore/s3"
)

// OpenStore opens the store that a place is in. A request that makes no progress is cut
// after the time stall, and the pauses before it is tried again are at most maxBackoff;
// 0: objectstore's defaults.
func OpenStore(ctx context.Context, s *agent.Store, stall, maxBackoff time.Duration) (objectstore.Store, error) {
	switch s.Type {
	case "", v1beta2.StorageS3, v1beta2.StorageOSS:
	case v1beta2.StorageABS:
		return abs.Open(ctx, abs.Settings{
			Container: s.Bucket, Endpoint: s.Endpoint, SecretDir: s.SecretDir, Secret: s.Secret, CADir: s.CADir,
			Stall: stall, MaxBackoff: maxBackoff,
		})
	case v1beta2.StorageGCS:
		return gcs.Open(ctx, gcs.Settings{
			Bucket: s.Bucket, Endpoint: s.Endpoint, SecretDir: s.SecretDir, Secret: s.Secret, CADir: s.CADir,
			Stall: stall, MaxBackoff: maxBackoff,
		})
	default:
		return nil, Refuse(agent.ReasonInvalidTask, "this agent knows no store of the type %q: let the operator and its agent be of the same version", s.Type)
	}
	return s3.Open(ctx, s3.Settings{
		OSS:    s.Type == v1beta2.StorageOSS,
		Bucket: s.Bucket, Endpoint: s.Endpoint, Region: s.Region, ForcePathStyle: s.ForcePathStyle, SecretDir: s.SecretDir, Secret: s.Secret,
		StorageClass: s.StorageClass, ServerSideEncryption: s.ServerSideEncryption, KMSKeyID: s.KMSKeyID,
		Tags: s.Tags, Checksums: s3.Checksums(s.Checksums), CADir: s.CADir,
		Stall: stall, MaxBackoff: maxBackoff,
	})
}

// OpenVolume opens a mounted volume, and returns the path of the file below its root, clean and
// with slashes. Nothing above the mount can be reached by way of the root, by .. or by a
// symbolic link.
func OpenVolume(p *agent.PVC) (root *os.Root, file string, err error) {
	file = path.Clean(p.Path)
	if !filepath.IsLocal(p.Path) || file == "." || strings.HasSuffix(p.Path, "/") {
		return nil, "", Refuse(agent.ReasonInvalidPath, "pvc.path %q is not the path of a file on the volume: set a path such as backups/etcd.db, without a slash at either end and without ..", p.Path)
	}
	root, err = os.OpenRoot(p.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("open the volume: %w", err)
	}
	return root, file, nil
}
