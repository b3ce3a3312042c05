package command

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/etcd-operators/etcd-operators/plugin/internal/keyspace"
	"github.com/etcd-operators/etcd-operators/plugin/internal/screen"
)

// Top is what kubectl etcd top shows.
type Top struct {
	Revision int64             `json:"revision"`
	Total    keyspace.Prefix   `json:"total"`
	Biggest  []keyspace.Prefix `json:"biggest"`
	Busiest  []keyspace.Prefix `json:"busiest"`
	Partial  string            `json:"partial,omitempty"`
}

func (a *App) top() *cobra.Command {
	var o output
	var depth, show, perSecond int
	var limit, page int64
	var during time.Duration
	var prefix string
	cmd := a.of("top CLUSTER", "Show the biggest and the busiest prefixes",
		`Show which prefixes take the most space, and which are written to most. It reads the keys in pages
from a follower's own copy, at a limited rate, and then watches the writes for a while.`,
		examples("top example", "top example --depth 3 --prefix /registry/", "top example --for 1m --rate 1"), func(cmd *cobra.Command, args []string) error {
			if depth < 1 || perSecond < 1 || page < 1 || show < 1 || limit < 0 || during < 0 {
				return errors.New("set --depth, --show, --rate and --page to 1 or more, and --limit and --for to 0 or more")
			}
			open, err := a.reach(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer open.Close()
			m, err := open.follower()
			if err != nil {
				return err
			}
			c, err := open.Client(cmd.Context(), m)
			if err != nil {
				return err
			}
			defer c.Close()
			s := keyspace.NewSummary(depth)
			p := progress{a: a}
			if err := s.Scan(cmd.Context(), c, prefix, keyspace.Limits{Page: page, Keys: limit, BytesPerSecond: perSecond << 20}, func(keys, total int64) {
				p.show("read %d of %d keys of %s", keys, total, m.Name)
			}); err != nil {
				return err
			}
			if during > 0 {
				fmt.Fprintf(a.ErrOut, "watching writes for %s\n", during)
				if err := s.Watch(cmd.Context(), c, prefix, during); err != nil {
					return err
				}
			}
			top := &Top{Revision: s.Revision, Total: s.Total, Biggest: first(s.Biggest(), show), Busiest: first(s.Busiest(), show), Partial: s.Partial}
			return a.print(o, top, func(f screen.Format) error { return a.printTop(top, during, f) })
		}, cobra.ExactArgs(1))
	o.addTo(cmd)
	f := cmd.Flags()
	f.IntVar(&depth, "depth", 2, "number of segments of a key, each ending in /, that make a prefix")
	f.IntVar(&show, "show", 10, "number of prefixes to show")
	f.StringVar(&prefix, "prefix", "", "only keys under this prefix")
	f.Int64Var(&limit, "limit", 1_000_000, "maximum number of keys to read; 0: all")
	f.Int64Var(&page, "page", 500, "maximum number of keys per request; large keys are read in smaller requests")
	f.IntVar(&perSecond, "rate", 8, "MiB of keys and values to read per second")
	f.DurationVar(&during, "for", 10*time.Second, "how long to watch writes; 0: do not watch")
	return cmd
}

func first[T any](all []T, n int) []T { return all[:min(n, len(all))] }

func (a *App) printTop(top *Top, during time.Duration, f screen.Format) error {
	fmt.Fprintf(a.Out, "%d keys, %s without their history, at revision %d\n\n", top.Total.Keys, screen.Bytes(top.Total.Bytes), top.Revision)
	big := &screen.Table{Columns: []string{"Biggest prefix", "Keys", "Size", "Share"}}
	for _, p := range top.Biggest {
		big.Add(cmp.Or(p.Prefix, "(none)"), fmt.Sprint(p.Keys), screen.Bytes(p.Bytes), fmt.Sprintf("%d%%", p.Bytes*100/max(top.Total.Bytes, 1)))
	}
	if err := big.Print(a.Out, f); err != nil {
		return err
	}
	busy := &screen.Table{Columns: []string{"Busiest prefix", "Keys", "Writes so far"}}
	if during > 0 {
		busy.Columns = append(busy.Columns, "Writes in "+during.String())
	}
	for _, p := range top.Busiest {
		row := []string{cmp.Or(p.Prefix, "(none)"), fmt.Sprint(p.Keys), fmt.Sprint(p.Writes)}
		if during > 0 {
			row = append(row, fmt.Sprint(p.Watched))
		}
		busy.Add(row...)
	}
	fmt.Fprintln(a.Out)
	if err := busy.Print(a.Out, f); err != nil {
		return err
	}
	if top.Partial != "" {
		fmt.Fprintf(a.Out, "\nNot complete: %s\n", top.Partial)
	}
	return nil
}
