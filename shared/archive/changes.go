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
	open     func(Segment) (io.ReadCloser, error)
	file     io.ReadCloser
	reader   *Reader
	at       int64
}

// NewChanges reads the changes after a revision, up to another, of the segments that [Chain]
// has picked for them. The caller closes it.
func NewChanges(chain []Segment, from, to int64, open func(Segment) (io.ReadCloser, error)) *Changes {
	return &Changes{chain: chain, from: from, to: to, open: open, at: from}
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
			if err := c.Close(); err != nil {
				return nil, nil, err
			}
			c.chain = c.chain[1:]
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("segment %s: %w", c.chain[0].Name(), err)
		}
		main, _, _ := parseRevision(record) // the Reader has read it
		// What lies before was in another segment, and what lies behind is not asked for: the
		// rest is still read, since only its end tells that it is whole.
		if main <= c.from || main > c.to {
			continue
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
	if s := c.chain[0]; s.First > c.at+1 {
		return &GapError{From: c.at + 1, To: s.First - 1}
	}
	c.from = c.at
	if c.file, err = c.open(c.chain[0]); err != nil {
		return err
	}
	if c.reader, err = NewReader(c.file, c.chain[0]); err != nil {
		return errors.Join(fmt.Errorf("segment %s: %w", c.chain[0].Name(), err), c.file.Close())
	}
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
