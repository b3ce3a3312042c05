// Package plaintext makes text from elsewhere safe to show: error texts of a store, names of members
// that we do not manage, log lines. A terminal carries out control characters instead of showing them,
// and displays text in another order because of some others.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape returns the text with everything escaped that Unicode does not count as graphic, except newlines
// and tabs. Control characters (C0 and C1) and bidirectional controls are not graphic. The escapes are
// those of JSON, such as \u001b, so that a line of JSON keeps its meaning. A byte that is not UTF-8 is
// written as \x9b.
func Escape(text string) string {
	if strings.IndexFunc(text, isEscaped) < 0 && utf8.ValidString(text) {
		return text
	}
	out := &strings.Builder{}
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(out, `\x%02x`, text[0])
		case isEscaped(r):
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(out, `\u%04x`, unit)
			}
		default:
			out.WriteString(text[:size])
		}
		text = text[size:]
	}
	return out.String()
}

func isEscaped(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }

// breaks separate lines and columns.
var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// Line returns the text as a single line: newlines and tabs become blanks, and the rest is escaped as
// [Escape] does.
func Line(text string) string { return Escape(breaks.Replace(text)) }
