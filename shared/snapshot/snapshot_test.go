package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/iotest"
)

// whole is a stream as etcd sends it.
func whole(pages int) []byte {
	db := make([]byte, pages*page)
	rnd := rand.NewChaCha8([32]byte{7})
	for i := 0; i < len(db); i += 2 * page { // every other page compresses well
		_, _ = rnd.Read(db[i : i+page])
	}
	return hashed(db)
}

// hashed is data with its digest.
func hashed(data []byte) []byte {
	sum := sha256.Sum256(data)
	return slices.Concat(data, sum[:])
}

func changed(b []byte, at int) []byte {
	b = slices.Clone(b)
	b[at] ^= 1
	return b
}

// messages are those of a stream, of which each is read by itself, of these sizes and then
// the rest: etcd sends the digest as a message of its own.
func messages(b []byte, sizes ...int) io.Reader {
	var all []io.Reader
	for _, n := range sizes {
		all = append(all, bytes.NewReader(b[:n]))
		b = b[n:]
	}
	return io.MultiReader(append(all, bytes.NewReader(b))...)
}

var errSource = errors.New("the source broke")

func TestReader(t *testing.T) {
	good := whole(100)
	for name, c := range map[string]struct {
		src  io.Reader
		want error
	}{
		"good":                          {src: bytes.NewReader(good), want: nil},
		"byte by byte":                  {src: iotest.OneByteReader(bytes.NewReader(good)), want: nil},
		"in halves":                     {src: iotest.HalfReader(bytes.NewReader(good)), want: nil},
		"the end comes with the data":   {src: iotest.DataErrReader(bytes.NewReader(good)), want: nil},
		"smallest":                      {src: bytes.NewReader(whole(1)), want: nil},
		"nothing":                       {src: bytes.NewReader(nil), want: ErrCorrupt},
		"a digest of nothing":           {src: bytes.NewReader(whole(0)), want: ErrCorrupt},
		"a digest of part of a page":    {src: bytes.NewReader(hashed(good[:100])), want: ErrCorrupt},
		"without its digest":            {src: bytes.NewReader(good[:len(good)-sha256.Size]), want: ErrCorrupt},
		"short by a byte":               {src: bytes.NewReader(good[:len(good)-1]), want: ErrCorrupt},
		"short by a page":               {src: bytes.NewReader(good[:len(good)-page]), want: ErrCorrupt},
		"a byte too many":               {src: bytes.NewReader(append(slices.Clone(good), 0)), want: ErrCorrupt},
		"a page too many":               {src: bytes.NewReader(append(slices.Clone(good), make([]byte, page)...)), want: ErrCorrupt},
		"first byte changed":            {src: bytes.NewReader(changed(good, 0)), want: ErrCorrupt},
		"last byte of the data changed": {src: bytes.NewReader(changed(good, len(good)-sha256.Size-1)), want: ErrCorrupt},
		"digest changed":                {src: bytes.NewReader(changed(good, len(good)-1)), want: ErrCorrupt},
		"the digest by itself":          {src: messages(good, len(good)-sha256.Size), want: nil},
		"a wrong digest by itself":      {src: messages(changed(good, len(good)-1), len(good)-sha256.Size), want: ErrCorrupt},
		"changed, the digest by itself": {src: messages(changed(good, 7), len(good)-sha256.Size), want: ErrCorrupt},
		"no digest where it would come": {src: messages(good[:len(good)-sha256.Size], len(good)-sha256.Size), want: ErrCorrupt},
		"the digest in two messages":    {src: messages(good, len(good)-sha256.Size, 10), want: nil},
		"wrong, in two messages":        {src: messages(changed(good, len(good)-20), len(good)-sha256.Size, 10), want: ErrCorrupt},
		"the source breaks":             {src: io.MultiReader(bytes.NewReader(good[:2000]), iotest.ErrReader(errSource)), want: errSource},
		"the source breaks at the end":  {src: io.MultiReader(bytes.NewReader(good), iotest.ErrReader(errSource)), want: errSource},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(c.src)
			got, err := io.ReadAll(r)
			if !errors.Is(err, c.want) {
				t.Fatalf("reading ends with %v, want %v", err, c.want)
			}
			if _, again := r.Read(make([]byte, 1)); c.want != nil && !errors.Is(again, c.want) {
				t.Errorf("reading once more ends with %v, want %v", again, c.want)
			}
			if r.Size() != int64(len(got)) {
				t.Errorf("size %d, want %d", r.Size(), len(got))
			}
			if sum := sha256.Sum256(got); err == nil && r.SHA256() != hex.EncodeToString(sum[:]) {
				t.Errorf("digest %s, want %x", r.SHA256(), sum)
			}
		})
	}
}

func TestBareReader(t *testing.T) {
	snapshot := whole(3)
	database := snapshot[:len(snapshot)-32]
	for name, c := range map[string]struct {
		content       []byte
		taken, hashed bool
	}{
		"with a digest":          {snapshot, true, true},
		"without":                {database, true, false},
		"with a wrong digest":    {changed(snapshot, len(snapshot)-1), false, false},
		"changed, with a digest": {changed(snapshot, 5), false, false},
		"cut short":              {snapshot[:len(snapshot)-1], false, false},
		"cut short, without":     {database[:len(database)-1], false, false},
		"nothing":                {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewBareReader(bytes.NewReader(c.content))
			got, err := io.ReadAll(r)
			if (err == nil) != c.taken || err != nil && !errors.Is(err, ErrCorrupt) || r.Hashed() != c.hashed {
				t.Errorf("taken: %v, with a digest: %t", err, r.Hashed())
			}
			if sum := fmt.Sprintf("%x", sha256.Sum256(c.content)); c.taken && (!bytes.Equal(got, c.content) || r.SHA256() != sum) {
				t.Errorf("%d bytes with sha256 %s came out of %d with %s", len(got), r.SHA256(), len(c.content), sum)
			}
		})
	}
}

func FuzzReader(f *testing.F) {
	f.Add(1, 0, uint8(1))
	f.Add(3, 600, uint8(0))
	f.Fuzz(func(t *testing.T, pages, at int, flip uint8) {
		b := whole(1 + abs(pages)%5)
		b[abs(at)%len(b)] ^= flip
		_, err := io.ReadAll(iotest.OneByteReader(NewReader(iotest.HalfReader(bytes.NewReader(b)))))
		if (err == nil) != (flip == 0) {
			t.Errorf("changed by %#x: %v", flip, err)
		}
	})
}

func abs(i int) int { return max(i, -(i + 1)) }

func TestCompressAndOpen(t *testing.T) {
	for name, plain := range map[string][]byte{
		"nothing": {}, "a little": []byte("abc"), "a snapshot": whole(5000), "as long as the magic": {1, 2, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			packed, err := Compress(bytes.NewReader(plain))
			if err != nil {
				t.Fatal(err)
			}
			digest := NewDigest(packed)
			stored, err := io.ReadAll(iotest.HalfReader(digest))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(stored); digest.SHA256() != hex.EncodeToString(sum[:]) || digest.Size() != int64(len(stored)) {
				t.Errorf("digest %s of %d bytes, want %x of %d", digest.SHA256(), digest.Size(), sum, len(stored))
			}
			if len(plain) > 10*page && len(stored) > len(plain)*6/10 {
				t.Errorf("%d bytes became %d", len(plain), len(stored))
			}
			for in, compressed := range map[*[]byte]bool{&stored: true, &plain: false} {
				r, sum, err := Open(iotest.OneByteReader(bytes.NewReader(*in)))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(r)
				if err != nil || !bytes.Equal(got, plain) || (sum != nil) != compressed {
					t.Errorf("got %d bytes, compressed %t, %v; want %d, %t", len(got), sum != nil, err, len(plain), compressed)
				}
				if sum != nil && (sum.SHA256() != digest.SHA256() || sum.Size() != digest.Size()) {
					t.Errorf("read were %d bytes, %s; stored are %d, %s", sum.Size(), sum.SHA256(), digest.Size(), digest.SHA256())
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestCompressNeverEndsWhatItsSourceDidNot(t *testing.T) {
	b := whole(3000)
	packed, err := Compress(NewReader(bytes.NewReader(b[:len(b)-page])))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := io.ReadAll(packed)
	if !errors.Is(err, ErrCorrupt) {
		t.Fatalf("compressing ends with %v, want %v", err, ErrCorrupt)
	}
	r, err := Decompress(bytes.NewReader(stored))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("what was compressed until then passes for a whole frame")
	}
}

func TestDecompressRefusesAWindowThatItsMemoryIsNotMadeFor(t *testing.T) {
	// A frame with a window of 128 MiB: magic, descriptor without flags, window 2^(10+17).
	r, packed, err := Open(bytes.NewReader(append(slices.Clone(magic), 0x00, 17<<3, 0x01, 0x00, 0x00)))
	if err != nil || packed == nil {
		t.Fatal(packed, err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("it was taken")
	}
}

func TestOpenSaysWhatItsSourceSays(t *testing.T) {
	if _, _, err := Open(iotest.ErrReader(errSource)); !errors.Is(err, errSource) {
		t.Errorf("got %v, want %v", err, errSource)
	}
}
