package launcher

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Or stands between the places where a file may be, in the value of one of etcd's flags
// whose name ends in fileFlag: --cert-file=/tls/server.crt|/tls/tls.crt. The first place
// where there is a file counts. Who writes the flag does not know under which names the
// keys of a mounted Secret are.
const Or = "|"

// fileFlag is what the names of flags end in whose value may have [Or] in it.
const fileFlag = "-file"

// place returns argv with one place for each file. It returns an error if a file is in none of
// its places.
func place(argv []string) ([]string, error) {
	placed := make([]string, len(argv))
	for i, arg := range argv {
		placed[i] = arg
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !strings.HasSuffix(name, fileFlag) {
			continue
		}
		path, err := firstFile(strings.Split(value, Or))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		placed[i] = name + "=" + path
	}
	return placed, nil
}

// firstFile is the first of the paths at which there is something.
func firstFile(paths []string) (string, error) {
	for _, path := range paths {
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("there is no file %s: add the key to the Secret that is mounted there", strings.Join(paths, " or "))
}

// peerTLS is how a member whose etcd is started by argv talks to its peers; nil if it does
// so in the clear, or if its certificates cannot be read, which etcd then tells.
func peerTLS(argv []string) *tls.Config {
	placed, err := place(argv)
	if err != nil {
		return nil
	}
	files := map[string]string{}
	for _, arg := range placed {
		name, value, _ := strings.Cut(arg, "=")
		files[name] = value
	}
	cert, err := tls.LoadX509KeyPair(files["--peer-cert-file"], files["--peer-key-file"])
	if err != nil {
		return nil
	}
	cas, err := os.ReadFile(files["--peer-trusted-ca-file"])
	if err != nil {
		return nil
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cas)
	return &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: roots}
}
