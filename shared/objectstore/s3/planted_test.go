package s3

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// TestAShortReadIsNoEnd: readers may return fewer bytes than they are asked for at any
// time, and only io.EOF is the end. An object made of what was read until then would be
// cut short and look whole.
func TestAShortReadIsNoEnd(t *testing.T) {
	server, _, store := setup(t)
	want := content(2*smallPart + 17)
	for name, source := range map[string]io.Reader{
		"half of what is asked for": iotest.HalfReader(bytes.NewReader(want)),
		"the end with the last":     iotest.DataErrReader(bytes.NewReader(want)),
		"nothing now and then":      &hesitant{r: bytes.NewReader(want)},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := store.Put(t.Context(), "key", source, objectstore.PutOptions{})
			if err != nil || n != int64(len(want)) {
				t.Fatalf("stored %d bytes: %v; want %d", n, err, len(want))
			}
			check(t, server, "key", want)
		})
	}
}

// hesitant returns nothing at every other call, as io.Reader allows.
type hesitant struct {
	r    io.Reader
	rest bool
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.rest = !h.rest; h.rest {
		return 0, nil
	}
	return h.r.Read(p[:min(len(p), 1<<20)])
}

// TestNothingIsCompletedAfterAShortRead: a source that ends early in a part, by
// io.ErrUnexpectedEOF or by any other error, must not become an object. The first request
// that completes an upload would be the mistake.
func TestNothingIsCompletedAfterAShortRead(t *testing.T) {
	for name, end := range map[string]error{"unexpected EOF": io.ErrUnexpectedEOF, "closed": io.ErrClosedPipe, "no progress": io.ErrNoProgress} {
		t.Run(name, func(t *testing.T) {
			server, proxy, store := setup(t)
			completed := proxy.Inject(s3test.Fault{When: s3test.IsComplete, Do: s3test.During(func() {})})
			for _, size := range []int{100, smallPart + 100, 3*smallPart + 100} {
				source := io.MultiReader(plain(content(size)), iotest.ErrReader(end))
				if _, err := store.Put(t.Context(), "key", source, objectstore.PutOptions{}); !errors.Is(err, end) {
					t.Errorf("%d bytes: got %v, want %v", size, err, end)
				}
			}
			if n := proxy.Hits(completed); n > 0 {
				t.Errorf("%d uploads were completed", n)
			}
			checkNothing(t, server)
		})
	}
}

// TestAResumedReadIsOfOneObject: one of the same size that takes the place of another in
// the middle of a read would be read as the first half of one and the second of the other.
func TestAResumedReadIsOfOneObject(t *testing.T) {
	_, proxy, store := setup(t)
	first := content(1 << 20)
	second := bytes.Clone(first)
	for i := range second {
		second[i] ^= 0xff
	}
	if _, err := store.Put(t.Context(), "key", plain(first), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	proxy.Inject(s3test.Fault{When: s3test.IsGet, Times: 1, Do: s3test.CutDownload(100_000)})
	r, err := store.Get(t.Context(), "key", "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := store.Put(t.Context(), "key", plain(second), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if !errors.Is(err, objectstore.Changed) {
		t.Errorf("got %d bytes and %v, want %v", len(got), err, objectstore.Changed)
	}
	if !bytes.HasPrefix(first, got) {
		t.Error("what was read is of two objects")
	}
}
