package s3

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// ossDir is a mounted Secret for OSS.
func ossDir(t *testing.T, id, secret string) string {
	t.Helper()
	return mounted(t, map[string][]byte{ossKeyID: []byte(id + "\n"), ossKeySecret: []byte(secret)})
}

// TestVirtualHosted holds that every request goes to the bucket's own host, as OSS demands, and
// AWS recommends.
func TestVirtualHosted(t *testing.T) {
	server := s3test.Start(t)
	server.Bucket(t, bucket)
	proxy := s3test.NewProxy(t, server)
	s3test.Resolve(t)
	var elsewhere atomic.Int32
	proxy.Inject(s3test.Fault{When: func(r *http.Request) bool {
		if !strings.HasPrefix(r.Host, bucket+"."+s3test.Domain) {
			elsewhere.Add(1)
		}
		return false
	}})
	for name, s := range map[string]Settings{
		"s3":  {SecretDir: server.SecretDir(t)},
		"oss": {OSS: true, SecretDir: ossDir(t, server.AccessKey, server.SecretKey)},
	} {
		t.Run(name, func(t *testing.T) {
			s.Bucket, s.Endpoint, s.Stall, s.MaxBackoff = bucket, s3test.Virtual(proxy.Endpoint), 2*time.Second, 100*time.Millisecond
			store := open(t, s)
			if got, want := store.URL("k"), name+"://"+bucket+"/k"; got != want {
				t.Errorf("the URL is %s, want %s", got, want)
			}
			large := content(2*smallPart + 1)
			for key, want := range map[string][]byte{name + "/small": []byte("x"), name + "/large": large} {
				options := objectstore.PutOptions{IfAbsent: true, Metadata: map[string]string{"revision": "7"}}
				if _, err := store.Put(t.Context(), key, plain(want), options); err != nil {
					t.Fatal(err)
				}
				check(t, server, key, want)
				if _, err := store.Put(t.Context(), key, plain(want), options); !errors.Is(err, objectstore.AlreadyExists) {
					t.Errorf("stored over %s: %v", key, err)
				}
				if err := store.Tag(t.Context(), key, map[string]string{"sha256": "x"}); err != nil {
					t.Errorf("tags: %v", err)
				}
				if o, err := store.Stat(t.Context(), key); err != nil || o.Size != int64(len(want)) || o.Metadata["revision"] != "7" {
					t.Errorf("%s is %+v: %v", key, o, err)
				}
			}
			r, err := store.Get(t.Context(), name+"/large", "")
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, large) {
				t.Errorf("read %d bytes: %v", len(got), err)
			}
			var keys []string
			for o, err := range store.List(t.Context(), name+"/") {
				if err != nil {
					t.Fatal(err)
				}
				keys = append(keys, o.Key)
			}
			if want := []string{name + "/large", name + "/small"}; !slices.Equal(keys, want) {
				t.Errorf("listed %v, want %v", keys, want)
			}
			if n, err := store.Delete(t.Context(), keys...); n != 2 || err != nil {
				t.Errorf("deleted %d: %v", n, err)
			}
			broken := io.MultiReader(plain(large), errReader{})
			if _, err := store.Put(t.Context(), "key", broken, objectstore.PutOptions{}); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("stored half an object: %v", err)
			}
			checkNothing(t, server)
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went to another host", n)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOSSEndpoint(t *testing.T) {
	for endpoint, want := range map[string][2]string{
		"":                                      {"https://s3.oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"},
		"oss-eu-central-1.aliyuncs.com":         {"https://s3.oss-eu-central-1.aliyuncs.com", "eu-central-1"},
		"http://oss-cn-hangzhou.aliyuncs.com":   {"http://s3.oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"},
		"https://s3.oss-us-west-1.aliyuncs.com": {"https://s3.oss-us-west-1.aliyuncs.com", "us-west-1"},
		"https://OSS-cn-beijing-internal.aliyuncs.com/": {"https://s3.oss-cn-beijing-internal.aliyuncs.com/", "cn-beijing"},
		"https://backups.example.com:9000":              {"https://backups.example.com:9000", ""},
	} {
		if e, region := ossEndpoint(endpoint); e != want[0] || region != want[1] {
			t.Errorf("%q: %s in region %q, want %v", endpoint, e, region, want)
		}
	}
}

// TestOSSRefusals holds that a person is told of OSS' fields, and never of S3's.
func TestOSSRefusals(t *testing.T) {
	s3test.Resolve(t)
	for name, c := range map[string]struct {
		status        int
		code, message string
		dir           string
		want          objectstore.Reason
		words         string
	}{
		"a wrong key":    {403, "InvalidAccessKeyId", "x", ossDir(t, "a", "b"), objectstore.CredentialsInvalid, "accessKeyID and accessKeySecret of Secret mine"},
		"an old token":   {403, "SecurityTokenExpired", "x", ossDir(t, "a", "b"), objectstore.CredentialsInvalid, "Secret mine"},
		"a wrong secret": {403, "SignatureDoesNotMatch", "x", ossDir(t, "a", "b"), objectstore.CredentialsInvalid, "Secret mine"},
		"no right":       {403, "AccessDenied", "x", ossDir(t, "a", "b"), objectstore.AccessDenied, "oss:ListObjects"},
		"another region": {403, "AccessDenied", "The bucket you are attempting to access must be addressed using the specified endpoint.", ossDir(t, "a", "b"), objectstore.InvalidSettings, "oss.endpoint"},
		"no bucket":      {404, "NoSuchBucket", "x", ossDir(t, "a", "b"), objectstore.BucketNotFound, "create it"},
		"no object":      {404, "NoSuchKey", "x", ossDir(t, "a", "b"), objectstore.NotFound, "correct the path"},
		"a skewed clock": {403, "RequestTimeTooSkewed", "x", ossDir(t, "a", "b"), objectstore.ClockSkewed, "NTP"},
		"an archive":     {403, "InvalidObjectState", "x", ossDir(t, "a", "b"), objectstore.ObjectArchived, "archive"},
		"too often":      {503, "SlowDown", "x", ossDir(t, "a", "b"), objectstore.Unavailable, "cannot be reached, or fails"},
		"half a Secret":  {200, "", "", mounted(t, map[string][]byte{ossKeyID: []byte("x")}), objectstore.CredentialsInvalid, "accessKeySecret of Secret mine"},
		"no identity":    {200, "", "", "", objectstore.CredentialsInvalid, "oss.ossSecret"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/xml")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, "<Error><Code>"+c.code+"</Code><Message>"+c.message+"</Message></Error>")
			}))
			defer server.Close()
			s := Settings{OSS: true, Bucket: bucket, Endpoint: s3test.Virtual(server.URL), SecretDir: c.dir, Stall: time.Second, MaxBackoff: 10 * time.Millisecond}
			if c.dir != "" {
				s.Secret = "mine"
			}
			store, err := Open(t.Context(), s)
			if err == nil {
				_, err = store.Get(t.Context(), "key", "")
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) || strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "aws") {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.words)
			}
		})
	}
}

// TestOSSReplacesNothingUnseen holds that who cannot see an object of the key stores none: OSS
// has no conditional write that would tell.
func TestOSSReplacesNothingUnseen(t *testing.T) {
	s3test.Resolve(t)
	var writes atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		writes.Add(1)
	}))
	defer server.Close()
	store := open(t, Settings{OSS: true, Bucket: bucket, Endpoint: s3test.Virtual(server.URL), SecretDir: ossDir(t, "a", "b"), Stall: time.Second, MaxBackoff: 10 * time.Millisecond})
	_, err := store.Put(t.Context(), "key", plain(content(1)), objectstore.PutOptions{IfAbsent: true})
	if !errors.Is(err, objectstore.AccessDenied) || writes.Load() > 0 {
		t.Errorf("%d writes, and %v", writes.Load(), err)
	}
}

// TestRAMRole holds that without a Secret the ServiceAccount's token is exchanged for keys.
func TestRAMRole(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("Action") != "AssumeRoleWithOIDC" || r.PostFormValue("OIDCToken") != "jwt" || r.PostFormValue("RoleArn") != "role" {
			t.Errorf("asked with %v", r.PostForm)
		}
		if refused {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"Code":"AuthenticationFail.NoPermission","Message":"no"}`)
			return
		}
		_, _ = io.WriteString(w, `{"Credentials":{"AccessKeyId":"id","AccessKeySecret":"key","SecurityToken":"sts","Expiration":"2030-01-01T00:00:00Z"}}`)
	}))
	defer server.Close()
	t.Setenv("ALIBABA_CLOUD_ROLE_ARN", "role")
	t.Setenv("ALIBABA_CLOUD_OIDC_PROVIDER_ARN", "provider")
	t.Setenv("ALIBABA_CLOUD_OIDC_TOKEN_FILE", token)
	t.Setenv("ALIBABA_CLOUD_STS_ENDPOINT", strings.TrimPrefix(server.URL, "https://"))
	got, err := ossCredentials("", server.Client()).Retrieve(t.Context())
	if err != nil || got.AccessKeyID != "id" || got.SecretAccessKey != "key" || got.SessionToken != "sts" || !got.CanExpire || got.Expires.Year() != 2030 {
		t.Errorf("got %+v, %v", got, err)
	}
	refused = true
	if _, err := ossCredentials("", server.Client()).Retrieve(t.Context()); err == nil || !strings.Contains(err.Error(), "NoPermission") || strings.Contains(err.Error(), "jwt") {
		t.Errorf("got %v", err)
	}
}
