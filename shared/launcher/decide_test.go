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
	seed := &Grant{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}
	join := &Grant{Attempt: 3, State: StateExisting, InitialCluster: aAndB}

	cases := map[string]struct {
		reason   string
		hasWAL   bool
		used     int64
		grant    *Grant
		grantErr error
		want     Decision
	}{
		"WAL": {
			reason: "a member with data needs no permit",
			hasWAL: true,
			want:   resume,
		},
		"WAL and a fresh grant": {
			reason: "with data, a grant is left alone: nobody may tell it to begin anew",
			hasWAL: true, grant: seed,
			want: resume,
		},
		"nothing": {
			reason: "an empty disk alone says nothing",
			want:   Decision{Reason: ReasonNoGrant},
		},
		"nothing, after a start": {
			reason: "the data of an earlier start is gone",
			used:   2,
			want:   Decision{Reason: ReasonNoGrant},
		},
		"seed": {
			reason: "the first grant founds the cluster",
			grant:  seed,
			want: Decision{Exec: true, Use: 1, Reason: ReasonGranted, Flags: []string{
				"--initial-cluster=" + onlyA, "--initial-cluster-state=new", "--initial-cluster-token=t",
			}},
		},
		"wiped seed": {
			reason: "the same grant again would found a second cluster with the same ids",
			used:   1, grant: seed,
			want: Decision{Reason: ReasonGrantUsed},
		},
		"joiner": {
			reason: "existing needs no token",
			used:   2, grant: join,
			want: Decision{Exec: true, Use: 3, Reason: ReasonGranted, Flags: []string{
				"--initial-cluster=" + aAndB, "--initial-cluster-state=existing",
			}, Peers: []string{"http://b.c.ns.svc:2380"}},
		},
		"wiped joiner": {
			reason: "it has voted, and would vote again without memory of it",
			used:   3, grant: join,
			want: Decision{Reason: ReasonGrantUsed},
		},
		"older grant than used": {
			reason: "an attempt must be higher, not only different",
			used:   5, grant: join,
			want: Decision{Reason: ReasonGrantUsed},
		},
		"unreadable grant": {
			reason:   "nothing is guessed",
			grantErr: errors.New("bad JSON"),
			want:     Decision{Reason: ReasonGrantInvalid},
		},
		"grant for another": {
			reason: "etcd would fail, after the grant was used up",
			grant:  &Grant{Attempt: 1, State: StateNew, InitialCluster: "b=http://b.c.ns.svc:2380", Token: "t"},
			want:   Decision{Reason: ReasonGrantInvalid},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(testMember, tc.hasWAL, tc.used, tc.grant, tc.grantErr)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Decision{}, "Message")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if got.Message == "" {
				t.Error("a decision without a message")
			}
		})
	}
}

func TestGrantValidate(t *testing.T) {
	good := Grant{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}
	cases := map[string]struct {
		change func(*Grant)
		ok     bool
	}{
		"seed":                        {func(*Grant) {}, true},
		"join":                        {func(g *Grant) { g.State, g.InitialCluster, g.Token = StateExisting, aAndB, "" }, true},
		"https":                       {func(g *Grant) { g.InitialCluster = "a=https://a.c.ns.svc:2380" }, false}, // not this member's URL
		"no attempt":                  {func(g *Grant) { g.Attempt = 0 }, false},
		"negative attempt":            {func(g *Grant) { g.Attempt = -1 }, false},
		"no state":                    {func(g *Grant) { g.State = "" }, false},
		"unknown state":               {func(g *Grant) { g.State = "New" }, false},
		"no cluster":                  {func(g *Grant) { g.InitialCluster = "" }, false},
		"garbage cluster":             {func(g *Grant) { g.InitialCluster = "a" }, false},
		"own URL differs":             {func(g *Grant) { g.InitialCluster = "a=http://a.c.ns.svc:2381" }, false},
		"own name missing":            {func(g *Grant) { g.InitialCluster = "b=http://a.c.ns.svc:2380" }, false},
		"new with others":             {func(g *Grant) { g.InitialCluster = aAndB }, false},
		"new without token":           {func(g *Grant) { g.Token = "" }, false},
		"existing alone":              {func(g *Grant) { g.State = StateExisting }, false},
		"name twice":                  {func(g *Grant) { g.State, g.InitialCluster = StateExisting, onlyA+","+onlyA }, false},
		"URL twice":                   {func(g *Grant) { g.State, g.InitialCluster = StateExisting, onlyA+",b=http://a.c.ns.svc:2380" }, false},
		"a flag in the cluster value": {func(g *Grant) { g.State, g.InitialCluster = StateExisting, onlyA+",b=--force-new-cluster" }, false},
		"after another": {func(g *Grant) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://b.c.ns.svc:2380"}
		}, true},
		"after itself": {func(g *Grant) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://a.c.ns.svc:2380"}
		}, false},
		"after a stranger": {func(g *Grant) {
			g.State, g.InitialCluster, g.After = StateExisting, aAndB, []string{"http://example.com"}
		}, false},
		"seed after":  {func(g *Grant) { g.After = []string{"http://b.c.ns.svc:2380"} }, false},
		"empty entry": {func(g *Grant) { g.State, g.InitialCluster = StateExisting, aAndB+"," }, false},
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

func TestParseGrant(t *testing.T) {
	g := Grant{Attempt: 7, State: StateExisting, InitialCluster: aAndB + "&<>", Token: "t"}
	cases := map[string]struct {
		in   string
		want *Grant
		ok   bool
	}{
		"absent":        {"", nil, true},
		"blank":         {" \n", nil, true},
		"round trip":    {g.String(), &g, true},
		"not JSON":      {"attempt=1", nil, false},
		"cut short":     {g.String()[:10], nil, false},
		"two grants":    {g.String() + g.String(), nil, false},
		"unknown field": {`{"attempt":1,"force":true}`, nil, false},
		"fraction":      {`{"attempt":1.5}`, nil, false},
		"null":          {`null`, &Grant{}, true}, // refused by Validate
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseGrant([]byte(tc.in))
			if (err == nil) != tc.ok {
				t.Fatalf("ParseGrant(%q): %v, want ok %t", tc.in, err, tc.ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ParseGrant(%q) -want +got:\n%s", tc.in, diff)
			}
		})
	}
}

// No annotation, whatever it holds, makes a launcher start without data on a
// grant that is used up or not for this member.
func FuzzDecide(f *testing.F) {
	f.Add([]byte(Grant{Attempt: 1, State: StateNew, InitialCluster: onlyA, Token: "t"}.String()), int64(0))
	f.Add([]byte(`{"attempt":2,"state":"existing","initialCluster":"`+aAndB+`"}`), int64(1))
	f.Add([]byte("null"), int64(0))
	f.Fuzz(func(t *testing.T, annotation []byte, used int64) {
		used = max(used, 0)
		g, err := ParseGrant(annotation)
		d := Decide(testMember, false, used, g, err)
		if !d.Exec {
			return
		}
		if d.Use <= used || d.Use != g.Attempt {
			t.Errorf("starts on attempt %d of grant %v after %d", d.Use, g, used)
		}
		if g.Validate(testMember.Name, testMember.PeerURL) != nil {
			t.Errorf("starts on an invalid grant %v", g)
		}
	})
}
