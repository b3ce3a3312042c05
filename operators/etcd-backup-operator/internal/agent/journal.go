package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

const (
	// maxNote is far more than a note has: a key of 1024 bytes, and an id.
	maxNote = 16 << 10
	// tidyTimeout is how long it may take to tidy up after an upload that failed, of the
	// 30 s that Kubernetes leaves a Pod that is to end.
	tidyTimeout = 5 * time.Second
)

// journal lets the Pods of one run know of each other's uploads. A store lists nothing of an
// upload but its key, its id and its time, none of which shows whose it is: another backup
// of the same key may be under way. So while an upload is under way, a small object beside
// the backup notes its id. Its name is that of the run, by the EtcdBackup's uid and the due
// time, which all Pods of one Job share and no other run has. A Pod that finds a note knows
// that the one before it was killed, and aborts that very upload.
//
// A process that is killed between the begin of the upload and its note leaves an upload
// without parts. Where the note can't be stored, what is killed leaves its parts: a rule of
// the bucket (AbortIncompleteMultipartUpload) is to remove them.
type journal struct {
	*job
	store objectstore.Store
	// noted is the upload of which the note is there; nil if none is.
	noted *objectstore.Upload
}

// note is the name of this run's note.
func (n *journal) note() string {
	run := sha256.Sum256(fmt.Appendf(nil, "%s/%d", n.task.UID, n.task.Time.Unix()))
	return fmt.Sprintf("%s.unfinished-%x", n.task.Store.Key, run[:8])
}

// noteBegun notes an upload. The backup proceeds without a note.
func (n *journal) noteBegun(ctx context.Context, u objectstore.Upload) {
	content, err := json.Marshal(u)
	if err == nil {
		err = n.store.WriteSmall(ctx, n.note(), content)
	}
	if err != nil {
		n.log.Info("cannot note the upload: if this Pod is killed, its parts stay until a rule of the bucket (AbortIncompleteMultipartUpload) removes them", "error", err)
		return
	}
	n.noted = &u
}

// ended removes the note of an upload that was completed, or aborted: that it is gone is
// made sure of, as nothing else records it.
func (n *journal) ended(ctx context.Context, completed bool) {
	if n.noted == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	var err error
	if !completed {
		err = n.store.AbortUpload(ctx, *n.noted)
	}
	if err == nil {
		_, err = n.store.Delete(ctx, n.note())
	}
	if err != nil {
		n.log.Info("cannot remove the note of the upload", "object", n.store.URL(n.note()), "error", err)
		return
	}
	n.noted = nil
}

// recover aborts the upload that a killed attempt at this run has noted. It is the first
// request to the store.
func (n *journal) recover(ctx context.Context) error {
	content, err := n.store.ReadSmall(ctx, n.note(), maxNote)
	if errors.Is(err, objectstore.NotFound) || errors.Is(err, objectstore.AccessDenied) {
		return nil // so S3 answers, too, who is not allowed to list the bucket
	}
	if err != nil {
		return err
	}
	u, ok := n.parse(content)
	if !ok {
		n.log.Warn("cannot read the note of an upload, which is left as it is", "object", n.store.URL(n.note()))
		return nil
	}
	if err := n.store.AbortUpload(ctx, u); err != nil {
		return err
	}
	n.log.Info("aborted the unfinished upload of an earlier attempt", "key", u.Key)
	_, err = n.store.Delete(ctx, n.note())
	return err
}

// parse reads a note; ok is false if it is none of this run.
func (n *journal) parse(content []byte) (u objectstore.Upload, ok bool) {
	err := json.Unmarshal(content, &u)
	return u, err == nil && strings.HasPrefix(u.Key, n.task.Store.Key) && u.ID != ""
}
