package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestPatroni: two PostgreSQL servers, one of which Patroni makes the leader by a key in a cluster,
// while this is upgraded, loses its leader, replaces its CA and is restored in its place. Clients
// write rows the whole time, and every row that was acknowledged is there at the end. No two
// servers took writes at once, and Patroni's own view agrees with PostgreSQL's.
func TestPatroni(t *testing.T) {
	isLong(t)
	needsNodeAccess(t)
	t.Parallel()
	if err := env.LoadPatroni(t.Context()); err != nil { // it takes minutes the first time
		t.Fatal(err)
	}
	d := aDatastore(t, "consumer-patroni.yaml", "example-patroni")
	p := d.aPatroni()
	d.lives(p)
	p.movesItsLeader()

	d.isBackedUp("nightly")
	p.goesOn("the backup")
	d.isRestored("in-place", "nightly")
	p.goesOn("the restore")
	p.agrees()

	p.movesItsLeader()
	d.isRestored("again", "nightly")
	p.goesOn("the restore of a backup that names a former leader")
	p.movesItsLeader()
	p.agrees()
	p.holdsItsRows()
}

// patroni is Patroni with its servers and clients.
type patroni struct {
	*harness.Patroni
	d *datastore
}

// aPatroni starts Patroni on the cluster, configured as kubectl etcd connect says.
func (d *datastore) aPatroni() *patroni {
	d.s.t.Helper()
	p := &patroni{d: d}
	etcd := d.connect("patroni")
	d.s.within(twoMinutes, func(ctx context.Context) (err error) {
		p.Patroni, err = env.StartPatroni(ctx, d.s.view, d.s.ns, etcd, d.State().Cluster.ClientTLSSecret())
		return err
	})
	p.goesOn("its start")
	p.agrees()
	return p
}

// goesOn is for [program]: each client has a row acknowledged that it begins to write from now on.
func (p *patroni) goesOn(after string) {
	s := p.d.s
	s.t.Helper()
	began := time.Now()
	var count int
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "each client to write a row", func(ctx context.Context) (string, error) {
			rows, err := p.Rows(ctx)
			if err != nil {
				return "", err
			}
			since := map[string]bool{}
			for _, a := range rows.Acknowledged {
				if a.Began > began.UnixNano() {
					since[a.Client] = true
				}
			}
			count = len(rows.Acknowledged)
			if len(since) < len(harness.RowClients) {
				return fmt.Sprintf("only %v do; %d rows are acknowledged of %d that were tried", since, count, len(rows.Tried)), nil
			}
			return "", nil
		})
	})
	s.tell("PostgreSQL acknowledges rows after %s: %d so far", after, count)
}

// reloads is for [program]: Patroni reads its files for each connection, so that it is enough that
// the kubelet has delivered them.
func (p *patroni) reloads() {
	p.d.s.t.Helper()
	p.d.s.must(p.Remount(p.d.s.ctx))
	for _, server := range harness.PatroniServers {
		p.d.s.mounts(server, "/etc/etcd-tls", p.d.State().Cluster.ClientTLSSecret(), "ca.crt", "tls.crt", "tls.key")
	}
}

// mounts waits until a Pod has what a Secret holds in a folder: kubelets deliver it.
func (s *scene) mounts(pod, folder, secret string, keys ...string) {
	s.t.Helper()
	s.within(twoMinutes, func(ctx context.Context) error {
		return harness.Poll(ctx, fmt.Sprintf("Secret %s in Pod %s", secret, pod), func(ctx context.Context) (string, error) {
			want := s.secret(secret).Data
			for _, key := range keys {
				got, err := env.File(ctx, s.ns, pod, folder+"/"+key)
				if err != nil {
					return "", err
				}
				if got != string(want[key]) {
					return key + " is another one", nil
				}
			}
			return "", nil
		})
	})
	s.tell("Pod %s has what Secret %s holds", pod, secret)
}

// movesItsLeader asks for a switchover, as a person does, and waits for it: Patroni can still
// write to etcd whatever it needs to.
func (p *patroni) movesItsLeader() {
	s := p.d.s
	s.t.Helper()
	p.agrees()
	from, to := p.leader(), ""
	for _, server := range harness.PatroniServers {
		if server != from {
			to = server
		}
	}
	s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a switchover", func(ctx context.Context) (string, error) {
			if p.leader() == to { // it was done, whatever was answered
				return "", nil
			}
			return "", p.Switchover(ctx, from, to)
		})
	})
	p.agrees()
	if now := p.leader(); now != to {
		s.t.Errorf("%s leads after a switchover from %s to %s", now, from, to)
	}
	p.goesOn("a switchover to " + to)
}

func (p *patroni) leader() (name string) {
	p.d.s.t.Helper()
	p.d.s.within(oneMinute, func(ctx context.Context) error {
		return harness.Poll(ctx, "a leader", func(ctx context.Context) (string, error) {
			view, err := p.View(ctx, harness.PatroniServers[0])
			if err != nil {
				return "", err
			}
			if name = view.Leader(); name == "" {
				return fmt.Sprintf("none of %+v leads", view.Members), nil
			}
			return "", nil
		})
	})
	return name
}

// agrees waits until Patroni's views agree, with each other and with PostgreSQL: there is one
// leader, which the other server follows synchronously on the same timeline; the history ends with
// the timeline before, the configuration is the one that was written at first, and what names the
// database in etcd is PostgreSQL's own identifier.
func (p *patroni) agrees() {
	s := p.d.s
	s.t.Helper()
	var said string
	s.within(twoMinutes, func(ctx context.Context) error {
		return harness.Poll(ctx, "Patroni to agree with itself", func(ctx context.Context) (string, error) {
			var views []harness.PatroniView
			for _, server := range harness.PatroniServers {
				view, err := p.View(ctx, server)
				if err != nil {
					return "", err
				}
				views = append(views, view)
			}
			said = fmt.Sprintf("%+v", views[0].Members)
			if diff := cmp.Diff(views[0], views[1]); diff != "" {
				return "the servers have different views: " + diff, nil
			}
			return views[0].Objection(), nil
		})
	})
	identifier, err := p.SQL(s.ctx, "SELECT system_identifier FROM pg_control_system()")
	s.must(err)
	if got := p.key("initialize"); !slices.Equal(identifier, []string{got}) {
		s.t.Errorf("Patroni's keys are of the database %s, and PostgreSQL's is %s", got, identifier)
	}
	s.tell("Patroni agrees with itself and with PostgreSQL: %s", said)
}

// key is one of Patroni's in etcd.
func (p *patroni) key(name string) string {
	p.d.s.t.Helper()
	return strings.TrimSpace(p.d.plugin.runs("ctl", p.d.Name, "--", "get", "/service/"+harness.PatroniScope+"/"+name, "--print-value-only").text)
}

// holdsItsRows: every row that was acknowledged is there, and none that nobody has tried to write.
// Each timeline had one server, and when one on a newer timeline had begun to take writes, none of
// an older timeline was acknowledged any more.
func (p *patroni) holdsItsRows() {
	s := p.d.s
	s.t.Helper()
	before, err := p.Rows(s.ctx)
	s.must(err)
	lines, err := p.SQL(s.ctx, "SELECT client, n FROM rows")
	s.must(err)
	after, err := p.Rows(s.ctx)
	s.must(err)
	there := map[harness.Row]bool{}
	for _, line := range lines {
		var row harness.Row
		if _, err := fmt.Sscan(line, &row.Client, &row.N); err != nil {
			s.t.Fatalf("row %q: %v", line, err)
		}
		there[row] = true
	}
	for _, objection := range slices.Concat(before.Lost(there), after.Foreign(there), before.TwoLeaders()) {
		s.t.Error(objection)
	}
	s.tell("%d rows are there, and %d were acknowledged", len(there), len(before.Acknowledged))
}
