// Package gomodule finds Go modules of which files are read and nothing is compiled: the definitions
// and schemas of other projects.
package gomodule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Required is the folder of a module, by its path, in the version and with the sum that the go.mod
// and go.sum in dir have. It is downloaded if need be.
func Required(ctx context.Context, dir, path string) (string, error) {
	got, err := download(ctx, dir, path)
	return got.Dir, err
}

// Pinned is the folder of a module of which no go.mod tells, by its path and version, if its sum is
// the given one, such as h1:…
func Pinned(ctx context.Context, path, version, sum string) (string, error) {
	got, err := download(ctx, os.TempDir(), path+"@"+version, "GONOSUMDB="+path)
	if err == nil && got.Sum != sum {
		return "", fmt.Errorf("%s %s has the sum %s, want %s", path, version, got.Sum, sum)
	}
	return got.Dir, err
}

type downloaded struct{ Dir, Sum, Error string }

func download(ctx context.Context, dir, module string, env ...string) (downloaded, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=off"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var got downloaded
	// It says what is wrong in JSON, if it got as far as that.
	if malformed := json.Unmarshal(out, &got); malformed != nil {
		return got, fmt.Errorf("download %s: %w", module, errors.Join(err, errors.New(strings.TrimSpace(stderr.String()))))
	}
	if err != nil || got.Error != "" {
		return got, fmt.Errorf("download %s: %s", module, got.Error)
	}
	return got, nil
}
