// Package plaintext makes text from elsewhere safe to show: errors of a store, names of unmanaged members, log
// lines. A terminal interprets control characters instead of showing them, and some other characters reorder
// the text.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Escape escapes everything that Unicode does not classify as graphic, except newlines and tabs. Control
// characters (C0 and C1) and bidirectional controls are not graphic. The escapes are JSON's, for example
// \u001b, so a line of JSON keeps its meaning. Escape writes a byte that is not UTF-8 as \x9b.
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

// breaks replaces characters that separate lines and columns.
var breaks = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ")

// Line returns the text on a single line. Newlines and tabs become spaces, and the rest is escaped as in
// [Escape].
func Line(text string) string { return Escape(breaks.Replace(text)) }
