package images

import (
	"errors"
	"os"
	"path/filepath"
)

// Root is the repository that the working directory is in: the nearest folder
// above with a go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.work in this folder or above: run this from within the repository")
		}
		dir = parent
	}
}
