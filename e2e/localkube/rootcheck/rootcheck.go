// Package rootcheck says before anything is built that localkube cannot run. It imports only the
// standard library, so that it is compiled at once.
package rootcheck

import (
	"errors"
	"os"
)

// Check fails if KUBECONFIG names no cluster, and the user cannot bring up localkube in its place.
func Check() error { return check(os.Getenv("KUBECONFIG"), os.Geteuid()) }

func check(kubeconfig string, user int) error {
	if kubeconfig != "" || user == 0 {
		return nil
	}
	return errors.New("only root can bring up a Kubernetes on this machine: run this as root, or set KUBECONFIG to use a cluster of yours")
}
