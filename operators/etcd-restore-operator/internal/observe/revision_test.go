package observe

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/launchertest"
	"github.com/etcd-operators/etcd-operators/shared/agentpod"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// Every etcd that we run tells its revision without credentials.
func TestRevisionOfAMember(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		m := etcdtest.NewMember(t, version, "a")
		m.Start(t, "new", m)
		m.WaitReady(t)
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + m.Client}, Logger: zap.NewNop(), DialTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.Close() })
		want := int64(0)
		for i := range 5 {
			put, err := client.Put(t.Context(), fmt.Sprint(i), "x")
			if err != nil {
				t.Fatal(err)
			}
			want = put.Header.Revision
		}
		if got := revisionOf(t.Context(), agentpod.Asker(nil), m.Client); got != want {
			t.Errorf("revision %d, want %d", got, want)
		}
	})
}

// Whatever else answers tells no revision.
func TestRevisionOfNoMember(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want int64
	}{
		"as etcd writes it": {"# TYPE x gauge\n" + revisionMetric + " 1.005e+09\n", 1_005_000_000},
		"another one":       {revisionMetric + "_total 5\n", 0},
		"no number":         {revisionMetric + " x\n", 0},
		"not a number":      {revisionMetric + " NaN\n", 0},
		"negative":          {revisionMetric + " -1\n", 0},
		"beyond all":        {revisionMetric + " 1e300\n", 0},
		"nothing":           {"", 0},
		"a long line":       {strings.Repeat("x", 1<<20), 0},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, tc.body) }))
			defer server.Close()
			if got := revisionOf(t.Context(), agentpod.Asker(nil), strings.TrimPrefix(server.URL, "http://")); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
	if got := revisionOf(t.Context(), agentpod.Asker(nil), "127.0.0.1:1"); got != 0 {
		t.Errorf("of nobody: %d", got)
	}
}

// One that does not answer might know of more than those that do.
func TestAskRevision(t *testing.T) {
	t.Parallel()
	tells := func(revision string) string {
		return launchertest.Serve(t, "/metrics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, revisionMetric, revision) })
	}
	first, second := tells("7"), tells("9")
	for name, tc := range map[string]struct {
		members []string
		want    int64
	}{
		"all answer":    {[]string{first, second}, 9},
		"one is silent": {[]string{first, second, "127.0.0.1"}, 0},
		"nobody is":     {nil, 0},
	} {
		if got := (&Observation{members: tc.members}).AskRevision(t.Context()); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}
