// Package docs reads the Markdown files of the repository, so that tests can check what they state: that links lead
// somewhere, that commands and manifests are right. It knows as much of Markdown as these files use.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Page is a Markdown file.
type Page struct {
	// Path is relative to the repository's root.
	Path string
	// Blocks are its fenced blocks of code, Links where its links lead, and Anchors the ends of addresses that lead to
	// its headings, as GitHub makes them.
	Blocks  []Block
	Links   []Link
	Anchors []string
}

// Block is a fenced block of code.
type Block struct {
	// Line is that of the block's first line of text; the first of a file is 1.
	Line int
	// Language is the word after the fence, Info what follows it, such as {fragment=true}.
	Language, Info string
	Text           string
}

// IsFragment says whether the block is marked as a part of something.
func (b *Block) IsFragment() bool { return b.Info == "{fragment=true}" }

// Link is a link.
type Link struct {
	Line   int
	Target string
}

// Pages reads the Markdown files of the repository whose root this is.
func Pages(root string) ([]*Page, error) {
	var pages []*Page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && (name == "bin" || name == "out" || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != "." && name != ".github") {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := Parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		page.Path = name
		pages = append(pages, page)
		return nil
	})
	return pages, err
}

var (
	fence       = regexp.MustCompile("^(\\s*)(```+|~~~+)\\s*([\\w-]*)\\s*(.*)$")
	heading     = regexp.MustCompile(`^#{1,6}\s+(.+?)\s*#*$`)
	anchor      = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	inlineCode  = regexp.MustCompile("`[^`]*`")
	inlineLink  = regexp.MustCompile(`\]\(<?([^()\s>]+)>?(?:\s+"[^"]*")?\)`)
	defined     = regexp.MustCompile(`^\[[^\]]+\]:\s+(\S+)`)
	linkedWords = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Parse reads a page.
func Parse(text string) (*Page, error) {
	page := &Page{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if m := fence.FindStringSubmatch(lines[i]); m != nil {
			block := Block{Line: i + 2, Language: m[3], Info: m[4]}
			end := i + 1
			for ; end < len(lines) && !isEnd(lines[end], m[2]); end++ {
				block.Text += strings.TrimPrefix(lines[end], m[1]) + "\n"
			}
			if end == len(lines) {
				return nil, fmt.Errorf("the block of code that begins at line %d has no end", i+1)
			}
			page.Blocks = append(page.Blocks, block)
			i = end
			continue
		}
		if m := heading.FindStringSubmatch(lines[i]); m != nil {
			page.Anchors = append(page.Anchors, page.unused(Slug(m[1])))
		}
		for _, m := range anchor.FindAllStringSubmatch(lines[i], -1) {
			page.Anchors = append(page.Anchors, m[1])
		}
		prose := inlineCode.ReplaceAllString(lines[i], "code")
		for _, found := range slices.Concat(inlineLink.FindAllStringSubmatch(prose, -1), defined.FindAllStringSubmatch(prose, -1)) {
			page.Links = append(page.Links, Link{Line: i + 1, Target: found[1]})
		}
	}
	return page, nil
}

// isEnd says whether a line ends the block that a fence has begun.
func isEnd(line, begun string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, begun) && strings.Trim(line, begun[:1]) == ""
}

// unused is a slug that no heading before has: the second "x" is "x-1".
func (p *Page) unused(slug string) string {
	for i, free := 1, slug; ; i++ {
		if !slices.Contains(p.Anchors, free) {
			return free
		}
		free = fmt.Sprintf("%s-%d", slug, i)
	}
}

// Slug is what GitHub makes of a heading's text.
func Slug(text string) string {
	text = linkedWords.ReplaceAllString(text, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
