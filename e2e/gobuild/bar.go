package gobuild

import (
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

// bar shows how many of some packages are compiled. The last ones are programs, which are linked.
type bar struct {
	out io.Writer
	// columns are those of a terminal; 0: it is none.
	columns int
	what    string
	now     func() time.Time
	begun   time.Time

	mu sync.Mutex
	// total is 0 until it is known; told is the tenth that was told last, drawn when a terminal was.
	done, total, told int
	drawn             time.Time
}

// newBar shows nothing until it is known how much there is to do.
func newBar(out io.Writer, what string) *bar {
	b := &bar{out: out, what: what, now: time.Now, begun: time.Now()}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.columns = columns
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			b.columns = n
		}
	}
	return b
}

// expect says how many packages are left.
func (b *bar) expect(left int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out == nil || left == 0 {
		return
	}
	b.total = b.done + left
	b.told = b.done * tenths / b.total
	if b.columns == 0 {
		fmt.Fprintf(b.out, "%s: %d packages to compile\n", b.what, b.total)
	}
}

// add is one package more.
func (b *bar) add() {
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
		b.drawn = now
		full := b.done * width / b.total
		line := fmt.Sprintf("%s [%s%s] %s", b.what, strings.Repeat("#", full), strings.Repeat(".", width-full), b.state())
		fmt.Fprintf(b.out, "\r\x1b[K%.*s", b.columns-1, line) // one that is too long would stay
	}
}

// state is how far it is, and how long the rest may take.
func (b *bar) state() string {
	part := float64(b.done) / float64(b.total)
	took := b.now().Sub(b.begun)
	said := fmt.Sprintf("%d %% after %s", b.done*100/b.total, took.Round(time.Second))
	if b.done == b.total {
		return said + ", linking"
	}
	if part < least {
		return said
	}
	return fmt.Sprintf("%s, about %s left", said, time.Duration(float64(took)*(1-part)/part).Round(time.Second))
}

// end leaves the line of a terminal.
func (b *bar) end() {
	if b.columns > 0 && b.total > 0 {
		fmt.Fprintln(b.out)
	}
}
