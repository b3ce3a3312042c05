package progress

import (
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	if got, want := line(4321*time.Millisecond, "node Ready"), "[  4.3s] node Ready"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
