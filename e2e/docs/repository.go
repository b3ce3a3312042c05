package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Repository is where addresses of our own files begin.
const Repository = "https://github.com/etcd-operators/etcd-operators"

// Checker tells what is wrong with pages.
type Checker struct {
	root    string
	anchors map[string][]string
	targets []string
}

// NewChecker makes a checker for the pages of the repository whose root this is.
func NewChecker(root string, pages []*Page) (*Checker, error) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	c := &Checker{root: root, anchors: map[string][]string{}}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9/-]+):`).FindAllSubmatch(makefile, -1) {
		c.targets = append(c.targets, string(m[1]))
	}
	for _, page := range pages {
		c.anchors[page.Path] = page.Anchors
	}
	return c, nil
}

// Link returns an error if a link on a page leads to a file or a heading that is not there. Addresses of others are not
// asked.
func (c *Checker) Link(page *Page, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	file := path.Join(path.Dir(page.Path), u.Path)
	switch {
	case u.IsAbs():
		return c.Address(target)
	case strings.HasPrefix(u.Path, "/"):
		return fmt.Errorf("%s is not relative: it leads elsewhere on GitHub", target)
	case u.Path == "":
		file = page.Path
	}
	if !c.exists(file) {
		return fmt.Errorf("%s: there is no %s", target, file)
	}
	if u.Fragment != "" && !slices.Contains(c.anchors[file], u.Fragment) {
		return fmt.Errorf("%s: %s has no heading with this anchor; it has %s", target, file, strings.Join(c.anchors[file], ", "))
	}
	return nil
}

// inRepository is the address of a file or a folder of ours, for a browser (…/blob/main/path), for kustomize
// (…/path?ref=v1) or as it is (https://raw.githubusercontent.com/…/main/path).
var inRepository = regexp.MustCompile(`^https://(?:` +
	`raw\.githubusercontent\.com/etcd-operators/etcd-operators/[^/]+/|` +
	`github\.com/etcd-operators/etcd-operators/(?:(?:blob|tree|edit|raw)/[^/]+/|/)?)([^?#]*)`)

// Address returns an error if an address in our repository names a file that is not there.
func (c *Checker) Address(address string) error {
	m := inRepository.FindStringSubmatch(address)
	if m == nil {
		return nil
	}
	for _, page := range []string{"commits", "compare", "issues", "releases", "discussions", "security", "actions", "pulls"} {
		if m[1] == page || strings.HasPrefix(m[1], page+"/") {
			return nil
		}
	}
	if !c.exists(m[1]) {
		return fmt.Errorf("%s: there is no %s", address, m[1])
	}
	return nil
}

func (c *Checker) exists(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(c.root, pattern))
	return err == nil && len(found) > 0
}

var (
	makeCommand = regexp.MustCompile(`(?m)(?:^|[;&|]\s*)(?:sudo )?make((?: +[A-Za-z0-9_/=.-]+)*)`)
	// ourFile is a word that names a file of ours, from the root of the repository.
	ourFile = regexp.MustCompile(`(?:^|[\s='"])(?:\./)?((?:api|deploy|docs|e2e|examples|operators|shared|tools)/[A-Za-z0-9_./*-]*)`)
	// awaitsFirst matches a command that waits only for the first member of an EtcdCluster.
	awaitsFirst = regexp.MustCompile(`kubectl wait .*condition=Available .*\betcd(?:cluster)?s?/`)
	address     = regexp.MustCompile(`https://(?:github|raw\.githubusercontent)\.com/etcd-operators/etcd-operators[^\s'"]*`)
)

// Shell returns the errors in a block of shell commands. It finds invalid syntax, and targets of make and files
// of the repository that do not exist. It also finds a wait that ends before a cluster has all its members.
func (c *Checker) Shell(ctx context.Context, text string) []error {
	var found []error
	parse := exec.CommandContext(ctx, "bash", "-n")
	parse.Stdin = strings.NewReader(text)
	if out, err := parse.CombinedOutput(); err != nil {
		found = append(found, fmt.Errorf("bash -n: %w: %s", err, bytes.TrimSpace(out)))
	}
	for _, m := range makeCommand.FindAllStringSubmatch(text, -1) {
		for _, target := range strings.Fields(m[1]) {
			if !strings.Contains(target, "=") && !strings.HasPrefix(target, "-") && !slices.Contains(c.targets, target) {
				found = append(found, fmt.Errorf("the Makefile has no target %s", target))
			}
		}
	}
	for _, m := range ourFile.FindAllStringSubmatch(text, -1) {
		if !c.exists(m[1]) {
			found = append(found, fmt.Errorf("there is no %s", m[1]))
		}
	}
	if awaitsFirst.MatchString(text) {
		found = append(found, errors.New("condition=Available is met when the first member serves: wait for all by --for=jsonpath='{.status.ready}'=3/3"))
	}
	for _, a := range address.FindAllString(text, -1) {
		if err := c.Address(strings.TrimSuffix(a, ".git")); err != nil {
			found = append(found, err)
		}
	}
	return found
}
