package plan

import (
	"fmt"
	"slices"
	"strings"
)

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
