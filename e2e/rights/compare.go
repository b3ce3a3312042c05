package rights

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// everyones are the roles that Kubernetes gives to all who have a name: to ask which
// kinds there are, and what they themselves may do.
var everyones = []string{"system:discovery", "system:basic-user", "system:public-info-viewer"}

// NotGranted tells of each use that no shipped Role allows.
func NotGranted(granted map[string]Role, uses Uses) []string {
	var found []string
	for u := range uses {
		switch role, ours := granted[u.Role]; {
		case u.Role == "":
			found = append(found, fmt.Sprintf("%s of %s was forbidden to %s", u.Operator, u.Namespace, u.Right))
		case ours && !role[u.Right]:
			found = append(found, fmt.Sprintf("%s of %s was allowed to %s by a %s that is not the shipped one", u.Operator, u.Namespace, u.Right, u.Role))
		case !ours && !slices.Contains(everyones, u.Role):
			found = append(found, fmt.Sprintf("%s of %s was allowed to %s by %q, which is not shipped", u.Operator, u.Namespace, u.Right, u.Role))
		}
	}
	slices.Sort(found)
	return found
}

// NotUsed tells of each right of a shipped Role that nobody used.
func NotUsed(granted map[string]Role, uses Uses) []string {
	type source struct {
		role  string
		right Right
	}
	used := map[source]bool{}
	for u := range uses {
		used[source{u.Role, u.Right}] = true
		if u.Right.Verb == "watch" {
			// A cache is filled by a watch that begins with what there is. An API server
			// that has no such watches is asked for a list first, by the same code.
			listed := u.Right
			listed.Verb = "list"
			used[source{u.Role, listed}] = true
		}
		if u.Right.Verb == "create" && u.Right.Resource == "events" {
			// Whoever records events patches one that happens again soon, which is chance.
			again := u.Right
			again.Verb = "patch"
			used[source{u.Role, again}] = true
		}
	}
	var found []string
	for _, name := range slices.Sorted(maps.Keys(granted)) {
		for _, right := range slices.SortedFunc(maps.Keys(granted[name]), compare) {
			if !used[source{name, right}] {
				found = append(found, fmt.Sprintf("%s may %s and never did: take the right away in deploy/, or test what needs it", name, right))
			}
		}
	}
	return found
}

// NotRestricted tells of Pods that an operator created where the restricted Pod Security
// Standard was not enforced, so that nothing shows that they pass.
func NotRestricted(uses Uses) []string {
	var found []string
	for u := range uses {
		if level, _, _ := strings.Cut(u.PodSecurity, ":"); u.CreatedPod && level != "restricted" {
			found = append(found, fmt.Sprintf("%s of %s created a Pod where Pod Security %q is enforced, not restricted", u.Operator, u.Namespace, u.PodSecurity))
		}
	}
	slices.Sort(found)
	return found
}

// Table writes down who used which right how often, in installations for one namespace
// and in the one for all of them, which is in the namespace home.
func Table(w io.Writer, uses Uses, home string) error {
	type row struct {
		operator, role string
		right          Right
	}
	counts := map[row][2]int{}
	for u, n := range uses {
		r := row{u.Operator, cmp.Or(u.Role, "(forbidden)"), u.Right}
		c := counts[r]
		if u.Namespace == home {
			c[1] += n
		} else {
			c[0] += n
		}
		counts[r] = c
	}
	rows := slices.SortedFunc(maps.Keys(counts), func(a, b row) int {
		return cmp.Or(cmp.Compare(a.operator, b.operator), cmp.Compare(a.role, b.role), compare(a.right, b.right))
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "operator\tallowed by\tright\tfor one namespace\tfor all namespaces")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\n", r.operator, r.role, r.right, counts[r][0], counts[r][1])
	}
	return table.Flush()
}
