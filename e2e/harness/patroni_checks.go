package harness

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Row is one that a client has written.
type Row struct {
	Client string
	N      int64
}

// Acknowledged is a row that is committed, as its client was told.
type Acknowledged struct {
	Row
	// Server is the address of the one that has committed it, on this timeline of PostgreSQL's.
	Server, Timeline string
	// Began and Ended are the nanoseconds of the client's clock around it.
	Began, Ended int64
}

// Rows is what the clients tell of their writes.
type Rows struct {
	Tried        map[Row]bool
	Acknowledged []Acknowledged
}

// read adds what a client has logged.
func (r *Rows) read(client, log string) {
	for line := range strings.Lines(log) {
		a := Acknowledged{Row: Row{Client: client}}
		if _, err := fmt.Sscanf(line, "try %d\n", &a.N); err == nil {
			r.Tried[a.Row] = true
			continue
		}
		if _, err := fmt.Sscanf(line, "acknowledged %d %s %s %d %d\n", &a.N, &a.Server, &a.Timeline, &a.Began, &a.Ended); err == nil {
			r.Acknowledged = append(r.Acknowledged, a)
		}
	}
}

// Lost are the rows that were acknowledged, and are not there.
func (r *Rows) Lost(there map[Row]bool) (found []string) {
	for _, a := range r.Acknowledged {
		if !there[a.Row] {
			found = append(found, fmt.Sprintf("%+v is lost", a))
		}
	}
	return found
}

// Foreign are the rows that are there, and that no client has tried to write.
func (r *Rows) Foreign(there map[Row]bool) (found []string) {
	for row := range there {
		if !r.Tried[row] {
			found = append(found, fmt.Sprintf("%+v is there, and nobody has written it", row))
		}
	}
	slices.Sort(found)
	return found
}

// TwoLeaders says where two servers took writes at once: each timeline has one server, and when a
// row is acknowledged on a newer one, no row is any more that a client begins to write on an older
// one. Timelines are written so that they sort.
func (r *Rows) TwoLeaders() (found []string) {
	rows := slices.SortedFunc(slices.Values(r.Acknowledged), func(a, b Acknowledged) int { return cmp.Compare(a.Ended, b.Ended) })
	servers := map[string]string{}
	var newest Acknowledged
	for _, row := range rows {
		if other, known := servers[row.Timeline]; known && other != row.Server {
			found = append(found, fmt.Sprintf("timeline %s is of %s and of %s", row.Timeline, other, row.Server))
		}
		servers[row.Timeline] = row.Server
		switch {
		case row.Timeline > newest.Timeline:
			newest = row
		case row.Timeline < newest.Timeline && row.Began > newest.Ended:
			found = append(found, fmt.Sprintf("%+v was acknowledged, and before it began %+v", row, newest))
		}
	}
	return found
}

// PatroniMember is a server, as Patroni has it.
type PatroniMember struct {
	Name, Role, State string
	Timeline          int
}

// PatroniView is what one of the servers tells of all.
type PatroniView struct {
	Members []PatroniMember
	// History has an entry for each timeline that has ended: its number, where it ended, why,
	// when, and who leads the next.
	History [][]any
	// Config is the configuration that all share.
	Config map[string]any
}

// Leader is the server that leads; empty if none does.
func (v PatroniView) Leader() string {
	for _, m := range v.Members {
		if m.Role == "leader" {
			return m.Name
		}
	}
	return ""
}

// Objection says what is wrong with the view; empty if nothing is: there is a leader, which the
// other server follows synchronously on the same timeline, the history ends with the timeline
// before, and the configuration is the one that was written at first.
func (v PatroniView) Objection() string {
	if len(v.Members) != len(PatroniServers) {
		return fmt.Sprintf("there are not two servers: %+v", v.Members)
	}
	leader, standby := v.Members[0], v.Members[1]
	if leader.Role != "leader" {
		leader, standby = standby, leader
	}
	if leader.Role != "leader" || leader.State != "running" || standby.Role != "sync_standby" || standby.State != "streaming" || standby.Timeline != leader.Timeline {
		return fmt.Sprintf("there is no leader with a synchronous standby: %+v", v.Members)
	}
	if v.Config["synchronous_mode"] != true {
		return fmt.Sprintf("the configuration is %v", v.Config)
	}
	if leader.Timeline == 1 {
		return "" // there was none before
	}
	if len(v.History) == 0 {
		return fmt.Sprintf("there is no history, on timeline %d", leader.Timeline)
	}
	// It may lack the name of the leader, which Patroni adds a moment later.
	last := v.History[len(v.History)-1]
	if len(last) < 5 || last[0] != float64(leader.Timeline-1) || last[4] != leader.Name {
		return fmt.Sprintf("the history ends with %v, and %s leads on timeline %d", last, leader.Name, leader.Timeline)
	}
	return ""
}
