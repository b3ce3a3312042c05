package suite

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n == 3 {
				isLong(t)
			}
			t.Parallel()
			s := anOperator(t)
			began := time.Now()
			c := s.cluster("etcd", harness.Size(n))
			c.becomes(fmt.Sprintf("healthy with %d members", n), harness.Healthy(n), oneMinute)
			t.Logf("%d members after %.1f s", n, time.Since(began).Seconds())
			s.kubectl("wait", "--for=condition=Available", "--timeout=10s", "etcd/etcd")
			c.settles(n, oneMinute)

			w := c.writes()
			members, err := w.Members(s.ctx)
			s.must(err)
			if diff := cmp.Diff(c.members(), memberNames(members)); diff != "" {
				t.Errorf("the status names other members than etcd: -status +etcd\n%s", diff)
			}
			w.lostNothing(n)
		})
	}
}

// TestWhatUsersSee holds the names that users and their tools rely on.
func TestWhatUsersSee(t *testing.T) {
	t.Parallel()
	s := anOperator(t)
	c := s.cluster("users", harness.Size(3))
	c.settles(3, oneMinute)

	services := strings.Fields(s.kubectl("get", "services", "-l", "etcd_cluster=users", "-o", "name"))
	slices.Sort(services)
	if diff := cmp.Diff([]string{"service/users", "service/users-client"}, services); diff != "" {
		t.Errorf("Services found by their label: -want +got\n%s", diff)
	}
	for _, svc := range c.State().Services {
		want := map[string]int32{"client": 2379, "peer": 2380}
		if svc.Name == "users-client" {
			want = map[string]int32{"client": 2379}
		}
		if diff := cmp.Diff(want, servicePorts(svc)); diff != "" {
			t.Errorf("ports of Service %s: -want +got\n%s", svc.Name, diff)
		}
	}
	c.becomes("protected by a PodDisruptionBudget of 2", budgetKeeps(2), oneMinute)

	st := c.State().Cluster.Status
	if st.ServiceName != "users-client" || st.ClientPort != 2379 || st.CurrentVersion == "" || st.Phase != "Running" || st.Leader == "" || st.ClusterID == "" {
		t.Errorf("status: %+v", st)
	}
	for _, p := range c.State().Pods {
		if p.Labels["app"] != "etcd" || p.Labels["etcd_node"] != p.Name || p.Spec.Containers[0].Name != "etcd" {
			t.Errorf("Pod %s: labels %v, first container %s", p.Name, p.Labels, p.Spec.Containers[0].Name)
		}
	}
	c.tells("Bootstrapped", "seed "+st.Bootstrap.Member)
	for _, m := range c.members() {
		if m != st.Bootstrap.Member {
			c.tells("MemberAdded", m)
			c.tells("MemberPromoted", m)
		}
	}
	table := s.kubectl("get", "etcd", "-o", "wide")
	if !containsAll(table, []string{"SIZE", "READY", "VERSION", "PHASE", "AGE", "LEADER", "3/3", "Running", st.CurrentVersion, st.Leader, st.ClusterID}) {
		t.Errorf("kubectl get etcd -o wide:\n%s", table)
	}
	if out := s.kubectl("describe", "etcd", "users"); !containsAll(out, []string{"Available", "UpToDate", "MemberPromoted"}) {
		t.Errorf("kubectl describe etcd:\n%s", out)
	}
	if metrics := s.metrics(); !containsAll(metrics, []string{`etcd_operator_clusters{phase="Running"} 1`, `etcd_operator_members{state="ready"} 3`, `etcd_operator_actions_total{action="Promote",result="ok"} 2`}) {
		t.Errorf("the operator's metrics:\n%s", metrics)
	}
}

// metrics are etcd-operator's own.
func (s *scene) metrics() string {
	s.t.Helper()
	return s.metricsOf(harness.OperatorName, "etcd_operator_")
}

// metricsOf are those of an operator's replica that leads, whose names begin so.
func (s *scene) metricsOf(operator, prefix string) string {
	s.t.Helper()
	out := s.kubectl("get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:8080/proxy/metrics", s.ns, s.leaderOf(operator).Name))
	var ours []string
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, prefix) {
			ours = append(ours, line)
		}
	}
	return strings.Join(ours, "")
}

// TestVersions: the oldest and the newest minor that the operator runs. The one in
// between is in all other tests.
func TestVersions(t *testing.T) {
	isLong(t)
	t.Parallel()
	for _, version := range []string{etcdversion.All()[0], "v" + etcdversion.Newest()} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := anOperator(t)
			c := s.cluster("etcd", harness.Size(3), harness.Version(version))
			c.settles(3, twoMinutes)
			if got, want := c.State().Cluster.Status.CurrentVersion, strings.TrimPrefix(version, "v"); got != want {
				t.Errorf("status.currentVersion is %s, want %s", got, want)
			}
			w := c.writes()
			c.losesPods(c.follower())
			c.becomes("healthy again", harness.Healthy(3), twoMinutes)
			w.lostNothing(3)
		})
	}
}
