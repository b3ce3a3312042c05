package agent

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/rebuild"
)

// trying are the settings of a trial with etcd of a version, at ports of its own.
func trying(t *testing.T, version string) settings {
	t.Helper()
	s, at := quickSettings, etcdtest.FreeAddrs(t, 2)
	s.etcd, s.trialClient, s.trialPeer, s.trial = etcdtest.Binary(t, version), "http://"+at[0], "http://"+at[1], time.Minute
	return s
}

// Etcd is started on what was restored, and serves just that: whatever is restored of the
// snapshot, wherever it is stored, and also if nobody knows the passwords in it. Nothing is left
// behind, and what is stored stays as it is.
func TestTrial(t *testing.T) {
	t.Parallel()
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		t.Parallel()
		o := startOrigin(t, version)
		plain, held := o.content, int64(len(o.state))
		at := o.as(t, 180)
		enableAuth(t, o)
		secured := databaseOf(t, o)
		for name, row := range map[string]struct {
			content []byte
			alter   func(*task.Task)
			keys    int64
		}{
			"all":               {content: plain, keys: held},
			"packed":            {content: packed(t, plain), keys: held},
			"as of a revision":  {content: plain, alter: func(tk *task.Task) { tk.Revision = 180 }, keys: int64(len(at))},
			"under a prefix":    {content: plain, alter: func(tk *task.Task) { tk.Prefixes = []string{"key-11"} }, keys: int64(len(underOnly(o.state, "key-11")))},
			"nothing under one": {content: plain, alter: func(tk *task.Task) { tk.Prefixes = []string{"nowhere/"} }},
			"with passwords":    {content: secured, alter: func(tk *task.Task) { tk.SkipHashCheck = true }, keys: held},
		} {
			t.Run(name, func(t *testing.T) {
				tk := onVolume(t, row.content)
				if tk.StartEtcd = version; row.alter != nil {
					row.alter(&tk)
				}
				code, result := carryRaw(t.Context(), t, trying(t, version), encode(t, tk))
				if code != agent.ExitDone {
					t.Fatalf("exit code %d: %+v", code, result.Failure)
				}
				if want := (task.Served{EtcdVersion: version, TotalKeys: row.keys}); result.Served == nil || *result.Served != want {
					t.Errorf("etcd has served %+v, want %+v", result.Served, want)
				}
				without := tk
				without.StartEtcd = ""
				checked := must(t, without)
				if *checked.Snapshot != *result.Snapshot || (checked.Cut == nil) != (result.Cut == nil) || checked.Cut != nil && checked.Cut.TotalKeys != result.Cut.TotalKeys {
					t.Errorf("the snapshot is %+v (%+v), and %+v (%+v) without an etcd", result.Snapshot, result.Cut, checked.Snapshot, checked.Cut)
				}
				if left := names(t, tk.Scratch); len(left) > 0 {
					t.Errorf("%q is left in the scratch space", left)
				}
				if stored, err := os.ReadFile(filepath.Join(tk.PVC.Dir, tk.PVC.Path)); err != nil || !slices.Equal(stored, row.content) {
					t.Errorf("what is stored has changed, or cannot be read: %v", err)
				}
			})
		}
	})
}

// An etcd that does not serve what was restored is told of, in its own words. What might pass is
// tried again.
func TestTrialFails(t *testing.T) {
	t.Parallel()
	newest := etcdtest.Newest()
	o := startOrigin(t, newest)
	script := func(lines ...string) string {
		file := filepath.Join(t.TempDir(), "etcd")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+strings.Join(lines, "\n")+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return file
	}
	rows := map[string]struct {
		reason  string
		program string
		trial   time.Duration
		exit    int
		why     string
		words   []string
	}{
		"no program": {reason: "the image is not etcd's", program: filepath.Join(t.TempDir(), "etcd"), exit: agent.ExitPermanent, why: task.ReasonEtcdNotServing, words: []string{"cannot be run", "check that the etcd image has the program etcd"}},
		"another":    {reason: "what it says last is told", program: script(`echo '{"level":"fatal","msg":"no","error":"disk on fire"}' >&2`, "exit 3"), exit: agent.ExitPermanent, why: task.ReasonEtcdNotServing, words: []string{"exit status 3", "no: disk on fire"}},
		"killed":     {reason: "it may have been for want of memory", program: script("kill -9 $$"), exit: agent.ExitRetry, why: task.ReasonEtcdNotServing, words: []string{"signal: killed"}},
		"silent":     {reason: "the machine may be busy", program: script("exec sleep 60"), trial: time.Second, exit: agent.ExitRetry, why: task.ReasonEtcdNotServing, words: []string{"it has not answered within 1s"}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tk := onVolume(t, o.content)
			tk.StartEtcd = newest
			s := trying(t, newest)
			s.etcd, s.trial = row.program, cmp.Or(row.trial, s.trial)
			code, result := carryRaw(t.Context(), t, s, encode(t, tk))
			for _, words := range row.words {
				checkFailure(t, code, result, row.exit, row.why, words)
			}
			if t.Failed() {
				t.Log(row.reason)
			}
			if left := names(t, tk.Scratch); len(left) > 0 {
				t.Errorf("%q is left in the scratch space", left)
			}
		})
	}
}

// Whatever differs of what etcd serves is a failure: the number of keys, the revision, the hash.
func TestServedDataDiffers(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	hash, err := o.client.HashKV(t.Context(), o.client.Endpoints()[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	right := expected{revision: o.revision, keys: int64(len(o.state)), hash: hash.Hash, known: true}
	for name, row := range map[string]struct {
		alter func(*expected)
		words string
	}{
		"a key":      {func(e *expected) { e.keys++ }, " keys instead of "},
		"a revision": {func(e *expected) { e.revision++ }, "revision "},
		"a hash":     {func(e *expected) { e.hash++ }, "HashKV "},
	} {
		t.Run(name, func(t *testing.T) {
			want := right
			row.alter(&want)
			j := &job{task: task.Task{StartEtcd: etcdtest.Newest()}}
			f := explain(t.Context(), j.compareServed(t.Context(), o.client, want))
			messages.NoteFailure(f)
			if f.Reason != task.ReasonServedDataDiffers || !f.Permanent || !strings.Contains(f.Message, row.words) {
				t.Errorf("got %+v", f)
			}
		})
	}
	if _, revision := stateOf(t, o.client); revision != o.revision {
		t.Error("something was written to an etcd that differs")
	}
	j := &job{}
	if err := j.compareServed(t.Context(), o.client, right); err != nil {
		t.Error(err)
	}
}

// What the archive has recorded after a snapshot is served, too.
func TestTrialWithTheArchive(t *testing.T) {
	t.Parallel()
	version := etcdtest.Newest()
	a := startArchived(t, version)
	last := a.write(t, 30, "one")
	tk := a.onVolume(t)
	tk.Revision, tk.StartEtcd = last, version
	code, result := carryRaw(t.Context(), t, trying(t, version), encode(t, tk))
	if code != agent.ExitDone {
		t.Fatalf("exit code %d: %+v", code, result.Failure)
	}
	if want := (task.Served{EtcdVersion: version, TotalKeys: int64(len(a.as(t, last)))}); result.Served == nil || *result.Served != want {
		t.Errorf("etcd has served %+v, want %+v", result.Served, want)
	}
	if c := result.Cut; c == nil || c.Revision != last || c.Appended != last-a.revision {
		t.Errorf("it is restored as %+v, want revision %d", c, last)
	}
}

// Beside its database, etcd needs room for its log: it is not started in scratch space from which
// the kubelet would evict it.
func TestScratchForATrial(t *testing.T) {
	t.Parallel()
	o := startOrigin(t, etcdtest.Newest())
	tk := onVolume(t, o.content)
	tk.StartEtcd, tk.ScratchLimit = etcdtest.Newest(), int64(len(o.content))+rebuild.Slack-1
	mustFail(t, tk, agent.ReasonScratchSpaceExceeded, "raise spec.pod.resources.limits.ephemeral-storage")
	tk.StartEtcd = ""
	must(t, tk)
}

// An etcd that had to be stopped for want of an answer has not ended by itself, whichever of the
// two is seen first.
func TestStoppedEtcdHasNotEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	etcd, err := startEtcd(ctx, "sleep", io.Discard, "60")
	if err != nil {
		t.Fatal(err)
	}
	<-etcd.ended
	f := explain(t.Context(), etcd.explain(ctx, "3.7.3", errors.New("it has not answered within 50ms")))
	if f.Reason != task.ReasonEtcdNotServing || f.Permanent || !strings.Contains(f.Message, "it has not answered within 50ms") {
		t.Errorf("got %+v", f)
	}
}
