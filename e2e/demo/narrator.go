package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// narrator writes what is seen, with the seconds since the chapter began.
type narrator struct {
	mu    sync.Mutex
	out   io.Writer
	since time.Time
}

func newNarrator(out io.Writer) *narrator { return &narrator{out: out, since: time.Now()} }

// chapter begins a part of the show.
func (n *narrator) chapter(title string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.since = time.Now()
	fmt.Fprintf(n.out, "\n== %s\n", title)
}

// command shows what a person would type.
func (n *narrator) command(words ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "$ %s\n", strings.Join(words, " "))
	n.since = time.Now()
}

// line writes text as it is.
func (n *narrator) line(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "  %s\n", fmt.Sprintf(format, args...))
}

// now writes what has just happened.
func (n *narrator) now(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.out, "  %5.1fs  %s\n", time.Since(n.since).Seconds(), fmt.Sprintf(format, args...))
}

// block writes a program's output, indented.
func (n *narrator) block(text string) {
	for line := range strings.Lines(text) {
		n.line("%s", strings.TrimRight(line, "\n"))
	}
}
