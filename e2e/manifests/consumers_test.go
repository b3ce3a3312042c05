package manifests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// module is a release of a Go module, with its sum as go.sum has it.
type module struct{ path, version, sum string }

var (
	kamaji   = module{"github.com/clastix/kamaji", "v1.0.0", "h1:QY99C2qA3LpvVCKRxZcE96/uKf5Fd7hNpjJ676jrIBY="}
	vcluster = module{"github.com/loft-sh/vcluster", "v0.30.0", "h1:fdnasGlrBtCMBoFKR3tszkeOHA4dB5sqMr5l//eQnMQ="}
	// certManager is the one that localkube runs.
	certManager = module{"github.com/cert-manager/cert-manager", "v1.21.2", "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68="}
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
	file := filepath.Join(moduleFolder(t, vcluster), "chart/values.schema.json")
	schema, err := jsonschema.NewCompiler().Compile(file)
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
	kamaji, certManager := moduleFolder(t, kamaji), moduleFolder(t, certManager)
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

// moduleFolder is where the Go module is, which is downloaded if need be. Nothing of it is compiled.
func moduleFolder(t *testing.T, m module) string {
	t.Helper()
	cmd := exec.CommandContext(apiservertest.Context(t), "go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GONOSUMDB="+m.path)
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("where is %s: %v: %s", m.path, err, out)
	}
	if err != nil || got.Sum != m.sum {
		t.Fatalf("where is %s: %v: %s; its sum is %q, want %q", m.path, err, got.Error, got.Sum, m.sum)
	}
	return got.Dir
}
