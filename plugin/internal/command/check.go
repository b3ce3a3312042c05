package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/latency"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
)

const (
	// hashTimeout bounds the hash of one member's data: a second for each GiB in memory, and
	// more on a slow disk.
	hashTimeout = 5 * time.Minute
	// roundTrips is how many reads are timed.
	roundTrips = 20
	// hashAttempts is how often members are hashed when a compaction came between.
	hashAttempts = 3
)

// Check is what kubectl etcd check finds.
type Check struct {
	// Revision is the one at which the members' data was hashed.
	Revision int64         `json:"revision"`
	Members  []MemberCheck `json:"members"`
	// Same is whether all members that answered were compared, and have the same data.
	Same bool `json:"same"`
	// Notes say what was found, and what was not checked.
	Notes []string `json:"notes,omitempty"`

	// differs says whose data differs; empty if none is known to.
	differs string
}

// MemberCheck is what is found of one member.
type MemberCheck struct {
	Name string `json:"name"`
	// Hash is that of its data, 8 hexadecimal digits.
	Hash            string `json:"hash,omitempty"`
	CompactRevision int64  `json:"compactRevision,omitempty"`
	// RoundTrip is the median of linearizable reads through the port-forward.
	RoundTrip time.Duration   `json:"roundTrip,omitempty"`
	Latency   *latency.Report `json:"latency,omitempty"`
	Trouble   string          `json:"trouble,omitempty"`
}

func (a *App) check() *cobra.Command {
	var o output
	cmd := a.of("check CLUSTER", "Compare the data of all members, and measure their disks and network",
		`Compare the data of all members by etcd's own hash (HashKV) at one revision, one member after the
other, and show how fast their disks and their network are. A member that hashes its data applies no
writes meanwhile: about a second for each GiB. The exit code is 1 if their data
differs, or could not be compared.`,
		examples("check example", "check example -o json"), func(cmd *cobra.Command, args []string) error {
			open, err := a.reach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer open.Close()
			found := a.checkMembers(open, a.checkMember)
			if err := a.print(o, found, func(f screen.Format) error { return a.printCheck(found, f) }); err != nil {
				return err
			}
			if !found.Same {
				return ExitError{Code: 1}
			}
			return nil
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	return cmd
}

// checkMembers compares all members, which look hashes one by one.
func (a *App) checkMembers(o *opened, look func(*opened, *tunnel.Member, int64) MemberCheck) *Check {
	found := &Check{Same: true}
	for range hashAttempts {
		found.Revision, found.Members = 0, nil
		for _, answer := range o.answers {
			if answer.Reached && (found.Revision == 0 || answer.Revision < found.Revision) {
				found.Revision = answer.Revision
			}
		}
		compacted := map[int64]bool{}
		for i := range o.Members {
			m := look(o, &o.Members[i], found.Revision)
			found.Members = append(found.Members, m)
			if m.Hash != "" {
				compacted[m.CompactRevision] = true
			}
		}
		if len(compacted) <= 1 {
			break
		}
		o.ask()
	}
	for name, err := range o.Failed {
		found.Members = append(found.Members, MemberCheck{Name: name, Trouble: err.Error()})
	}
	for _, d := range o.cluster.Status.MemberDetails {
		isAsked := slices.ContainsFunc(found.Members, func(m MemberCheck) bool { return m.Name == d.Name })
		if d.Role == v1beta2.MemberVoter && !isAsked {
			found.Members = append(found.Members, MemberCheck{Name: d.Name, Trouble: "its Pod does not run"})
		}
	}
	slices.SortFunc(found.Members, func(x, y MemberCheck) int { return cmp.Compare(x.Name, y.Name) })
	found.conclude()
	return found
}

// checkMember hashes and measures one member.
func (a *App) checkMember(o *opened, m *tunnel.Member, revision int64) MemberCheck {
	out := a.hashMember(o, m, revision)
	if out.Hash == "" {
		return out
	}
	var err, unmeasured error
	if out.RoundTrip, err = o.roundTrip(m); err != nil {
		out.Trouble = err.Error()
	}
	if out.Latency, unmeasured = o.measure(m); unmeasured != nil && err == nil {
		out.Trouble = unmeasured.Error()
	}
	return out
}

// hashMember hashes one member's data up to a revision.
func (a *App) hashMember(o *opened, m *tunnel.Member, revision int64) MemberCheck {
	out := MemberCheck{Name: m.Name}
	if answer := o.answers[m.Name]; !answer.Reached {
		out.Trouble = cmp.Or(answer.Trouble, answer.RefusedBecause, answer.Err, "it does not answer")
		return out
	}
	fmt.Fprintf(a.ErrOut, "hashing the data of %s at revision %d\n", m.Name, revision)
	ctx, cancel := context.WithTimeout(o.ctx, hashTimeout)
	defer cancel()
	hash, err := etcdclient.Client{}.HashKV(ctx, m.Endpoint(), revision)
	if err != nil {
		out.Trouble = err.Error()
		return out
	}
	out.Hash, out.CompactRevision = fmt.Sprintf("%08x", hash.Value), hash.CompactRevision
	return out
}

// measure reads how fast a member is.
func (o *opened) measure(m *tunnel.Member) (*latency.Report, error) {
	ctx, cancel := context.WithTimeout(o.ctx, requestTimeout)
	defer cancel()
	text, err := m.Metrics(ctx)
	if err != nil {
		return nil, err
	}
	return latency.Parse(text)
}

// roundTrip is the median time of a linearizable read by a member.
func (o *opened) roundTrip(m *tunnel.Member) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(o.ctx, requestTimeout)
	defer cancel()
	c, err := o.Client(ctx, m)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var took []time.Duration
	for range roundTrips {
		begun := time.Now()
		if _, err := c.Get(ctx, "kubectl-etcd", clientv3.WithCountOnly()); err != nil {
			return 0, fmt.Errorf("read: %w", err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took[len(took)/2].Round(10 * time.Microsecond), nil
}

// conclude says what the members' answers come to.
func (c *Check) conclude() {
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	hashes, compacted, silent := map[string][]string{}, map[int64]bool{}, []string{}
	for _, m := range c.Members {
		if m.Hash == "" {
			silent = append(silent, m.Name)
			continue
		}
		hashes[m.Hash] = append(hashes[m.Hash], m.Name)
		compacted[m.CompactRevision] = true
	}
	switch {
	case len(hashes) == 0:
		c.Same = false
		note("no member's data could be compared")
	case len(compacted) > 1:
		c.Same = false
		note("the data was not compared: members were compacted differently in each of %d attempts; try again", hashAttempts)
	case len(hashes) > 1:
		c.Same = false
		var groups []string
		for hash, names := range hashes {
			groups = append(groups, strings.Join(names, ", ")+": "+hash)
		}
		slices.Sort(groups)
		c.differs = fmt.Sprintf("the hashes at revision %d are %s", c.Revision, strings.Join(groups, "; "))
		note("THE DATA DIFFERS at revision %d: see the condition Consistent, and the runbook inconsistent", c.Revision)
	default:
		for _, names := range hashes {
			note("%d members have the same data at revision %d", len(names), c.Revision)
		}
	}
	if len(silent) > 0 {
		c.Same = false
		note("not compared: %s", strings.Join(silent, ", "))
	}
	for _, m := range c.Members {
		if m.Latency == nil {
			continue
		}
		if m.Latency.Fsync > latency.AdvisedFsync {
			note("the disk of %s is slow: 99 %% of the writes to its log take up to %s, and etcd advises %s", m.Name, short(m.Latency.Fsync), latency.AdvisedFsync)
		}
		if m.Latency.Commit > latency.AdvisedCommit {
			note("the disk of %s is slow: 99 %% of the commits of its database take up to %s, and etcd advises %s", m.Name, short(m.Latency.Commit), latency.AdvisedCommit)
		}
	}
}

// short is a duration in three digits or so; empty if it is not known.
func short(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

func (a *App) printCheck(found *Check, f screen.Format) error {
	t := &screen.Table{Columns: []string{"Member", "Hash", "Compacted", "Fsync p99", "Commit p99", "Peer RTT p99", "Read", "Leader changes", "Trouble"}}
	for _, m := range found.Members {
		row := []string{m.Name, m.Hash, "", "", "", "", "", "", m.Trouble}
		if m.Hash != "" {
			row[6] = short(m.RoundTrip)
		}
		if m.CompactRevision > 0 {
			row[2] = fmt.Sprint(m.CompactRevision)
		}
		if l := m.Latency; l != nil {
			row[3], row[4], row[5], row[7] = short(l.Fsync), short(l.Commit), short(l.PeerRoundTrip), fmt.Sprint(l.LeaderChanges)
		}
		t.Add(row...)
	}
	if err := t.Print(a.Out, f); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	for _, note := range found.Notes {
		fmt.Fprintln(a.Out, note)
	}
	return nil
}
