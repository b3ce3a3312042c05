package abs

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

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/etcd-operators/etcd-operators/shared/azuretest"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
	"github.com/etcd-operators/etcd-operators/shared/s3test"
	"github.com/etcd-operators/etcd-operators/shared/storetest"
)

const containerName = "backups"

// setup is a server with a container, a proxy before it, and a Store behind the proxy.
func setup(t *testing.T) (*container.Client, *s3test.Proxy, Settings, *Store) {
	t.Helper()
	server := azuretest.Start(t)
	client := server.Container(t, containerName)
	proxy, endpoint := server.NewProxy(t)
	settings := Settings{
		Container: containerName, Endpoint: endpoint, SecretDir: azuretest.SecretDir(t, azuretest.Account, azuretest.Key),
		Stall: 2 * time.Second, MaxBackoff: 100 * time.Millisecond,
	}
	return client, proxy, settings, open(t, settings)
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

// check compares a blob with what it should hold, read without our code.
func check(t *testing.T, c *container.Client, key string, want []byte) {
	t.Helper()
	if got := azuretest.Get(t, c, key); !bytes.Equal(got, want) {
		t.Errorf("%s holds %d bytes, want %d, or others", key, len(got), len(want))
	}
}

// checkNothing wants a container without blobs and without blocks.
func checkNothing(t *testing.T, c *container.Client) {
	t.Helper()
	if keys := azuretest.Keys(t, c); len(keys) > 0 {
		t.Errorf("%v are left", keys)
	}
}

var never = storetest.Never

func TestPutStoresWhatItReads(t *testing.T) {
	client, _, _, store := setup(t)
	for name, size := range map[string]int{
		"nothing": 0, "one byte": 1, "all but a byte of a block": blockSize - 1, "just one block": blockSize,
		"one block and a byte": blockSize + 1, "five blocks": 4*blockSize + 12345,
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
			check(t, client, "a/"+name, want)
			stat, err := store.Stat(t.Context(), "a/"+name)
			if err != nil || stat.Size != int64(size) || stat.Metadata["cluster-id"] != "cafe" || stat.ETag == "" || stat.Modified.IsZero() {
				t.Errorf("stat says %+v, %v", stat, err)
			}
		})
	}
}

// TestPutSurvives is about what a store and a network do on a bad day.
func TestPutSurvives(t *testing.T) {
	client, proxy, _, store := setup(t)
	large := 2*blockSize + 999
	for name, c := range map[string]struct {
		size  int
		fault s3test.Fault
	}{
		"a cut in the middle of a block":        {large, s3test.Fault{When: azuretest.IsBlock, Times: 2, Do: s3test.Cut(blockSize / 2)}},
		"a cut after the answer to a block":     {large, s3test.Fault{When: azuretest.IsBlock, Times: 1, Do: s3test.CutAnswer}},
		"503 in the middle":                     {large, s3test.Fault{When: azuretest.IsBlock, Times: 3, Do: azuretest.Answer(http.StatusServiceUnavailable, "ServerBusy")}},
		"500 in the middle":                     {large, s3test.Fault{When: azuretest.IsBlock, Times: 3, Do: azuretest.Answer(http.StatusInternalServerError, "InternalError")}},
		"429 in the middle":                     {large, s3test.Fault{When: azuretest.IsBlock, Times: 1, Do: azuretest.Answer(http.StatusTooManyRequests, "")}},
		"a stall in the middle of a block":      {large, s3test.Fault{When: azuretest.IsBlock, Times: 1, Do: s3test.Stall(blockSize / 2)}},
		"500 at the end":                        {large, s3test.Fault{When: azuretest.IsCommit, Times: 2, Do: azuretest.Answer(http.StatusInternalServerError, "InternalError")}},
		"an end whose answer is lost":           {large, s3test.Fault{When: azuretest.IsCommit, Times: 1, Do: s3test.CutAnswer}},
		"a small one, a cut":                    {1000, s3test.Fault{When: azuretest.IsPut, Times: 2, Do: s3test.Cut(500)}},
		"a small one, 503":                      {1000, s3test.Fault{When: azuretest.IsPut, Times: 2, Do: azuretest.Answer(http.StatusServiceUnavailable, "ServerBusy")}},
		"a small one, a stall":                  {1000, s3test.Fault{When: azuretest.IsPut, Times: 1, Do: s3test.Stall(500)}},
		"a small one, an answer that is lost":   {1000, s3test.Fault{When: azuretest.IsPut, Times: 1, Do: s3test.CutAnswer}},
		"a small one, whose place is not shown": {1000, s3test.Fault{When: s3test.IsMethod(http.MethodHead), Times: 1, Do: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")}},
	} {
		t.Run(name, func(t *testing.T) {
			f := proxy.Inject(c.fault)
			defer func() { f.When = never }()
			want := content(c.size)
			if _, err := store.Put(t.Context(), name, plain(want), objectstore.PutOptions{IfAbsent: true}); err != nil {
				t.Fatal(err)
			}
			if hits := proxy.Hits(f); hits != c.fault.Times {
				t.Errorf("the fault hit %d times, want %d", hits, c.fault.Times)
			}
			check(t, client, name, want)
		})
	}
}

var errSource = errors.New("the source broke")

// TestPutLeavesNothing is about uploads that must not become objects.
func TestPutLeavesNothing(t *testing.T) {
	client, proxy, _, store := setup(t)
	for name, c := range map[string]struct {
		size  int
		end   error
		fault s3test.Fault
		want  error
	}{
		"a small source that breaks":         {size: 100, end: errSource, want: errSource},
		"a large source that breaks":         {size: 2*blockSize + 1, end: errSource, want: errSource},
		"a source that is short":             {size: 2*blockSize + 1, end: io.ErrUnexpectedEOF, want: io.ErrUnexpectedEOF},
		"a source whose error wraps the end": {size: 100, end: fmt.Errorf("lost: %w", io.EOF), want: io.EOF},
		"a block that is refused": {size: 3 * blockSize, end: io.EOF, want: objectstore.AccessDenied, fault: s3test.Fault{
			When: azuretest.IsBlock, Times: 1, Do: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")}},
		"an end that is refused": {size: 3 * blockSize, end: io.EOF, want: objectstore.AccessDenied, fault: s3test.Fault{
			When: azuretest.IsCommit, Times: 1, Do: azuretest.Answer(http.StatusForbidden, "AuthorizationPermissionMismatch")}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.fault.Do != nil {
				f := proxy.Inject(c.fault)
				defer func() { f.When = never }()
			}
			_, err := store.Put(t.Context(), "key", io.MultiReader(plain(content(c.size)), iotest.ErrReader(c.end)), objectstore.PutOptions{})
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			var read *objectstore.ReadError
			if errors.As(err, &read) == errors.As(c.want, new(objectstore.Reason)) {
				t.Errorf("%v: a ReadError is only that of the source", err)
			}
			checkNothing(t, client)
		})
	}
	t.Run("one that is cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		proxy.Inject(s3test.Fault{When: azuretest.IsBlock, Times: 1, Do: s3test.During(cancel)})
		if _, err := store.Put(ctx, "key", plain(content(6*blockSize)), objectstore.PutOptions{}); err == nil {
			t.Fatal("it was stored")
		}
		checkNothing(t, client)
	})
}

// TestPutKeepsWhatIsThere is about blobs and blocks that are not this upload's.
func TestPutKeepsWhatIsThere(t *testing.T) {
	client, _, _, store := setup(t)
	azuretest.Put(t, client, "key", []byte("old"), nil)
	half := func() io.Reader { return io.MultiReader(plain(content(2*blockSize)), iotest.ErrReader(errSource)) }
	if _, err := store.Put(t.Context(), "key", half(), objectstore.PutOptions{}); !errors.Is(err, errSource) {
		t.Fatalf("got %v, want %v", err, errSource)
	}
	check(t, client, "key", []byte("old"))
	if _, err := store.Put(t.Context(), "key", plain([]byte("new")), objectstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	check(t, client, "key", []byte("new"))
	for _, size := range []int{10, 2 * blockSize} {
		if _, err := store.Put(t.Context(), "key", plain(content(size)), objectstore.PutOptions{IfAbsent: true}); !errors.Is(err, objectstore.AlreadyExists) {
			t.Errorf("got %v, want %v", err, objectstore.AlreadyExists)
		}
	}
	// One that comes up meanwhile is not replaced either.
	r, w := io.Pipe()
	go func() {
		_, _ = w.Write(content(2 * blockSize)) // the reader tells
		azuretest.Put(t, client, "late", []byte("first"), nil)
		_ = w.Close()
	}()
	if _, err := store.Put(t.Context(), "late", r, objectstore.PutOptions{IfAbsent: true}); !errors.Is(err, objectstore.AlreadyExists) {
		t.Errorf("got %v, want %v", err, objectstore.AlreadyExists)
	}
	check(t, client, "late", []byte("first"))
	// The blocks of another upload stay.
	p := store.newPut("shared", objectstore.PutOptions{})
	id := p.blockID(0)
	if _, err := p.client.StageBlock(t.Context(), id, streaming.NopCloser(bytes.NewReader([]byte("other"))), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), "shared", half(), objectstore.PutOptions{}); !errors.Is(err, errSource) {
		t.Fatalf("got %v, want %v", err, errSource)
	}
	if err := p.commit(t.Context(), []string{id}, 5); err != nil {
		t.Errorf("the other upload failed: %v", err)
	}
	check(t, client, "shared", []byte("other"))
}

// TestPutDoesNotTouchWhatIsImmutable holds that no empty blob is made that could not be
// deleted.
func TestPutDoesNotTouchWhatIsImmutable(t *testing.T) {
	_, proxy, _, store := setup(t)
	isAbout := func(r *http.Request) bool { return r.URL.Query().Get("restype") == "container" }
	about := proxy.Inject(s3test.Fault{When: isAbout, Times: 1, Do: func(w http.ResponseWriter, r *http.Request, forth http.Handler) {
		w.Header().Set("x-ms-has-immutability-policy", "true")
		w.Header().Set("x-ms-version", r.Header.Get("x-ms-version"))
	}})
	commit := proxy.Inject(s3test.Fault{When: azuretest.IsCommit, Do: azuretest.Answer(http.StatusConflict, "BlobImmutableDueToPolicy")})
	_, err := store.Put(t.Context(), "key", io.MultiReader(plain(content(2*blockSize)), iotest.ErrReader(errSource)), objectstore.PutOptions{})
	if !errors.Is(err, errSource) {
		t.Errorf("got %v, want %v", err, errSource)
	}
	if proxy.Hits(about) != 1 || proxy.Hits(commit) != 0 {
		t.Errorf("asked %d times, and committed %d times", proxy.Hits(about), proxy.Hits(commit))
	}
}
