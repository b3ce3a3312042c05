package s3

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

// What the files of a hostile Secret, or a hostile EtcdBackup, are after: a file that is
// mounted in the same Pod.
const rootPassword = "hunter2"

// identityServer answers as STS and as the endpoint of EKS' Pod Identity do, and records all
// that it is told.
type identityServer struct {
	mu    sync.Mutex
	heard []string
}

func (s *identityServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	s.heard = append(s.heard, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header, " ", string(body), " ", err))
	s.mu.Unlock()
	expiration := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, action := range []string{"AssumeRoleWithWebIdentity", "AssumeRole"} {
		if strings.Contains(string(body), "Action="+action+"&") {
			fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>role</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>x</SessionToken><Expiration>%[2]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>", action, expiration)
			return
		}
	}
	fmt.Fprintf(w, `{"AccessKeyId":"role","SecretAccessKey":"x","Token":"x","Expiration":%q}`, expiration)
}

func (s *identityServer) told() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, "\n")
}

// listen serves in the clear.
func (s *identityServer) listen(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

// withoutAWS hides what the machine that runs the tests has of AWS.
func withoutAWS(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// password is a file that another Secret has put into the Pod.
func password(t *testing.T) string {
	t.Helper()
	return filepath.Join(mounted(t, map[string][]byte{"password": []byte(rootPassword)}), "password")
}

// TestHostileSecrets opens stores with Secrets whose author can create Secrets, and wants
// another one's content or a program run.
func TestHostileSecrets(t *testing.T) {
	withoutAWS(t)
	attacker := &identityServer{}
	url := attacker.listen(t)
	// The Pod has an identity of its own, which is not for the author of a Secret either.
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", url+"/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", rootPassword)
	secret, marker := password(t), filepath.Join(t.TempDir(), "marker")
	const keys = "aws_access_key_id = a\naws_secret_access_key = b\n"
	const role = "role_arn = arn:aws:iam::1:role/x\n"
	process := "credential_process = touch " + marker + "\n"
	token := role + "web_identity_token_file = " + secret + "\n"
	const toAttacker = "region = us-east-1\nservices = attacker\n"
	services := "[services attacker]\nsts =\n  endpoint_url = " + url + "\n"
	for name, c := range map[string]struct {
		config, credentials, key string
	}{
		"a program":                       {config: "[default]\n" + toAttacker + process, key: "credential_process"},
		"a program, by credentials":       {config: "[default]\n" + toAttacker, credentials: "[default]\n" + process, key: "credential_process"},
		"a program, in capitals":          {config: "[default]\n" + toAttacker + strings.Replace(process, "credential_p", "Credential_P", 1), key: "credential_process"},
		"a program beside keys":           {config: "[default]\n" + toAttacker + process, credentials: "[default]\n" + keys, key: "credential_process"},
		"a file":                          {config: "[default]\n" + toAttacker + token, key: "web_identity_token_file"},
		"a file beside keys":              {config: "[default]\n" + toAttacker + token, credentials: "[default]\n" + keys, key: "web_identity_token_file"},
		"a chain to a file":               {config: "[default]\n" + toAttacker + role + "source_profile = x\n[profile x]\n" + token, key: "web_identity_token_file"},
		"a long chain to a program":       {config: "[default]\n" + toAttacker + role + "source_profile = x\n[profile x]\n" + role + "source_profile = y\n[profile y]\n" + process, key: "credential_process"},
		"a chain, by credentials":         {config: "[default]\n" + toAttacker, credentials: "[default]\n" + role + "source_profile = x\n[x]\n" + process, key: "credential_process"},
		"the Pod's variables":             {config: "[default]\n" + toAttacker + role + "credential_source = Environment\n", key: "credential_source"},
		"the Pod's identity":              {config: "[default]\n" + toAttacker + role + "credential_source = EcsContainer\n", key: "credential_source"},
		"the node's identity":             {config: "[default]\n" + toAttacker + role + "credential_source = Ec2InstanceMetadata\n", key: "credential_source"},
		"single sign-on":                  {config: "[default]\n" + toAttacker + "sso_session = x\nsso_account_id = 1\nsso_role_name = x\n[sso-session x]\nsso_region = us-east-1\nsso_start_url = " + url + "\n", key: "sso_session"},
		"single sign-on, as it was":       {config: "[default]\n" + toAttacker + "sso_account_id = 1\nsso_role_name = x\nsso_region = us-east-1\nsso_start_url = " + url + "\n", key: "sso_start_url"},
		"a login":                         {config: "[default]\n" + toAttacker + "login_session = arn:aws:iam::1:user/x\n", key: "login_session"},
		"no keys, so the Pod's identity?": {config: "[default]\n" + toAttacker, key: "aws_access_key_id"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{}
			for key, content := range map[string]string{"config": c.config + services, "credentials": c.credentials} {
				if content != "" {
					files[key] = []byte(content)
				}
			}
			_, err := Open(t.Context(), Settings{Bucket: bucket, SecretDir: mounted(t, files)})
			if _, missing := os.Stat(marker); missing == nil {
				t.Error("the program was run")
				_ = os.Remove(marker)
			}
			if !errors.Is(err, objectstore.CredentialsInvalid) {
				t.Fatalf("got %v, want %v", err, objectstore.CredentialsInvalid)
			}
			for _, words := range []string{c.key, "aws_secret_access_key", "pod.serviceAccountName"} {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q does not say %q", err, words)
				}
			}
			if strings.Contains(err.Error(), rootPassword) {
				t.Errorf("the password is in %q", err)
			}
		})
	}
	if told := attacker.told(); told != "" {
		t.Errorf("the attacker was told:\n%s", told)
	}
}

// judged are the settings of AWS' files that the SDK knows, each of which was looked at: it
// is either refused, or harmless, since it only shapes requests that are signed.
var judged = []string{
	"AccountIDEndpointMode", "AppID", "AuthSchemePreference", "BaseEndpoint", "CredentialProcess", "CredentialSource", "Credentials", "CustomCABundle",
	"DefaultsMode", "DisableClockSkewCorrection", "DisableRequestCompression", "EC2IMDSEndpoint", "EC2IMDSEndpointMode", "EC2IMDSv1Disabled",
	"EnableEndpointDiscovery", "ExternalID", "IgnoreConfiguredEndpoints", "LoginSession", "MFASerial", "Profile", "Region", "RequestChecksumCalculation",
	"RequestMinCompressSizeBytes", "ResponseChecksumValidation", "RetryMaxAttempts", "RetryMode", "RoleARN", "RoleDurationSeconds", "RoleSessionName",
	"S3DisableExpressAuth", "S3DisableMultiRegionAccessPoints", "S3UseARNRegion", "SSOAccountID", "SSORegion", "SSORoleName", "SSOSession", "SSOSessionName",
	"SSOStartURL", "Services", "ServicesSectionName", "Source", "SourceProfileName", "UseDualStackEndpoint", "UseFIPSEndpoint", "WebIdentityTokenFile",
}

// TestEverySettingIsJudged fails when another version of the SDK knows another setting: look
// whether it reads a file, runs a program or sends something that is not signed, then refuse
// it or add it above.
func TestEverySettingIsJudged(t *testing.T) {
	var known []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.SharedConfig]()) {
		known = append(known, f.Name)
	}
	slices.Sort(known)
	if !slices.Equal(known, judged) {
		t.Errorf("the SDK knows\n%q, and these were judged:\n%q", known, judged)
	}
}

// TestSecretsAreReadInOneVersion: what is checked is not replaced before it is used.
func TestSecretsAreReadInOneVersion(t *testing.T) {
	dir := mounted(t, map[string][]byte{"config": []byte("checked")})
	files, err := Settings{SecretDir: dir}.secretFiles()
	if err != nil {
		t.Fatal(err)
	}
	etcdtest.Mount(t, dir, map[string][]byte{"config": []byte("hostile")})
	if content, err := os.ReadFile(files["config"][0]); err == nil && string(content) != "checked" {
		t.Errorf("%s is used", content)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "config")); err != nil || string(content) != "hostile" {
		t.Errorf("%s (%v) is mounted", content, err)
	}
}

// TestRolesOfSecrets assumes roles with static keys: STS gets a signed request, and no key.
func TestRolesOfSecrets(t *testing.T) {
	withoutAWS(t)
	const secretKey = "very-secret"
	const keys = "aws_access_key_id = AKID\naws_secret_access_key = " + secretKey + "\n"
	for name, c := range map[string]string{
		"of a profile":   "role_arn = arn:aws:iam::1:role/x\nsource_profile = keys\n[profile keys]\n" + keys,
		"of itself":      "role_arn = arn:aws:iam::1:role/x\nsource_profile = default\n" + keys,
		"beside keys":    "role_arn = arn:aws:iam::1:role/x\n" + keys,
		"role of a role": "role_arn = arn:aws:iam::1:role/x\nsource_profile = y\n[profile y]\nrole_arn = arn:aws:iam::1:role/y\nsource_profile = keys\n[profile keys]\n" + keys,
	} {
		t.Run(name, func(t *testing.T) {
			sts := &identityServer{}
			dir := mounted(t, map[string][]byte{"config": []byte("[default]\nregion = us-east-1\nservices = mine\n" + c + "[services mine]\nsts =\n  endpoint_url = " + sts.listen(t) + "\n")})
			if _, err := Open(t.Context(), Settings{Bucket: bucket, SecretDir: dir}); err != nil {
				t.Fatal(err)
			}
			told := sts.told()
			if !strings.Contains(told, "Action=AssumeRole&") || !strings.Contains(told, "Credential=AKID/") || strings.Contains(told, secretKey) {
				t.Errorf("STS was told:\n%s", told)
			}
		})
	}
}

// TestCAsOfOthersSeeNoKeys: with s3.caSecret the author of an EtcdBackup says whom to trust
// as a store. What STS answers, and what proves who a Pod is, are not for that one to see.
func TestCAsOfOthersSeeNoKeys(t *testing.T) {
	ca := etcdtest.NewCA(t, "attacker's")
	leaf := ca.Issue(t, "sts", "127.0.0.1")
	pair, err := tls.X509KeyPair(leaf.Cert, leaf.Key)
	if err != nil {
		t.Fatal(err)
	}
	sts := &identityServer{}
	server := httptest.NewUnstartedServer(sts)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	caDir, token := mounted(t, map[string][]byte{"ca.crt": ca.PEM}), password(t)
	bundle := filepath.Join(caDir, "ca.crt")

	for name, c := range map[string]struct {
		env   map[string]string
		caDir string
		want  objectstore.Reason // empty: it works
		says  string
	}{
		"the creator's CA":   {caDir: caDir, want: objectstore.CredentialsInvalid},
		"no CA":              {want: objectstore.CredentialsInvalid},
		"the Pod's CA":       {env: map[string]string{"AWS_CA_BUNDLE": bundle}, says: rootPassword},
		"the Pod's, and one": {env: map[string]string{"AWS_CA_BUNDLE": bundle}, caDir: caDir, says: rootPassword},
	} {
		t.Run("workload identity, "+name, func(t *testing.T) {
			withoutAWS(t)
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x")
			t.Setenv("AWS_ENDPOINT_URL_STS", server.URL)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			before := sts.told()
			_, err := Open(t.Context(), Settings{Bucket: bucket, Endpoint: "https://s3.example.com", CADir: c.caDir})
			if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if heard := strings.TrimPrefix(sts.told(), before); (c.says == "") != (heard == "") || !strings.Contains(heard, c.says) {
				t.Errorf("STS was told %q", heard)
			}
		})
	}
	t.Run("a role of the Secret", func(t *testing.T) {
		withoutAWS(t)
		before := sts.told()
		dir := mounted(t, map[string][]byte{"config": []byte("[default]\nregion = us-east-1\nservices = mine\nrole_arn = arn:aws:iam::1:role/x\naws_access_key_id = a\naws_secret_access_key = b\n[services mine]\nsts =\n  endpoint_url = " + server.URL + "\n")})
		_, err := Open(t.Context(), Settings{Bucket: bucket, SecretDir: dir, CADir: caDir})
		if !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), "role_arn") || !strings.Contains(err.Error(), "ca_bundle") {
			t.Errorf("got %v", err)
		}
		if heard := strings.TrimPrefix(sts.told(), before); heard != "" {
			t.Errorf("STS was told %q", heard)
		}
	})
}

const childIdentity = "OBJECTSTORE_TEST_IDENTITY"

// TestIdentityChild looks for credentials in an environment of its own, for
// TestProxiesSeeNoToken.
func TestIdentityChild(t *testing.T) {
	if os.Getenv(childIdentity) == "" {
		return // TestProxiesSeeNoToken runs it
	}
	_, err := Open(t.Context(), Settings{Bucket: bucket, Endpoint: "https://s3.example.com"})
	t.Logf("opened: %v", err)
}

// TestProxiesSeeNoToken: the server of EKS' Pod Identity is asked in the clear, with a token
// that proves who the Pod is. It is no store, and no proxy of an EtcdBackup stands before it.
func TestProxiesSeeNoToken(t *testing.T) {
	proxy := &identityServer{}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIdentityChild$", "-test.v")
	child.Env = []string{
		"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), childIdentity + "=true", "HTTP_PROXY=" + proxy.listen(t),
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" + password(t),
	}
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "opened: ") {
		t.Fatalf("%v:\n%s", err, out)
	}
	if told := proxy.told(); told != "" {
		t.Errorf("the proxy was told:\n%s", told)
	}
}
