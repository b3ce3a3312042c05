package lockfile

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheSecondWaitsForTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(t.Context(), path, "first", func(string) { t.Error("nobody holds it yet") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	told := 0
	if _, err := Acquire(ctx, path, "second", func(string) { told++ }); err == nil || !strings.Contains(err.Error(), "first") {
		t.Errorf("want an error that names the holder, got %v", err)
	}
	if told != 1 {
		t.Errorf("told %d times of the holder", told)
	}
	first.Release()
	second, err := Acquire(t.Context(), path, "second", func(string) { t.Error("it was released") })
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}
