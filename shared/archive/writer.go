package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"
)

// Writer writes one segment.
type Writer struct {
	segment Segment
	sub     int64 // of the last change
	tracker tracker
	zstd    *zstd.Encoder
	hash    hash.Hash
	size    int64
	buffer  []byte
}

// NewWriter begins a segment behind a position of a timeline. Its Last is what follows.
func NewWriter(to io.Writer, clusterID uint64, timeline uint32, from Position) (*Writer, error) {
	encoder, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, err
	}
	w := &Writer{sub: noSub, zstd: encoder, hash: sha256.New(), tracker: tracker{position: from}}
	w.segment = Segment{ClusterID: clusterID, Timeline: timeline, First: from.Revision + 1, Last: from.Revision, Follows: from.At, Ends: from.At}
	if !w.segment.isValid() {
		return nil, fmt.Errorf("a segment cannot begin behind revision %d with lineage %s", from.Revision, from.At)
	}
	return w, w.record(kindHeader, appendHeader(nil, w.segment))
}

// Change adds a change: the record of etcd's history, and its value. They come in order, and
// without a gap.
func (w *Writer) Change(record, value []byte) error {
	main, sub, ok := parseRevision(record)
	if !ok || !follows(w.segment.Last, w.sub, main, sub) {
		return fmt.Errorf("revision %d.%d was sent after %d.%d: no change must be missing", main, sub, w.segment.Last, w.sub)
	}
	w.segment.Last, w.sub = main, sub
	w.tracker.change(main, record, value)
	w.buffer = append(append(append(w.buffer[:0], byte(len(record))), record...), value...)
	return w.record(kindChange, w.buffer)
}

// noSub is the sub revision before the first change, which nothing follows on.
const noSub = math.MaxInt64

// follows tells whether a change comes right after another one.
func follows(main, sub, nextMain, nextSub int64) bool {
	return nextMain == main+1 && nextSub == 0 || nextMain == main && nextSub == sub+1
}

// Mark adds a mark, whose revision must not be beyond the last change.
func (w *Writer) Mark(m Mark) error { return w.record(kindMark, appendMark(nil, m)) }

// Hash adds a hash.
func (w *Writer) Hash(h Hash) error { return w.record(kindHash, appendHash(nil, h)) }

// Times adds what was so far told of the timeline's times.
func (w *Writer) Times(t Times) error { return w.record(kindTimes, appendTimes(nil, t)) }

// Position is behind all changes that were added, once those of a revision are complete.
func (w *Writer) Position() Position { return w.tracker.seal() }

// Size is how many bytes were added, before compression.
func (w *Writer) Size() int64 { return w.size }

// Close ends the segment, and says what it holds. After it all is in the underlying writer,
// which it does not close.
func (w *Writer) Close() (Segment, error) {
	end := w.Position()
	w.segment.Ends = end.At
	footer := w.hash.Sum(appendFooter(nil, end))
	if err := w.record(kindFooter, footer); err != nil {
		return w.segment, err
	}
	return w.segment, w.zstd.Close()
}

func (w *Writer) record(k kind, content []byte) error {
	if len(content) > maxRecord {
		return fmt.Errorf("a change of revision %d has %d bytes, and %d are the most that an archive takes", w.segment.Last, len(content), maxRecord)
	}
	head := binary.AppendUvarint([]byte{byte(k)}, uint64(len(content)))
	w.size += int64(len(head) + len(content))
	for _, b := range [][]byte{head, content} {
		w.hash.Write(b)
		if _, err := w.zstd.Write(b); err != nil {
			return err
		}
	}
	return nil
}
