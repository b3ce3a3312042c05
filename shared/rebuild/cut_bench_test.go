package rebuild

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// BenchmarkCutAt cuts some 200 MB in the middle, and restores the same file by etcdutl: how
// many times as long a cut takes is the figure, and the goal is at most 2.
//
//	go test ./rebuild -run '^$' -bench CutAt -benchtime 3x
func BenchmarkCutAt(b *testing.B) {
	small := content{pageSize: 4096, events: some(350_000), valueSize: 150, meta: of36}
	large := content{pageSize: 4096, events: some(8_000), valueSize: 12_000, meta: of36}
	for name, c := range map[string]content{
		"small values":                  small.leases(7),
		"large values":                  large.leases(7),
		"small values, no lease exists": small,
	} {
		b.Run(name, func(b *testing.B) {
			original := read(b, build(b, c))
			revision := int64(len(c.events) / 2)
			etcdutl := filepath.Join(filepath.Dir(etcdtest.Binary(b, etcdtest.Newest())), "etcdutl")
			var cut, plain time.Duration
			for b.Loop() {
				b.StopTimer()
				f := copyOf(b, original)
				begin := time.Now()
				if out, err := exec.CommandContext(b.Context(), etcdutl, "snapshot", "restore", f.Name(), "--skip-hash-check", "--data-dir", filepath.Join(b.TempDir(), "data")).CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				plain += time.Since(begin)
				b.StartTimer()
				begin = time.Now()
				if _, err := CutAt(b.Context(), f, revision, DropLeasedKeys); err != nil {
					b.Fatal(err)
				}
				cut += time.Since(begin)
			}
			b.SetBytes(int64(len(original)))
			b.ReportAllocs()
			b.ReportMetric(plain.Seconds()/float64(b.N), "s-etcdutl/op")
			b.ReportMetric(cut.Seconds()/plain.Seconds(), "x-etcdutl")
		})
	}
}

// BenchmarkCompareHash compares the hash of some 200 MB, of which a half is compacted.
//
//	go test ./rebuild -run '^$' -bench CompareHash -benchtime 3x
func BenchmarkCompareHash(b *testing.B) {
	c := content{pageSize: 4096, events: some(350_000), valueSize: 150, meta: of36}
	f := copyOf(b, read(b, build(b, c)))
	newest := int64(len(c.events))
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := HashKV(b.Context(), f, newest, newest/2); err != nil {
			b.Fatal(err)
		}
	}
}
