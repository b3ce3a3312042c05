package suite

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
)

// TestAuthentication: etcd's own authentication is enabled on a cluster that serves. Its
// probes go on; a member is lost, and is replaced once the operator has credentials; it is
// backed up with them, and comes back from the backup with its users.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	st := allOperators(s)
	c := s.cluster("etcd", harness.Size(3))
	c.settles(3, oneMinute)
	w := c.writes()
	w.enablesAuthentication("a-secret")

	gone := c.follower()
	c.losesPods(gone)
	c.becomes("without credentials", harness.All(
		harness.Condition(v1beta2.ConditionCredentialsMissing, true, "CredentialsMissing"),
		harness.Condition(v1beta2.ConditionAvailable, true, "Serving")), oneMinute)
	c.tells("CredentialsMissing", "spec.auth.rootSecret", "username", "password")
	s.backup("stranger", w.Writer, st.at("stranger.db"), harness.OfCluster(c.Name)).
		becomes("refused", oneMinute, harness.Refused("AuthenticationRequired", "spec.auth.rootSecret", "role root"))

	s.must(env.Client.Create(s.ctx, harness.RootSecret(s.ns, "etcd-root", "a-secret")))
	s.must(c.Patch(s.ctx, map[string]any{"spec": map[string]any{"auth": map[string]any{"rootSecret": "etcd-root"}}}))
	c.becomes("healthy again", harness.All(withoutMember(gone), harness.Healthy(3)), oneMinute)
	c.settles(3, oneMinute)
	for _, p := range c.State().Pods {
		if n := p.Status.ContainerStatuses[0].RestartCount; n > 0 {
			t.Errorf("etcd of %s was restarted %d times", p.Name, n)
		}
	}
	at := st.at("auth.db")
	s.backup("backup", w.Writer, at, harness.OfCluster(c.Name)).isStored(oneMinute)
	w.lostNothing(3)
	w.strangersAreRefused()

	c.isDestroyed(c.members()...)
	r := s.restore("restore", harness.InPlace(c.Name), at.from)
	r.serves(oneMinute)
	r.completes(twoMinutes)
	c.settles(3, twoMinutes)
	w.strangersAreRefused()
	if members, err := w.Members(s.ctx); err != nil || allServe(members, 3) != "" {
		t.Errorf("root is told: %v, %s", err, allServe(members, 3))
	}
}

// enablesAuthentication makes the client root, and everybody else a stranger.
func (w *etcdClient) enablesAuthentication(password string) {
	w.c.s.t.Helper()
	w.c.s.must(w.EnableAuth(w.c.s.ctx, password))
	w.goesOn(oneMinute)
	w.strangersAreRefused()
}

// strangersAreRefused: etcd answers only those whom it knows.
func (w *etcdClient) strangersAreRefused() {
	w.c.s.t.Helper()
	told, err := w.Stranger(w.c.s.ctx)
	w.c.s.must(err)
	if !strings.Contains(told, "user name is empty") {
		w.c.s.t.Errorf("a client without credentials is told %q", told)
	}
}
