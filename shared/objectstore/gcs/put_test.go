package gcs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"

	"cloud.google.com/go/storage"

	"github.com/etcd-operators/etcd-operators/shared/gcstest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

const bucketName = "backups"

// place is a server with a bucket, a proxy before it, and a Store behind the proxy.
type place struct {
	server   *gcstest.Server
	bucket   *storage.BucketHandle
	proxy    *s3test.Proxy
	settings Settings
	store    *Store
}

func setup(t *testing.T) place {
	t.Helper()
	p := place{server: gcstest.Start(t)}
	p.bucket, p.proxy = p.server.Bucket(t, bucketName), p.server.NewProxy(t)
	p.settings = Settings{
		Bucket: bucketName, Endpoint: p.proxy.Endpoint, SecretDir: gcstest.SecretDir(t, gcstest.Credentials(t)),
		Stall: 2 * time.Second, MaxBackoff: 100 * time.Millisecond,
	}
	p.store = open(t, p.settings)
	return p
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
func (p place) check(t *testing.T, key string, want []byte) {
	t.Helper()
	if got := gcstest.Get(t, p.bucket, key); !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes, want %d, or others", key, len(got), len(want))
	}
}

// checkNothing wants a bucket without objects, and no upload under way.
func (p place) checkNothing(t *testing.T) {
	t.Helper()
	if keys, uploads := gcstest.Keys(t, p.bucket), p.server.Uploads(); len(keys) > 0 || uploads > 0 {
		t.Errorf("%v and %d uploads are left", keys, uploads)
	}
}

var never = storetest.Never

func TestPutStoresWhatItReads(t *testing.T) {
	p := setup(t)
	for name, size := range map[string]int{
		"nothing": 0, "one byte": 1, "just one buffer": bufferSize, "one buffer and a byte": bufferSize + 1,
		"all but a byte of a chunk": chunkSize - 1, "just one chunk": chunkSize,
		"one chunk and a byte": chunkSize + 1, "three chunks": 2*chunkSize + 12345,
	} {
		t.Run(name, func(t *testing.T) {
			want, sum := content(size), 0
			got, err := p.store.Put(t.Context(), "a/"+name, plain(want), objectstore.PutOptions{Metadata: map[string]string{"cluster-id": "cafe"}, Progress: func(n int) { sum += n }})
			if err != nil || got != int64(size) {
				t.Fatalf("stored %d bytes: %v; want %d", got, err, size)
			}
			if sum != size {
				t.Errorf("progress of %d bytes was told, want %d", sum, size)
			}
			p.check(t, "a/"+name, want)
			stat, err := p.store.Stat(t.Context(), "a/"+name)
			if err != nil || stat.Size != int64(size) || stat.Metadata["cluster-id"] != "cafe" || stat.ETag == "" || stat.Modified.IsZero() {
				t.Errorf("stat says %+v, %v", stat, err)
			}
		})
	}
}

// TestPutSurvives is about what a store and a network do on a bad day.
func TestPutSurvives(t *testing.T) {
	p := setup(t)
	large := 2*chunkSize + 999
	ill := gcstest.Answer(http.StatusServiceUnavailable, "backendError", "injected by a test")
	for name, c := range map[string]struct {
		size  int
		fault s3test.Fault
	}{
		"a cut in the middle of a chunk":        {large, s3test.Fault{When: gcstest.IsChunk, Times: 2, Do: s3test.Cut(chunkSize / 2)}},
		"a cut after the answer to a chunk":     {large, s3test.Fault{When: gcstest.IsChunk, Times: 1, Do: s3test.CutAnswer}},
		"503 in the middle":                     {large, s3test.Fault{When: gcstest.IsChunk, Times: 3, Do: ill}},
		"429 in the middle":                     {large, s3test.Fault{When: gcstest.IsChunk, Times: 1, Do: gcstest.Answer(http.StatusTooManyRequests, "rateLimitExceeded", "injected")}},
		"a stall in the middle of a chunk":      {large, s3test.Fault{When: gcstest.IsChunk, Times: 1, Do: s3test.Stall(chunkSize / 2)}},
		"503 at the begin":                      {large, s3test.Fault{When: gcstest.IsBegin, Times: 2, Do: ill}},
		"503 at the end":                        {large, s3test.Fault{When: gcstest.IsLast, Times: 2, Do: ill}},
		"an end whose answer is lost":           {large, s3test.Fault{When: gcstest.IsLast, Times: 1, Do: s3test.CutAnswer}},
		"less than a chunk, a cut":              {bufferSize + 1, s3test.Fault{When: gcstest.IsPut, Times: 2, Do: s3test.Cut(500)}},
		"less than a chunk, a lost answer":      {bufferSize + 1, s3test.Fault{When: gcstest.IsPut, Times: 1, Do: s3test.CutAnswer}},
		"a small one, a cut":                    {1000, s3test.Fault{When: gcstest.IsPut, Times: 2, Do: s3test.Cut(500)}},
		"a small one, 503":                      {1000, s3test.Fault{When: gcstest.IsPut, Times: 2, Do: ill}},
		"a small one, a stall":                  {1000, s3test.Fault{When: gcstest.IsPut, Times: 1, Do: s3test.Stall(500)}},
		"a small one, an answer that is lost":   {1000, s3test.Fault{When: gcstest.IsPut, Times: 1, Do: s3test.CutAnswer}},
		"a small one, whose place is not shown": {1000, s3test.Fault{When: isStat, Times: 1, Do: gcstest.Answer(http.StatusForbidden, "forbidden", "injected")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := p.proxy.Inject(c.fault)
			defer func() { f.When = never }()
			want, told := content(c.size), 0
			if _, err := p.store.Put(t.Context(), name, plain(want), objectstore.PutOptions{IfAbsent: true, Progress: func(n int) { told += n }}); err != nil {
				t.Fatal(err)
			}
			if told != c.size {
				t.Errorf("progress of %d bytes was told, want %d", told, c.size)
			}
			if hits := p.proxy.Hits(f); hits != c.fault.Times {
				t.Errorf("the fault hit %d times, want %d", hits, c.fault.Times)
			}
			p.check(t, name, want)
		})
	}
	if n := p.server.Uploads(); n > 0 {
		t.Errorf("%d uploads are left", n)
	}
}

// isStat chooses requests that look at an object.
func isStat(r *http.Request) bool {
	return r.Method == http.MethodGet && !gcstest.IsRead(r) && !r.URL.Query().Has("prefix")
}

var errSource = errors.New("the source broke")

// TestPutLeavesNothing is about uploads that must not become objects.
func TestPutLeavesNothing(t *testing.T) {
	p := setup(t)
	denied := gcstest.Answer(http.StatusForbidden, "forbidden", "injected by a test")
	for name, c := range map[string]struct {
		size  int
		end   error
		fault s3test.Fault
		want  error
	}{
		"a small source that breaks":         {size: 100, end: errSource, want: errSource},
		"a source that breaks in a chunk":    {size: bufferSize + 1, end: errSource, want: errSource},
		"a large source that breaks":         {size: 2*chunkSize + 1, end: errSource, want: errSource},
		"a source that is short":             {size: 2*chunkSize + 1, end: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF},
		"a source whose error wraps the end": {size: 100, end: fmt.Errorf("lost: %w", io.EOF), want: io.EOF},
		"a chunk that is refused":            {size: 3 * chunkSize, end: io.EOF, want: objectstore.AccessDenied, fault: s3test.Fault{When: gcstest.IsChunk, Times: 1, Do: denied}},
		"an end that is refused":             {size: 3 * chunkSize, end: io.EOF, want: objectstore.AccessDenied, fault: s3test.Fault{When: gcstest.IsLast, Times: 1, Do: denied}},
		"chunks that never arrive":           {size: 2 * chunkSize, end: io.EOF, want: objectstore.Unavailable, fault: s3test.Fault{When: gcstest.IsChunk, Do: s3test.Cut(1)}},
		"other bytes than were sent":         {size: chunkSize + 5, end: io.EOF, want: objectstore.Unavailable, fault: s3test.Fault{When: gcstest.IsLast, Times: 1, Do: flip}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fault.Do != nil {
				f := p.proxy.Inject(c.fault)
				defer func() { f.When = never }()
			}
			_, err := p.store.Put(t.Context(), "key", io.MultiReader(plain(content(c.size)), iotest.ErrReader(c.end)), objectstore.PutOptions{})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			var read *objectstore.ReadError
			if errors.As(err, &read) == errors.As(c.want, new(objectstore.Reason)) {
				t.Errorf("%v: a ReadError is only that of the source", err)
			}
			p.checkNothing(t)
		})
	}
	t.Run("one that is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p.proxy.Inject(s3test.Fault{When: gcstest.IsChunk, Times: 1, Do: s3test.During(cancel)})
		if _, err := p.store.Put(ctx, "key", plain(content(3*chunkSize)), objectstore.PutOptions{}); err == nil {
			t.Fatal("it was stored")
		}
		p.checkNothing(t)
	})
	t.Run("one that cannot be cancelled says so, and not where it is", func(t *testing.T) {
		f := p.proxy.Inject(s3test.Fault{When: gcstest.IsCancel, Do: s3test.Cut(0)})
		defer func() { f.When = never }()
		_, err := p.store.Put(t.Context(), "key", io.MultiReader(plain(content(2*chunkSize)), iotest.ErrReader(errSource)), objectstore.PutOptions{})
		if !errors.Is(err, errSource) || !bytes.Contains([]byte(err.Error()), []byte("could not be cancelled")) || bytes.Contains([]byte(err.Error()), []byte("upload_id")) {
			t.Errorf("got %v", err)
		}
	})
}

// flip changes a byte on the way.
func flip(w http.ResponseWriter, r *http.Request, forth http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body[0] ^= 1
	r.Body = io.NopCloser(bytes.NewReader(body))
	forth.ServeHTTP(w, r)
}

// TestPutKeepsWhatIsThere is about objects that are not this upload's.
func TestPutKeepsWhatIsThere(t *testing.T) {
	p := setup(t)
	gcstest.Put(t, p.bucket, "key", []byte("old"))
	half := io.MultiReader(plain(content(2*chunkSize)), iotest.ErrReader(errSource))
	if _, err := p.store.Put(t.Context(), "key", half, objectstore.PutOptions{}); !errors.Is(err, errSource) {
		t.Fatalf("got %v, want %v", err, errSource)
	}
	p.check(t, "key", []byte("old"))
	if _, err := p.store.Put(t.Context(), "key", plain([]byte("new")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	p.check(t, "key", []byte("new"))
	for _, size := range []int{10, 2 * chunkSize} {
		if _, err := p.store.Put(t.Context(), "key", plain(content(size)), objectstore.PutOptions{IfAbsent: true}); !errors.Is(err, objectstore.AlreadyExists) {
			t.Errorf("got %v, want %v", err, objectstore.AlreadyExists)
		}
	}
	// One that comes up meanwhile is not replaced either.
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(content(2 * chunkSize)) // the reader tells
		gcstest.Put(t, p.bucket, "late", []byte("first"))
		_ = w.Close()
	}()
	if _, err := p.store.Put(t.Context(), "late", r, objectstore.PutOptions{IfAbsent: true}); !errors.Is(err, objectstore.AlreadyExists) {
		t.Errorf("got %v, want %v", err, objectstore.AlreadyExists)
	}
	p.check(t, "late", []byte("first"))
}
