package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-operators/etcd-operators/plugin/internal/runbook"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
	"github.com/etcd-operators/etcd-operators/plugin/internal/tunnel"
	"github.com/etcd-operators/etcd-operators/shared/etcdclient"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

const (
	// examineTimeout bounds what diagnose asks beyond what each status does: it takes some seconds.
	examineTimeout = time.Minute
	// maxCompared is the largest database, in bytes in use, whose data diagnose compares: a member
	// hashes it within half a second. It is that of spec.recordHash: Auto of an EtcdBackup.
	maxCompared = 512 << 20
)

// oldestComparable is the oldest etcd whose members hash the same data alike, as etcd-operator has it
// (etcd-io/etcd pull request 18274).
var oldestComparable = etcdversion.Version{Major: 3, Minor: 5, Patch: 16}

// Diagnosis is what kubectl etcd diagnose finds.
type Diagnosis struct {
	Findings []runbook.Finding `json:"findings"`
	// Notes say what was not looked at, and why.
	Notes []string `json:"notes,omitempty"`
}

func (a *App) diagnose() *cobra.Command {
	var o output
	var etcd asking
	cmd := a.of("diagnose CLUSTER", "Say which runbooks fit what is wrong with a cluster",
		`Say which runbooks fit what is wrong with a cluster, its backups and its restores, and whether data
is at risk: by their conditions, and by what etcd itself tells of alarms, its quorum, its space, its
disks and its network. The members' data is compared if each has at most 512 MiB, since a member that
hashes its data applies no writes meanwhile. The exit code is 1 if a runbook fits.`,
		examples("diagnose example", "diagnose example -o json", "diagnose example --ask-etcd=false"), func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			s, err := a.open(ctx, args[0])
			if err != nil {
				return err
			}
			etcd.kept = &kept{}
			defer etcd.kept.close()
			seen, err := a.see(ctx, s, etcd)
			if err != nil {
				return err
			}
			found := &Diagnosis{Findings: []runbook.Finding{}}
			if seen.NotAsked == "" {
				found.Notes = a.examine(ctx, s, etcd.kept.Tunnel, &seen)
			} else {
				found.Notes = []string{"etcd was not asked: " + seen.NotAsked}
			}
			for _, why := range []string{seen.BackupsNotListed, seen.RestoresNotListed} {
				if why != "" {
					found.Notes = append(found.Notes, "not all was looked at: "+why)
				}
			}
			found.Findings = append(found.Findings, runbook.Diagnose(seen.Seen)...)
			if err := a.print(o, found, func(screen.Format) error {
				return screen.PrintFindings(a.Out, s.title(), found.Findings, found.Notes)
			}); err != nil {
				return err
			}
			if len(found.Findings) > 0 {
				return ExitError{Code: 1}
			}
			return nil
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	etcd.addTo(cmd)
	return cmd
}

// examine measures the members, and compares their data if that takes a moment only. It notes what it
// did not look at.
func (a *App) examine(ctx context.Context, s *scene, t *tunnel.Tunnel, seen *screen.Seen) (notes []string) {
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	o := &opened{scene: s, Tunnel: t, ctx: t.Context(ctx), answers: seen.Answers}
	for _, name := range slices.Sorted(maps.Keys(seen.Answers)) {
		if answer := seen.Answers[name]; !answer.Reached {
			notes = append(notes, name+" does not answer: "+cmp.Or(answer.Trouble, answer.RefusedBecause, answer.Err))
		}
	}
	seen.Slow = map[string][]string{}
	for i := range o.Members {
		m := &o.Members[i]
		if !seen.Answers[m.Name].Reached {
			continue
		}
		report, err := o.measure(m)
		switch {
		case err != nil:
			notes = append(notes, m.Name+" was not measured: "+err.Error())
		case len(report.Slow) > 0:
			seen.Slow[m.Name] = report.Slow
		}
	}
	why, isComparable := canCompare(s.cluster.Name, seen.Answers)
	if !isComparable {
		if why != "" {
			notes = append(notes, "the members' data was not compared: "+why)
		}
		return notes
	}
	found := a.checkMembers(o, a.hashMember)
	seen.Differs = found.differs
	if seen.Differs == "" {
		for _, m := range found.Members {
			if m.Hash == "" && seen.Answers[m.Name].Reached {
				notes = append(notes, "the data of "+m.Name+" was not compared: "+m.Trouble)
			}
		}
		if !found.Same {
			notes = append(notes, found.Notes[0])
		}
	}
	return notes
}

// canCompare reports whether the members' data can be compared at a small cost. It says why not, if
// that is not obvious.
func canCompare(cluster string, answers map[string]etcdclient.Answer) (why string, is bool) {
	reached := 0
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		a := answers[name]
		switch {
		case !a.Reached:
		case !etcdversion.Parse(a.Version).AtLeast(oldestComparable):
			return fmt.Sprintf("etcd %s of %s can hash the same data differently", a.Version, name), false
		case a.DBSizeInUse > maxCompared:
			return fmt.Sprintf("hashing %s would delay writes; %s check %s does it all the same", screen.Bytes(a.DBSizeInUse), Name, cluster), false
		default:
			reached++
		}
	}
	return "", reached > 1
}
