package release

import (
	"bytes"
	"encoding/json"
	"maps"
	"runtime"
	"slices"
	"strings"

	slsa "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/etcd-operators/etcd-operators/e2e/images"
)

const (
	// Local is the builder of who builds on a machine of their own.
	Local = repository + "/blob/main/docs/project/releasing.md#build-it-yourself"
	// buildType is what the parameters of a build mean.
	buildType = repository + "/blob/main/docs/project/releasing.md#what-is-in-a-release"
	// predicateType is SLSA's: https://slsa.dev/spec/v1.0/provenance.
	predicateType = "https://slsa.dev/provenance/v1"
)

// provenance is an in-toto statement about all files and images: from which commit they were
// built, by whom, and with what beside the sources.
func (b *build) provenance(of sums) ([]byte, error) {
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: predicateType}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": of[name]}})
	}
	for _, name := range slices.Sorted(maps.Keys(b.digests)) {
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{
			Name: registry + "/" + name, Digest: map[string]string{"sha256": strings.TrimPrefix(b.digests[name], "sha256:")},
		})
	}
	predicate, err := b.slsa()
	if err != nil {
		return nil, err
	}
	if err := predicate.Validate(); err != nil {
		return nil, err
	}
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, err
	}
	statement.Predicate = &structpb.Struct{}
	if err := protojson.Unmarshal(text, statement.Predicate); err != nil {
		return nil, err
	}
	if err := statement.Validate(); err != nil {
		return nil, err
	}
	text, err = protojson.Marshal(statement)
	if err != nil {
		return nil, err
	}
	// protojson varies the spaces on purpose.
	var indented bytes.Buffer
	err = json.Indent(&indented, text, "", "  ")
	indented.WriteByte('\n')
	return indented.Bytes(), err
}

// slsa is what the statement says.
func (b *build) slsa() (*slsa.Provenance, error) {
	parameters, err := structpb.NewStruct(map[string]any{"version": b.Version, "repository": repository})
	if err != nil {
		return nil, err
	}
	trusted, err := digestOf(images.CACertificates)
	if err != nil {
		return nil, err
	}
	builder := b.Builder
	if builder == "" {
		builder = Local
	}
	return &slsa.Provenance{
		BuildDefinition: &slsa.BuildDefinition{
			BuildType:          buildType,
			ExternalParameters: parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{
				{Uri: "git+" + repository + "@" + b.hash, Digest: map[string]string{"gitCommit": b.hash}},
				{Name: runtime.Version(), Uri: "https://go.dev/dl/" + runtime.Version() + "." + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"},
				{Name: images.CACertificates, Digest: map[string]string{"sha256": trusted}},
			},
		},
		RunDetails: &slsa.RunDetails{Builder: &slsa.Builder{Id: builder}},
	}, nil
}
