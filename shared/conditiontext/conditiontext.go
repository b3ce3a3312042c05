// Package conditiontext bounds the text and reasons that statuses, conditions and events
// take over from elsewhere: the API server rejects an object for a single malformed reason
// or overlong text. It also fixes how messages write a time.
package conditiontext

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/plaintext"
)

const (
	// MaxText is the longest text that is taken over, in bytes: a few sentences, and a
	// history of them stays small.
	MaxText = 1024
	// MaxMessage is the longest message of a condition, in bytes: what several members
	// say, and what to do about it. The schema of conditions takes 32,768 characters; a
	// dozen conditions have to fit into one object.
	MaxMessage = 8192
	// maxReason is short enough for every place that a reason is written to.
	maxReason = 100

	ellipsis = "…"
)

// reasons are what a condition's reason may be, by its schema.
var reasons = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// IsReason tells whether a condition may have that reason.
func IsReason(reason string) bool { return len(reason) <= maxReason && reasons.MatchString(reason) }

// Reason is a reason that a condition may have, or another in its place.
func Reason(reason, other string) string {
	if IsReason(reason) {
		return reason
	}
	return other
}

// Clip returns a text that is printable, on one line, without surrounding white space, and at most MaxText
// bytes long.
func Clip(text string) string { return ClipTo(text, MaxText) }

// Quote returns the text of Clip in quotation marks. fmt's %q would escape it again.
func Quote(text string) string { return `"` + Clip(text) + `"` }

// Message is the same for a whole message of a condition: at most MaxMessage bytes.
func Message(text string) string { return ClipTo(text, MaxMessage) }

// ClipTo is the same for a limit of one's own, of more bytes than an ellipsis has.
func ClipTo(text string, limit int) string {
	text = plaintext.Line(strings.ToValidUTF8(strings.TrimSpace(text), "?"))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}

// InDoubt describes an object that has a name which its owner gave it, and that no controller owns. The text contains the
// kubectl command that makes the owner its controller, whichever owner references the object has.
func InDoubt(namespace, kind, name, ownerKind, owner, uid string) string {
	object := strings.ToLower(kind) + " " + name
	reference := fmt.Sprintf(`{"apiVersion":"%s","kind":"%s","name":"%s","uid":"%s","controller":true}`,
		v1beta2.GroupVersion, ownerKind, owner, uid)
	command := fmt.Sprintf(`kubectl -n %s patch %s --type=merge -p '{"metadata":{"ownerReferences":[%s]}}'`, namespace, object, reference)
	return fmt.Sprintf("%s %s might belong to this %s, but its owner references do not show its owner: "+
		"if it belongs to this %s, run %s; delete it only if it does not", kind, name, ownerKind, ownerKind, command)
}

// Time is a moment as people read it: in UTC, to the second.
func Time(t time.Time) string { return t.UTC().Format(time.RFC3339) }
