package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxText is the longest text that is taken over from elsewhere, in bytes: a few
// sentences.
const maxText = 1024

// reasons are what a condition's reason may be, by its schema.
var reasons = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// camelCase is a reason that may be written, or another in its place.
func camelCase(reason, other string) string {
	if len(reason) > 100 || strings.Contains(reason, ":") || !reasons.MatchString(reason) {
		return other
	}
	return reason
}

// clip bounds a text from elsewhere.
func clip(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len("…")], "") + "…"
}

// join is why something failed, in one text; split takes it apart again.
func join(reason, message string) string { return reason + ": " + message }

func split(text string) (reason, message string) {
	reason, message, ok := strings.Cut(text, ": ")
	if !ok || camelCase(reason, "") == "" || message == "" {
		return "RestoreFailed", clip(text) + " (no more is known)"
	}
	return reason, message
}

// maxNames is how many names a message lists.
const maxNames = 16

// list is some names in a sentence, in order.
func list(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) > maxNames {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	}
	return strings.Join(names, ", ")
}
