package rebuild

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"os"
	"syscall"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/agent/runner"
)

// The sizes and numbers of bbolt's format.
const (
	magic         = 0xED0CDAED
	formatVersion = 2

	headerSize  = 16 // of a page: id 8, flags 2, count 2, overflow 4
	countAt     = 10 // in a page's header
	elementSize = 16 // of a page's table of contents
	bucketSize  = 16 // of a bucket's value: root 8, sequence 8
	metaSize    = 64
	metaSummed  = 56 // what comes before the checksum

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagMeta     = 0x04
	flagFreelist = 0x10
	// flagBucket is of an element whose value is a bucket.
	flagBucket = 0x01

	// noFreelist stands in place of the freelist's page if there is none, which is how
	// etcd writes its database.
	noFreelist = ^uint64(0)
	// firstPage is the first that is not a meta page.
	firstPage = 2

	minPageSize, maxPageSize = 512, 64 << 10
)

var order = binary.LittleEndian

// database is a file that is mapped, and what its valid meta page says.
type database struct {
	data     []byte
	pageSize uint64
	// pages is how many pages are in use or free; the file has at least as many.
	pages uint64
	// root is the page of the bucket of buckets.
	root, freelist, txid uint64
	// metaAt is the offset of that meta page.
	metaAt uint64
}

// open maps a file. The caller closes the database, and the file.
func open(f *os.File) (*database, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < 2*minPageSize {
		return nil, damaged("it has only %d bytes", info.Size())
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil, &os.PathError{Op: "map", Path: f.Name(), Err: err}
	}
	d := &database{data: data}
	if err := d.readMeta(); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *database) close() { _ = syscall.Munmap(d.data) } // it was only read

// size is that of the database, which is less than that of the file if that ends with a
// digest.
func (d *database) size() int64 { return int64(d.pages * d.pageSize) }

// readMeta takes the newer of the two meta pages, which must both be valid: every
// database is written with both.
func (d *database) readMeta() error {
	if err := d.takeMeta(0, 0); err != nil {
		return err
	}
	if err := d.takeMeta(1, d.pageSize); err != nil {
		return err
	}
	if have := uint64(len(d.data)) / d.pageSize; d.pages > have {
		return damaged("it is cut short: it has %d bytes of %d", len(d.data), d.pages*d.pageSize)
	}
	return nil
}

// takeMeta takes a meta page that is newer than the one that was taken before.
func (d *database) takeMeta(id, offset uint64) error {
	if offset+headerSize+metaSize > uint64(len(d.data)) {
		return damaged("it is cut short: it has only %d bytes", len(d.data))
	}
	p := d.data[offset:][:headerSize+metaSize]
	m := p[headerSize:]
	sum := fnv.New64a()
	sum.Write(m[:metaSummed])
	pageSize := uint64(order.Uint32(m[8:]))
	switch {
	case order.Uint64(p) != id, flags(p) != flagMeta, order.Uint32(m) != magic, order.Uint32(m[4:]) != formatVersion,
		order.Uint64(m[metaSummed:]) != sum.Sum64(), offset != id*pageSize,
		pageSize < minPageSize, pageSize > maxPageSize, pageSize&(pageSize-1) != 0:
		return damaged("its meta page %d is not valid", id)
	}
	txid := order.Uint64(m[48:])
	if id == 0 || txid > d.txid {
		d.pageSize, d.txid, d.metaAt = pageSize, txid, offset
		d.root, d.freelist, d.pages = order.Uint64(m[16:]), order.Uint64(m[32:]), order.Uint64(m[40:])
	}
	return nil
}

// buckets are the values of the top-level buckets, by name.
func (d *database) buckets(ctx context.Context, w *walk) (map[string][]byte, error) {
	buckets := map[string][]byte{}
	err := w.tree(ctx, d.root, func(e element) error {
		if !e.bucket {
			return damaged("it has a key outside of every bucket")
		}
		buckets[string(e.key)] = e.value
		return nil
	})
	return buckets, err
}

// damaged is the failure of a file that isn't whole, or not what it should be.
func damaged(format string, args ...any) error {
	return runner.Refuse(agent.ReasonCorruptSnapshot, "the snapshot is damaged, or not one of etcd: "+format+": restore another one", args...)
}
