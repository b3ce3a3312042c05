package runner

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
)

// systemCAs is where the operators' images have the CAs that they trust.
const systemCAs = "/etc/ssl/certs/ca-certificates.crt"

// Install copies the running program and its CAs to a folder; see [agent.Install]. It is harmless
// to repeat.
func Install(dir string) error {
	return errors.Join(
		launcher.Install(filepath.Join(dir, filepath.Base(os.Args[0]))),
		launcher.InstallFile(systemCAs, filepath.Join(dir, agent.InstalledCAs)),
	)
}
