package objectstore

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// ReadCAs reads all files of a folder, as a Secret or a ConfigMap is mounted that the field
// caSecret or caConfigMap of a source names.
func ReadCAs(dir, source string) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, Because(InvalidSettings, err)
	}
	var all []byte
	for _, e := range entries {
		if e.Name()[0] == '.' { // the kubelet's own
			continue
		}
		pem, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, Because(InvalidSettings, err)
		}
		all = append(append(all, pem...), '\n')
	}
	if len(bytes.TrimSpace(all)) == 0 {
		return nil, Because(InvalidSettings, fmt.Errorf("there is no CA certificate: write it, in PEM, under the key ca.crt of the Secret that %[1]s.caSecret names, or under any key of the ConfigMap that %[1]s.caConfigMap names", source))
	}
	return all, nil
}
