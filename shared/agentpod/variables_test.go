package agentpod

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/deploy"
)

// TestVariablesOfTheUser holds what pod.env takes against what is harmless. Everything else
// is refused, above all what names files that are sent, servers that they are sent to, and
// programs: AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE,
// AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CA_BUNDLE, AWS_ENDPOINT_URL_*,
// AWS_CONTAINER_CREDENTIALS_*, HOME, LD_PRELOAD.
func TestVariablesOfTheUser(t *testing.T) {
	harmless := []string{
		// A proxy sees what is encrypted for others, and is not between us and the server of
		// a container's credentials: objectstore's TestCAsOfOthersSeeNoKeys, TestProxiesSeeNoToken.
		"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy",
		// Names of regions, which the SDK takes for labels of its own hosts, names and switches.
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED", "AWS_ROLE_SESSION_NAME",
		"AWS_STS_REGIONAL_ENDPOINTS", "AWS_USE_DUALSTACK_ENDPOINT", "AWS_USE_FIPS_ENDPOINT",
		// Go's.
		"GOGC", "GOMAXPROCS", "TZ",
	}
	rule := regexp.MustCompile(`rule: self in \[('HTTPS_PROXY'[^\]]*)\]`)
	for kind, definition := range map[string][]byte{"etcdbackups": deploy.EtcdBackups, "etcdrestores": deploy.EtcdRestores} {
		text := strings.Join(strings.Fields(string(definition)), " ") // lines are folded
		rules := rule.FindAllStringSubmatch(text, -1)
		if len(rules) == 0 {
			t.Errorf("%s: no rule says which variables are taken", kind)
		}
		if lists := strings.Count(text, "is not supported: use only HTTPS_PROXY"); lists != len(rules) {
			t.Errorf("%s: %d lists of variables, and %d are looked at", kind, lists, len(rules))
		}
		for _, r := range rules {
			taken := strings.FieldsFunc(r[1], func(r rune) bool { return strings.ContainsRune("', ", r) })
			if !slices.Equal(taken, harmless) {
				t.Errorf("%s takes\n%q, want\n%q", kind, taken, harmless)
			}
		}
	}
}
