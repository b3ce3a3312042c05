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

// missingStore says what to set for a type of store.
var missingStore = map[v1beta2.StorageType]string{
	v1beta2.StorageS3:  "s3 is missing for backupStorageType S3: set s3.path, such as mybucket/etcd.backup, and s3.awsSecret",
	v1beta2.StorageOSS: "oss is missing for backupStorageType OSS: set oss.path, such as mybucket/etcd.backup, oss.endpoint and oss.ossSecret",
	v1beta2.StorageABS: "abs is missing for backupStorageType ABS: set abs.path, such as mycontainer/etcd.backup, and abs.absSecret",
	v1beta2.StorageGCS: "gcs is missing for backupStorageType GCS: set gcs.path, such as mybucket/etcd.backup, and gcs.gcpSecret",
}

// checkStore refuses a place in a store that is none, or two.
func checkStore(kind v1beta2.StorageType, s *v1beta2.StorePlace) *refusal {
	switch {
	case s == nil:
		return &refusal{v1beta2.RestoreReasonStorageMissing, missingStore[kind]}
	case s.Prefix != "" && s.Path != "":
		return &refusal{v1beta2.RestoreReasonStorageAmbiguous, fmt.Sprintf("%[1]s.prefix must not be set together with %[1]s.path: set %[1]s.path for the snapshot of that name, or %[1]s.prefix for the newest one", s.Field())}
	case s.Prefix != "" && !prefixPattern.MatchString(s.Prefix):
		return &refusal{v1beta2.RestoreReasonPathInvalid, fmt.Sprintf("%s.prefix must be a bucket and the beginning of keys, such as mybucket/prod/, or mybucket/ for the whole bucket, without %s", s.Field(), kind.Scheme())}
	case s.Prefix == "" && !storePathPattern.MatchString(s.Path):
		return &refusal{v1beta2.RestoreReasonPathInvalid, fmt.Sprintf("%s.path must be a bucket and a key, such as mybucket/etcd.backup, without %s", s.Field(), kind.Scheme())}
	}
	return nil
}

// searches reports whether the source is the newest of many.
func (v *view) searches() bool {
	place := v.spec.Store()
	return v.spec.BackupRef == nil && place != nil && place.Prefix != ""
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
	place := v.spec.Store()
	where, ok := strings.CutPrefix(v.last.Snapshot.Location, place.Type.Scheme())
	if !ok || !storePathPattern.MatchString(where) {
		return v.fail(v1beta2.RestoreReasonLocationInvalid, fmt.Sprintf("the newest snapshot has an invalid key, %s: rename it, or set %[2]s.path instead of %[2]s.prefix", conditiontext.Quote(v.last.Snapshot.Location), place.Field()))
	}
	if v.source.Store != nil {
		v.source.Store = place.At(where)
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
