package rebuild

import (
	"hash/fnv"
	"math"
	"os"
	"slices"
	"sort"
)

// edge is what is to be written so that the bucket of keys ends early.
type edge struct {
	patches []patch
}

// patch is a part of a file, with its new content.
type patch struct {
	at      uint64
	content []byte
}

// write applies the patches, in their order.
func (e *edge) write(f *os.File) error {
	for _, p := range e.patches {
		if _, err := f.WriteAt(p.content, int64(p.at)); err != nil {
			return err
		}
	}
	return nil
}

// node is what is kept of a page.
type node struct {
	id       uint64
	leaf     bool
	elements []nodeElement
}

// nodeElement is a key with its value, or with the page that it leads to.
type nodeElement struct {
	element
	child uint64
}

// edgeBefore plans a bucket of keys without those from limit on. etcd's bbolt expects what
// it makes itself: leaves that are all at the same depth, and no branch with a single
// child, at which it would panic as soon as a key of that child is deleted.
func (d *database) edgeBefore(limit []byte) (*edge, error) {
	w := d.newWalk()
	path, err := w.pathBefore(d.root, []byte(bucketKey+"\x00"))
	if err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return nil, damaged("it has no bucket %q, so that it is not etcd's", bucketKey)
	}
	last := path[len(path)-1]
	i := len(last.elements) - 1
	bucket := last.elements[i].value
	if string(last.elements[i].key) != bucketKey || len(bucket) < bucketSize {
		return nil, damaged("it has no bucket %q, so that it is not etcd's", bucketKey)
	}
	at := last.valueAt(d, i)
	root := order.Uint64(bucket)
	if root == 0 {
		return inlineEdge(bucket[bucketSize:], at+bucketSize, limit)
	}
	nodes, err := w.pathBefore(root, limit)
	if err != nil {
		return nil, err
	}
	if nodes, err = w.repair(nodes); err != nil {
		return nil, err
	}
	return d.layOut(nodes, at), nil
}

// inlineEdge is the edge of a bucket whose only page is part of its value, at an offset.
func inlineEdge(page []byte, at uint64, limit []byte) (*edge, error) {
	n, err := nodeOf(page, limit)
	if err != nil {
		return nil, err
	}
	return &edge{patches: []patch{{at + countAt, order.AppendUint16(nil, uint16(len(n.elements)))}}}, nil
}

// nodeOf reads the elements of a page whose keys are before limit; nil: all.
func nodeOf(p, limit []byte) (node, error) {
	if len(p) < headerSize {
		return node{}, damaged("a bucket has no page")
	}
	n := node{id: order.Uint64(p), leaf: flags(p) == flagLeaf}
	if !n.leaf && flags(p) != flagBranch {
		return n, damaged("page %d is neither a branch nor a leaf", n.id)
	}
	for i := range count(p) {
		e, err := readElement(p, n.leaf, i)
		if err != nil {
			return n, err
		}
		n.elements = append(n.elements, e)
	}
	if limit != nil {
		n.elements = n.elements[:sort.Search(len(n.elements), func(i int) bool { return string(n.elements[i].key) >= string(limit) })]
	}
	return n, nil
}

func readElement(p []byte, leaf bool, i uint64) (e nodeElement, err error) {
	if leaf {
		e.element, err = leafElement(p, i)
		return e, err
	}
	e.key, e.child, err = branchElement(p, i)
	return e, err
}

// valueAt is the offset of a value in the file.
func (n node) valueAt(d *database, i int) uint64 {
	p := d.data[n.id*d.pageSize:]
	at := headerSize + uint64(i)*elementSize
	return n.id*d.pageSize + at + uint64(order.Uint32(p[at+4:])) + uint64(len(n.elements[i].key))
}

// pathBefore is the way from a page down to the last key before limit, with what is before
// limit of each page; empty if there is no such key.
func (w *walk) pathBefore(id uint64, limit []byte) (path []node, err error) {
	for {
		p, err := w.take(id)
		if err != nil {
			return nil, err
		}
		n, err := nodeOf(p, limit)
		switch {
		case err != nil:
			return nil, err
		case len(n.elements) == 0 && len(path) == 0:
			return nil, nil
		case len(n.elements) == 0:
			return nil, wrongBranch()
		}
		if path = append(path, n); n.leaf {
			return path, nil
		}
		id = n.elements[len(n.elements)-1].child
	}
}

// repair takes care that no branch of a path has a single child: such a root gives way to
// its child, and another branch is joined with the one to its left.
func (w *walk) repair(path []node) ([]node, error) {
	for {
		i := slices.IndexFunc(path, func(n node) bool { return !n.leaf && len(n.elements) == 1 })
		switch i {
		case -1:
			return path, nil
		case 0:
			path = path[1:]
			continue
		}
		parent := &path[i-1]
		parent.elements = parent.elements[:len(parent.elements)-1]
		p, err := w.take(parent.elements[len(parent.elements)-1].child)
		if err != nil {
			return nil, err
		}
		left, err := nodeOf(p, nil)
		if err != nil {
			return nil, err
		}
		if left.leaf || len(left.elements) == math.MaxUint16 {
			return nil, damaged("page %d is a leaf among branches, or too large", left.id)
		}
		path[i].elements = append(left.elements, path[i].elements...)
	}
}

// layOut plans the pages of a path behind the last page, then a meta page that knows of
// them, and last the root of the bucket, whose value is at an offset: before that is written,
// all is as before.
func (d *database) layOut(path []node, bucketAt uint64) *edge {
	if len(path) == 0 {
		path = []node{{leaf: true}}
	}
	e, next := &edge{}, d.pages
	for i := len(path) - 1; i >= 0; i-- {
		content := path[i].page(next, d.pageSize)
		if i > 0 {
			up := path[i-1].elements
			up[len(up)-1].child = next
		}
		e.patches = append(e.patches, patch{next * d.pageSize, content})
		path[i].id, next = next, next+uint64(len(content))/d.pageSize
	}
	e.patches = append(e.patches, d.metaWith(next), patch{bucketAt, order.AppendUint64(nil, path[0].id)})
	return e
}

// page is the content of a node as a page of that id, with those that it flows over into.
func (n node) page(id, pageSize uint64) []byte {
	p := make([]byte, headerSize+len(n.elements)*elementSize)
	flag := uint16(flagBranch)
	if n.leaf {
		flag = flagLeaf
	}
	for i, e := range n.elements {
		at := headerSize + i*elementSize
		offset := uint32(len(p) - at)
		if n.leaf {
			order.PutUint32(p[at+4:], offset)
			order.PutUint32(p[at+8:], uint32(len(e.key)))
			order.PutUint32(p[at+12:], uint32(len(e.value)))
		} else {
			order.PutUint32(p[at:], offset)
			order.PutUint32(p[at+4:], uint32(len(e.key)))
			order.PutUint64(p[at+8:], e.child)
		}
		p = append(append(p, e.key...), e.value...)
	}
	pages := (uint64(len(p)) + pageSize - 1) / pageSize
	p = append(p, make([]byte, pages*pageSize-uint64(len(p)))...)
	order.PutUint64(p, id)
	order.PutUint16(p[8:], flag)
	order.PutUint16(p[countAt:], uint16(len(n.elements)))
	order.PutUint32(p[12:], uint32(pages-1))
	return p
}

// metaWith is the next meta page of a database of so many pages. It has no list of free
// pages: who opens it next makes one, of all pages that nothing leads to.
func (d *database) metaWith(pages uint64) patch {
	id := (d.txid + 1) % 2
	m := slices.Clone(d.data[d.metaAt+headerSize:][:metaSize])
	order.PutUint64(m[32:], noFreelist)
	order.PutUint64(m[40:], pages)
	order.PutUint64(m[48:], d.txid+1)
	sum := fnv.New64a()
	sum.Write(m[:metaSummed])
	order.PutUint64(m[metaSummed:], sum.Sum64())
	return patch{id*d.pageSize + headerSize, m}
}
