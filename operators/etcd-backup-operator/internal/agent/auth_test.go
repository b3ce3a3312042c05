package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-backup-operator/internal/task"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

// mounted is a Secret as the kubelet mounts it.
func mounted(t *testing.T, keys map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for key, value := range keys {
		if err := os.WriteFile(filepath.Join(dir, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// With authentication enabled, the user of the Secret takes the snapshot; whatever is
// wrong with it is said, and what to write, without what is in it.
func TestAuthentication(t *testing.T) {
	etcdtest.EachVersion(t, func(t *testing.T, version string) {
		c := startCluster(t, version, 3)
		c.fill(t, 3, 10)
		backup := func(dir, authDir string) task.Task {
			tk := toPVC(c.endpoints(), dir, "file")
			tk.AuthDir, tk.Cluster, tk.OwnAuth = authDir, "example", true
			return tk
		}
		root := map[string]string{"username": "root", "password": "secret"}
		dir := t.TempDir()
		mustSave(t, backup(dir, mounted(t, map[string]string{}))) // named, and not needed yet
		c.members[0].EnableAuth(t, "secret")
		if _, err := c.members[0].Dial(t, "root", "secret").UserAdd(t.Context(), "user", "spoken"); err != nil {
			t.Fatal(err)
		}
		for name, row := range map[string]struct {
			authDir string
			words   []string
		}{
			"no Secret":        {"", []string{"no credentials are given", "set spec.authSecret", "spec.auth.rootSecret", "role root"}},
			"an empty Secret":  {mounted(t, nil), []string{"does not exist", "username", "password", "authSecret"}},
			"a wrong password": {mounted(t, map[string]string{"password": "guessed"}), []string{"invalid user ID or password", "role root"}},
			"an unknown user":  {mounted(t, map[string]string{"username": "guessed", "password": "secret"}), []string{"invalid user ID or password", "role root"}},
			"not root":         {mounted(t, map[string]string{"username": "user", "password": "spoken"}), []string{"permission denied", "role root"}},
		} {
			t.Run(name, func(t *testing.T) {
				l := &logs{}
				code, result := carry(t.Context(), t, backup(t.TempDir(), row.authDir), l)
				checkFailure(t, code, result, v1beta2.BackupReasonAuthenticationRequired, agent.ExitPermanent, row.words[0])
				for _, words := range row.words {
					if !strings.Contains(result.Failure.Message, words) {
						t.Errorf("%q is not said: %s", words, result.Failure.Message)
					}
				}
				if told := l.String() + result.Failure.Message; strings.Contains(told, "guessed") || strings.Contains(told, "spoken") {
					t.Errorf("what is in the Secret is told: %s", told)
				}
			})
		}
		for name, keys := range map[string]map[string]string{"root": root, "root by default": {"password": "secret"}} {
			t.Run(name, func(t *testing.T) {
				result := mustSave(t, backup(dir, mounted(t, keys)))
				if !*result.Quorum || result.Revision < 5 { // 3 keys were written, and 1 deleted
					t.Errorf("quorum %t, revision %d", *result.Quorum, result.Revision)
				}
				f, err := os.Open(filepath.Join(dir, "file"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				checkFile(t, c, f, result)
			})
		}
	})
}

// A member without a quorum gives no token, and does not keep the others from it.
func TestAMemberThatCannotAuthenticateIsPassedOver(t *testing.T) {
	version := etcdtest.Newest()
	c, lonely := startCluster(t, version, 1), startCluster(t, version, 2)
	for _, x := range []*cluster{c, lonely} {
		x.members[0].EnableAuth(t, "secret")
	}
	lonely.processes[1].Kill()
	tk := toPVC([]string{lonely.endpoints()[0], c.endpoints()[0]}, t.TempDir(), "file")
	tk.AuthDir, tk.Cluster, tk.OwnAuth = mounted(t, map[string]string{"password": "secret"}), "example", true
	if code, result := carry(t.Context(), t, tk, nil); code != agent.ExitDone {
		t.Errorf("exit code %d: %+v", code, result.Failure)
	}
}
