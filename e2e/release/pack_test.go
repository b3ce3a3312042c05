package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	registryserver "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/protobuf/encoding/protojson"

	intoto "github.com/in-toto/attestation/go/v1"

	"github.com/etcd-operators/etcd-operators/e2e/localkube/image"
)

// anImage is a build that has written one image of a program for both processors.
func anImage(t *testing.T, program string) *build {
	t.Helper()
	b := &build{
		Options: &Options{Version: "1.2.3"}, tag: "v1.2.3", digests: map[string]string{}, to: t.TempDir(),
		commit: &commit{hash: strings.Repeat("c", 40), time: time.Unix(1700000000, 0).UTC()},
	}
	dir := t.TempDir()
	if err := b.writeImage(t.Context(), "app", func(arch string) image.Spec {
		file := filepath.Join(dir, arch)
		write(t, file, program+" for "+arch)
		return image.Spec{User: "65532:65532", Files: map[string]string{"/usr/local/bin/app": file}, Labels: map[string]string{"own": "label"}}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// The same programs make the same image, in any folder and at any time, and others another one.
func TestImagesAreReproducible(t *testing.T) {
	one, two, other := anImage(t, "program"), anImage(t, "program"), anImage(t, "other")
	var all []sums
	for _, b := range []*build{one, two, other} {
		s, err := checksums(b.to)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	if diff := cmp.Diff(all[0], all[1]); diff != "" || one.digests["app"] != two.digests["app"] {
		t.Errorf("two builds (-first +second):\n%s", diff)
	}
	if one.digests["app"] == other.digests["app"] {
		t.Error("another program has the same digest")
	}
}

// An archive is an OCI layout, with the names by which skopeo and containerd find the image, and nothing of
// it gets out of the folder that it is unpacked into.
func TestImageArchive(t *testing.T) {
	b := anImage(t, "program")
	archive := filepath.Join(b.to, "app-image-v1.2.3.tar")
	work := t.TempDir()
	index, described, err := ReadImage(archive, work)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range manifest.Manifests {
		if m.ArtifactType != "" {
			t.Errorf("an artifactType, which makes Debian 12's skopeo copy the image with another digest: %+v", m)
		}
	}
	want := map[string]string{"org.opencontainers.image.ref.name": "v1.2.3", "io.containerd.image.name": registry + "/app:v1.2.3"}
	if diff := cmp.Diff(want, described.Annotations); diff != "" || described.Digest.String() != b.digests["app"] {
		t.Errorf("%s instead of %s, annotations (-want +got):\n%s", described.Digest, b.digests["app"], diff)
	}
	if text, err := os.ReadFile(filepath.Join(work, "oci-layout")); err != nil || !bytes.Contains(text, []byte(`"imageLayoutVersion"`)) {
		t.Errorf("oci-layout: %s, %v", text, err)
	}
	outside := filepath.Join(t.TempDir(), "outside.tar")
	f, err := os.Create(outside)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeTar(f, "", map[string][]byte{"../stray": nil}, time.Time{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := ReadImage(outside, t.TempDir()); err == nil || !strings.Contains(err.Error(), "escapes") {
		t.Errorf("a file outside of the folder: %v", err)
	}
}

// What is published is what was built, for each processor, and a tag never moves.
func TestPublish(t *testing.T) {
	server := httptest.NewServer(registryserver.New(registryserver.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team"
	b := anImage(t, "program")
	for range 2 { // again, after a failure in between
		refs, err := Publish(t.Context(), b.to, to)
		if want := []string{to + "/app@" + b.digests["app"]}; err != nil || !slices.Equal(refs, want) {
			t.Fatalf("%v, %v, want %v", refs, err, want)
		}
	}
	ref, err := name.ParseReference(to + "/app:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	var archs []string
	for _, m := range manifest.Manifests {
		archs = append(archs, m.Platform.Architecture)
		img, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; config.Architecture != m.Platform.Architecture || c.User != "65532:65532" || c.Labels["own"] != "label" || c.Labels["org.opencontainers.image.version"] != "v1.2.3" {
			t.Errorf("%s: %+v", m.Platform.Architecture, config)
		}
	}
	if !slices.Equal(archs, Architectures) || manifest.Annotations["org.opencontainers.image.revision"] != b.hash {
		t.Errorf("for %v, %v", archs, manifest.Annotations)
	}
	if _, err := Publish(t.Context(), anImage(t, "other").to, to); err == nil || !strings.Contains(err.Error(), "a tag never moves") {
		t.Errorf("another image by the same tag: %v", err)
	}
	if _, err := Publish(t.Context(), t.TempDir(), to); err == nil || !strings.Contains(err.Error(), "make release") {
		t.Errorf("no release: %v", err)
	}
}

func TestArchivesAreReproducible(t *testing.T) {
	files := map[string][]byte{"b/c": []byte("2"), "a": []byte("1")}
	var all [][]byte
	for _, dir := range []string{t.TempDir(), t.TempDir()} {
		file := filepath.Join(dir, "x.tar.gz")
		if err := writeArchive(file, "x", files, time.Unix(1700000000, 0)); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, content)
	}
	if !bytes.Equal(all[0], all[1]) {
		t.Error("they differ")
	}
}

// Provenance and signatures tell who has built: they are not in the checksums, which whoever builds
// the same commit compares.
func TestChecksums(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"b", "a/c", Checksums, Provenance, Checksums + signature, Provenance + signature} {
		write(t, filepath.Join(dir, file), "x")
	}
	s, err := checksums(dir)
	const x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	if want := x + "  a/c\n" + x + "  b\n"; err != nil || s.String() != want {
		t.Errorf("%q, %v", s, err)
	}
}

// The statement has each file and image, and says from which commit and by whom they are.
func TestProvenance(t *testing.T) {
	b := anImage(t, "program")
	for builder, want := range map[string]string{"": Local, "https://example.com/workflow": "https://example.com/workflow"} {
		b.Builder = builder
		text, err := b.provenance(sums{"file": strings.Repeat("a", 64)})
		if err != nil {
			t.Fatal(err)
		}
		again, err := b.provenance(sums{"file": strings.Repeat("a", 64)})
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("made twice it differs: %v", err)
		}
		var statement intoto.Statement
		if err := protojson.Unmarshal(text, &statement); err != nil {
			t.Fatal(err)
		}
		if len(statement.Subject) != 2 || statement.Subject[0].Name != "file" || statement.Subject[1].Name != registry+"/app" || "sha256:"+statement.Subject[1].Digest["sha256"] != b.digests["app"] {
			t.Errorf("subjects: %v", statement.Subject)
		}
		said := statement.Predicate.AsMap()
		source := said["buildDefinition"].(map[string]any)["resolvedDependencies"].([]any)[0].(map[string]any)
		if id := said["runDetails"].(map[string]any)["builder"].(map[string]any)["id"]; id != want || source["digest"].(map[string]any)["gitCommit"] != b.hash {
			t.Errorf("%s", text)
		}
	}
}

// Two SBOMs of one program differ only in what is taken out.
func TestReproducibleSBOM(t *testing.T) {
	at := time.Unix(1700000000, 0).UTC()
	one, err := reproducible([]byte(`{"bomFormat":"CycloneDX","metadata":{"timestamp":"2026-01-01T00:00:00Z","tools":[{"name":"x","hashes":[{"alg":"MD5"}]}]}}`), at)
	if err != nil {
		t.Fatal(err)
	}
	two, err := reproducible([]byte(`{"bomFormat":"CycloneDX","metadata":{"timestamp":"2027-01-01T00:00:00Z","tools":[{"name":"x","hashes":[]}]}}`), at)
	if err != nil || !bytes.Equal(one, two) || !json.Valid(one) || !bytes.Contains(one, []byte(`"2023-11-14T22:13:20Z"`)) {
		t.Errorf("%v\n%s%s", err, one, two)
	}
	if _, err := reproducible([]byte(`{}`), at); err == nil {
		t.Error("an SBOM without metadata is taken")
	}
}
