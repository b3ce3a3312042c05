package archive

import (
	"errors"
	"fmt"
	"io"
)

// Changes are those of a chain of segments, one after the other.
type Changes struct {
	chain    []Segment
	from, to int64
	// snapshot is the lineage of a recording that begins after the snapshot, and own the
	// changes of its revision that were archived, until they are compared.
	snapshot Lineage
	own      lineage
	compared bool
	last     Segment
	open     func(Segment) (io.ReadCloser, error)
	file     io.ReadCloser
	reader   *Reader
	at       int64
	hash     *Hash
}

// NewChanges reads the changes after a revision, up to another, of the segments that [Chain]
// has picked for them. snapshot is what a [Begin] tells of the snapshot's newest revision: one of
// another history is refused. The caller closes it.
func NewChanges(chain []Segment, from, to int64, snapshot Lineage, open func(Segment) (io.ReadCloser, error)) *Changes {
	return &Changes{chain: chain, from: from, to: to, snapshot: snapshot, open: open, at: from}
}

// Next is the next change: the record of etcd's history and its value, which are valid until
// the next call. It ends in io.EOF, which says that all segments were whole, and nothing is
// missing.
func (c *Changes) Next() (record, value []byte, err error) {
	for {
		if c.reader == nil {
			if err := c.openNext(); err != nil {
				return nil, nil, err
			}
		}
		record, value, err = c.reader.Next()
		if errors.Is(err, io.EOF) {
			c.note(c.reader.Hashes())
			if err := c.Close(); err != nil {
				return nil, nil, err
			}
			c.last, c.chain = c.chain[0], c.chain[1:]
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("segment %s: %w", c.chain[0].Name(), err)
		}
		main, _, _ := parseRevision(record) // the Reader has read it
		if main == c.from {
			c.own.add(record, value)
		}
		// What lies before is in the snapshot, and what lies behind is not asked for: the
		// rest is still read, since only its end tells that it is whole.
		if main <= c.from || main > c.to {
			continue
		}
		if !c.compared {
			if err := c.compare(c.own.after(0)); err != nil {
				return nil, nil, err
			}
		}
		c.at = main
		return record, value, nil
	}
}

func (c *Changes) openNext() (err error) {
	if len(c.chain) == 0 {
		if c.at < c.to {
			return &GapError{From: c.at + 1}
		}
		return io.EOF
	}
	s := c.chain[0]
	switch {
	case s.First > c.at+1:
		return &GapError{From: c.at + 1, To: s.First - 1}
	case c.last != (Segment{}) && s.begin() != c.last.end():
		return &ForkError{One: c.last, Other: s}
	case c.last == (Segment{}) && s.First == c.from+1:
		if err := c.compare(s.Follows); err != nil {
			return err
		}
	}
	if c.file, err = c.open(s); err != nil {
		return err
	}
	if c.reader, err = NewReader(c.file, s); err != nil {
		return errors.Join(fmt.Errorf("segment %s: %w", s.Name(), err), c.file.Close())
	}
	return nil
}

// Hash is the newest hash that the segments have of a revision behind the snapshot's and not
// beyond the last that is asked for; nil if there is none. It is known at the end.
func (c *Changes) Hash() *Hash { return c.hash }

func (c *Changes) note(hashes []Hash) {
	for _, h := range hashes {
		if h.Revision > c.from && h.Revision <= c.to && (c.hash == nil || h.Revision >= c.hash.Revision) {
			c.hash = &h
		}
	}
}

// compare refuses a snapshot of another history, before a change is returned.
func (c *Changes) compare(archived Lineage) error {
	if !c.compared && archived != c.snapshot {
		return &DivergedError{Revision: c.from}
	}
	c.compared = true
	return nil
}

// Close closes what is open.
func (c *Changes) Close() error {
	if c.reader == nil {
		return nil
	}
	c.reader.Close()
	c.reader = nil
	return c.file.Close()
}
