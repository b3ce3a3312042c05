package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

const (
	// window is how far back the compressor looks. etcd's pages repeat close by:
	// a larger one gains little and costs its size several times in memory.
	window = 1 << 20
	// maxWindow is the largest that is taken from others: what every decompressor
	// is asked to support (RFC 8878, 3.1.1.1.2).
	maxWindow = 8 << 20
	// chunk is how much is compressed at a time.
	chunk = 128 << 10
)

// magic begins every zstd frame (RFC 8878, 3.1.1).
var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// compressor pulls from its source as it is read: it has no goroutine that could
// outlive it.
type compressor struct {
	src   io.Reader
	chunk []byte
	enc   *zstd.Encoder
	out   bytes.Buffer
	end   error
}

// Compress returns src as one zstd frame with a checksum. It ends in io.EOF only if
// src does; any other error of src comes through as it is, behind an incomplete
// frame. It needs some MiB of memory.
func Compress(src io.Reader) (io.Reader, error) {
	c := &compressor{src: src, chunk: make([]byte, chunk)}
	enc, err := zstd.NewWriter(&c.out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(window), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	c.enc = enc
	return c, nil
}

// Read implements io.Reader.
func (c *compressor) Read(p []byte) (int, error) {
	for c.out.Len() == 0 {
		if c.end != nil {
			return 0, c.end
		}
		c.end = c.step()
	}
	return c.out.Read(p)
}

// step compresses one chunk more. Its error is that of the source, io.EOF after the
// end of the frame.
func (c *compressor) step() error {
	n, err := c.src.Read(c.chunk)
	if _, werr := c.enc.Write(c.chunk[:n]); werr != nil {
		return fmt.Errorf("compress: %w", werr)
	}
	if err != io.EOF { // itself: an error that wraps it is no end
		return err
	}
	if err := c.enc.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return io.EOF
}

// Decompress returns what a zstd stream holds. The caller closes it.
func Decompress(src io.Reader) (io.ReadCloser, error) {
	dec, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, fmt.Errorf("set up zstd: %w", err)
	}
	return dec.IOReadCloser(), nil
}

// Open returns the snapshot that a stored stream holds, decompressed if its first
// bytes are those of zstd. It is not verified yet: see [NewReader]. packed counts and
// hashes what is stored where that is compressed, and is nil where it is not: then the
// Reader that verifies the snapshot does. The caller closes the snapshot, and src itself.
func Open(src io.Reader) (snapshot io.ReadCloser, packed *Digest, err error) {
	buffered := bufio.NewReader(src)
	first, err := buffered.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if !bytes.Equal(first, magic) {
		return io.NopCloser(buffered), nil, nil
	}
	packed = NewDigest(buffered)
	snapshot, err = Decompress(packed)
	return snapshot, packed, err
}
