// Package progress prints what localkube does, one line per step, each with the seconds since the start.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Log writes lines such as "[  4.3s] node localkube-1 Ready". It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
}

// New returns a Log that counts from now.
func New(out io.Writer) *Log {
	return &Log{out: out, start: time.Now()}
}

// Out is where lines go, for what shows its progress in another way meanwhile.
func (l *Log) Out() io.Writer { return l.out }

// Printf prints one line; the format needs no newline.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(l.out, line(time.Since(l.start), fmt.Sprintf(format, args...)))
}

func line(elapsed time.Duration, text string) string {
	return fmt.Sprintf("[%5.1fs] %s", elapsed.Seconds(), text)
}
