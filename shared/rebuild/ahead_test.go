package rebuild

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Changes come in order, whatever their size, up to an error, and nothing is read once nobody
// asks for more.
func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	sizes := []int{0, 1, aheadSize - 1, aheadSize, 3 * aheadSize, 7, aheadSize / 2, aheadSize / 2, aheadSize / 2}
	for name, c := range map[string]struct {
		end   error
		takes int
		want  error
	}{
		"to the end":      {io.EOF, len(sizes), nil},
		"until it breaks": {broken, len(sizes), broken},
		"not to the end":  {io.EOF, 4, nil},
		"nothing":         {io.EOF, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
				read := 0
				next := func() (record, value []byte, err error) {
					if read == len(sizes) {
						return nil, nil, c.end
					}
					read++
					return []byte{byte(read)}, []byte(strings.Repeat(string(rune('a'+read)), sizes[read-1])), nil
				}
				var got []element
				var failed error
				for e, err := range ahead(t.Context(), next) {
					if len(got) == c.takes && err == nil {
						break
					}
					if failed = err; err == nil {
						got = append(got, e)
					}
				}
				before := read
				synctest.Wait()
				if read != before {
					t.Error("it reads on")
				}
				if len(got) != c.takes || !errors.Is(failed, c.want) {
					t.Fatalf("%d changes and %v, want %d and %v", len(got), failed, c.takes, c.want)
				}
				for i, e := range got {
					if !slices.Equal(e.key, []byte{byte(i + 1)}) || string(e.value) != strings.Repeat(string(rune('a'+i+1)), sizes[i]) {
						t.Errorf("change %d is another one", i)
					}
				}
			})
		})
	}
}

func TestAheadEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		over := errors.New("over")
		next := func() (record, value []byte, err error) { return []byte{1}, make([]byte, aheadSize), nil }
		n := 0
		for _, err := range ahead(ctx, next) {
			if n++; n == 3 {
				cancel(over)
			}
			if err != nil {
				if !errors.Is(err, over) {
					t.Error(err)
				}
				return
			}
		}
		t.Error("it ends without an error")
	})
}
