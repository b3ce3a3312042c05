package s3

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

const bucket = "backups"

// setup is a server with a bucket, a proxy before it, and a Store behind the proxy.
func setup(t *testing.T) (*s3test.Server, *s3test.Proxy, *Store) {
	t.Helper()
	server := s3test.Start(t)
	server.Bucket(t, bucket)
	proxy := s3test.NewProxy(t, server)
	return server, proxy, open(t, settings(t, server, proxy.Endpoint))
}

func settings(t *testing.T, server *s3test.Server, endpoint string) Settings {
	return Settings{Bucket: bucket, Endpoint: endpoint, ForcePathStyle: true, SecretDir: server.SecretDir(t), Stall: 2 * time.Second, MaxBackoff: 100 * time.Millisecond}
}

func open(t *testing.T, settings Settings) *Store {
	t.Helper()
	store, err := Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

var content, plain = storetest.Content, storetest.Plain

// check compares an object with what it should hold, read without our code.
func check(t *testing.T, server *s3test.Server, key string, want []byte) {
	t.Helper()
	out, err := server.Client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: ptr(bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Body.Close()
	got, err := io.ReadAll(out.Body)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes with sha256 %x (%v), want %d with %x", key, len(got), sha256.Sum256(got), err, len(want), sha256.Sum256(want))
	}
}

// checkNothing wants a bucket without objects and without uploads.
func checkNothing(t *testing.T, server *s3test.Server) {
	t.Helper()
	if keys, uploads := server.Keys(t, bucket), server.Uploads(t, bucket); len(keys)+len(uploads) > 0 {
		t.Errorf("objects %v and uploads %v are left", keys, uploads)
	}
}

func ptr[T any](v T) *T { return &v }

func TestPutStoresWhatItReads(t *testing.T) {
	server, _, store := setup(t)
	for name, size := range map[string]int{
		"nothing": 0, "one byte": 1, "all but a byte of a part": smallPart - 1, "just one part": smallPart,
		"one part and a byte": smallPart + 1, "five parts": 4*smallPart + 12345,
	} {
		t.Run(name, func(t *testing.T) {
			want, stored := content(size), make(chan int, 100)
			got, err := store.Put(t.Context(), "a/"+name, plain(want), objectstore.PutOptions{Metadata: map[string]string{"cluster-id": "cafe"}, Progress: func(n int) { stored <- n }})
			if err != nil || got != int64(size) {
				t.Fatalf("stored %d bytes: %v; want %d", got, err, size)
			}
			close(stored)
			sum := 0
			for n := range stored {
				sum += n
			}
			if sum != size {
				t.Errorf("progress of %d bytes was told, want %d", sum, size)
			}
			check(t, server, "a/"+name, want)
			stat, err := store.Stat(t.Context(), "a/"+name)
			if err != nil || stat.Size != int64(size) || stat.Metadata["cluster-id"] != "cafe" {
				t.Errorf("stat says %+v, %v", stat, err)
			}
		})
	}
}

func TestPartsHoldAHundredGiBWithin64MiBOfBuffers(t *testing.T) {
	var sum int64
	for number := 1; number <= maxParts; number++ {
		size := partSize(number)
		if size < 5<<20 {
			t.Fatalf("part %d has %d bytes: S3 wants 5 MiB", number, size)
		}
		if buffers*size > 64<<20 {
			t.Fatalf("%d buffers of part %d have more than 64 MiB", buffers, number)
		}
		sum += int64(size)
	}
	if sum != MaxSize || sum < 100<<30 {
		t.Errorf("%d parts hold %d bytes, want %d, and at least 100 GiB", maxParts, sum, int64(MaxSize))
	}
}

// TestPutSurvives is about what a store and a network do on a bad day.
func TestPutSurvives(t *testing.T) {
	server, proxy, store := setup(t)
	size := 3*smallPart + 999
	for name, fault := range map[string]s3test.Fault{
		"a cut in the middle of a part":           {When: s3test.IsPart("2"), Times: 2, Do: s3test.Cut(smallPart / 2)},
		"a cut after the answer to a part":        {When: s3test.IsPart("1"), Times: 1, Do: s3test.CutAnswer},
		"503 in the middle":                       {When: s3test.IsPart(""), Times: 3, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"500 in the middle":                       {When: s3test.IsPart("3"), Times: 3, Do: s3test.Answer(http.StatusInternalServerError, "InternalError")},
		"429 in the middle":                       {When: s3test.IsPart("3"), Times: 1, Do: s3test.Answer(http.StatusTooManyRequests, "TooManyRequests")},
		"a stall in the middle of a part":         {When: s3test.IsPart("2"), Times: 1, Do: s3test.Stall(smallPart / 2)},
		"no answer to a part":                     {When: s3test.IsPart("4"), Times: 1, Do: s3test.Stall(smallPart)},
		"a slow network":                          {When: s3test.IsPart(""), Do: s3test.Throttle(4 << 20)},
		"503 at the begin":                        {When: s3test.IsBegin, Times: 2, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"a begin whose answer is lost":            {When: s3test.IsBegin, Times: 1, Do: s3test.CutAnswer},
		"500 at the end":                          {When: s3test.IsComplete, Times: 2, Do: s3test.Answer(http.StatusInternalServerError, "InternalError")},
		"an end whose answer is lost":             {When: s3test.IsComplete, Times: 1, Do: s3test.CutAnswer},
		"an error at the end with the status 200": {When: s3test.IsComplete, Times: 1, Do: s3test.Answer(http.StatusOK, "InternalError")},
	} {
		for _, ifAbsent := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, ifAbsent %t", name, ifAbsent), func(t *testing.T) {
				f := proxy.Inject(fault)
				defer func() { f.When = func(*http.Request) bool { return false } }()
				want, key := content(size), fmt.Sprintf("%s-%t", name, ifAbsent)
				if _, err := store.Put(t.Context(), key, plain(want), objectstore.PutOptions{IfAbsent: ifAbsent}); err != nil {
					t.Fatal(err)
				}
				if hits := proxy.Hits(f); hits == 0 || hits < fault.Times {
					t.Errorf("the fault hit %d times, want %d", hits, fault.Times)
				}
				check(t, server, key, want)
				// An upload whose begin was not answered can't be told from another's.
				left := slices.DeleteFunc(server.Uploads(t, bucket), func(k string) bool { return strings.HasPrefix(k, "a begin whose answer is lost") })
				if len(left) > 0 {
					t.Errorf("uploads of %v are left", left)
				}
			})
		}
	}
}

func TestSmallPutSurvives(t *testing.T) {
	server, proxy, store := setup(t)
	for name, fault := range map[string]s3test.Fault{
		"a cut":                    {When: s3test.IsPut, Times: 2, Do: s3test.Cut(500)},
		"503":                      {When: s3test.IsPut, Times: 2, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")},
		"a stall":                  {When: s3test.IsPut, Times: 1, Do: s3test.Stall(500)},
		"an answer that is lost":   {When: s3test.IsPut, Times: 1, Do: s3test.CutAnswer},
		"an unknown condition":     {When: func(r *http.Request) bool { return r.Header.Get("If-None-Match") != "" }, Times: 1, Do: s3test.Answer(http.StatusNotImplemented, "NotImplemented")},
		"a HEAD that is forbidden": {When: s3test.IsMethod(http.MethodHead), Times: 1, Do: s3test.Answer(http.StatusForbidden, "")},
	} {
		t.Run(name, func(t *testing.T) {
			f := proxy.Inject(fault)
			if _, err := store.Put(t.Context(), name, plain([]byte("some bytes")), objectstore.PutOptions{IfAbsent: true}); err != nil {
				t.Fatal(err)
			}
			if proxy.Hits(f) != fault.Times {
				t.Errorf("the fault hit %d times, want %d", proxy.Hits(f), fault.Times)
			}
			check(t, server, name, []byte("some bytes"))
		})
	}
}

var errSource = errors.New("the source broke")

// TestPutLeavesNothing is about uploads that must not become objects.
func TestPutLeavesNothing(t *testing.T) {
	server, proxy, store := setup(t)
	for name, c := range map[string]struct {
		size   int
		end    error
		faults []s3test.Fault
		want   error
	}{
		"a small source that breaks":         {size: 100, end: errSource, want: errSource},
		"a large source that breaks":         {size: 3*smallPart + 1, end: errSource, want: errSource},
		"a source that is short":             {size: 3*smallPart + 1, end: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF},
		"a source whose error wraps the end": {size: 100, end: fmt.Errorf("lost: %w", io.EOF), want: io.EOF},
		"a part that is refused": {size: 3 * smallPart, end: io.EOF, want: objectstore.AccessDenied, faults: []s3test.Fault{
			{When: s3test.IsPart("2"), Do: s3test.Answer(http.StatusForbidden, "AccessDenied")}}},
		"a store that is full": {size: 3 * smallPart, end: io.EOF, want: objectstore.NoSpace, faults: []s3test.Fault{
			{When: s3test.IsPart("3"), Do: s3test.Answer(http.StatusForbidden, "QuotaExceeded")}}},
		"an end that is refused": {size: 3 * smallPart, end: io.EOF, want: objectstore.AccessDenied, faults: []s3test.Fault{
			{When: s3test.IsComplete, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")}}},
		"an abort that needs tries": {size: 2 * smallPart, end: errSource, want: errSource, faults: []s3test.Fault{
			{When: s3test.IsAbort, Times: 2, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")}}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, f := range c.faults {
				injected := proxy.Inject(f)
				defer func() { injected.When = func(*http.Request) bool { return false } }()
			}
			source := io.MultiReader(plain(content(c.size)), iotest.ErrReader(c.end))
			_, err := store.Put(t.Context(), "key", source, objectstore.PutOptions{})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			var read *objectstore.ReadError
			if errors.As(err, &read) == errors.As(c.want, new(objectstore.Reason)) {
				t.Errorf("%v: a ReadError is only that of the source", err)
			}
			checkNothing(t, server)
		})
	}
}

func TestPutThatIsCancelledLeavesNothing(t *testing.T) {
	server, proxy, store := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	proxy.Inject(s3test.Fault{When: s3test.IsPart("2"), Times: 1, Do: s3test.During(cancel)})
	if _, err := store.Put(ctx, "key", plain(content(6*smallPart)), objectstore.PutOptions{}); err == nil {
		t.Fatal("it was stored")
	}
	checkNothing(t, server)
}

func TestPutReplacesOnlyAtItsEnd(t *testing.T) {
	server, _, store := setup(t)
	if _, err := store.Put(t.Context(), "key", plain([]byte("old")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	source := io.MultiReader(plain(content(2*smallPart)), iotest.ErrReader(errSource))
	if _, err := store.Put(t.Context(), "key", source, objectstore.PutOptions{}); !errors.Is(err, errSource) {
		t.Fatalf("got %v, want %v", err, errSource)
	}
	check(t, server, "key", []byte("old"))
	if _, err := store.Put(t.Context(), "key", plain([]byte("new")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	check(t, server, "key", []byte("new"))
}

func TestPutIfAbsent(t *testing.T) {
	server, proxy, store := setup(t)
	old := []byte("old")
	for _, size := range []int{10, 2 * smallPart} {
		for name, faults := range map[string][]s3test.Fault{
			"it is seen": nil,
			// As for credentials that may not list: the conditional write tells.
			"it is not seen": {{When: s3test.IsMethod(http.MethodHead), Do: s3test.Answer(http.StatusForbidden, "")}},
		} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				for _, f := range faults {
					injected := proxy.Inject(f)
					defer func() { injected.When = func(*http.Request) bool { return false } }()
				}
				if _, err := server.Client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: ptr(bucket), Key: ptr("key"), Body: bytes.NewReader(old)}); err != nil {
					t.Fatal(err)
				}
				_, err := store.Put(t.Context(), "key", plain(content(size)), objectstore.PutOptions{IfAbsent: true})
				if !errors.Is(err, objectstore.AlreadyExists) {
					t.Fatalf("got %v, want %v", err, objectstore.AlreadyExists)
				}
				check(t, server, "key", old)
				if left := server.Uploads(t, bucket); len(left) > 0 {
					t.Errorf("uploads of %v are left", left)
				}
			})
		}
	}
	t.Run("neither to be seen nor to be refused", func(t *testing.T) {
		proxy.Inject(s3test.Fault{When: s3test.IsMethod(http.MethodHead), Times: 1, Do: s3test.Answer(http.StatusForbidden, "")})
		proxy.Inject(s3test.Fault{When: s3test.IsPut, Times: 1, Do: s3test.Answer(http.StatusNotImplemented, "NotImplemented")})
		_, err := store.Put(t.Context(), "key", plain(old), objectstore.PutOptions{IfAbsent: true})
		if !errors.Is(err, objectstore.AccessDenied) || !strings.Contains(err.Error(), "s3:ListBucket") {
			t.Errorf("got %v, want %v that names the right s3:ListBucket", err, objectstore.AccessDenied)
		}
	})
}

// TestErrorsSayWhatToDo lists what users get wrong.
func TestErrorsSayWhatToDo(t *testing.T) {
	server, proxy, _ := setup(t)
	good := settings(t, server, proxy.Endpoint)
	empty := t.TempDir()
	junk := t.TempDir()
	if err := os.WriteFile(filepath.Join(junk, "credentials"), []byte("[other]\naws_access_key_id = x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Settings)
		fault  *s3test.Fault
		want   objectstore.Reason
		words  string
	}{
		"no such bucket": {change: func(s *Settings) { s.Bucket = "nowhere" }, want: objectstore.BucketNotFound, words: "create it"},
		"wrong access key": {
			change: func(s *Settings) { s.SecretDir, s.Secret = s3test.SecretDir(t, "nobody", "x"), "aws" },
			want:   objectstore.CredentialsInvalid, words: "aws_access_key_id and aws_secret_access_key under [default] in the key credentials of Secret aws",
		},
		"wrong secret key":    {change: func(s *Settings) { s.SecretDir = s3test.SecretDir(t, server.AccessKey, "x") }, want: objectstore.CredentialsInvalid, words: "aws_secret_access_key"},
		"an empty Secret":     {change: func(s *Settings) { s.SecretDir = empty }, want: objectstore.CredentialsInvalid, words: "neither the key credentials nor the key config"},
		"no profile default":  {change: func(s *Settings) { s.SecretDir = junk }, want: objectstore.CredentialsInvalid, words: "[default]"},
		"no bucket":           {change: func(s *Settings) { s.Bucket = "" }, want: objectstore.InvalidSettings, words: "bucket/key"},
		"another region":      {change: func(s *Settings) { s.Region = "eu-central-1" }, want: objectstore.InvalidSettings, words: "region"},
		"nobody there":        {change: func(s *Settings) { s.Endpoint = "http://127.0.0.1:1" }, want: objectstore.Unavailable, words: "endpoint"},
		"TLS where is none":   {change: func(s *Settings) { s.Endpoint = strings.Replace(proxy.Endpoint, "http:", "https:", 1) }, want: objectstore.TLSInvalid, words: "certificate"},
		"access denied":       {fault: &s3test.Fault{When: s3test.IsPut, Times: 1, Do: s3test.Answer(http.StatusForbidden, "AccessDenied")}, want: objectstore.AccessDenied, words: "s3:PutObject"},
		"full":                {fault: &s3test.Fault{When: s3test.IsPut, Times: 1, Do: s3test.Answer(http.StatusInsufficientStorage, "XMinioStorageFull")}, want: objectstore.NoSpace, words: "quota"},
		"a store that is ill": {fault: &s3test.Fault{When: s3test.IsPut, Times: attempts, Do: s3test.Answer(http.StatusServiceUnavailable, "SlowDown")}, want: objectstore.Unavailable, words: "SlowDown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for each other's pauses otherwise
			s := good
			if c.change != nil {
				c.change(&s)
			}
			if c.fault != nil {
				p := s3test.NewProxy(t, server)
				p.Inject(*c.fault)
				s.Endpoint = p.Endpoint
			}
			store, err := Open(t.Context(), s)
			if err == nil {
				_, err = store.Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{})
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.words) {
				t.Errorf("got %v, want %v and words of %q", err, c.want, c.words)
			}
			var e *objectstore.Error
			if errors.As(err, &e) && e.Permanent() != (c.want != objectstore.Unavailable) {
				t.Errorf("permanent %t", e.Permanent())
			}
			if err != nil && strings.Contains(err.Error(), server.SecretKey) {
				t.Errorf("the secret key is in %q", err)
			}
		})
	}
}

func TestNamedCredentialsComeBeforeTheEnvironment(t *testing.T) {
	server, proxy, _ := setup(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "somebody-else")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	store := open(t, settings(t, server, proxy.Endpoint))
	if _, err := store.Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Error(err)
	}
}

func TestWithoutASecretTheDefaultChainIsAsked(t *testing.T) {
	server, proxy, _ := setup(t)
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	s := settings(t, server, proxy.Endpoint)
	s.SecretDir = ""
	if _, err := open(t, s).Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTag(t *testing.T) {
	server, _, store := setup(t)
	if _, err := store.Put(t.Context(), "key", plain([]byte("x")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := store.Tag(t.Context(), "key", map[string]string{"sha256": "cafe"}); err != nil {
		t.Fatal(err)
	}
	out, err := server.Client.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: ptr(bucket), Key: ptr("key")})
	if err != nil || len(out.TagSet) != 1 || *out.TagSet[0].Value != "cafe" {
		t.Errorf("tags are %+v, %v", out, err)
	}
}

// Of two uploads of one key, just the one that is meant is aborted.
func TestAbortUpload(t *testing.T) {
	server, _, store := setup(t)
	var ids []string
	for range 2 {
		out, err := server.Client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: ptr(bucket), Key: ptr("key")})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, *out.UploadId)
	}
	for range 2 { // the second time it is gone
		if err := store.AbortUpload(t.Context(), objectstore.Upload{Key: "key", ID: ids[0]}); err != nil {
			t.Fatal(err)
		}
	}
	out, err := server.Client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: ptr(bucket)})
	if err != nil || len(out.Uploads) != 1 || *out.Uploads[0].UploadId != ids[1] {
		t.Errorf("left are %+v (%v), want the other one", out, err)
	}
}

// An upload that is begun while the answer to another one's begin is lost stays.
func TestALostBeginAbortsNobodysUpload(t *testing.T) {
	server, proxy, store := setup(t)
	var other string
	proxy.Inject(s3test.Fault{When: s3test.IsBegin, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		out, err := server.Client.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: ptr(bucket), Key: ptr("key")})
		if err != nil {
			t.Error(err)
			return
		}
		other = *out.UploadId
		s3test.CutAnswer(w, r, forth)
	}})
	if _, err := store.Put(t.Context(), "key", plain(content(2*smallPart)), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client.ListParts(t.Context(), &s3.ListPartsInput{Bucket: ptr(bucket), Key: ptr("key"), UploadId: &other}); err != nil {
		t.Errorf("another run's upload was aborted: %v", err)
	}
}

func TestSmallObjects(t *testing.T) {
	server, _, store := setup(t)
	if err := store.WriteSmall(t.Context(), "key", []byte("content")); err != nil {
		t.Fatal(err)
	}
	if got, err := store.ReadSmall(t.Context(), "key", 7); err != nil || string(got) != "content" {
		t.Errorf("read %q: %v", got, err)
	}
	if got, err := store.ReadSmall(t.Context(), "key", 6); !errors.Is(err, objectstore.TooLarge) {
		t.Errorf("read %q: %v", got, err)
	}
	if got, err := store.ReadSmall(t.Context(), "nothing", 6); !errors.Is(err, objectstore.NotFound) {
		t.Errorf("read %q: %v", got, err)
	}
	nowhere := settings(t, server, server.Endpoint)
	nowhere.Bucket = "nowhere"
	if got, err := open(t, nowhere).ReadSmall(t.Context(), "key", 6); !errors.Is(err, objectstore.BucketNotFound) {
		t.Errorf("read %q: %v", got, err)
	}
}
