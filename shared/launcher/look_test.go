package launcher

import (
	"context"
	"log/slog"
	"testing"
	"time"
)

// unhurried is a host with a clock of its own, of which only what a test sets is there.
type unhurried struct {
	Host
	now    time.Time
	hasWAL bool
	permit *StartPermit
	used   int64
	podUID string
}

func (u *unhurried) Now() time.Time                     { return u.now }
func (u *unhurried) PodUID() string                     { return u.podUID }
func (u *unhurried) HasWAL() (bool, error)              { return u.hasWAL, nil }
func (u *unhurried) StartPermit() (*StartPermit, error) { return u.permit, nil }
func (u *unhurried) Used() (int64, error)               { return u.used, nil }
func (u *unhurried) RecordUse(n int64) error            { u.used = n; return nil }
func (u *unhurried) SetRemnantsAside() (string, error)  { return "", nil }

// TestWaitedForTheSame: how long a launcher has found no data counts from the first look after
// whatever else it found, or did: an operator takes a disk for empty that was found so for long.
func TestWaitedForTheSame(t *testing.T) {
	u := &unhurried{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	l := New(Options{Member: Member{Name: "a", PeerURL: "http://a:2380"}, Log: slog.New(slog.DiscardHandler)})
	look := func(after time.Duration, want time.Duration) Decision {
		t.Helper()
		u.now = u.now.Add(after)
		d, _, err := l.Look(context.Background(), u)
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.State(u, d)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Duration(s.WaitedSeconds * float64(time.Second)); got != want {
			t.Errorf("it says that it has found the same for %s, want %s", got, want)
		}
		return d
	}
	look(0, 0)
	look(10*time.Second, 10*time.Second)
	u.hasWAL = true
	look(time.Second, 0)
	u.hasWAL = false
	look(time.Second, 0)
	look(5*time.Second, 5*time.Second)

	// It starts etcd to catch up, and finds no data after that.
	u.permit = &StartPermit{Attempt: 1, State: StateNew, Token: "token", InitialCluster: "a=http://a:2380"}
	d := look(time.Second, 6*time.Second)
	if !d.Exec {
		t.Fatalf("it does not start etcd: %+v", d)
	}
	if err := l.Prepare(u, d); err != nil {
		t.Fatal(err)
	}
	look(time.Minute, 0)
}

// The operator compares all three parts of an identity, so a launcher reports all of them or none.
func TestIdentityIsComplete(t *testing.T) {
	for name, row := range map[string]struct {
		clusterUID, podUID string
		want               Identity
	}{
		"both uids":        {"c", "p", Identity{PodUID: "p", Member: "a", ClusterUID: "c"}},
		"no cluster's uid": {"", "p", Identity{}},
		"no Pod's uid":     {"c", "", Identity{}},
	} {
		l := New(Options{Member: Member{Name: "a"}, ClusterUID: row.clusterUID})
		if got := l.identity(&unhurried{podUID: row.podUID}); got != row.want {
			t.Errorf("%s: got %+v, want %+v", name, got, row.want)
		}
	}
}
