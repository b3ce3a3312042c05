package consumer

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/goldentest"
)

func cluster() *v1beta2.EtcdCluster {
	return &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "databases", Name: "example"}}
}

func secure() *v1beta2.EtcdCluster {
	c := cluster()
	c.Spec.TLS = &v1beta2.TLSPolicy{Auto: &v1beta2.AutoTLS{}}
	return c
}

// Each consumer's configuration is a golden file, and what is YAML parses.
func TestConfig(t *testing.T) {
	for _, kind := range Kinds {
		text := &strings.Builder{}
		for _, c := range []*v1beta2.EtcdCluster{secure(), cluster()} {
			got, err := Config(c, kind, Settings{})
			if err != nil {
				got = "error: " + err.Error() + "\n"
			}
			if kind != "env" && kind != "kubernetes" && err == nil {
				if err := yaml.Unmarshal([]byte(got), &map[string]any{}); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			}
			text.WriteString(got + "\n")
		}
		goldentest.Compare(t, "testdata/"+kind+".golden", text.String())
	}
}

func TestSettings(t *testing.T) {
	authenticated := secure()
	authenticated.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: "etcd-root"}
	named, nameless := secure(), secure()
	for c, name := range map[*v1beta2.EtcdCluster]string{named: "app", nameless: ""} {
		c.Spec.Auth = authenticated.Spec.Auth
		c.Spec.TLS = c.Spec.TLS.DeepCopy()
		c.Spec.Issued().ClientCommonName = &name
	}
	domain := cluster()
	domain.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: ".cluster.local"}
	byHand := cluster()
	byHand.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: "server"}, OperatorSecret: "operator"}}
	for name, row := range map[string]struct {
		cluster  *v1beta2.EtcdCluster
		kind     string
		settings Settings
		want     string
	}{
		"a folder of the user's":   {secure(), "env", Settings{Mount: "/certs/"}, "ETCDCTL_CERT=/certs/tls.crt"},
		"from outside":             {secure(), "kubernetes", Settings{Endpoint: "https://etcd.example.com:2379"}, "--etcd-servers=https://etcd.example.com:2379"},
		"an endpoint that is none": {secure(), "env", Settings{Endpoint: "etcd.example.com"}, "--endpoint etcd.example.com is not a URL"},
		"nobody":                   {secure(), "consul", Settings{}, "--output consul is not supported: set one of env, kubernetes"},
		"authentication":           {authenticated, "env", Settings{}, "create the user example-client"},
		"a password for Patroni":   {authenticated, "patroni", Settings{}, "set etcd3.username and etcd3.password"},
		"a password for APISIX":    {authenticated, "apisix", Settings{}, "set deployment.etcd.user and deployment.etcd.password"},
		"a common name":            {authenticated, "patroni", Settings{}, `refuses certificates with a common name: set TLS.*.clientCommonName of the EtcdCluster to ""`},
		"another common name":      {named, "env", Settings{}, "create the user app, the common name"},
		"no common name":           {nameless, "env", Settings{}, "enabled: create a user with the roles that are needed"},
		"a domain":                 {domain, "env", Settings{}, "http://example-client.databases.svc.cluster.local:2379"},
		"static certificates":      {byHand, "env", Settings{}, "Issue the client's certificate yourself, from a CA in the Secret server."},
		"kamaji without a CA":      {byHand, "kamaji", Settings{}, "only a cluster with spec.TLS.auto has it"},
	} {
		got, err := Config(row.cluster, row.kind, row.settings)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want %s", name, got, row.want)
		}
	}
	if got, err := Config(nameless, "patroni", Settings{}); err != nil || strings.Contains(got, "common name") {
		t.Errorf("there is nothing to say of a common name: %s, %v", got, err)
	}
}

// TestTextOfOthersStaysAValue: text in an EtcdCluster cannot add a line to a file, or a word to a command.
func TestTextOfOthersStaysAValue(t *testing.T) {
	planted := "x\nexit 3 #'; exit 3"
	issued := secure()
	issued.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: planted}
	issued.Spec.Issued().ClientCommonName = &planted
	issued.Spec.Pod = &v1beta2.PodPolicy{ClusterDomain: planted}
	static := cluster()
	static.Spec.TLS = &v1beta2.TLSPolicy{Static: &v1beta2.StaticTLS{Member: &v1beta2.MemberSecret{ServerSecret: planted}, OperatorSecret: planted}}
	static.Spec.Pod = issued.Spec.Pod
	for _, kind := range Kinds {
		for _, c := range []*v1beta2.EtcdCluster{issued, static} {
			text, err := Config(c, kind, Settings{Mount: "/" + planted})
			if err != nil {
				if kind == "kamaji" && c == static {
					continue // only TLS.auto supports it
				}
				t.Fatal(err)
			}
			values := regexp.MustCompile(`(?m)\A(# .*\n)*`).ReplaceAllString(text, "")
			if kind != "env" && kind != "kubernetes" {
				got := map[string]any{}
				if err := yaml.UnmarshalStrict([]byte(values), &got); err != nil || len(got) == 0 || strings.HasPrefix(values, "exit") {
					t.Errorf("%s is not YAML: %v\n%s", kind, err, text)
				}
				continue
			}
			// The shell itself splits the values into words.
			words := strings.NewReplacer("\nETCDCTL_", " ETCDCTL_", "\n--etcd-", " --etcd-").Replace(strings.TrimSpace(values))
			out, err := exec.Command("sh", "-c", `PATH=; printf '%s\0' `+words).CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s\n%s", kind, err, out, text)
			}
			if got, want := strings.Count(string(out), "\x00"), 4; got != want || strings.HasPrefix(words, "exit") {
				t.Errorf("%s: got %d words, want %d:\n%s", kind, got, want, text)
			}
		}
	}
}
