package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ErrCorrupt is wrapped by the error of a stream that is not a whole snapshot.
var ErrCorrupt = errors.New("the snapshot is corrupt")

// page is what a bbolt file's size is a multiple of, at the least: etcdutl looks for
// size % 512 == sha256.Size to tell whether a file has a digest
// (etcdutl/snapshot/v3_snapshot.go).
const page = 512

// Reader passes a snapshot on as it is, digest and all, and verifies it on the way.
type Reader struct {
	src  io.Reader
	hash hash.Hash
	// tail is the last of what was read, up to sha256.Size bytes, which may be the
	// digest and so is not hashed until more follows.
	tail []byte
	size int64
	// bare takes a database that ends without a digest; hashed tells that it has one.
	bare, hashed bool
	// end is what Read returns from now on: io.EOF only if the snapshot is whole.
	end error
}

// NewReader makes a Reader of a stream that ends with the digest.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, hash: sha256.New(), tail: make([]byte, 0, 2*sha256.Size)}
}

// NewBareReader makes a Reader that also takes a database file without a digest, as one
// that was copied from a data dir is; see [Reader.Hashed]. Nothing then tells whether it
// is whole.
func NewBareReader(src io.Reader) *Reader {
	r := NewReader(src)
	r.bare = true
	return r
}

// Read implements io.Reader. It returns io.EOF only after all bytes of a snapshot
// whose digest is right; otherwise, the source's error, or one that wraps ErrCorrupt.
func (r *Reader) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	n, err := r.src.Read(p)
	r.take(p[:n])
	if errors.Is(err, io.EOF) {
		err = r.verdict()
	}
	r.end = err
	if n > 0 {
		return n, nil
	}
	return 0, r.end
}

// take hashes all but the last sha256.Size bytes of what has come so far.
func (r *Reader) take(b []byte) {
	r.size += int64(len(b))
	if len(b) >= sha256.Size {
		r.hash.Write(r.tail)
		r.hash.Write(b[:len(b)-sha256.Size])
		r.tail = append(r.tail[:0], b[len(b)-sha256.Size:]...)
		return
	}
	r.tail = append(r.tail, b...)
	if surplus := len(r.tail) - sha256.Size; surplus > 0 {
		r.hash.Write(r.tail[:surplus])
		r.tail = append(r.tail[:0], r.tail[surplus:]...)
	}
}

// verdict is io.EOF if what has come is a whole snapshot.
func (r *Reader) verdict() error {
	if r.bare && r.size > 0 && r.size%page == 0 {
		r.hash.Write(r.tail)
		return io.EOF
	}
	if r.size <= sha256.Size || r.size%page != sha256.Size {
		return fmt.Errorf("%w: it ends after %d bytes, which are not a database and its sha256", ErrCorrupt, r.size)
	}
	if sum := r.hash.Sum(nil); !bytes.Equal(sum, r.tail) {
		return fmt.Errorf("%w: the sha256 of its %d bytes is %x, and the source says %x", ErrCorrupt, r.size-sha256.Size, sum, r.tail)
	}
	r.hash.Write(r.tail) // now it is that of the whole file
	r.hashed = true
	return io.EOF
}

// Hashed tells, once Read has returned io.EOF, whether the snapshot ended with its
// digest, which then is right.
func (r *Reader) Hashed() bool { return r.hashed }

// Size is how many bytes have passed so far, the digest among them.
func (r *Reader) Size() int64 { return r.size }

// SHA256 is the digest of all that has passed, as sha256sum would print it of the
// stored file, once Read has returned io.EOF.
func (r *Reader) SHA256() string { return hex.EncodeToString(r.hash.Sum(nil)) }

// Digest passes any stream on, and counts and hashes it.
type Digest struct {
	src  io.Reader
	hash hash.Hash
	size int64
}

// NewDigest makes a Digest of src.
func NewDigest(src io.Reader) *Digest { return &Digest{src: src, hash: sha256.New()} }

// Read implements io.Reader.
func (d *Digest) Read(p []byte) (int, error) {
	n, err := d.src.Read(p)
	d.hash.Write(p[:n])
	d.size += int64(n)
	return n, err
}

// Size is how many bytes have passed so far.
func (d *Digest) Size() int64 { return d.size }

// SHA256 is the digest of what has passed so far, in hexadecimal digits.
func (d *Digest) SHA256() string { return hex.EncodeToString(d.hash.Sum(nil)) }
