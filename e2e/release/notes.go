package release

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// link is where a link in Markdown leads to.
var link = regexp.MustCompile(`\]\([^)\s]+\)`)

// releaseNotes are what the changelog tells of the version, with links that lead into the
// repository from elsewhere, and below it the images and how to verify what was downloaded.
func (b *build) releaseNotes() string {
	var text strings.Builder
	text.WriteString(link.ReplaceAllStringFunc(b.changes, func(to string) string {
		return "](" + b.absolute(strings.TrimPrefix(to, "]("))
	}))
	fmt.Fprintf(&text, "\n## Images\n\nFor %s.\n\n| image | digest |\n| --- | --- |\n", strings.Join(Architectures, " and "))
	for _, name := range slices.Sorted(maps.Keys(b.digests)) {
		fmt.Fprintf(&text, "| `%s/%s:%s` | `%s` |\n", registry, name, b.tag, b.digests[name])
	}
	fmt.Fprintf(&text, "\n## Verify\n\n[Verify a release](%s/blob/%s/docs/tasks/install.md#verify-a-release) has the commands.\n", repository, b.tag)
	return text.String()
}

// absolute makes a link of the changelog, which is in the repository's root, one that leads there
// from elsewhere.
func (b *build) absolute(url string) string {
	if strings.Contains(url, "://") || strings.HasPrefix(url, "#") {
		return url
	}
	return repository + "/blob/" + b.tag + "/" + url
}
