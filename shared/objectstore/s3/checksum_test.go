package s3

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
)

// withConfig is the server's Secret with a line more in its config.
func withConfig(t *testing.T, server *s3test.Server, line string) string {
	t.Helper()
	dir := server.SecretDir(t)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte("[default]\nregion = us-east-1\n"+line+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestChecksums looks at what is sent, for each way to say so, in one request and in
// parts.
func TestChecksums(t *testing.T) {
	server, _, _ := setup(t)
	for name, c := range map[string]struct {
		checksums Checksums
		config    string
		env       string
		want      bool
	}{
		"by default":           {},
		"the field":            {checksums: ChecksumsWhenSupported, want: true},
		"the config":           {config: "request_checksum_calculation = when_supported", want: true},
		"the config says none": {config: "request_checksum_calculation = when_required"},
		"the environment":      {env: "when_supported", want: true},
		"the field comes first, of the config": {
			checksums: ChecksumsWhenRequired, config: "request_checksum_calculation = when_supported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.env != "" {
				t.Setenv("AWS_REQUEST_CHECKSUM_CALCULATION", c.env)
			}
			proxy := s3test.NewProxy(t, server)
			var mu sync.Mutex
			with, without := 0, 0
			proxy.Inject(s3test.Fault{When: s3test.IsPut, Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
				mu.Lock()
				if s3test.HasChecksum(r) {
					with++
				} else {
					without++
				}
				mu.Unlock()
				forth.ServeHTTP(w, r)
			}})
			s := settings(t, server, proxy.Endpoint)
			s.SecretDir, s.Checksums = withConfig(t, server, c.config), c.checksums
			store := open(t, s)
			for _, size := range []int{10, 3*smallPart + 1} {
				key := fmt.Sprintf("%d", size)
				if _, err := store.Put(t.Context(), key, plain(content(size)), objectstore.PutOptions{}); err != nil {
					t.Fatal(err)
				}
				check(t, server, key, content(size))
			}
			if (with == 5) != c.want || (without == 5) == c.want {
				t.Errorf("%d with a checksum and %d without, want checksums: %t", with, without, c.want)
			}
		})
	}
	t.Run("one that is not known", func(t *testing.T) {
		s := settings(t, server, server.Endpoint)
		s.Checksums = "Always"
		if _, err := Open(t.Context(), s); !errors.Is(err, objectstore.InvalidSettings) || !strings.Contains(err.Error(), "WhenRequired") {
			t.Errorf("got %v", err)
		}
	})
}

// TestAStoreThatWantsDigests is about one that refuses what comes without: by default it
// gets them from then on, however the object is stored and read.
func TestAStoreThatWantsDigests(t *testing.T) {
	for _, checksums := range []Checksums{"", ChecksumsWhenRequired, ChecksumsWhenSupported} {
		for _, size := range []int{0, 10, 4*smallPart + 12345} {
			for _, absent := range []bool{false, true} {
				t.Run(fmt.Sprintf("%q, %d bytes, if absent %t", checksums, size, absent), func(t *testing.T) {
					server, proxy, _ := setup(t)
					proxy.Inject(s3test.Fault{When: s3test.IsPut, Do: s3test.WantDigest})
					s := settings(t, server, proxy.Endpoint)
					s.Checksums = checksums
					store := open(t, s)
					if _, err := store.Put(t.Context(), "key", plain(content(size)), objectstore.PutOptions{IfAbsent: absent}); err != nil {
						t.Fatal(err)
					}
					check(t, server, "key", content(size))
					if left := server.Uploads(t, bucket); len(left) > 0 {
						t.Errorf("uploads of %v are left", left)
					}
				})
			}
		}
	}
}

// TestHeadersOfWhatIsStored wants the settings on both kinds of upload.
func TestHeadersOfWhatIsStored(t *testing.T) {
	server, proxy, _ := setup(t)
	want := map[string]string{
		"X-Amz-Storage-Class": "STANDARD_IA", "X-Amz-Server-Side-Encryption": "aws:kms",
		"X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": "a-key", "X-Amz-Tagging": "cost=a+b&team=etcd",
	}
	seen := 0
	proxy.Inject(s3test.Fault{
		When: func(r *http.Request) bool {
			return s3test.IsBegin(r) || s3test.IsPut(r) && !r.URL.Query().Has("partNumber")
		},
		Do: func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			seen++
			for name, value := range want {
				if got := r.Header.Get(name); got != value {
					t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, name, got, value)
				}
			}
			refuse(w, r, http.StatusBadRequest, "InvalidStorageClass") // this server knows but one
		},
	})
	s := settings(t, server, proxy.Endpoint)
	s.StorageClass, s.ServerSideEncryption, s.KMSKeyID = "STANDARD_IA", "aws:kms", "a-key"
	s.Tags = map[string]string{"team": "etcd", "cost": "a b"}
	store := open(t, s)
	for _, size := range []int{1, 2 * smallPart} {
		if _, err := store.Put(t.Context(), "key", plain(content(size)), objectstore.PutOptions{}); !errors.Is(err, objectstore.InvalidSettings) {
			t.Errorf("got %v, want %v", err, objectstore.InvalidSettings)
		}
	}
	if seen != 2 {
		t.Errorf("%d requests had the settings to carry, want 2", seen)
	}
}

// TestTagsOfTheSettingsStay: those that are added later do not replace them.
func TestTagsOfTheSettingsStay(t *testing.T) {
	server, proxy, _ := setup(t)
	s := settings(t, server, proxy.Endpoint)
	s.Tags = map[string]string{"team": "etcd"}
	store := open(t, s)
	tags := func() map[string]string {
		out, err := server.Client.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: ptr(bucket), Key: ptr("key")})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, tag := range out.TagSet {
			all[*tag.Key] = *tag.Value
		}
		return all
	}
	if _, err := store.Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := tags(); got["team"] != "etcd" || len(got) != 1 {
		t.Errorf("at first the tags are %v", got)
	}
	if err := store.Tag(t.Context(), "key", map[string]string{"sha256": "cafe"}); err != nil {
		t.Fatal(err)
	}
	if got := tags(); got["team"] != "etcd" || got["sha256"] != "cafe" || len(got) != 2 {
		t.Errorf("afterwards the tags are %v", got)
	}
}
