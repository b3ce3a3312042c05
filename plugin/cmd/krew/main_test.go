package main

import (
	"bytes"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// The manifest names an archive, a digest and a program for each platform, and the names of files
// that krew takes.
func TestManifest(t *testing.T) {
	digests := map[string]string{}
	for _, p := range platforms {
		digests[p] = strings.Repeat("a", 64)
	}
	data, err := manifest("v1.2.3", platforms, digests)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Version          string
			ShortDescription string
			Platforms        []struct{ URI, SHA256, Bin string }
		}
	}
	if err := yaml.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "Plugin" || m.Metadata.Name != "etcd" || m.Spec.Version != "v1.2.3" || len(m.Spec.Platforms) != len(platforms) || len(m.Spec.ShortDescription) > 50 {
		t.Errorf("%s", data)
	}
	for _, p := range m.Spec.Platforms {
		if !strings.Contains(p.URI, "/v1.2.3/kubectl-etcd_") || len(p.SHA256) != 64 || !strings.HasPrefix(p.Bin, "kubectl-etcd") {
			t.Errorf("%+v", p)
		}
	}
}

// The same files make the same archive.
func TestPack(t *testing.T) {
	files := map[string][]byte{"LICENSE": []byte("free"), "kubectl-etcd": []byte("program")}
	one, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	two, err := pack(files)
	if err != nil || !bytes.Equal(one, two) {
		t.Errorf("they differ: %v", err)
	}
}
