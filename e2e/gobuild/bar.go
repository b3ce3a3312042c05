package gobuild

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// width is that of the bar, and columns that of a terminal that does not tell, in characters.
	width, columns = 20, 80
	// redraw is how often a terminal is drawn anew at most.
	redraw = 200 * time.Millisecond
	// tenths are the parts after each of which who is no terminal gets a line.
	tenths = 10
	// least is the part before which nobody can tell how long the rest takes.
	least = 0.05
)

// Bar shows how many packages of some builds are compiled. The last ones are programs, which are linked.
type Bar struct {
	out io.Writer
	// columns are those of a terminal; 0: it is none.
	columns int
	builds  []Build
	now     func() time.Time
	begun   time.Time

	mu sync.Mutex
	// what is built now, and ordinal is which of the builds it is, from 1 on.
	what    string
	ordinal int
	// total is 0 until it is known; told is the tenth that was told last, drawn when a terminal was.
	done, total, told int
	drawn             time.Time
	// isDrawn tells that the terminal's line is the bar.
	isDrawn bool

	stop    context.CancelFunc
	stopped chan struct{}
}

// NewBar is one of builds that are about to run, one after the other, with it as their Bar. It is told to out, which
// can be a terminal, or nil for nobody. If they take longer than [Patience] it counts what is left of them, and shows
// how far they are. Whoever has it calls its End.
func NewBar(ctx context.Context, out io.Writer, builds ...Build) *Bar {
	b := &Bar{out: out, builds: builds, now: time.Now, begun: time.Now(), stopped: make(chan struct{})}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.columns = columns
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			b.columns = n
		}
	}
	ctx, b.stop = context.WithCancel(ctx)
	go func() {
		defer close(b.stopped)
		select {
		case <-ctx.Done():
		case <-time.After(Patience):
			b.count(ctx)
		}
	}()
	return b
}

// End ends its counting.
func (b *Bar) End() {
	b.stop()
	<-b.stopped
}

// count finds out how many packages there are. What several builds have in common is compiled once.
func (b *Bar) count(ctx context.Context) {
	b.mu.Lock()
	done := b.done
	b.mu.Unlock()
	left := map[string]bool{}
	for _, build := range b.builds {
		folders, err := build.stale(ctx)
		if err != nil {
			return // the build fails, too
		}
		for _, folder := range folders {
			left[folder] = true
		}
	}
	b.expect(done + len(left))
}

// begin is the beginning of a build.
func (b *Bar) begin(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = what
	b.ordinal++
}

// expect says how many packages there are in all.
func (b *Bar) expect(total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out == nil || total <= b.done {
		return
	}
	b.total = total
	b.told = b.done * tenths / b.total
	if b.columns == 0 {
		fmt.Fprintf(b.out, "%s: %d packages to compile%s\n", b.what, b.total, b.ofAll(" in all"))
	}
}

// ofAll are words for a bar of several builds.
func (b *Bar) ofAll(words string) string {
	if len(b.builds) > 1 {
		return words
	}
	return ""
}

// add is one package more.
func (b *Bar) add() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	if b.total == 0 {
		return
	}
	b.done = min(b.done, b.total)
	if b.columns == 0 {
		if tenth := b.done * tenths / b.total; tenth > b.told {
			b.told = tenth
			fmt.Fprintf(b.out, "%s: %s\n", b.what, b.state())
		}
		return
	}
	if now := b.now(); now.Sub(b.drawn) >= redraw || b.done == b.total {
		b.drawn, b.isDrawn = now, true
		full := b.done * width / b.total
		line := fmt.Sprintf("%s [%s%s] %s", b.what, strings.Repeat("#", full), strings.Repeat(".", width-full), b.state())
		fmt.Fprintf(b.out, "\r\x1b[K%.*s", b.columns-1, line) // one that is too long would stay
	}
}

// state is how far it is, and how long the rest may take.
func (b *Bar) state() string {
	part := float64(b.done) / float64(b.total)
	took := b.now().Sub(b.begun)
	said := fmt.Sprintf("%d %%%s after %s", b.done*100/b.total, b.ofAll(" of all"), took.Round(time.Second))
	if b.done == b.total && b.ordinal >= len(b.builds) {
		return said + ", linking"
	}
	if part < least {
		return said
	}
	return fmt.Sprintf("%s, about %s left", said, time.Duration(float64(took)*(1-part)/part).Round(time.Second))
}

// end is the end of a build: it leaves the line of a terminal.
func (b *Bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.isDrawn {
		fmt.Fprintln(b.out)
		b.isDrawn = false
	}
}
