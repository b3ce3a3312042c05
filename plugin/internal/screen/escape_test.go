package screen

import (
	"strings"
	"testing"
)

// TestEscaperOfPieces: a character that is split over several writes is joined again.
func TestEscaperOfPieces(t *testing.T) {
	const text = "ä\x1b[2J€\u009b𝄞\U000e0041\xf0\x9f end\n"
	const want = "ä\\u001b[2J€\\u009b𝄞\\udb40\\udc41\\xf0\\x9f end\n"
	for size := 1; size <= len(text); size++ {
		out := &strings.Builder{}
		e := NewEscaper(out)
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := e.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("Write returns %d, %v, want %d", got, err, n)
			}
			rest = rest[n:]
		}
		if got := out.String(); got != want {
			t.Errorf("in pieces of %d bytes: got %q, want %q", size, got, want)
		}
	}
}
