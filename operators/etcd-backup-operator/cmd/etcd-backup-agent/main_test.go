package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/agent"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	shared "github.com/etcd-operators/etcd-operators/shared/agent"
)

// childEnv makes the test's program the agent itself.
const childEnv = "AGENT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The Job's podFailurePolicy knows of nothing but the process' exit code.
func TestExitCode(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		task string
		want int
	}{
		"only a person can mend it": {`{}`, shared.ExitPermanent},
		"the time was up":           {`{"endpoints":["http://127.0.0.1:1"],"pvc":{"claim":"c","dir":"` + dir + `","path":"file"},"timeout":1000000}`, shared.ExitPermanent},
		"another try may do better": {`{"endpoints":["http://127.0.0.1:1"],"pvc":{"claim":"c","dir":"` + filepath.Join(dir, "gone") + `","path":"file"}}`, shared.ExitRetry},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"=1", task.Env+"="+c.task, agent.ResultFileEnv+"="+filepath.Join(t.TempDir(), "result"))
			out, err := cmd.CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != c.want {
				t.Errorf("it ended with %v, want exit code %d\n%s", err, c.want, out)
			}
		})
	}
}
