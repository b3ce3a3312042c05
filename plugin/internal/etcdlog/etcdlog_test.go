package etcdlog

import "testing"

func TestPretty(t *testing.T) {
	for line, want := range map[string]string{
		`{"level":"info","ts":"2026-01-01T12:00:00.123456Z","caller":"etcdserver/server.go:1","msg":"leader changed","local-member-id":"8a3f","to":"b 1","n":3,"list":["a"],"none":""}`: `2026-01-01 12:00:00.123 INFO  leader changed list=["a"] local-member-id=8a3f n=3 none="" to="b 1"`,
		`{"level":"warn","ts":"2026-01-01T14:00:00.5+0200","msg":"slow"}`: "2026-01-01 12:00:00.500 WARN  slow",
		"waiting for its start permit":                                    "waiting for its start permit",
		`{"no":"message"}`:                                                `{"no":"message"}`,
		`{"broken`:                                                        `{"broken`,
		"":                                                                "",
	} {
		if got := Pretty(line); got != want {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
}
