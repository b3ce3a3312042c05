package release

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/charts"
)

// change is an entry of the changelog, as Artifact Hub shows it beside a chart:
// https://artifacthub.io/docs/topics/annotations/helm.
type change struct {
	// Kind is one of kinds.
	Kind string `json:"kind"`
	// Description is the entry's text, without Markdown.
	Description string `json:"description"`
	// Links are those in the text.
	Links []changeLink `json:"links,omitempty"`

	// part is what it concerns, as its heading has it; empty: everything.
	part string
}

type changeLink struct {
	Name string `json:"name"`
	// URL may be relative to the repository's root, until [build.chartChanges].
	URL string `json:"url"`
}

// kinds are those of Keep a Changelog and of Artifact Hub.
var kinds = []string{"added", "changed", "deprecated", "removed", "fixed", "security"}

// plugin is the part of the changelog that is in no chart.
const plugin = "kubectl etcd"

// parseChanges reads the entries of a version's section: they are items of lists, below the
// heading of a kind, and of a part if they do not concern everything.
func parseChanges(section string) ([]change, error) {
	var all []change
	var kind, part string
	for line := range strings.Lines(section) {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#### "):
			part = strings.TrimSpace(text[len("####"):])
		case strings.HasPrefix(line, "### "):
			kind, part = strings.ToLower(strings.TrimSpace(text[len("###"):])), ""
			if !slices.Contains(kinds, kind) {
				return nil, fmt.Errorf("CHANGELOG.md has a heading %q, which is no kind of change: use one of %s", text, strings.Join(kinds, ", "))
			}
		case strings.HasPrefix(line, "- ") && kind == "":
			return nil, fmt.Errorf("CHANGELOG.md does not say of which kind this change is: %q: put it below ### Added, or another of %s", text, strings.Join(kinds, ", "))
		case strings.HasPrefix(line, "- "):
			all = append(all, change{Kind: kind, Description: text[len("- "):], part: part})
		case strings.HasPrefix(line, "  ") && text != "" && len(all) > 0:
			all[len(all)-1].Description += " " + text
		}
	}
	for i := range all {
		all[i].plain()
	}
	return all, nil
}

// namedLink is a link in Markdown.
var namedLink = regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)

// plain moves the links out of the description, and takes its Markdown away: Artifact Hub shows
// it as it is.
func (c *change) plain() {
	for _, found := range namedLink.FindAllStringSubmatch(c.Description, -1) {
		c.Links = append(c.Links, changeLink{Name: found[1], URL: found[2]})
	}
	c.Description = strings.NewReplacer("**", "", "`", "").Replace(namedLink.ReplaceAllString(c.Description, "$1"))
}

// concerns: what concerns one operator is not in the charts of the others.
func (c *change) concerns(chart string) bool {
	if c.part == plugin {
		return false
	}
	return chart == charts.Umbrella || chart == c.part || !slices.Contains(charts.Operators, c.part)
}

// chartChanges is the annotation of a chart with the changes that concern it; it is empty if none
// does.
func (b *build) chartChanges(chart string) (string, error) {
	var shown []change
	for _, c := range b.entries {
		if !c.concerns(chart) {
			continue
		}
		c.Links = slices.Clone(c.Links)
		for i := range c.Links {
			c.Links[i].URL = b.absolute(c.Links[i].URL)
		}
		shown = append(shown, c)
	}
	if len(shown) == 0 {
		return "", nil
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		return "", err
	}
	return "  artifacthub.io/changes: |\n    " + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n    ") + "\n", nil
}
