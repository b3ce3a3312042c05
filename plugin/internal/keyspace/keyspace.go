// Package keyspace tells which prefixes of a key space take the most space, and which are
// written to most. It reads in pages, at a bounded rate, from one member's own copy: no other
// member has work with it, and no write waits for it.
package keyspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Prefix is what is known of the keys under a prefix.
type Prefix struct {
	Prefix string `json:"prefix"`
	Keys   int64  `json:"keys"`
	// Bytes are those of the keys and their current values, without their history.
	Bytes int64 `json:"bytes"`
	// Writes is how often the keys that there are were written since each was created.
	Writes int64 `json:"writes"`
	// Watched is how often keys were written while they were watched.
	Watched int64 `json:"watched,omitempty"`
}

// Summary collects keys by their prefixes.
type Summary struct {
	depth    int
	prefixes map[string]*Prefix
	// Total is of all keys.
	Total Prefix
	// Revision is the one at which the keys were read.
	Revision int64
	// Partial says why not all keys were read; empty if they were.
	Partial string
}

// NewSummary makes a summary by the first depth segments of keys, which end in "/".
func NewSummary(depth int) *Summary { return &Summary{depth: depth, prefixes: map[string]*Prefix{}} }

// Cut is the prefix of a key: its first depth segments. A key of fewer is under its last slash;
// one without a slash under "".
func Cut(key string, depth int) string {
	at, segments := 0, 0
	for i := range len(key) {
		// A slash at the beginning opens the first segment, and ends none.
		if key[i] != '/' || i == 0 {
			continue
		}
		at = i + 1
		if segments++; segments == depth {
			break
		}
	}
	return key[:at]
}

// maxPrefixes bounds the memory of a summary, to some 30 MB. The keys of further prefixes are
// counted together, as those of others.
const (
	maxPrefixes = 100_000
	others      = "(others)"
)

func (s *Summary) of(key string) *Prefix {
	name := Cut(key, s.depth)
	p := s.prefixes[name]
	if p == nil && len(s.prefixes) >= maxPrefixes {
		name = others
		p = s.prefixes[name]
	}
	if p == nil {
		p = &Prefix{Prefix: name}
		s.prefixes[name] = p
	}
	return p
}

// Add counts a key.
func (s *Summary) Add(key string, bytes, writes int64) {
	for _, p := range []*Prefix{s.of(key), &s.Total} {
		p.Keys, p.Bytes, p.Writes = p.Keys+1, p.Bytes+bytes, p.Writes+writes
	}
}

// Seen counts a write that was watched.
func (s *Summary) Seen(key string) {
	s.of(key).Watched++
	s.Total.Watched++
}

// Biggest are the prefixes that take the most space.
func (s *Summary) Biggest() []Prefix { return s.sorted(func(p Prefix) int64 { return p.Bytes }) }

// Busiest are the prefixes that are written to most, by the watch if there was one that saw a
// write, and else by the versions of the keys.
func (s *Summary) Busiest() []Prefix {
	return s.sorted(func(p Prefix) int64 {
		if s.Total.Watched > 0 {
			return p.Watched
		}
		return p.Writes
	})
}

func (s *Summary) sorted(by func(Prefix) int64) []Prefix {
	all := make([]Prefix, 0, len(s.prefixes))
	for _, p := range s.prefixes {
		if by(*p) > 0 {
			all = append(all, *p)
		}
	}
	slices.SortFunc(all, func(x, y Prefix) int { return cmp.Or(cmp.Compare(by(y), by(x)), strings.Compare(x.Prefix, y.Prefix)) })
	return all
}

// Limits bound the load that a scan makes.
type Limits struct {
	// Page is the largest number of keys in one request. A request asks for fewer keys if they would exceed
	// pageBytes.
	Page int64
	// Keys is how many are read at most; 0 for all.
	Keys int64
	// BytesPerSecond is how fast keys and values are read, on average.
	BytesPerSecond int
}

// pageTimeout limits the time of one page, and pageBytes its approximate size. The member holds a page in
// memory, and other requests wait for the network until it is sent. firstPage is the number of keys to read
// before their size is known: 32 of the largest that etcd accepts by default are 48 MiB.
const (
	pageTimeout = time.Minute
	pageBytes   = 4 << 20
	firstPage   = 32
)

// Scan reads the keys under a prefix at one revision. It calls progress with the number of keys so far. If an
// answer is too large for the client, Scan asks again for a smaller page.
func (s *Summary) Scan(ctx context.Context, c clientv3.KV, prefix string, l Limits, progress func(keys, total int64)) error {
	limiter := rate.NewLimiter(rate.Limit(l.BytesPerSecond), l.BytesPerSecond)
	from, end := prefix, clientv3.GetPrefixRangeEnd(prefix)
	if prefix == "" {
		from, end = "\x00", "\x00"
	}
	for page := min(l.Page, firstPage); ; {
		got, err := s.page(ctx, c, from, end, page)
		if errors.Is(err, rpctypes.ErrCompacted) {
			s.Partial = fmt.Sprintf("etcd was compacted beyond revision %d meanwhile: read faster, with a higher --rate, or fewer keys, with --prefix", s.Revision)
			return nil
		}
		if status.Code(err) == codes.ResourceExhausted && page > 1 {
			page /= 2
			continue
		}
		if err != nil {
			return fmt.Errorf("read the keys from %q on: %w", from, err)
		}
		s.Revision = cmp.Or(s.Revision, got.Header.Revision)
		read, left := 0, got.Count-int64(len(got.Kvs))
		for _, kv := range got.Kvs {
			s.Add(string(kv.Key), int64(len(kv.Key)+len(kv.Value)), kv.Version)
			read += len(kv.Key) + len(kv.Value)
		}
		progress(s.Total.Keys, s.Total.Keys+left)
		if !got.More || len(got.Kvs) == 0 {
			return nil
		}
		if l.Keys > 0 && s.Total.Keys >= l.Keys {
			s.Partial = fmt.Sprintf("%d keys were read, and there are %d more: set a higher --limit, or --prefix", s.Total.Keys, left)
			return nil
		}
		page = min(l.Page, 2*page, max(1, pageBytes/int64(max(1, read/len(got.Kvs)))))
		from = string(got.Kvs[len(got.Kvs)-1].Key) + "\x00"
		for read > 0 { // a limiter gives no more than its burst at a time
			n := min(read, l.BytesPerSecond)
			if err := limiter.WaitN(ctx, n); err != nil {
				return err
			}
			read -= n
		}
	}
}

func (s *Summary) page(ctx context.Context, c clientv3.KV, from, end string, limit int64) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	return c.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(limit), clientv3.WithSerializable(), clientv3.WithRev(s.Revision))
}

// Watch counts the writes under a prefix for a time.
func (s *Summary) Watch(ctx context.Context, c *clientv3.Client, prefix string, during time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, during)
	defer cancel()
	for r := range c.Watch(ctx, prefix, clientv3.WithPrefix()) {
		if err := r.Err(); err != nil {
			return fmt.Errorf("watch %q: %w", prefix, err)
		}
		for _, e := range r.Events {
			s.Seen(string(e.Kv.Key))
		}
	}
	return nil
}
