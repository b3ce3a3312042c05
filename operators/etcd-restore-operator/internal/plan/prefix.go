package plan

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/conditiontext"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

// prefixPattern is that of the CRD.
var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{1,254}/[^\x00-\x1f\x7f]*$`)

// checkS3 refuses a place in a store that is none, or two.
func checkS3(s *v1beta2.S3Source) *refusal {
	switch {
	case s == nil:
		return &refusal{v1beta2.RestoreReasonStorageMissing, "s3 is missing for backupStorageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret"}
	case s.Prefix != "" && s.Path != "":
		return &refusal{v1beta2.RestoreReasonStorageAmbiguous, "set only one of s3.path and s3.prefix: s3.path for the snapshot of that name, s3.prefix for the newest"}
	case s.Prefix != "" && !prefixPattern.MatchString(s.Prefix):
		return &refusal{v1beta2.RestoreReasonPathInvalid, "s3.prefix is not a bucket and the beginning of keys: set it to one like mybucket/prod/, or mybucket/ for the whole bucket, without s3://"}
	case s.Prefix == "" && !s3PathPattern.MatchString(s.Path):
		return &refusal{v1beta2.RestoreReasonPathInvalid, "s3.path is not a bucket and a key: set it to one like mybucket/etcd.backup, without s3://"}
	}
	return nil
}

// searches reports whether the source is the newest of many.
func (v *view) searches() bool {
	return v.spec.BackupRef == nil && v.spec.BackupStorageType == v1beta2.StorageS3 && v.spec.S3 != nil && v.spec.S3.Prefix != ""
}

// pinNewest settles which snapshot under a prefix is restored, with its key, ETag and
// digest, before anything else is done: a newer one that is stored from then on changes
// nothing.
func pinNewest(v *view) *step {
	if !v.searches() {
		return nil
	}
	for _, r := range []rule{startJob, awaitJob, recordSnapshot} {
		if s := r(v); s != nil {
			return s
		}
	}
	s3 := v.spec.S3.DeepCopy()
	where, ok := strings.CutPrefix(v.last.Snapshot.Location, schemeS3)
	if !ok || !s3PathPattern.MatchString(where) {
		return v.fail(v1beta2.RestoreReasonLocationInvalid, fmt.Sprintf("the newest snapshot has an invalid key, %q: rename it, or set s3.path instead of s3.prefix", conditiontext.Clip(v.last.Snapshot.Location)))
	}
	if s3.Path, s3.Prefix = where, ""; v.source.S3 != nil {
		v.source.S3 = s3
	}
	return nil
}

// catalogue is what the Job has told of what lies under the prefix; nil if nothing.
func (v *view) catalogue() *v1beta2.SnapshotCatalogue {
	if !v.spec.VerifyOnly || v.Job == nil || v.Job.Result == nil || v.Job.Result.Catalogue == nil {
		return v.last.Catalogue
	}
	told := v.Job.Result.Catalogue
	c := &v1beta2.SnapshotCatalogue{Total: max(told.Total, 0), OtherObjects: max(told.Others, 0)}
	for _, e := range told.Entries[:min(len(told.Entries), task.MaxEntries)] {
		location := conditiontext.Clip(told.Base + e.Name)
		path, s, ok := snapshotname.ParseAny(location)
		if !ok {
			continue
		}
		c.Newest = append(c.Newest, v1beta2.CatalogueEntry{
			Location: location, Time: metav1.Time{Time: s.Time}, Revision: s.Revision, OldestRevision: max(e.OldestRevision, 0),
			ClusterID: conditiontext.Clip(e.ClusterID), Size: max(e.Size, 0), Unconfirmed: snapshotname.Marked(path),
		})
	}
	return c
}
