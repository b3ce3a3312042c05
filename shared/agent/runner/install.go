package runner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/etcd-operators/etcd-operators/shared/agent"
)

// systemCAs is where the operators' images have the CAs that they trust.
const systemCAs = "/etc/ssl/certs/ca-certificates.crt"

// Install copies the running program and its CAs to a folder; see [agent.Install]. It is harmless
// to repeat.
func Install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("install the agent: %w", err)
	}
	for from, to := range map[string]string{self: filepath.Base(self), systemCAs: agent.InstalledCAs} {
		if err := install(from, filepath.Join(dir, to)); err != nil {
			return fmt.Errorf("install the agent: %w", err)
		}
	}
	return nil
}

func install(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()                           // only read
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) { // what a kill has left
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if closed := dst.Close(); err == nil {
		err = closed
	}
	return err
}
