package releasetest

import (
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	registryserver "github.com/google/go-containerregistry/pkg/registry"

	"github.com/etcd-operators/etcd-operators/e2e/images"
	"github.com/etcd-operators/etcd-operators/e2e/release"
)

// areVerified: what is signed with a key verifies with it, as docs/tasks/install.md says, and
// nothing else does: no changed file, and no other key.
func areVerified(t *testing.T, root, dir string) {
	t.Setenv("COSIGN_PASSWORD", "a password")
	cosign := filepath.Join(root, "bin/cosign")
	keys, other := t.TempDir(), t.TempDir()
	for _, folder := range []string{keys, other} {
		run(t, folder, cosign, "generate-key-pair")
	}
	signer := release.Signer{Cosign: cosign, Key: filepath.Join(keys, "cosign.key"), Insecure: true}
	if err := signer.Sign(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	sums, provenance := filepath.Join(dir, release.Checksums), filepath.Join(dir, release.Provenance)
	verifies := func(reason string, want bool, args ...string) {
		t.Helper()
		out, err := command(t.Context(), "", cosign, args...).CombinedOutput()
		if (err == nil) != want {
			t.Errorf("%s: %v\n%s", reason, err, out)
		}
	}
	blob := func(folder, file string) []string {
		return []string{"verify-blob", "--key", filepath.Join(folder, "cosign.pub"), "--insecure-ignore-tlog", "--bundle", sums + ".sigstore.json", file}
	}
	attested := func(file string) []string {
		return []string{"verify-blob-attestation", "--key", filepath.Join(keys, "cosign.pub"), "--insecure-ignore-tlog", "--type", "slsaprovenance1", "--bundle", provenance + ".sigstore.json", file}
	}
	changed := filepath.Join(t.TempDir(), "changed")
	if err := os.WriteFile(changed, []byte(read(t, sums)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	verifies("the checksums", true, blob(keys, sums)...)
	verifies("a changed file", false, blob(keys, changed)...)
	verifies("another key", false, blob(other, sums)...)
	verifies("the provenance of a file", true, attested(filepath.Join(dir, "etcd-operator.yaml"))...)
	verifies("the provenance of a changed file", false, attested(changed)...)

	server := httptest.NewServer(registryserver.New(registryserver.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	registry := strings.TrimPrefix(server.URL, "http://")
	refs, err := release.Publish(t.Context(), dir, registry)
	if err != nil || len(refs) != 3+3+1+4 {
		t.Fatalf("published %v: %v", refs, err)
	}
	published := func(folder, ref, command string, args ...string) []string {
		return append([]string{command, "--key", filepath.Join(folder, "cosign.pub"), "--insecure-ignore-tlog", "--allow-http-registry"}, append(args, ref)...)
	}
	verifies("an image before it is signed", false, published(keys, refs[0], "verify")...)
	if err := signer.SignPublished(t.Context(), dir, registry); err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		verifies(ref, true, published(keys, ref, "verify")...)
		verifies(ref+" by another key", false, published(other, ref, "verify")...)
		verifies("the provenance of "+ref, true, published(keys, ref, "verify-attestation", "--type", "slsaprovenance1")...)
		verifies("the provenance of "+ref+" by another key", false, published(other, ref, "verify-attestation", "--type", "slsaprovenance1")...)
	}
	for _, recipe := range images.Products {
		ref := registry + "/" + recipe.Name() + ":" + tag
		listsPrograms(t, recipe, run(t, "", cosign, published(keys, ref, "verify-attestation", "--type", "cyclonedx")...))
	}
	chart := registry + "/charts/etcd-operators:" + version
	verifies("the programs of a chart, which has none", false, published(keys, chart, "verify-attestation", "--type", "cyclonedx")...)
	if said := predicates(t, run(t, "", cosign, published(keys, chart, "verify-attestation", "--type", "slsaprovenance1")...)); len(said) != 1 || !bytes.Contains(said[0], []byte(`"gitCommit"`)) {
		t.Errorf("the provenance of %s names no commit: %s", chart, said)
	}
}

// listsPrograms: what is attested to an image lists each of its programs, for each processor.
func listsPrograms(t *testing.T, recipe images.Recipe, attested string) {
	t.Helper()
	serials := map[string]bool{}
	names := map[string]int{}
	for _, predicate := range predicates(t, attested) {
		var sbom struct {
			SerialNumber string
			Metadata     struct{ Component struct{ Name string } }
		}
		if err := json.Unmarshal(predicate, &sbom); err != nil {
			t.Fatal(err)
		}
		serials[sbom.SerialNumber] = true
		names[sbom.Metadata.Component.Name]++
	}
	if want := len(recipe.Programs) * len(release.Architectures); len(serials) != want {
		t.Errorf("%s has %d SBOMs of %v, want %d", recipe.Name(), len(serials), names, want)
	}
}

// predicates are what the attestations say that cosign prints, one a line.
func predicates(t *testing.T, attested string) []json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	for line := range strings.Lines(attested) {
		var envelope struct{ Payload []byte }
		if err := json.Unmarshal([]byte(line), &envelope); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		var statement struct{ Predicate json.RawMessage }
		if err := json.Unmarshal(envelope.Payload, &statement); err != nil {
			t.Fatal(err)
		}
		all = append(all, statement.Predicate)
	}
	return all
}
