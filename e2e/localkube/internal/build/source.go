package build

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// SourceEnv names the folder of the modules to build, for a localkube that was compiled elsewhere or with -trimpath.
const SourceEnv = "LOCALKUBE_SOURCE"

// FindSource returns the folder that holds the modules to build (kubernetes, etcd-3.5, ...). They can't be embedded,
// since an embed directive takes nothing from other modules. It is the folder beside the source that this program was compiled from,
// or else the one in the repository around the working folder.
func FindSource() (string, error) {
	if dir := os.Getenv(SourceEnv); dir != "" {
		if !isSource(dir) {
			return "", fmt.Errorf("%s=%s holds no kubernetes/go.mod", SourceEnv, dir)
		}
		return filepath.Abs(dir)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		if dir := filepath.Join(filepath.Dir(file), "..", "..", "build"); isSource(dir) {
			return dir, nil
		}
	}
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; ; dir = filepath.Dir(dir) {
		for _, sub := range []string{"e2e/localkube/build", "localkube/build", "build"} {
			if candidate := filepath.Join(dir, sub); isSource(candidate) {
				return candidate, nil
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return "", errors.New("can't find e2e/localkube/build: run localkube inside a clone of the repository, or set " + SourceEnv)
}

func isSource(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "kubernetes", "go.mod"))
	return err == nil
}
