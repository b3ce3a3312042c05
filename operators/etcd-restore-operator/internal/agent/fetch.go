package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
	"github.com/etcd-operators/etcd-operators/shared/datadir"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
	"github.com/etcd-operators/etcd-operators/shared/snapshot"
	"github.com/etcd-operators/etcd-operators/shared/snapshotname"
)

const (
	// copyBuffer is how much is read and written at a time.
	copyBuffer = 1 << 20
	// zstd is the name of the only compression.
	zstd = "zstd"
)

// fetched is a snapshot that was read once, whole, and whose digest is right, if it has
// one.
type fetched struct {
	// file holds it unpacked.
	file *os.File
	// name is that of the object or the file that was read.
	name string
	// inPlace is set if that is where it is stored, and may be written to.
	inPlace *stored
	// hashed tells whether it ends with a digest.
	hashed bool
	// recorded is the hash of its source; nil if none is known.
	recorded *snapshot.Hash
	// found is what is known of it so far.
	found task.Snapshot
}

// fetch reads the snapshot once, into a file in the folder: what is in the file is what the
// digest was computed of, whatever becomes of the place that it was fetched from. To verify,
// a file that lies unpacked on a volume is read where it lies. The caller closes the file.
func (j *job) fetch(ctx context.Context, dir string) (*fetched, error) {
	from, err := j.open(ctx)
	if err != nil {
		return nil, err
	}
	f, err := j.take(ctx, from, dir)
	if f == nil || f.file != from.file {
		_ = from.Close() // it was only read
	}
	return f, err
}

// take reads all that is stored.
func (j *job) take(ctx context.Context, from *stored, dir string) (_ *fetched, err error) {
	j.progress.begin(from.size)
	defer runner.Narrate(j.settings.progress, func() {
		j.log.Info("fetching the snapshot", "bytes", j.progress.fetched.Load(), "of", j.progress.total.Load())
	})()
	j.log.Info("reading the snapshot", "location", from.location, "size", from.size, "etag", from.etag)
	source := &counted{src: from, ctx: ctx, fetched: &j.progress.fetched}
	plain, packed, err := snapshot.Open(source)
	if err != nil {
		return nil, j.broken(source, err)
	}
	defer plain.Close()
	database := bufio.NewReaderSize(plain, copyBuffer)
	if err := recognise(database, packed != nil); err != nil {
		return nil, j.broken(source, err)
	}
	f := &fetched{file: from.file, name: from.name, recorded: from.hash}
	to := io.Discard // a file on a volume stays where it lies
	if !j.staysOnVolume(from, packed != nil) {
		f.file, err = j.stage(dir, from)
		to = &bounded{to: j.writer(f.file), check: j.checkScratch}
	} else {
		f.inPlace = from
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.file.Close() // it is of no use
		}
	}()
	verified := snapshot.NewBareReader(database)
	if _, err := io.CopyBuffer(onlyWriter{to}, onlyReader{verified}, make([]byte, copyBuffer)); err != nil {
		return nil, j.broken(source, err)
	}
	f.hashed = verified.Hashed()
	f.found = task.Snapshot{Location: from.location, Size: verified.Size(), SHA256: verified.SHA256(), ETag: from.etag, ClusterID: from.clusterID}
	if err := j.checkUnpacked(dir, f, verified.Size(), packed != nil); err != nil {
		return nil, err
	}
	if packed != nil {
		f.found.Size, f.found.SHA256, f.found.Compression = packed.Size(), packed.SHA256(), zstd
	}
	return f, j.checkWanted("sha256", f.found.SHA256, wanted(j.task.Want).SHA256)
}

// rebuilds tells whether a data dir is made of what is fetched.
func (j *job) rebuilds() bool { return j.task.Member != nil || j.task.StartEtcd != "" }

// staysOnVolume tells whether a file is read where it lies: to verify, a database that is
// not packed, and to which nothing is appended. What is restored is copied, since the file may be
// written to at any time.
func (j *job) staysOnVolume(from *stored, packed bool) bool {
	_, named, _ := snapshotname.ParseAny(from.name)
	appended := !j.task.Time.IsZero() || j.task.Revision > named.Revision
	return !j.rebuilds() && from.file != nil && !packed && !appended
}

// stage makes the file that a snapshot is put in, if there is room for it.
func (j *job) stage(dir string, from *stored) (*os.File, error) {
	if err := errors.Join(j.checkScratch(from.size), rebuild.CheckSpace(dir, j.unpacked(from), j.spare(j.unpacked(from)))); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, "snapshot"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, datadir.FileMode)
}

// writer writes to a staged file. Only what a data dir is made of is synced later.
func (j *job) writer(f *os.File) io.Writer {
	if !j.rebuilds() {
		return f
	}
	return &eager{file: f}
}

// checkUnpacked refuses what turns out to be too large for the volume when it is unpacked. What
// was verified before is not refused for that: its size was known before it was fetched, and
// members might be stopped for it.
func (j *job) checkUnpacked(dir string, f *fetched, size int64, packed bool) error {
	if !packed || f.inPlace != nil || j.task.Want != nil {
		return nil
	}
	return rebuild.CheckSpaceBeside(dir, j.spare(size))
}

// checkScratch refuses what is larger than the scratch space: the kubelet would evict the Pod.
func (j *job) checkScratch(size int64) error {
	limit, size := j.task.ScratchLimit, size+j.spare(size)
	if limit == 0 || size <= limit {
		return nil
	}
	return runner.Refuse(agent.ReasonScratchSpaceExceeded, "the snapshot does not fit into the scratch space of the Pod that checks it: it needs at least %s, and the limit is %s: raise spec.pod.resources.limits.ephemeral-storage, and create another EtcdRestore", v1beta2.ReadableSize(size), v1beta2.ReadableSize(limit))
}

// bounded checks how much is written: how large a packed snapshot is shows only then.
type bounded struct {
	to      io.Writer
	check   func(int64) error
	written int64
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	b.written += int64(len(p))
	if err := b.check(b.written); err != nil {
		return 0, err
	}
	return b.to.Write(p)
}

// unpacked is how large the snapshot becomes, as far as that is known. Its digest, in 32
// bytes, is not counted.
func (j *job) unpacked(from *stored) int64 {
	if j.task.Want != nil {
		return j.task.Want.DatabaseSize
	}
	return from.size
}

// spare is what is to fit beside a snapshot of a size: nothing to verify, and to rebuild it what
// etcd needs, and with prefixes the file of the keys under these.
func (j *job) spare(size int64) int64 {
	switch {
	case !j.rebuilds():
		return 0
	case len(j.task.Prefixes) > 0:
		return rebuild.Slack + rebuild.ExtractSlack + size
	}
	return rebuild.Slack
}

// onlyWriter and onlyReader keep io.CopyBuffer to its buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// broken is why the snapshot could not be read: its source broke, or the disk, or else
// what it holds is not right. What was right when it was verified, is another one.
func (j *job) broken(source *counted, err error) error {
	var known *runner.Error
	switch {
	case source.broken != nil:
		return source.broken
	case errors.As(err, new(*os.PathError)):
		return err
	case j.task.Want != nil:
		return j.changed(err.Error())
	case errors.As(err, &known), errors.Is(err, snapshot.ErrCorrupt):
		return err
	}
	return corrupt("the snapshot cannot be unpacked: %w", err)
}

// What files begin with. bbolt's is behind the header of its first page.
var (
	boltMagic = []byte{0xed, 0xda, 0x0c, 0xed}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	gzipMagic = []byte{0x1f, 0x8b}
)

// boltOffset is where bbolt's magic is.
const boltOffset = 16

// recognise refuses early what is no database at all.
func recognise(r *bufio.Reader, packed bool) error {
	first, err := r.Peek(boltOffset + len(boltMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch {
	case len(first) == 0:
		return corrupt("the snapshot has no content")
	case bytes.HasSuffix(first, boltMagic):
		return nil
	case packed && bytes.HasPrefix(first, zstdMagic):
		return runner.Refuse(task.ReasonCorruptSnapshot, "the snapshot was packed twice with zstd: unpack it once, and store it again")
	case bytes.HasPrefix(first, gzipMagic):
		return runner.Refuse(task.ReasonCorruptSnapshot, "the snapshot is packed with gzip, which is not supported: unpack it, or pack it with zstd, and store it again")
	}
	return corrupt("the file is not a snapshot of etcd")
}
