package simulate

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/launcher"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// This file runs the launcher that ships in the world's containers.

// host is a container as its launcher reaches it.
type host struct {
	w *world
	r *run
	// yield stops the launcher between two of its calls; nil where it is not stopped.
	yield func(launcher.Decision) bool
}

// launcherOptions are those of the container's command line. A Pod that has none is of the
// model, whose names are enough.
func (w *world) launcherOptions(r *run) launcher.Options {
	o := launcher.Options{Member: launcher.Member{Name: r.name, PeerURL: peerURL(r.name)}}
	if r.command != nil {
		args := slices.Concat(r.command[2:], []string{"etcd"}) // after the program and the word run
		var err error
		if o, err = launcher.ParseRun(args); err != nil {
			panic(err)
		}
	}
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

// launch lets a launcher look, and starts etcd if it says so.
func (w *world) launch(r *run) {
	if !w.ships() {
		h := &host{w: w, r: r}
		if d, ok := h.look(); ok {
			w.exec(r, d)
		}
		return
	}
	if r.resume == nil {
		r.resume, r.stop = iter.Pull(func(yield func(launcher.Decision) bool) {
			defer func() {
				if e := recover(); e != nil && e != errEnded { //nolint:errorlint // as it was thrown
					panic(e)
				}
			}()
			h := &host{w: w, r: r, yield: yield}
			if d, ok := h.look(); ok {
				yield(d)
			}
		})
	}
	d, more := r.resume()
	if d.Exec || !more {
		r.stop()
		r.resume, r.stop = nil, nil
	}
	if d.Exec {
		w.exec(r, d)
	}
}

// look is one look, and what a launcher does before it becomes etcd.
func (h *host) look() (launcher.Decision, bool) {
	d, _, err := h.r.launcher.Look(context.Background(), h)
	if err == nil && d.Exec {
		err = h.r.launcher.Prepare(h, d)
	}
	if err == nil && !d.Exec {
		h.r.said, err = h.r.launcher.State(h, d)
	}
	if errors.Is(err, errNothingPrepared) {
		// The disk was wiped after the permit. The user does what the launcher says.
		h.w.say("the launcher of seed %s ends: nothing is prepared; the user deletes its Pod", h.r.name)
		h.r.state, h.r.due = crashed, h.w.now+longestBackoff
		if p := h.w.pod(h.r.name); p != nil && p.uid == h.r.uid {
			h.w.deletePod(p)
		}
		return d, false
	}
	if err != nil {
		panic(err) // the world's disks tell no other errors
	}
	return d, d.Exec
}

// pause lets the world go on between two calls of the launcher, sometimes for good.
func (h *host) pause() {
	if h.yield != nil && !h.w.calm && h.w.random.chance(20) && !h.yield(launcher.Decision{}) {
		panic(errEnded)
	}
}

func (h *host) Now() time.Time { return epoch.Add(h.w.now) }

func (h *host) PodUID() string { return h.r.uid }

func (h *host) HasWAL() (bool, error) { return h.r.disk.data != nil, nil }

func (h *host) Owner() (*launcher.Owner, error) { return h.r.disk.owner, nil }

func (h *host) Mark(o launcher.Owner) error {
	h.pause()
	h.r.disk.owner = &o
	return nil
}

func (*host) SetRemnantsAside() (string, error) { return "", nil }

func (h *host) StartPermit() (*launcher.StartPermit, error) {
	h.pause()
	if h.r.command != nil {
		return launcher.ParseStartPermit([]byte(h.r.annotation))
	}
	g := h.r.permit
	if h.w.cfg.has(EagerLauncher) && (g == nil || !g.New) {
		g = h.w.constantFlags()
	}
	if g == nil {
		return nil, nil
	}
	out := &launcher.StartPermit{Attempt: int64(g.Attempt), State: launcher.StateExisting, Token: g.Token, CatchUp: g.CatchUp}
	if g.New {
		out.State = launcher.StateNew
	}
	var peers []member.Peer
	for _, name := range g.Members {
		peers = append(peers, member.Peer{Name: name, URL: peerURL(name)})
	}
	out.InitialCluster = member.InitialCluster(peers)
	for _, name := range g.After {
		out.After = append(out.After, peerURL(name))
	}
	if h.w.cfg.has(ForgetfulLauncher) {
		out.Attempt = max(out.Attempt, int64(h.r.used)+1)
	}
	return out, nil
}

// peerURL is that of a member whose Pod is the model's.
func peerURL(name string) string {
	return "http://" + name + "." + clusterName + "." + namespace + ".svc:2380"
}

// flagsOf returns the content of a Decision's flags for etcd. Elsewhere has the peer URLs of all members.
func flagsOf(d launcher.Decision) *facts.StartPermit {
	g := &facts.StartPermit{Attempt: int(d.Use), CatchUp: d.CatchUp}
	for _, f := range d.Flags {
		switch name, value, _ := strings.Cut(f, "="); name {
		case "--initial-cluster":
			for entry := range strings.SplitSeq(value, ",") { // the URLs of a member are adjacent
				name, url, _ := strings.Cut(entry, "=")
				if n := len(g.Members); n > 0 && g.Members[n-1] == name {
					g.Elsewhere[n-1].At += "," + url
					continue
				}
				g.Members, g.Elsewhere = append(g.Members, name), append(g.Elsewhere, facts.PeerURLs{Name: name, At: url})
			}
			slices.Sort(g.Members)
		case "--initial-cluster-state":
			g.New = value == string(launcher.StateNew)
		case "--initial-cluster-token":
			g.Token = value
		default:
			panic("the launcher starts etcd with " + f)
		}
	}
	return g
}

func (h *host) Used() (int64, error) { return int64(h.r.used), nil }

func (h *host) RecordUse(attempt int64) error {
	h.pause()
	h.r.used = int(attempt)
	h.pause()
	return nil
}

func (h *host) Serves(_ context.Context, url string) bool {
	h.pause()
	return h.peer(url) != nil
}

// peer is the etcd that is heard at a peer URL.
func (h *host) peer(url string) *run {
	h.w.loadCAs(h.r) // it reads them each time
	i := slices.IndexFunc(h.w.runs, func(q *run) bool {
		return q != h.r && q.etcd != nil && q.name == member.NameFromURL(url) && h.w.reaches(h.r, q)
	})
	if i < 0 {
		return nil
	}
	return h.w.runs[i]
}

func (h *host) MemberLists(_ context.Context, urls []string) map[string][]launcher.Entry {
	h.pause()
	lists, own := map[string][]launcher.Entry{}, h.w.launcherOptions(h.r).Member.PeerURL
	for _, url := range urls {
		q := h.peer(url)
		if q == nil || h.w.cfg.has(TrustingLauncher) {
			continue
		}
		for _, m := range q.disk.data.view {
			e := launcher.Entry{PeerURLs: []string{peerURL(m.Name)}}
			if m.Name == h.r.name {
				e.PeerURLs = []string{own}
			}
			if m.Started {
				e.Name = m.Name
			}
			lists[url] = append(lists[url], e)
		}
	}
	return lists
}
