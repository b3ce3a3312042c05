package rebuild

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Allowed tells whether a Pod still has the permit to make a data dir: the file, in which
// the downward API shows an annotation of the Pod, holds the uid.
func Allowed(leaveFile, uid string) (bool, error) {
	content, err := os.ReadFile(leaveFile)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return strings.TrimSpace(string(content)) == uid, err
}
