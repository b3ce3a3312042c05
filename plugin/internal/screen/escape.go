package screen

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// Escaper is a writer for a terminal that escapes what [plaintext.Escape] does. It can be used by several
// goroutines.
type Escaper struct {
	to io.Writer

	mu sync.Mutex
	// begun is the beginning of a character whose other bytes were not written yet.
	begun []byte
}

// NewEscaper returns a writer that escapes on the way to another one.
func NewEscaper(to io.Writer) *Escaper { return &Escaper{to: to} }

// Write writes the text escaped. A character that is incomplete at its end waits for the next Write.
func (e *Escaper) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := append(e.begun, p...)
	complete := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if start := len(text) - i; utf8.RuneStart(text[start]) {
			if !utf8.FullRune(text[start:]) {
				complete = start
			}
			break
		}
	}
	e.begun = append([]byte(nil), text[complete:]...)
	if _, err := io.WriteString(e.to, plaintext.Escape(string(text[:complete]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
