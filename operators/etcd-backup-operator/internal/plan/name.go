package plan

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

const (
	// maxJobName is the longest name of a Job whose Pods carry it in a label.
	maxJobName = 63
	// hashLength is how many characters of base32 tell the Jobs of one EtcdBackup, and
	// of EtcdBackups whose names begin alike, apart: 50 bits.
	hashLength = 10
)

// JobName is the name of the Job of the backup that was due at a time: the same for
// the same EtcdBackup (by uid) and second, so that making it twice makes one.
func JobName(b *v1beta2.EtcdBackup, scheduled time.Time) string {
	return jobName(b, strconv.FormatInt(scheduled.Unix(), 10))
}

// ArchiverName is the name of the Job that records the archive of an EtcdBackup.
func ArchiverName(b *v1beta2.EtcdBackup) string { return jobName(b, "archive") }

// CopierName is the name of the Job that copies the backups of an EtcdBackup, one after another.
func CopierName(b *v1beta2.EtcdBackup) string { return jobName(b, "copy") }

func jobName(b *v1beta2.EtcdBackup, of string) string {
	sum := sha256.Sum256([]byte(string(b.UID) + "/" + of))
	hash := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLength]
	// A Job's name is also its Pods' hostname, which has no dots.
	name := strings.ReplaceAll(b.Name, ".", "-")
	if longest := maxJobName - 1 - hashLength; len(name) > longest {
		name = strings.TrimRight(name[:longest], "-")
	}
	return name + "-" + hash
}

// digest tells values apart that are written differently as JSON.
func digest(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		content = []byte(err.Error()) // what is read from JSON can be written
	}
	sum := sha256.Sum256(content)
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:2*hashLength]
}
