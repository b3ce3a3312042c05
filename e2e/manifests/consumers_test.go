package manifests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/e2e/gomodule"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// TestKamajiTakesItsDataStore: an API server with Kamaji's own definition takes the DataStores that
// kubectl etcd connect writes, and knows each field.
func TestKamajiTakesItsDataStore(t *testing.T) {
	installOthersKinds(t)
	c := client.NewDryRunClient(client.WithFieldValidation(admissiontest.Client(t), metav1.FieldValidationStrict))
	for _, text := range connections(t, "kamaji") {
		store := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict([]byte(text), store); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(apiservertest.Context(t), store); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	}
}

// TestVclusterTakesItsValues: what kubectl etcd connect writes is valid by the schema of the values
// that vcluster publishes, which permits no field that it does not know.
func TestVclusterTakesItsValues(t *testing.T) {
	vcluster, err := gomodule.Pinned(apiservertest.Context(t), "github.com/loft-sh/vcluster", "v0.30.0", "h1:fdnasGlrBtCMBoFKR3tszkeOHA4dB5sqMr5l//eQnMQ=")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(vcluster, "chart/values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range connections(t, "vcluster") {
		var values any
		if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(values); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	}
}

// connections are what kubectl etcd connect writes for a consumer, of the golden file in which the
// plugin's test has them one behind the other.
func connections(t *testing.T, consumer string) []string {
	t.Helper()
	golden, err := os.ReadFile(filepath.Join(repoRoot, "plugin/internal/consumer/testdata", consumer+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, text := range regexp.MustCompile(`(?m)^(# EtcdCluster |error: )`).Split(string(golden), -1) {
		if _, text, ok := strings.Cut(text, " for "+consumer+"\n"); ok {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s.golden has no configuration", consumer)
	}
	return all
}

// installOthersKinds installs the definitions of other projects' kinds that examples have, as the
// projects publish them.
func installOthersKinds(t *testing.T) {
	t.Helper()
	ctx := apiservertest.Context(t)
	kamaji, err := gomodule.Pinned(ctx, "github.com/clastix/kamaji", "v1.0.0", "h1:QY99C2qA3LpvVCKRxZcE96/uKf5Fd7hNpjJ676jrIBY=")
	if err != nil {
		t.Fatal(err)
	}
	certManager, err := gomodule.Required(ctx, filepath.Join(repoRoot, "e2e/localkube/build/cert-manager"), "github.com/cert-manager/cert-manager")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		filepath.Join(kamaji, "charts/kamaji/crds/datastore.yaml"),
		filepath.Join(certManager, "deploy/crds/cert-manager.io_issuers.yaml"),
		filepath.Join(certManager, "deploy/crds/cert-manager.io_certificates.yaml"),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		apiservertest.Install(t, apiservertest.Config(), apiservertest.Definition(text))
	}
}
