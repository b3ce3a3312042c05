package release

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	registryserver "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

// addChart adds a version of a chart to a release, with what it has for Artifact Hub, and returns its archive.
func addChart(t *testing.T, b *build, version, values, hub string) string {
	t.Helper()
	c := &chart.Chart{
		Metadata: &chart.Metadata{APIVersion: chart.APIVersionV2, Name: "etcd-operator", Version: version, Description: "A chart", Home: repository},
		Raw:      []*common.File{{Name: chartutil.ValuesfileName, Data: []byte(values)}},
		Files:    []*common.File{{Name: hubFile, Data: []byte(hub)}},
	}
	c.StampModTimes(b.time)
	archive, err := chartutil.Save(c, b.to)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// Helm pulls the chart that was built, Artifact Hub finds what the chart has for it, and no version of a
// chart moves.
func TestPublishChart(t *testing.T) {
	root, err := images.Root()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(registryserver.New(registryserver.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team"
	b := anImage(t, "program")
	archive := addChart(t, b, "1.2.3", "a: 1\n", "repositoryID: one\n")
	first, err := Publish(t.Context(), b.to, to)
	if err != nil || len(first) != 2 || !strings.HasPrefix(first[1], to+"/charts/etcd-operator@sha256:") {
		t.Fatalf("%v, %v: want the image and the chart", first, err)
	}
	if err := os.Chtimes(archive, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if again, err := Publish(t.Context(), b.to, to); err != nil || !slices.Equal(first, again) {
		t.Errorf("again: %v, %v", again, err)
	}

	pulled := t.TempDir()
	helm := exec.CommandContext(t.Context(), filepath.Join(root, "bin/helm"), "pull", "oci://"+to+"/charts/etcd-operator", "--version", "1.2.3", "--plain-http", "--destination", pulled)
	helm.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir())
	if out, err := helm.CombinedOutput(); err != nil {
		t.Fatalf("build it with make bin/helm: %v\n%s", err, out)
	}
	want, got := readFile(t, archive), readFile(t, filepath.Join(pulled, "etcd-operator-1.2.3.tgz"))
	if !bytes.Equal(want, got) {
		t.Errorf("helm pulls %d bytes, which are not the %d of the chart", len(got), len(want))
	}
	isShownByArtifactHub(t, to+"/charts/etcd-operator", "repositoryID: one\n")

	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	addChart(t, b, "1.2.4", "a: 1\n", "repositoryID: two\n")
	if _, err := Publish(t.Context(), b.to, to); err != nil {
		t.Fatal(err)
	}
	isShownByArtifactHub(t, to+"/charts/etcd-operator", "repositoryID: two\n")
	addChart(t, b, "1.2.4", "a: 2\n", "repositoryID: two\n")
	if _, err := Publish(t.Context(), b.to, to); err == nil || !strings.Contains(err.Error(), "a tag never moves") {
		t.Errorf("another chart by the same version: %v", err)
	}
}

// isShownByArtifactHub reads what Artifact Hub does about a repository, as
// https://artifacthub.io/docs/topics/repositories/helm-charts/#oci-support says to push it.
func isShownByArtifactHub(t *testing.T, repository, want string) {
	t.Helper()
	ref, err := name.ParseReference(repository + ":artifacthub.io")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Layers) != 1 {
		t.Fatalf("%d layers", len(manifest.Layers))
	}
	types := []string{string(manifest.Config.MediaType), string(manifest.Layers[0].MediaType)}
	if diff := cmp.Diff([]string{"application/vnd.cncf.artifacthub.config.v1+yaml", "application/vnd.cncf.artifacthub.repository-metadata.layer.v1.yaml"}, types); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
	layer, err := img.LayerByDigest(manifest.Layers[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	content, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	if text, err := io.ReadAll(content); err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
