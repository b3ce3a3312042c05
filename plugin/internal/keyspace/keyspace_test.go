package keyspace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestCut(t *testing.T) {
	for key, want := range map[string][3]string{
		"/registry/pods/default/web": {"/registry/", "/registry/pods/", "/registry/pods/default/"},
		"app/tenant-7/user/1":        {"app/", "app/tenant-7/", "app/tenant-7/user/"},
		"plain":                      {"", "", ""},
		"a/b":                        {"a/", "a/", "a/"},
		"":                           {"", "", ""},
		"/x":                         {"", "", ""},
		"//x":                        {"//", "//", "//"},
	} {
		var got [3]string
		for i := range got {
			got[i] = Cut(key, i+1)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
}

func TestOrder(t *testing.T) {
	s := NewSummary(1)
	s.Add("big/1", 1000, 1)
	s.Add("busy/1", 10, 500)
	s.Add("busy/2", 10, 1)
	if got := s.Biggest()[0].Prefix + s.Busiest()[0].Prefix; got != "big/busy/" {
		t.Errorf("biggest and busiest: %s", got)
	}
	s.Seen("new/1") // what is watched counts more than what was once
	if got := s.Busiest(); len(got) != 1 || got[0].Prefix != "new/" {
		t.Errorf("busiest by the watch: %+v", got)
	}
}

// A real etcd's keys are read in pages, at one revision, each once; a limit is said.
func TestScan(t *testing.T) {
	m := etcdtest.NewMember(t, etcdtest.Newest(), "a")
	m.Start(t, "new", m)
	m.WaitServing(t)
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + m.Client}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	put := func(key, value string) {
		t.Helper()
		if _, err := c.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 57 {
		for range 1 + i%2 {
			put(fmt.Sprintf("/registry/pods/%03d", i), strings.Repeat("x", 100))
		}
	}
	put("/other", "1")
	s, told := NewSummary(2), int64(0)
	if err := s.Scan(t.Context(), c, "", Limits{Page: 10, BytesPerSecond: 1 << 20}, func(_, total int64) { told = total }); err != nil {
		t.Fatal(err)
	}
	want := []Prefix{{Prefix: "/registry/pods/", Keys: 57, Bytes: 57 * 118, Writes: 57 + 28}, {Prefix: "", Keys: 1, Bytes: 7, Writes: 1}}
	if diff := cmp.Diff(want, s.Biggest()); diff != "" || told != 58 || s.Partial != "" {
		t.Errorf("%d keys, %q (-want +got):\n%s", told, s.Partial, diff)
	}

	limited := NewSummary(2)
	if err := limited.Scan(t.Context(), c, "/registry/", Limits{Page: 10, Keys: 20, BytesPerSecond: 1 << 20}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if limited.Total.Keys != 20 || !strings.Contains(limited.Partial, "20 keys were read, and there are 37 more") {
		t.Errorf("%d keys: %s", limited.Total.Keys, limited.Partial)
	}

	// The load is bounded: of 6.7 kB the first 4 kB are the burst.
	slow, begun := NewSummary(2), time.Now()
	if err := slow.Scan(t.Context(), c, "/registry/", Limits{Page: 5, BytesPerSecond: 4000}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 400*time.Millisecond {
		t.Errorf("read in %s", took)
	}

	watched, stop := NewSummary(2), make(chan struct{})
	go func() {
		defer close(stop)
		for i := 0; i < 200 && t.Context().Err() == nil; i++ {
			if _, err := c.Put(t.Context(), "/registry/pods/001", "y"); err != nil {
				return
			}
		}
	}()
	if err := watched.Watch(t.Context(), c, "", time.Second); err != nil || watched.Total.Watched == 0 {
		t.Errorf("%d writes were seen: %v", watched.Total.Watched, err)
	}
	<-stop
}

// However many prefixes there are, no more than so many are kept; none of the keys is lost.
func TestManyPrefixes(t *testing.T) {
	s := NewSummary(1)
	for i := range maxPrefixes + 10 {
		s.Add(fmt.Sprintf("/%d/x", i), 1, 1)
	}
	if biggest := s.Biggest(); len(biggest) != maxPrefixes+1 || biggest[0].Prefix != others || biggest[0].Keys != 10 || s.Total.Keys != maxPrefixes+10 {
		t.Errorf("%d prefixes of %d keys, the biggest %+v", len(biggest), s.Total.Keys, biggest[0])
	}
}
