package site

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/etcd-operators/etcd-operators/e2e/docs"
)

// The repository, and the site that "make docs" has built from it, seen from this package.
const (
	root  = "../.."
	built = root + "/out/docs"
)

// document is a page of the site.
type document struct {
	ids []string
	// links are what a reader may follow, loads what a browser asks for by itself.
	links, loads []string
	hasCode      bool
}

// Each link on the site leads to a page, and to a place on it, that is there; and a browser loads nothing from elsewhere.
func TestLinks(t *testing.T) {
	site := readSite(t)
	checker, err := docs.NewChecker(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for path, page := range site {
		for _, link := range page.links {
			checked++
			if err := errors.Join(follow(site, path, link), checker.Address(link)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, load := range page.loads {
			if err := loaded(path, load); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	t.Logf("%d links on %d pages", checked, len(site))
}

// Each page of docs/ is on the site.
func TestPages(t *testing.T) {
	site := readSite(t)
	pages, err := docs.Pages(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		folder := strings.TrimSuffix(page.Path, ".md")
		if base := filepath.Base(folder); base == "_index" || base == "README" {
			folder = filepath.Dir(folder)
		}
		if site[filepath.Join(folder, "index.html")] == nil {
			t.Errorf("docs/%s is not on the site", page.Path)
		}
	}
}

func TestFollowFinds(t *testing.T) {
	site := map[string]*document{"index.html": {ids: []string{"top"}}, "tasks/scale/index.html": {ids: []string{"up"}}}
	for link, isRight := range map[string]bool{
		"../../": true, "../../#top": true, "#up": true, "./": true, "https://etcd.io/x": true, "../../index.html": true,
		"../../#no": false, "#no": false, "../no/": false, "/tasks/scale/": false, "": false,
	} {
		if err := follow(site, "tasks/scale/index.html", link); (err == nil) != isRight {
			t.Errorf("link %q: %v", link, err)
		}
	}
	for load, isRight := range map[string]bool{"links_test.go": true, "no.js": false, "https://example.com/x.js": false, "//example.com/x.js": false} {
		if err := loaded("../../e2e/site/index.html", load); (err == nil) != isRight {
			t.Errorf("load of %q: %v", load, err)
		}
	}
}

// follow returns an error if a link on a page leads to nothing on the site.
func follow(site map[string]*document, from, link string) error {
	u, err := url.Parse(link)
	if err != nil || u.IsAbs() {
		return err
	}
	if link == "" || strings.HasPrefix(link, "/") {
		return fmt.Errorf("link %q is not relative: the site could not be moved", link)
	}
	path := from
	if u.Path != "" {
		path = filepath.Join(filepath.Dir(from), u.Path)
		if filepath.Ext(path) != ".html" {
			path = filepath.Join(path, "index.html")
		}
	}
	page := site[path]
	if page == nil {
		return fmt.Errorf("link %q: there is no %s", link, path)
	}
	if u.Fragment != "" && !slices.Contains(page.ids, u.Fragment) {
		return fmt.Errorf("link %q: %s has no %q", link, path, u.Fragment)
	}
	return nil
}

// loaded returns an error if what a page loads is not a file of the site.
func loaded(from, load string) error {
	u, err := url.Parse(load)
	if err != nil {
		return err
	}
	if u.IsAbs() || u.Host != "" {
		return fmt.Errorf("%s is loaded from elsewhere", load)
	}
	_, err = os.Stat(filepath.Join(built, filepath.Dir(from), u.Path))
	return err
}

// readSite reads the pages of the site by their paths in it.
func readSite(t *testing.T) map[string]*document {
	t.Helper()
	site := map[string]*document{}
	err := filepath.WalkDir(built, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		page, err := readPage(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(built, path)
		site[name] = page
		return err
	})
	if err != nil || site["index.html"] == nil {
		t.Fatalf("there is no site in %s: run \"make docs\" (%v)", built, err)
	}
	return site
}

func readPage(path string) (*document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	tree, err := html.Parse(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	page := &document{}
	for node := range tree.Descendants() {
		page.hasCode = page.hasCode || node.Data == "pre"
		for _, attribute := range node.Attr {
			switch {
			case attribute.Key == "id":
				page.ids = append(page.ids, attribute.Val)
			case attribute.Key == "href" && node.Data == "a":
				page.links = append(page.links, attribute.Val)
			case attribute.Key == "href" || attribute.Key == "src":
				page.loads = append(page.loads, attribute.Val)
			}
		}
	}
	return page, nil
}
