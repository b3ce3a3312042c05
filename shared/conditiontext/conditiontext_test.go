package conditiontext

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestReason(t *testing.T) {
	for reason, want := range map[string]string{
		"TimedOut": "TimedOut", "a": "a", "E2BIG": "E2BIG", "Of:Two": "Of:Two",
		"": "Other", "two words": "Other", "1st": "Other", "ends:": "Other", strings.Repeat("x", 101): "Other",
	} {
		if got := Reason(reason, "Other"); got != want {
			t.Errorf("of %q: got %q, want %q", reason, got, want)
		}
	}
}

func TestClip(t *testing.T) {
	for name, row := range map[string]struct{ text, want string }{
		"short":             {" a sentence\n", "a sentence"},
		"broken":            {"a\xffb", "a?b"},
		"a terminal's":      {"a\x1b[2Jb\nc", `a\u001b[2Jb c`},
		"as long as it may": {strings.Repeat("x", MaxText), strings.Repeat("x", MaxText)},
		"too long":          {strings.Repeat("x", MaxText+1), strings.Repeat("x", MaxText-len(ellipsis)) + ellipsis},
	} {
		if got := Clip(row.text); got != row.want {
			t.Errorf("%s: got %q, want %q", name, got, row.want)
		}
	}
	if got, want := Quote("a\x1bb"), `"a\u001bb"`; got != want {
		t.Errorf("Quote got %s, want %s: it is escaped once", got, want)
	}
	if got := Message(strings.Repeat("x", MaxMessage+1)); len(got) != MaxMessage || !strings.HasSuffix(got, ellipsis) {
		t.Errorf("a message is cut to %d bytes, want %d", len(got), MaxMessage)
	}
	// Cut in the middle of a letter.
	if got := Clip("x" + strings.Repeat("ä", MaxText)); !utf8.ValidString(got) || len(got) > MaxText {
		t.Errorf("got %d bytes, valid %t", len(got), utf8.ValidString(got))
	}
}

func TestTime(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 5e8, time.FixedZone("CET", 3600))
	if got, want := Time(at), "2026-03-01T12:00:00Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
