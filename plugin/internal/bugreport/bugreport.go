// Package bugreport packs what is known of a cluster into an archive for a bug report. It takes no
// Secret, and leaves out what looks like one elsewhere.
package bugreport

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Redacted stands for what was left out.
const Redacted = "REDACTED"

// Archive is a tar.gz that is being written.
type Archive struct {
	folder string
	at     time.Time
	gz     *gzip.Writer
	tar    *tar.Writer
}

// New begins an archive, all of whose files are in one folder.
func New(w io.Writer, folder string, at time.Time) *Archive {
	gz := gzip.NewWriter(w)
	return &Archive{folder: folder, at: at, gz: gz, tar: tar.NewWriter(gz)}
}

// Add adds a file, without what looks like a password or a key.
func (a *Archive) Add(name string, content []byte) error {
	content = Clean(content)
	header := &tar.Header{Name: a.folder + "/" + name, Mode: 0o644, Size: int64(len(content)), ModTime: a.at}
	if err := a.tar.WriteHeader(header); err != nil {
		return err
	}
	_, err := a.tar.Write(content)
	return err
}

// AddObject adds an object as YAML.
func (a *Archive) AddObject(name string, o any) error {
	data, err := Marshal(o)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return a.Add(name, data)
}

// Close ends the archive.
func (a *Archive) Close() error {
	if err := a.tar.Close(); err != nil {
		return err
	}
	return a.gz.Close()
}

var (
	// privateKey is a key in PEM.
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`)
	// userInfo is a password in a URL.
	userInfo = regexp.MustCompile(`://[^/\s:@"]+:[^/\s@"]+@`)
	// bearer is a token or a password, also as a field of JSON, or of JSON in a text of JSON.
	bearer = regexp.MustCompile(`(?i)((?:bearer|(?:token|password)(?:\\?")?[=:]) *(?:\\?")?)[^\s",\\]+`)
)

// Clean leaves out keys, passwords in URLs, and tokens.
func Clean(content []byte) []byte {
	content = privateKey.ReplaceAll(content, []byte(Redacted))
	content = userInfo.ReplaceAll(content, []byte("://"+Redacted+"@"))
	return bearer.ReplaceAll(content, []byte("${1}"+Redacted))
}

// Marshal is an object as YAML, without the values of variables that are not etcd's own, and
// without what Kubernetes notes for itself. A Secret is refused.
func Marshal(o any) ([]byte, error) {
	switch o.(type) {
	case *corev1.Secret, corev1.Secret, *corev1.SecretList:
		return nil, fmt.Errorf("a Secret is never part of a report")
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	clean(object)
	return yaml.Marshal(object)
}

// clean removes from an object, however deep, what is not for others.
func clean(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "managedFields")
		if annotations, ok := v["annotations"].(map[string]any); ok {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
		for key, child := range v {
			if list, ok := child.([]any); ok && (key == "env" || key == "etcdEnv") {
				cleanVariables(list)
			}
			clean(child)
		}
	case []any:
		for _, child := range v {
			clean(child)
		}
	}
}

// cleanVariables keeps the values of etcd's own variables, and of Go's.
func cleanVariables(list []any) {
	for _, item := range list {
		variable, ok := item.(map[string]any)
		if !ok || variable["value"] == nil {
			continue
		}
		name, _ := variable["name"].(string)
		if !strings.HasPrefix(name, "ETCD_") && !strings.HasPrefix(name, "GO") {
			variable["value"] = Redacted
		}
	}
}
