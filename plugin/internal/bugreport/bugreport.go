// Package bugreport packs information about a cluster into an archive for a bug report. It reads no Secret. It
// includes the text of a field, flag or variable only if that is on a list of known ones.
package bugreport

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
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

// Add adds a text file after Clean.
func (a *Archive) Add(name string, content []byte) error { return a.write(name, Clean(content)) }

func (a *Archive) write(name string, content []byte) error {
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
	return a.write(name, data)
}

// Close ends the archive.
func (a *Archive) Close() error {
	if err := a.tar.Close(); err != nil {
		return err
	}
	return a.gz.Close()
}

// Marshal returns an object as YAML. It keeps only the texts of known fields and variables, and omits
// Kubernetes' own bookkeeping. It returns an error for a Secret.
func Marshal(o any) ([]byte, error) {
	switch o.(type) {
	case *corev1.Secret, corev1.Secret, *corev1.SecretList:
		return nil, fmt.Errorf("a Secret is never part of a report")
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	return yaml.Marshal(clean("", object))
}

// metadataOf lists the labels and annotations whose values can be in a report, by name or by domain. Others can
// contain anything, for example settings of a sidecar injector.
var metadataOf = []string{
	v1beta2.GroupName, v1beta2.LabelCluster, v1beta2.LabelRole, v1beta2.LabelBackup, v1beta2.LabelRestore,
	"app", "app.kubernetes.io", "batch.kubernetes.io", "kubernetes.io", "topology.kubernetes.io",
}

// plainValue matches a time, a duration or a quantity.
var plainValue = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z$|^\d[\d.]*([numkMGTPE]|[KMGTPE]i|ms|[smhd%]|m0s|h0m0s)$`)

// clean redacts the text of each unknown field of an object, at any depth.
func clean(field string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "managedFields")
		if name, isVariable := v["name"].(string); isVariable && (field == "env" || field == "etcdEnv") && v["value"] != nil && !isKnownVariable(name) {
			v["value"] = Redacted
		}
		for key, child := range v {
			switch {
			case slices.Contains([]string{"labels", "annotations", "matchLabels", "nodeSelector", "selector"}, field):
				domain, _, _ := strings.Cut(key, "/")
				text, isText := child.(string)
				switch {
				case !isText:
					v[key] = clean(key, child)
				case slices.Contains(metadataOf, domain):
					v[key] = cleanText(text)
				default:
					v[key] = Redacted
				}
			case key == "value" && (field == "env" || field == "etcdEnv"):
				v[key] = cleanText(fmt.Sprint(child))
			case key == "key" && (field == "secretKeyRef" || field == "configMapKeyRef" || field == "tolerations"):
			case key == "command" || key == "args":
				v[key] = cleanArgs(child)
			default:
				v[key] = clean(key, child)
			}
		}
	case []any:
		for i := range v {
			v[i] = clean(field, v[i])
		}
	case string:
		if v != "" && !isKnown(field) && !plainValue.MatchString(v) {
			return Redacted
		}
		return cleanText(v)
	}
	return v
}

func cleanText(text string) string { return string(Clean([]byte(text))) }

// isKnownVariable reports whether the value of a variable can be in a report. Known are etcd's variables whose
// flags are known, and a few variables of Go and the operators.
func isKnownVariable(name string) bool {
	return strings.HasPrefix(name, "ETCD_") && isKnown(name) ||
		slices.Contains([]string{"GOMEMLIMIT", "GOMAXPROCS", "GOGC", "POD_NAME", "POD_NAMESPACE", "WATCH_NAMESPACE"}, name)
}

// cleanArgs redacts the values of unknown flags in a command line, and every argument that is neither a flag
// nor a file.
func cleanArgs(v any) any {
	args, _ := v.([]any)
	afterKnown := false
	for i := range args {
		text, _ := args[i].(string)
		flag, _, hasValue := strings.Cut(text, "=")
		name := strings.TrimLeft(flag, "-")
		isFlag := name != flag && isKnown(name)
		switch {
		case isFlag, i == 0 && name == flag && !hasValue, afterKnown && name == flag:
			args[i] = cleanText(text)
		case strings.HasPrefix(flag, "--") && hasValue:
			args[i] = flag + "=" + Redacted
		case strings.HasPrefix(flag, "--"):
		default:
			args[i] = Redacted
		}
		afterKnown = isFlag && !hasValue
	}
	return args
}
