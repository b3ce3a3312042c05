package snapshotcheck

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"

	"github.com/etcd-operators/etcd-operators/e2e/mirror"
	"github.com/etcd-operators/etcd-operators/e2e/writer"
)

const prefix = "p/"

func TestOpen(t *testing.T) {
	snapshot := take(t)
	want := writer.Content{Writes: []writer.Span{{First: 0, Last: 4}, {First: 6, Last: 9}}, Foreign: []string{prefix + "0000000007x"}}
	for name, stored := range map[string][]byte{"plain": snapshot, "packed": packed(t, snapshot)} {
		t.Run(name, func(t *testing.T) {
			got, err := Open(bytes.NewReader(stored), t.TempDir(), prefix)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Content); diff != "" {
				t.Errorf("content: -want +got\n%s", diff)
			}
			all, err := Keys(bytes.NewReader(stored), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantKeys(t), all); diff != "" {
				t.Errorf("keys: -want +got\n%s", diff)
			}
			if got.Size != int64(len(stored)) || got.Packed != (name == "packed") || got.Keys != 11 || got.Revision != 15 || len(got.SHA256) != 64 {
				t.Errorf("got %+v", got)
			}
		})
	}
	damaged := bytes.Clone(snapshot)
	damaged[len(damaged)/2] ^= 1
	for name, stored := range map[string][]byte{
		"nothing": nil, "no snapshot": []byte("something else"), "cut short": snapshot[:len(snapshot)-4096], "without its digest": snapshot[:len(snapshot)-32],
		"damaged": damaged, "packed and cut short": packed(t, snapshot)[:100],
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Open(bytes.NewReader(stored), t.TempDir(), prefix); err == nil {
				t.Errorf("it opens: %+v", got)
			}
		})
	}
}

// wantKeys are those of take's etcd.
func wantKeys(t *testing.T) mirror.Content {
	t.Helper()
	key := func(value string, created, modified, version int64) mirror.Key {
		return mirror.KeyOf(&mvccpb.KeyValue{Value: []byte(value), CreateRevision: created, ModRevision: modified, Version: version})
	}
	all := mirror.Content{Revision: 15, Keys: map[string]mirror.Key{
		prefix + "0000000003": key("3", 2, 6, 2), prefix + "0000000007x": key("7", 13, 13, 1), "somebody else's": key("7", 14, 14, 1),
	}}
	for _, seq := range []int64{0, 1, 2, 4, 6, 7, 8, 9} {
		all.Keys[fmt.Sprintf("%s%010d", prefix, seq)] = key(fmt.Sprint(seq), seq+3, seq+3, 1)
	}
	return all
}

// take takes a snapshot of an etcd with ten writes of which one was deleted, a key that
// only looks like one, and one of somebody else.
func take(t *testing.T) []byte {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = t.TempDir(), "fatal"
	none := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{none}, []url.URL{none}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	<-e.Server.ReadyNotify()
	c := v3client.New(e.Server)
	defer c.Close()
	put := func(key, value string) {
		t.Helper()
		if _, err := c.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	put(fmt.Sprintf("%s%010d", prefix, 3), "an older value")
	for seq := range 10 {
		put(fmt.Sprintf("%s%010d", prefix, seq), fmt.Sprint(seq))
	}
	put(prefix+"0000000007x", "7")
	put("somebody else's", "7")
	if _, err := c.Delete(t.Context(), fmt.Sprintf("%s%010d", prefix, 5)); err != nil {
		t.Fatal(err)
	}
	r, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	snapshot, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot
}

func packed(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
