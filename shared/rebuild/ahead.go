package rebuild

import (
	"context"
	"errors"
	"io"
	"iter"
)

// aheadSize is how much is read at a time, in bytes of records and values.
const aheadSize = 256 << 10

// ahead reads changes while those before them are written. The elements last, and end where next
// returns io.EOF.
func ahead(ctx context.Context, next func() (record, value []byte, err error)) iter.Seq2[element, error] {
	return func(yield func(element, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		batches := make(chan batch)
		go func() {
			defer close(batches)
			for {
				b := readBatch(next)
				select {
				case batches <- b:
				case <-ctx.Done():
					return
				}
				if b.err != nil {
					return
				}
			}
		}()
		defer func() {
			cancel()
			for range batches { // until it has ended
			}
		}()
		for b := range batches {
			if ctx.Err() != nil {
				break
			}
			for _, e := range b.changes {
				if !yield(e, nil) {
					return
				}
			}
			switch {
			case errors.Is(b.err, io.EOF):
				return
			case b.err != nil:
				yield(element{}, b.err)
				return
			}
		}
		yield(element{}, context.Cause(ctx))
	}
}

// batch is some changes, and why there is none after them.
type batch struct {
	changes []element
	err     error
}

func readBatch(next func() (record, value []byte, err error)) (b batch) {
	data := make([]byte, 0, aheadSize)
	put := func(p []byte) []byte { // where there is no room for it, data goes on elsewhere
		begin := len(data)
		data = append(data, p...)
		return data[begin:len(data):len(data)]
	}
	for len(data) < aheadSize {
		record, value, err := next()
		if err != nil {
			b.err = err
			break
		}
		b.changes = append(b.changes, element{key: put(record), value: put(value)})
	}
	return b
}
