package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
)

// ErrDamaged is wrapped by the error of what is no whole segment.
var ErrDamaged = errors.New("the segment is damaged, or not whole")

// ForeignError is the error of a segment that is not the one that its name says.
type ForeignError struct{ Want, Got Segment }

// Error implements error.
func (e *ForeignError) Error() string {
	switch {
	case e.Want.ClusterID != e.Got.ClusterID:
		return fmt.Sprintf("the segment is of cluster %016x, and not of %016x", e.Got.ClusterID, e.Want.ClusterID)
	case e.Want.Timeline != e.Got.Timeline:
		return fmt.Sprintf("the segment is of timeline %d, and not of %d", e.Got.Timeline, e.Want.Timeline)
	case e.Want.Follows != e.Got.Follows:
		return fmt.Sprintf("the segment follows lineage %s, and not %s", e.Got.Follows, e.Want.Follows)
	}
	return fmt.Sprintf("the segment holds revisions %d to %d, and not %d to %d", e.Got.First, e.Got.Last, e.Want.First, e.Want.Last)
}

// Reader reads one segment. Any content ends in io.EOF, which says that all of it was right, or
// in another error.
type Reader struct {
	want, have Segment
	sub        int64
	tracker    tracker
	zstd       *zstd.Decoder
	src        *bufio.Reader
	hash       hash.Hash
	sum        []byte // of all before the footer
	content    bytes.Buffer
	marks      []Mark
	hashes     []Hash
	times      Times
	position   Position
	end        error
}

// NewReader opens a segment that is to be this one. The caller closes the Reader, and what it
// reads from.
func NewReader(from io.Reader, want Segment) (*Reader, error) {
	decoder, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	r := &Reader{want: want, sub: noSub, zstd: decoder, src: bufio.NewReader(decoder), hash: sha256.New()}
	if err := r.header(); err != nil {
		decoder.Close()
		return nil, err
	}
	return r, nil
}

// Close frees what the Reader has.
func (r *Reader) Close() { r.zstd.Close() }

// Marks are those that were read so far.
func (r *Reader) Marks() []Mark { return r.marks }

// Hashes are those that were read so far.
func (r *Reader) Hashes() []Hash { return r.hashes }

// End is the position behind the segment, once all of it was read.
func (r *Reader) End() Position { return r.position }

// Next is the next change. It is valid until the next call.
func (r *Reader) Next() (record, value []byte, err error) {
	for r.end == nil {
		if record, value, r.end = r.next(); record != nil || r.end != nil {
			break
		}
	}
	return record, value, r.end
}

func (r *Reader) header() error {
	k, content, err := r.record()
	if err != nil {
		return err
	}
	have, ok := parseHeader(content)
	if k != kindHeader || !ok {
		return fmt.Errorf("%w: it does not begin as one", ErrDamaged)
	}
	r.have = have
	r.have.Last, r.have.Ends = r.want.Last, r.want.Ends // the footer tells
	if r.have != r.want {
		return &ForeignError{Want: r.want, Got: r.have}
	}
	r.tracker.position = Position{Revision: r.have.First - 1, At: r.have.Follows}
	r.have.Last = r.have.First - 1
	return nil
}

// next reads a record; both are nil if it was no change.
func (r *Reader) next() (record, value []byte, err error) {
	k, content, err := r.record()
	if err != nil {
		return nil, nil, err
	}
	ok := false
	switch k {
	case kindChange:
		return r.change(content)
	case kindMark:
		var m Mark
		if m, ok = parseMark(content); ok {
			r.marks = append(r.marks, m)
		}
	case kindHash:
		var h Hash
		if h, ok = parseHash(content); ok {
			r.hashes = append(r.hashes, h)
		}
	case kindTimes:
		r.times, ok = parseTimes(content)
	case kindFooter:
		return nil, nil, r.footer(content)
	case kindHeader:
	default:
		ok = k.isOptional()
	}
	if !ok {
		return nil, nil, fmt.Errorf("%w: after revision %d it has what is no record", ErrDamaged, r.have.Last)
	}
	return nil, nil, nil
}

func (r *Reader) change(content []byte) (record, value []byte, err error) {
	if len(content) > 0 && len(content) > int(content[0]) {
		record, value = content[1:1+content[0]], content[1+content[0]:]
	}
	main, sub, ok := parseRevision(record)
	if !ok || !follows(r.have.Last, r.sub, main, sub) || main > r.want.Last {
		return nil, nil, fmt.Errorf("%w: after revision %d.%d comes %d.%d", ErrDamaged, r.have.Last, r.sub, main, sub)
	}
	r.have.Last, r.sub = main, sub
	r.tracker.change(main, record, value)
	return record, value, nil
}

// footer is io.EOF if all of the segment was right.
func (r *Reader) footer(content []byte) error {
	told, sum, ok := parseFooter(content)
	if !ok || told.Revision != r.have.Last || !bytes.Equal(sum, r.sum) {
		return fmt.Errorf("%w: its sha256 is wrong", ErrDamaged)
	}
	if r.have.Last != r.want.Last {
		return &ForeignError{Want: r.want, Got: r.have}
	}
	end := r.tracker.seal()
	if r.have.Last < r.have.First { // it has no change: what was before is only told
		end.Before = told.Before
	}
	if end != told || end.At != r.want.Ends {
		return fmt.Errorf("%w: its changes have lineage %s, and its name says %s", ErrDamaged, end.At, r.want.Ends)
	}
	r.position = end
	if _, err := r.src.ReadByte(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more follows on its end", ErrDamaged)
	}
	return io.EOF
}

// record reads one, of which no more is held in memory than has come.
func (r *Reader) record() (kind, []byte, error) {
	k, err := r.src.ReadByte()
	if err != nil {
		return 0, nil, broken(err)
	}
	size, err := binary.ReadUvarint(r.src)
	if err != nil {
		return 0, nil, broken(err)
	}
	if size > maxRecord {
		return 0, nil, fmt.Errorf("%w: a record has %d bytes", ErrDamaged, size)
	}
	r.content.Reset()
	if _, err := io.CopyN(&r.content, r.src, int64(size)); err != nil {
		return 0, nil, broken(err)
	}
	if kind(k) == kindFooter {
		r.sum = r.hash.Sum(nil)
	}
	r.hash.Write(binary.AppendUvarint([]byte{k}, size))
	r.hash.Write(r.content.Bytes())
	return kind(k), r.content.Bytes(), nil
}

// broken is the error of a segment that cannot be read on.
func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut short", ErrDamaged)
	}
	return fmt.Errorf("%w: %w", ErrDamaged, err)
}
