package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/e2e/harness"
	"github.com/etcd-operators/etcd-operators/e2e/tlsprobe"
)

const (
	clientPort, peerPort = "2379", "2380"
)

// puts writes a Secret.
func (s *scene) puts(name string, data map[string][]byte) {
	s.t.Helper()
	s.must(env.PutSecret(s.ctx, s.ns, name, data))
}

// secret reads one.
func (s *scene) secret(name string) corev1.Secret {
	s.t.Helper()
	var got corev1.Secret
	s.must(env.Client.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, &got))
	return got
}

// peerNames are those that the certificate of the members of a cluster of that name is
// for, among each other.
func (s *scene) peerNames(cluster string) []string {
	headless := fmt.Sprintf("*.%s.%s.svc", cluster, s.ns)
	return []string{headless, headless + ".cluster.local"}
}

// serverNames are those by which its clients call them.
func (s *scene) serverNames(cluster string) []string {
	front := cluster + "-client"
	return append(s.peerNames(cluster), front, front+"."+s.ns, front+"."+s.ns+".svc", "localhost", "127.0.0.1", "::1")
}

// stranger is a client that probes the TLS of the members of a cluster.
type stranger struct {
	*harness.Stranger
	s *scene
}

// aStranger starts one with the certificates of these Secrets.
func (s *scene) aStranger(secrets ...string) *stranger {
	s.t.Helper()
	st := &stranger{s: s}
	s.within(oneMinute, func(ctx context.Context) (err error) {
		st.Stranger, err = env.StartStranger(ctx, s.view, s.ns, secrets...)
		return err
	})
	return st
}

// address is that of a member of a cluster.
func (c *cluster) address(member, port string) string {
	return fmt.Sprintf("%s.%s.%s.svc:%s", member, c.Name, c.Namespace, port)
}

// isLetIn: the member answers at that port who shows the certificate.
func (st *stranger) isLetIn(c *cluster, port, as string) tlsprobe.Answer {
	st.s.t.Helper()
	got, err := st.At(st.s.ctx, c.address(c.members()[0], port), as)
	st.s.must(err)
	if got.Refused != "" {
		st.s.t.Errorf("port %s is closed to %s: %s", port, as, got.Refused)
	}
	return got
}

// isRefused: the member answers nobody at that port who shows this certificate, or none.
func (st *stranger) isRefused(c *cluster, port, as string) {
	st.s.t.Helper()
	got, err := st.At(st.s.ctx, c.address(c.members()[0], port), as)
	st.s.must(err)
	if !strings.Contains(got.Refused, "tls: ") {
		st.s.t.Errorf("at port %s, with the certificate %q: %+v", port, as, got)
	}
	st.s.tell("at port %s, with the certificate %q: %s", port, as, got.Refused)
}

// isRefusedInTheClear: nor does it answer without TLS.
func (st *stranger) isRefusedInTheClear(c *cluster, port string) {
	st.s.t.Helper()
	got, err := st.InTheClear(st.s.ctx, c.address(c.members()[0], port))
	st.s.must(err)
	if got.Refused == "" {
		st.s.t.Errorf("port %s answers in the clear", port)
	}
}

// isRefusedByTLS12: nor does it answer TLS that old, at either port.
func (st *stranger) isRefusedByTLS12(c *cluster, as string) {
	st.s.t.Helper()
	for _, port := range []string{clientPort, peerPort} {
		got, err := st.ByTLS12(st.s.ctx, c.address(c.members()[0], port), as)
		st.s.must(err)
		if !strings.Contains(got.Refused, "protocol version not supported") {
			st.s.t.Errorf("port %s answers by TLS 1.2: %+v", port, got)
		}
	}
}

// sees waits until every member shows a certificate of which that is true, at both
// ports. Kubelets are made to look at the Secrets, as they do of themselves every minute
// or so.
func (st *stranger) sees(c *cluster, what string, limit time.Duration, check func(port string, a tlsprobe.Answer) bool) {
	st.s.t.Helper()
	st.s.must(c.Remount(st.s.ctx, c.members()...))
	st.s.within(limit, func(ctx context.Context) error {
		return harness.Poll(ctx, what, func(ctx context.Context) (string, error) {
			for _, m := range c.members() {
				for _, port := range []string{clientPort, peerPort} {
					got, err := st.At(ctx, c.address(m, port), "")
					if err != nil {
						return "", err
					}
					if !check(port, got) {
						return fmt.Sprintf("%s shows %+v at port %s", m, got, port), nil
					}
				}
			}
			return "", nil
		})
	})
	st.s.tell("%s shows %s", c.Name, what)
}

// certificatesAre: the condition CertificatesReady says that, with all of the words.
func certificatesAre(ready bool, reason string, words ...string) harness.Check {
	return harness.ConditionSays(v1beta2.ConditionCertificatesReady, ready, reason, words...)
}

// withoutMembers: nothing was begun.
func withoutMembers(s harness.State) string {
	if len(s.Pods) > 0 || len(s.Claims) > 0 {
		return fmt.Sprintf("there are %d Pods and %d volumes", len(s.Pods), len(s.Claims))
	}
	return ""
}

// restarts is how often the containers of each Pod have been restarted, by the Pods' uids.
func (c *cluster) restarts() map[types.UID]int32 {
	all := map[types.UID]int32{}
	for _, p := range c.State().Pods {
		all[p.UID] = p.Status.ContainerStatuses[0].RestartCount
	}
	return all
}

// wantsTLS tries to give the cluster another TLS policy.
func (c *cluster) wantsTLS(policy map[string]any) error {
	return c.Patch(c.s.ctx, map[string]any{"spec": map[string]any{"TLS": policy}})
}

// cantSwitch: admission refuses every other TLS policy, with the words.
func (c *cluster) cantSwitch(words []string, policies ...map[string]any) {
	c.s.t.Helper()
	for _, p := range policies {
		if err := c.wantsTLS(p); err == nil || !containsAll(err.Error(), words) {
			c.s.t.Errorf("TLS %v is told: %v", p, err)
		}
	}
}

// leaksNothing: no private key of the scene's Secrets is in a Pod, a status, an event, a
// Job, a ConfigMap or a log.
func (s *scene) leaksNothing() {
	s.t.Helper()
	var secrets corev1.SecretList
	s.must(env.Client.List(s.ctx, &secrets, client.InNamespace(s.ns)))
	needles := map[string]string{"a private key": "PRIVATE KEY"}
	for _, secret := range secrets.Items {
		for key, value := range secret.Data {
			if !strings.HasSuffix(key, ".key") {
				continue
			}
			// A line of it is enough, in PEM or as Kubernetes writes Secrets.
			lines := strings.Split(strings.TrimSpace(string(value)), "\n")
			needles[key+" of Secret "+secret.Name] = lines[len(lines)/2]
		}
	}
	if len(needles) < 3 {
		s.t.Errorf("there are no keys to look for: %d", len(needles))
	}
	look := func(where, text string) {
		for what, needle := range needles {
			if strings.Contains(text, needle) {
				s.t.Errorf("%s shows %s", where, what)
			}
		}
	}
	const kinds = "pods,etcd,etcdbk,etcdrs,jobs,events,configmaps,services,deployments"
	look("one of "+kinds, s.kubectl("get", kinds, "-o", "yaml"))
	var pods corev1.PodList
	s.must(env.Client.List(s.ctx, &pods, client.InNamespace(s.ns)))
	for _, p := range pods.Items {
		for _, container := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			// Of one that has not begun, or is gone by now, there is no log.
			log, err := env.Clientset.CoreV1().Pods(s.ns).GetLogs(p.Name, &corev1.PodLogOptions{Container: container.Name}).DoRaw(s.ctx)
			if err == nil {
				look("the log of Pod "+p.Name, string(log))
			}
		}
	}
	s.tell("%d keys are nowhere but in their Secrets", len(needles)-1)
}

// isUnrestarted: the Pods are those, and none was restarted since.
func (c *cluster) isUnrestarted(before map[types.UID]int32) {
	c.s.t.Helper()
	if diff := cmp.Diff(before, c.restarts()); diff != "" {
		c.s.t.Errorf("members of %s were restarted: -before +now\n%s", c.Name, diff)
	}
}

// secretHas waits until a Secret has an annotation of that value.
func (c *cluster) secretHas(name, annotation, value string) func(context.Context) error {
	return func(ctx context.Context) error {
		return harness.Poll(ctx, name+" to be written anew", func(ctx context.Context) (string, error) {
			var secret corev1.Secret
			if err := env.Client.Get(ctx, client.ObjectKey{Namespace: c.s.ns, Name: name}, &secret); err != nil {
				return "", err
			}
			if got := secret.Annotations[annotation]; got != value {
				return fmt.Sprintf("%s is %q", annotation, got), nil
			}
			return "", nil
		})
	}
}
