package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/objectstore"
)

func TestExplain(t *testing.T) {
	path := func(err error) error { return &fs.PathError{Op: "open", Path: "x", Err: err} }
	for name, c := range map[string]struct {
		err    error
		reason string
		exit   int
		words  string
	}{
		"known for good":     {Refuse("Known", "do %s", "this"), "Known", agent.ExitPermanent, "do this"},
		"known, passing":     {fmt.Errorf("wrapped: %w", Passing("Known", "wait")), "Known", agent.ExitRetry, "wait"},
		"a store's refusal":  {&objectstore.Error{Reason: objectstore.BucketNotFound, Where: "bucket b", Err: errors.New("x")}, "BucketNotFound", agent.ExitPermanent, "create it"},
		"a store's bad day":  {&objectstore.Error{Reason: objectstore.Unavailable, Where: "bucket b", Err: errors.New("x")}, "StoreUnavailable", agent.ExitRetry, "network"},
		"a full volume":      {path(syscall.ENOSPC), agent.ReasonNoSpace, agent.ExitPermanent, "larger"},
		"a quota":            {path(syscall.EDQUOT), agent.ReasonNoSpace, agent.ExitPermanent, "larger"},
		"no right":           {path(syscall.EACCES), agent.ReasonAccessDenied, agent.ExitPermanent, "let it in"},
		"read-only":          {path(syscall.EROFS), agent.ReasonAccessDenied, agent.ExitPermanent, "let it in"},
		"a folder":           {path(syscall.EISDIR), agent.ReasonInvalidPath, agent.ExitPermanent, "pvc.path"},
		"a disk that fails":  {path(syscall.EIO), agent.ReasonVolumeUnavailable, agent.ExitRetry, "volume"},
		"what nobody expect": {errors.New("oh"), agent.ReasonInternal, agent.ExitRetry, "oh"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Explain(c.err, "let it in")
			if f.Reason != c.reason || f.ExitCode() != c.exit || !strings.Contains(f.Message, c.words) {
				t.Errorf("got %+v, want %+v", f, c)
			}
		})
	}
}

func TestRun(t *testing.T) {
	explain := func(_ context.Context, err error) *agent.Failure { return Explain(err, "") }
	if f := Run(t.Context(), func(context.Context) error { return nil }, explain); f != nil || f.ExitCode() != agent.ExitDone {
		t.Errorf("got %+v for what was done", f)
	}
	f := Run(t.Context(), func(context.Context) error { panic("oh no") }, explain)
	if f == nil || f.Reason != agent.ReasonInternal || f.Permanent || !strings.Contains(f.Message, "oh no") {
		t.Errorf("got %+v for a panic", f)
	}
}

func TestAResultAlwaysFits(t *testing.T) {
	type result struct{ First, Second, Kept string }
	for name, long := range map[string]string{
		"letters": strings.Repeat("x", 100_000), "quotes": strings.Repeat(`"`, 100_000), "umlauts": strings.Repeat("ü", 100_000), "controls": strings.Repeat("\x01", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result")
			in := result{First: "begin" + long, Second: "begin" + long, Kept: strings.Repeat("f", 64)}
			if err := Write(file, &in, &in.First, &in.Second); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(file)
			if err != nil || len(b) > agent.MaxMessage {
				t.Fatalf("%d bytes: %v", len(b), err)
			}
			var out result
			if err := json.Unmarshal(b, &out); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(out.First, "begin") || !strings.HasPrefix(out.Second, "begin") || out.Kept != in.Kept {
				t.Errorf("got %+v", out)
			}
		})
	}
}

// A task of a newer operator may name a store that this agent cannot reach: it is not S3.
func TestOpenStoreOfAnUnknownType(t *testing.T) {
	for _, kind := range []v1beta2.StorageType{"Tape", v1beta2.StoragePVC, "s3"} {
		_, err := OpenStore(t.Context(), &agent.Store{Type: kind, Bucket: "b", Region: "r"}, 0, 0)
		if err == nil {
			t.Fatalf("%s was opened", kind)
		}
		if f := Explain(err, ""); f.Reason != agent.ReasonInvalidTask || !f.Permanent || !strings.Contains(f.Message, string(kind)) {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

func TestOpenVolume(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{"a": "a", "a/./b": "a/b", "": "", ".": "", "/a": "", "a/": "", "../a": "", "a/../../b": ""} {
		root, file, err := OpenVolume(&agent.PVC{Claim: "c", Dir: dir, Path: path})
		if err == nil {
			_ = root.Close()
		}
		if file != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", path, file, err, want)
		}
		if err != nil && Explain(err, "").Reason != agent.ReasonInvalidPath {
			t.Errorf("%q: got %v", path, err)
		}
	}
	if _, _, err := OpenVolume(&agent.PVC{Dir: filepath.Join(dir, "none"), Path: "a"}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a mount: got %v", err)
	}
}
