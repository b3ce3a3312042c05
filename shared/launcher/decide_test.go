package launcher

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var testMember = Member{Name: "a", PeerURL: "http://a.c.ns.svc:2380"}

const (
	onlyA = "a=http://a.c.ns.svc:2380"
	aAndB = "a=http://a.c.ns.svc:2380,b=http://b.c.ns.svc:2380"
)

func TestDecide(t *testing.T) {
	resume := Decision{Exec: true, Reason: ReasonHasWAL, Flags: []string{
		"--initial-cluster=" + onlyA, "--initial-cluster-state=existing",
	}}
	seed := &StartPermit{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}
	join := &StartPermit{Attempt: 3, State: StateExisting, InitialCluster: aAndB}

	cases := map[string]struct {
		reason    string
		hasWAL    bool
		used      int64
		permit    *StartPermit
		permitErr error
		want      Decision
	}{
		"WAL": {
			reason: "a member with data needs no permit",
			hasWAL: true,
			want:   resume,
		},
		"WAL and a fresh permit": {
			reason: "with data, a permit is left alone: nobody may tell it to begin anew",
			hasWAL: true, permit: seed,
			want: resume,
		},
		"nothing": {
			reason: "an empty disk alone says nothing",
			want:   Decision{Reason: ReasonNoPermit},
		},
		"nothing, after a start": {
			reason: "the data of an earlier start is gone",
			used:   2,
			want:   Decision{Reason: ReasonNoPermit},
		},
		"seed": {
			reason: "the first permit founds the cluster",
			permit: seed,
			want: Decision{Exec: true, Use: 1, Reason: ReasonPermitted, Flags: []string{
				"--initial-cluster=" + onlyA, "--initial-cluster-state=new", "--initial-cluster-token=t",
			}},
		},
		"wiped seed": {
			reason: "the same permit again would found a second cluster with the same ids",
			used:   1, permit: seed,
			want: Decision{Reason: ReasonPermitUsed},
		},
		"joiner": {
			reason: "existing needs no token",
			used:   1, permit: join,
			want: Decision{Exec: true, Use: 3, Reason: ReasonPermitted, Flags: []string{
				"--initial-cluster=" + aAndB, "--initial-cluster-state=existing",
			}, Peers: []string{"http://b.c.ns.svc:2380"}},
		},
		"wiped joiner": {
			reason: "it has voted, and would vote again without memory of it",
			used:   3, permit: join,
			want: Decision{Reason: ReasonPermitUsed},
		},
		"older permit than used": {
			reason: "an attempt must be higher, not only different",
			used:   5, permit: join,
			want: Decision{Reason: ReasonPermitUsed},
		},
		"unreadable permit": {
			reason:    "nothing is guessed",
			permitErr: errors.New("bad JSON"),
			want:      Decision{Reason: ReasonPermitInvalid},
		},
		"permit for another": {
			reason: "etcd would fail, after the permit was used up",
			permit: &StartPermit{Attempt: 1, State: StateNew, InitialCluster: "b=http://b.c.ns.svc:2380", Token: "t"},
			want:   Decision{Reason: ReasonPermitInvalid},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(testMember, tc.hasWAL, tc.used, tc.permit, tc.permitErr)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Decision{}, "Message")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.Message == "" {
				t.Error("a decision without a message")
			}
		})
	}
}

func TestStartPermitValidate(t *testing.T) {
	good := StartPermit{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}
	cases := map[string]struct {
		change func(*StartPermit)
		ok     bool
	}{
		"seed":                        {func(*StartPermit) {}, true},
		"join":                        {func(g *StartPermit) { g.State, g.InitialCluster, g.Token = StateExisting, aAndB, "" }, true},
		"https":                       {func(g *StartPermit) { g.InitialCluster = "a=https://a.c.ns.svc:2380" }, false}, // not this member's URL
		"no attempt":                  {func(g *StartPermit) { g.Attempt = 0 }, false},
		"negative attempt":            {func(g *StartPermit) { g.Attempt = -1 }, false},
		"no state":                    {func(g *StartPermit) { g.State = "" }, false},
		"unknown state":               {func(g *StartPermit) { g.State = "New" }, false},
		"no cluster":                  {func(g *StartPermit) { g.InitialCluster = "" }, false},
		"garbage cluster":             {func(g *StartPermit) { g.InitialCluster = "a" }, false},
		"own URL differs":             {func(g *StartPermit) { g.InitialCluster = "a=http://a.c.ns.svc:2381" }, false},
		"own name missing":            {func(g *StartPermit) { g.InitialCluster = "b=http://a.c.ns.svc:2380" }, false},
		"new with others":             {func(g *StartPermit) { g.InitialCluster = aAndB }, false},
		"new without token":           {func(g *StartPermit) { g.Token = "" }, false},
		"existing alone":              {func(g *StartPermit) { g.State = StateExisting }, false},
		"entry twice":                 {func(g *StartPermit) { g.State, g.InitialCluster = StateExisting, aAndB+","+onlyA }, false},
		"URL twice":                   {func(g *StartPermit) { g.State, g.InitialCluster = StateExisting, onlyA+",b=http://a.c.ns.svc:2380" }, false},
		"a flag in the cluster value": {func(g *StartPermit) { g.State, g.InitialCluster = StateExisting, onlyA+",b=--force-new-cluster" }, false},
		"after another": {func(g *StartPermit) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://b.c.ns.svc:2380"}
		}, true},
		"after itself": {func(g *StartPermit) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://a.c.ns.svc:2380"}
		}, false},
		"after a stranger": {func(g *StartPermit) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://example.com"}
		}, false},
		"seed after":  {func(g *StartPermit) { g.After = []string{"http://b.c.ns.svc:2380"} }, false},
		"empty entry": {func(g *StartPermit) { g.State, g.InitialCluster = StateExisting, aAndB+"," }, true}, // etcd skips it
		"another with two URLs": {func(g *StartPermit) {
			g.State, g.InitialCluster = StateExisting, aAndB+",b=http://b.example.com:2380"
		}, true},
		"another with two URLs, one of them ours": {func(g *StartPermit) {
			g.State, g.InitialCluster = StateExisting, aAndB+",b=http://a.c.ns.svc:2380"
		}, false},
		"two URLs of its own": {func(g *StartPermit) {
			g.State, g.InitialCluster = StateExisting, aAndB+",a=http://a.example.com:2380"
		}, true},
		"a seed with two URLs": {func(g *StartPermit) { g.InitialCluster = onlyA + ",a=http://a.example.com:2380" }, false},
		"a path": {func(g *StartPermit) {
			g.State, g.InitialCluster = StateExisting, onlyA+",b=http://b.c.ns.svc:2380/"
		}, false}, // etcd refuses it
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := good
			tc.change(&g)
			err := g.Validate(testMember.Name, testMember.PeerURL)
			if (err == nil) != tc.ok {
				t.Errorf("Validate(%v) = %v, want ok %t", g, err, tc.ok)
			}
		})
	}
}

func TestParseStartPermit(t *testing.T) {
	g := StartPermit{Attempt: 7, State: StateExisting, InitialCluster: aAndB + "&<>", Token: "t"}
	cases := map[string]struct {
		in   string
		want *StartPermit
		ok   bool
	}{
		"absent":        {"", nil, true},
		"blank":         {" \n", nil, true},
		"round trip":    {g.String(), &g, true},
		"not JSON":      {"attempt=1", nil, false},
		"cut short":     {g.String()[:10], nil, false},
		"two permits":   {g.String() + g.String(), nil, false},
		"unknown field": {`{"attempt":1,"force":true}`, nil, false},
		"fraction":      {`{"attempt":1.5}`, nil, false},
		"null":          {`null`, &StartPermit{}, true}, // refused by Validate
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseStartPermit([]byte(tc.in))
			if (err == nil) != tc.ok {
				t.Fatalf("ParseStartPermit(%q): %v, want ok %t", tc.in, err, tc.ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseStartPermit(%q) -want +got:\n%s", tc.in, diff)
			}
		})
	}
}

// No annotation, whatever it holds, makes a launcher start without data on a
// permit that is used up or not for this member.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(StartPermit{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}.String()), int64(0))
	f.Add([]byte(`{"attempt":2,"state":"existing","initialCluster":"`+aAndB+`"}`), int64(1))
	f.Add([]byte("null"), int64(0))
	f.Fuzz(func(t *testing.T, annotation []byte, used int64) {
		used = max(used, 0)
		g, err := ParseStartPermit(annotation)
		d := Decide(testMember, false, used, g, err)
		if !d.Exec {
			return
		}
		if d.Use <= used || d.Use != g.Attempt {
			t.Errorf("starts on attempt %d of permit %v after %d", d.Use, g, used)
		}
		if g.Validate(testMember.Name, testMember.PeerURL) != nil {
			t.Errorf("starts on an invalid permit %v", g)
		}
	})
}
