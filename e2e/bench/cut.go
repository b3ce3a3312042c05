package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// cutGoal is for how long a cut to a revision takes, relative to `etcdutl snapshot restore`
// of the same file.
const cutGoal = 2.0

// measureCut measures what it costs to restore a revision in the middle of a snapshot: the
// Go benchmark beside the code does, since only it can call that code.
func measureCut(ctx context.Context, b *bench) error {
	run := exec.CommandContext(ctx, "go", "test", "./rebuild", "-run", "^$", "-bench", "CutAt", "-benchtime", fmt.Sprintf("%dx", b.plan.rounds))
	run.Dir, run.Stderr = filepath.Join(b.root, "shared"), os.Stderr
	out, err := run.Output()
	if err != nil {
		return fmt.Errorf("go test -bench CutAt: %w\n%s", err, out)
	}
	figures, err := cutFigures(out)
	if err != nil {
		return err
	}
	for _, f := range figures {
		b.say("cut, %s: %.3f times etcdutl snapshot restore", f.what, f.ratio)
		b.table.add("cut to the middle of some 200 MB, relative to etcdutl snapshot restore: "+f.what,
			fmt.Sprintf("%.3fx", f.ratio), fmt.Sprintf("%.1fx", cutGoal), f.ratio <= cutGoal)
	}
	return nil
}

// cutFigure is one ratio that the benchmark has told.
type cutFigure struct {
	what  string
	ratio float64
}

// cutFigures are those in the output of the benchmark; there is one at least.
func cutFigures(out []byte) ([]cutFigure, error) {
	var all []cutFigure
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name, rest, found := strings.Cut(lines.Text(), "\t")
		what, isCut := strings.CutPrefix(name, "BenchmarkCutAt/")
		if !found || !isCut {
			continue
		}
		words := strings.Fields(rest)
		for i := 1; i < len(words); i++ {
			if words[i] != "x-etcdutl" {
				continue
			}
			ratio, err := strconv.ParseFloat(words[i-1], 64)
			if err != nil {
				return nil, fmt.Errorf("read the ratio in %q: %w", lines.Text(), err)
			}
			what, _, _ = strings.Cut(strings.TrimSpace(what), "-")
			all = append(all, cutFigure{strings.ReplaceAll(what, "_", " "), ratio})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the benchmark CutAt told no ratio")
	}
	return all, nil
}
