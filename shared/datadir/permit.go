package datadir

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// IsPermitted reports whether a Pod still has the permit to make a data dir: the file, in which
// the downward API shows an annotation of the Pod, holds the uid.
func IsPermitted(permitFile, uid string) (bool, error) {
	content, err := os.ReadFile(permitFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(content)) == uid, err
}
