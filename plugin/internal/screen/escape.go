package screen

import (
	"io"
	"sync"
	"unicode/utf8"

	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

// Escaper is a writer that escapes text for a terminal as [plaintext.Escape] does. Several goroutines can use
// it.
type Escaper struct {
	to io.Writer

	mu sync.Mutex
	// begun holds the first bytes of a character whose other bytes were not written yet.
	begun []byte
}

// NewEscaper returns a writer that writes escaped text to another writer.
func NewEscaper(to io.Writer) *Escaper { return &Escaper{to: to} }

// Write writes the escaped text. It keeps an incomplete character at the end for the next Write.
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
