package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Signer signs with cosign.
type Signer struct {
	// Cosign is the program.
	Cosign string
	// Key is the file of a private key, whose password is in COSIGN_PASSWORD. Such signatures
	// are in no transparency log. Empty: keyless, by the identity of the workflow that runs.
	Key string
	// Insecure allows a registry without TLS.
	Insecure bool
}

// Sign signs the checksums, and with them all files that they list, and attests the provenance of
// the release in a folder. Beside each of the two files is its bundle afterwards.
func (s *Signer) Sign(ctx context.Context, dir string) error {
	for _, file := range []string{Checksums, Provenance} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			return fmt.Errorf("%s holds no release; build one by make release: %w", dir, err)
		}
	}
	sums, statement := filepath.Join(dir, Checksums), filepath.Join(dir, Provenance)
	if err := s.run(ctx, "sign-blob", "--bundle", sums+signature, sums); err != nil {
		return err
	}
	return s.run(ctx, "attest-blob", "--statement", statement, "--bundle", statement+signature)
}

// SignPublished signs the images and charts of the release in a folder, as they are published in a registry,
// and attests to each its provenance, and to an image also what is in its programs.
func (s *Signer) SignPublished(ctx context.Context, dir, registry string) error {
	predicate, err := writePredicate(filepath.Join(dir, Provenance))
	if err != nil {
		return err
	}
	defer os.Remove(predicate)
	return withArtifacts(dir, registry, func(a *artifact) error {
		if a.moves {
			return nil
		}
		if err := s.publish(ctx, "sign", a.ref()); err != nil {
			return err
		}
		if err := s.publish(ctx, "attest", "--type", "slsaprovenance1", "--predicate", predicate, a.ref()); err != nil {
			return err
		}
		for _, sbom := range a.sboms {
			if err := s.publish(ctx, "attest", "--type", "cyclonedx", "--predicate", sbom, a.ref()); err != nil {
				return err
			}
		}
		return nil
	})
}

// writePredicate writes what the statement in a file says into a file without its subjects: cosign names the
// artifact that it attests it to.
func writePredicate(statement string) (string, error) {
	text, err := os.ReadFile(statement)
	if err != nil {
		return "", err
	}
	var read struct {
		Predicate json.RawMessage `json:"predicate"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return "", fmt.Errorf("read %s: %w", statement, err)
	}
	f, err := os.CreateTemp("", "predicate-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(read.Predicate)
	return f.Name(), errors.Join(err, f.Close())
}

// publish runs cosign for what is in a registry.
func (s *Signer) publish(ctx context.Context, command string, args ...string) error {
	if s.Insecure {
		args = append([]string{"--allow-insecure-registry", "--allow-http-registry"}, args...)
	}
	return s.run(ctx, append([]string{command}, args...)...)
}

// run runs cosign, whose first argument is a command that signs.
func (s *Signer) run(ctx context.Context, args ...string) error {
	args = append(args, "--yes")
	if s.Key != "" {
		args = append(args, "--key", s.Key, "--use-signing-config=false", "--tlog-upload=false")
	}
	out, err := exec.CommandContext(ctx, s.Cosign, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("cosign %s: %w\n%s", args[0], err, out)
	}
	return nil
}
