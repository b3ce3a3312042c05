package gobuild

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// module is one with a package that a program needs.
func module(t *testing.T, main string) Build {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/m\n\ngo 1.24\n",
		"main.go": main,
		// What differs each time is in no cache.
		"part/p.go": fmt.Sprintf("package part\n\nfunc Say() { println(%d) }\n", time.Now().UnixNano()),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	return Build{What: "building m", Dir: dir, Env: env, Packages: []string{"."}, Output: filepath.Join(dir, "out", "m")}
}

// What is to be compiled is counted, and not what is cached; a short build says nothing.
func TestCount(t *testing.T) {
	b := module(t, "package main\n\nimport \"example.com/m/part\"\n\nfunc main() { part.Say() }\n")
	var out bytes.Buffer
	b.Out = &out
	if left, err := b.stale(t.Context()); err != nil || len(left) < 2 {
		t.Errorf("%v are to be compiled (%v), want the program and its package", left, err)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(b.Output); err != nil {
		t.Error(err)
	}
	if left, err := b.stale(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%v are to be compiled once more (%v)", left, err)
	}
	if err := b.Run(t.Context()); err != nil || out.Len() > 0 {
		t.Errorf("a build of what is cached says %q (%v)", out.String(), err)
	}
}

// What the compiler says is in the error, and nothing of what went well.
func TestFailure(t *testing.T) {
	b := module(t, "package main\n\nimport \"example.com/m/part\"\n\nfunc main() { part.Whisper() }\n")
	err := b.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "undefined: part.Whisper") || strings.Contains(err.Error(), "\nexample.com/m/part\n") {
		t.Errorf("the error is %v", err)
	}
	b.Packages = []string{"./missing"}
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("the error of a package that does not exist is %v", err)
	}
}

// aBar is one that shows a build, for a terminal with so many columns, or none. For each package it takes so long.
func aBar(t *testing.T, out io.Writer, columns int, each time.Duration, builds ...Build) *Bar {
	t.Helper()
	b := NewBar(t.Context(), out, builds...)
	b.End() // it counts nothing by itself
	b.columns = columns
	b.now = func() time.Time { return b.begun.Add(time.Duration(b.done) * each) }
	b.begin("building m")
	return b
}

// The estimate follows from what was done so far, also before it was counted what is left.
func TestBar(t *testing.T) {
	var out bytes.Buffer
	b := aBar(t, &out, 0, 3*time.Second)
	for range 3 {
		b.add()
	}
	b.expect(20)
	for range 18 { // one more than was counted
		b.add()
	}
	b.end()
	said := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(said) != 10 || said[0] != "building m: 20 packages to compile" || said[1] != "building m: 20 % after 12s, about 48s left" || said[9] != "building m: 100 % after 1m0s, linking" {
		t.Errorf("it says\n%s", out.String())
	}
}

// A terminal has one line, which is drawn anew, and no longer than it is wide.
func TestBarOnATerminal(t *testing.T) {
	for columns, want := range map[int]string{
		80: "\r\x1b[Kbuilding m [#####...............] 25 % after 1s, about 3s left\r\x1b[Kbuilding m [##########..........] 50 % after 2s, about 2s left\n",
		20: "\r\x1b[Kbuilding m [#####..\r\x1b[Kbuilding m [#######\n",
	} {
		var out bytes.Buffer
		b := aBar(t, &out, columns, time.Second)
		b.expect(4)
		b.add()
		b.add()
		b.end()
		if out.String() != want {
			t.Errorf("with %d columns it draws %q, want %q", columns, out.String(), want)
		}
	}
}

// Several builds have one bar, which counts once what they have in common.
func TestBarOfSeveralBuilds(t *testing.T) {
	var out bytes.Buffer
	one := module(t, "package main\n\nimport \"example.com/m/part\"\n\nfunc main() { part.Say() }\n")
	other := one
	other.What, other.Packages = "building its part", []string{"./part"}
	b := aBar(t, &out, 0, time.Second, one, other)
	b.count(t.Context())
	one.Bar, other.Bar = b, b
	for _, build := range []Build{other, one} {
		if err := build.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if said := strings.Split(out.String(), "\n"); !strings.HasSuffix(said[0], " packages to compile in all") || !strings.Contains(out.String(), "building m: 100 % of all after ") {
		t.Errorf("it says\n%s", out.String())
	}
}

// Nobody is told of a build that nobody listens to.
func TestNobodyIsTold(t *testing.T) {
	b := aBar(t, nil, 0, time.Second)
	b.expect(1)
	b.add()
	b.end()
}
