package release

import (
	"context"
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

// SignPublished signs the images and charts of the release in a folder, as they are published in a registry.
func (s *Signer) SignPublished(ctx context.Context, dir, registry string) error {
	return withArtifacts(dir, registry, func(a *artifact) error {
		if a.moves {
			return nil
		}
		return s.publish(ctx, "sign", a.ref())
	})
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
