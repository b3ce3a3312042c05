package main

import (
	"slices"
	"testing"
)

func TestCutFigures(t *testing.T) {
	out := []byte("goos: linux\nBenchmarkCutAt/small_values,_no_lease_exists-2         \t       3\t 812345678 ns/op\t 246.10 MB/s\t         1.210 x-etcdutl\t         0.6700 s-etcdutl/op\t  123 B/op\t  4 allocs/op\nBenchmarkCutAt/large_values-2 \t 3\t 4 ns/op\t 0.004 x-etcdutl\nPASS\n")
	got, err := cutFigures(out)
	want := []cutFigure{{"small values, no lease exists", 1.21}, {"large values", 0.004}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if got, err := cutFigures([]byte("PASS\n")); err == nil {
		t.Errorf("got %v of an output without figures, want an error", got)
	}
}
