package keyspace

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// store is an etcd with small values and then large ones. Its client accepts answers only up to a size.
type store struct {
	clientv3.KV
	small, large int
	// largest is the size of the largest answer.
	largest int
}

const largeValue, maxAnswer = 1 << 20, 16 << 20

func (s *store) Get(_ context.Context, from string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	limit := int(clientv3.OpGet(from, options...).Limit())
	got := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 1}}
	size := 0
	for i := range s.small + s.large {
		key := fmt.Sprintf("%06d", i)
		if key < from {
			continue
		}
		got.Count++
		if len(got.Kvs) == limit {
			got.More = true
			continue
		}
		value := make([]byte, 10)
		if i >= s.small {
			value = make([]byte, largeValue)
		}
		got.Kvs = append(got.Kvs, &mvccpb.KeyValue{Key: []byte(key), Value: value})
		size += len(key) + len(value)
	}
	if size > maxAnswer {
		return nil, status.Error(codes.ResourceExhausted, "grpc: received message larger than max")
	}
	s.largest = max(s.largest, size)
	return got, nil
}

// TestPagesAreBoundedBySize: large values after small ones are read with fewer keys in each page.
func TestPagesAreBoundedBySize(t *testing.T) {
	kv := &store{small: 2000, large: 40}
	s := NewSummary(2)
	if err := s.Scan(t.Context(), kv, "", Limits{Page: 500, BytesPerSecond: 1 << 30}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Total.Keys, int64(2040); got != want {
		t.Errorf("got %d keys, want %d", got, want)
	}
	if kv.largest > maxAnswer {
		t.Errorf("the largest page has %d bytes, want at most %d", kv.largest, maxAnswer)
	}
	only := &store{large: 100}
	if err := NewSummary(2).Scan(t.Context(), only, "", Limits{Page: 500, BytesPerSecond: 1 << 30}, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
}
