package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/wording"
)

// join is why something failed, in one text; split takes it apart again.
func join(reason, message string) string { return reason + ": " + message }

func split(text string) (reason, message string) {
	reason, message, ok := strings.Cut(text, ": ")
	if !ok || wording.Reason(reason, "") == "" || message == "" {
		return v1beta2.RestoreReasonRestoreFailed, wording.Clip(text) + " (no more is known)"
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
