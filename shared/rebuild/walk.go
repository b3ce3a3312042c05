package rebuild

import (
	"bytes"
	"context"
)

// walk goes through trees of a database, and takes care that no page is used twice.
type walk struct {
	*database
	// backwards visits the last key first.
	backwards bool
	// exact demands that a branch has the very first key of each page that it leads to, as
	// bbolt relies on where it changes a page. It is for walks that are not backwards.
	exact bool
	// used has a bit for every page.
	used []byte
}

// element is a key with its value. Both are part of the mapped file.
type element struct {
	key, value []byte
	bucket     bool
}

func (d *database) newWalk() *walk { return &walk{database: d, used: make([]byte, d.pages/8+1)} }

// bounds are what the keys of a subtree are in between: from is the first that can be in
// it, and to the first that cannot; nil: any can.
type bounds struct{ from, to []byte }

// bucket visits all keys of a bucket, given its value, in their order.
func (w *walk) bucket(ctx context.Context, value []byte, visit func(element) error) error {
	if len(value) < bucketSize {
		return damaged("a bucket has only %d bytes", len(value))
	}
	if root := order.Uint64(value); root != 0 {
		return w.tree(ctx, root, visit)
	}
	inline := value[bucketSize:] // a small bucket's only page is part of its value
	if len(inline) < headerSize || flags(inline) != flagLeaf {
		return damaged("a bucket of %d bytes has no page", len(value))
	}
	return w.leaf(inline, bounds{}, visit)
}

// tree visits all keys below a page.
func (w *walk) tree(ctx context.Context, root uint64, visit func(element) error) error {
	return w.page(ctx, root, bounds{}, visit)
}

func (w *walk) page(ctx context.Context, id uint64, b bounds, visit func(element) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	p, err := w.take(id)
	if err != nil {
		return err
	}
	switch flags(p) {
	case flagLeaf:
		return w.leaf(p, b, visit)
	case flagBranch:
		return w.branch(ctx, p, b, visit)
	}
	return damaged("page %d is neither a branch nor a leaf", id)
}

// take returns a page, with those that it flows over into.
func (w *walk) take(id uint64) ([]byte, error) {
	if id < firstPage || id >= w.pages {
		return nil, damaged("there is no page %d", id)
	}
	p := w.data[id*w.pageSize:]
	overflow := uint64(order.Uint32(p[12:]))
	if order.Uint64(p) != id || id+overflow >= w.pages {
		return nil, damaged("page %d is not in its place", id)
	}
	for i := id; i <= id+overflow; i++ {
		if w.used[i/8]&(1<<(i%8)) != 0 {
			return nil, damaged("page %d is used twice", i)
		}
		w.used[i/8] |= 1 << (i % 8)
	}
	return p[:(overflow+1)*w.pageSize], nil
}

func flags(page []byte) uint16 { return order.Uint16(page[8:]) }
func count(page []byte) uint64 { return uint64(order.Uint16(page[countAt:])) }

// branch visits the pages that a branch leads to.
func (w *walk) branch(ctx context.Context, p []byte, b bounds, visit func(element) error) error {
	n := count(p)
	if n == 0 {
		return damaged("a branch leads nowhere")
	}
	for i := range n {
		if w.backwards {
			i = n - 1 - i
		}
		from, child, err := branchElement(p, i)
		if err != nil {
			return err
		}
		below := bounds{from: from, to: b.to}
		if i+1 < n {
			if below.to, _, err = branchElement(p, i+1); err != nil {
				return err
			}
		}
		if w.exact && i == 0 && b.from != nil && !bytes.Equal(from, b.from) {
			return wrongBranch()
		}
		if bytes.Compare(from, b.from) < 0 || below.to != nil && bytes.Compare(from, below.to) >= 0 {
			return damaged("the keys of a branch are out of order")
		}
		if err := w.page(ctx, child, below, visit); err != nil {
			return err
		}
	}
	return nil
}

func wrongBranch() error { return damaged("a branch does not have the first key below it") }

// branchElement is the first key below a page that a branch leads to, and the page.
func branchElement(p []byte, i uint64) (key []byte, child uint64, err error) {
	at := headerSize + i*elementSize
	if at+elementSize > uint64(len(p)) {
		return nil, 0, damaged("a branch is larger than its page")
	}
	key, err = cut(p, at+uint64(order.Uint32(p[at:])), uint64(order.Uint32(p[at+4:])))
	return key, order.Uint64(p[at+8:]), err
}

// leaf visits the keys of a leaf.
func (w *walk) leaf(p []byte, b bounds, visit func(element) error) error {
	n := count(p)
	if w.exact && b.from != nil {
		if first, err := leafElement(p, 0); err != nil || n == 0 || !bytes.Equal(first.key, b.from) {
			return wrongBranch()
		}
	}
	var last []byte
	for i := range n {
		if w.backwards {
			i = n - 1 - i
		}
		e, err := leafElement(p, i)
		if err != nil {
			return err
		}
		ordered := last == nil || (bytes.Compare(e.key, last) > 0) != w.backwards && !bytes.Equal(e.key, last)
		if !ordered || bytes.Compare(e.key, b.from) < 0 || b.to != nil && bytes.Compare(e.key, b.to) >= 0 {
			return damaged("keys are out of order")
		}
		last = e.key
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func leafElement(p []byte, i uint64) (e element, err error) {
	at := headerSize + i*elementSize
	if at+elementSize > uint64(len(p)) {
		return e, damaged("a leaf is larger than its page")
	}
	e.bucket = order.Uint32(p[at:])&flagBucket != 0
	start, keySize, valueSize := at+uint64(order.Uint32(p[at+4:])), uint64(order.Uint32(p[at+8:])), uint64(order.Uint32(p[at+12:]))
	if e.key, err = cut(p, start, keySize); err != nil {
		return e, err
	}
	e.value, err = cut(p, start+keySize, valueSize)
	return e, err
}

// cut is a part of a page.
func cut(p []byte, start, size uint64) ([]byte, error) {
	if start > uint64(len(p)) || size > uint64(len(p))-start {
		return nil, damaged("a key or a value is beyond its page")
	}
	return p[start:][:size:size], nil
}

// freePages checks that no page is both free and in use: bbolt would overwrite it.
func (w *walk) freePages() error {
	if w.freelist == noFreelist {
		return nil
	}
	p, err := w.take(w.freelist)
	if err != nil {
		return err
	}
	if flags(p) != flagFreelist {
		return damaged("page %d is no list of free pages", w.freelist)
	}
	n, ids := count(p), p[headerSize:]
	if n == 0xFFFF && len(ids) >= 8 { // too many for the header
		n, ids = order.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids))/8 {
		return damaged("the list of free pages is larger than its page")
	}
	for i := range n {
		id := order.Uint64(ids[i*8:])
		if id < firstPage || id >= w.pages || w.used[id/8]&(1<<(id%8)) != 0 {
			return damaged("page %d is free and in use", id)
		}
		w.used[id/8] |= 1 << (id % 8)
	}
	return nil
}
