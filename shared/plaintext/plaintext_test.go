package plaintext

import "testing"

func TestEscape(t *testing.T) {
	for name, row := range map[string]struct{ text, want, line, reason string }{
		"plain":         {"a sentence: ä, 日本, …\n\tend", "a sentence: ä, 日本, …\n\tend", "a sentence: ä, 日本, …  end", "text of any language is shown"},
		"ESC":           {"a\x1b[2Jb", `a\u001b[2Jb`, `a\u001b[2Jb`, "terminals interpret what follows as a command"},
		"return":        {"good\r\nbad\rc", "good\\u000d\nbad\\u000dc", "good bad c", "it overwrites what the line says"},
		"C1":            {"a\u009bb\u0085", `a\u009bb\u0085`, `a\u009bb\u0085`, "U+009B is the same as ESC ["},
		"a C1 byte":     {"a\x9bb", `a\x9bb`, `a\x9bb`, "terminals that do not use UTF-8 interpret it as ESC ["},
		"bidi override": {"a\u202eb\u2066c\u200fd", `a\u202eb\u2066c\u200fd`, `a\u202eb\u2066c\u200fd`, "text would be shown in another order"},
		"tag":           {"a\U000e0041b", `a\udb40\udc41b`, `a\udb40\udc41b`, "it is invisible, and JSON has no longer escape"},
		"separator":     {"a\u2028b", `a\u2028b`, `a\u2028b`, "some terminals start a new line"},
	} {
		if got := Escape(row.text); got != row.want {
			t.Errorf("%s: Escape got %q, want %q: %s", name, got, row.want, row.reason)
		}
		if got := Line(row.text); got != row.line {
			t.Errorf("%s: Line got %q, want %q: %s", name, got, row.line, row.reason)
		}
		if got := Escape(Escape(row.text)); got != row.want {
			t.Errorf("%s: escaped twice got %q, want %q: a status is compared with the escaped one", name, got, row.want)
		}
	}
}
