package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// users are the user's own dealings with etcd's authentication.
type users struct {
	*bench
	c *v1beta2.EtcdCluster
}

// as does something as a user of etcd.
func (u users) as(user, password string, do func(context.Context, *clientv3.Client) error) {
	u.t.Helper()
	etcdtest.Eventually(u.t, "etcd to do as "+user+" says", func() error {
		pods := slices.DeleteFunc(u.pods(u.c), func(p corev1.Pod) bool { return !podtest.Serves(&p) })
		if len(pods) == 0 {
			return fmt.Errorf("no member serves clients")
		}
		ctx, cancel := context.WithTimeout(u.t.Context(), 5*time.Second)
		defer cancel()
		cli, err := clientv3.New(clientv3.Config{
			Context: ctx, Endpoints: []string{podtest.At(pods[0].Status.PodIP, member.ClientPort)}, Username: user, Password: password, Logger: zap.NewNop(),
		})
		if err != nil {
			return err
		}
		defer cli.Close()
		return do(ctx, cli)
	})
}

// enable enables authentication with the user root.
func (u users) enable(password string) {
	u.t.Helper()
	u.as("", "", func(ctx context.Context, cli *clientv3.Client) error {
		_, _ = cli.UserAdd(ctx, "root", password) // it may be there, from a try before
		_, _ = cli.RoleAdd(ctx, "root")
		_, _ = cli.UserGrantRole(ctx, "root", "root")
		_, err := cli.AuthEnable(ctx)
		return err
	})
}

// secret writes a password to the Secret etcd-root.
func (u users) secret(password string) {
	u.t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "etcd-root", Namespace: u.namespace}, Type: corev1.SecretTypeBasicAuth}
	s.StringData = map[string]string{"username": "root", "password": password}
	ctx := apiservertest.Context(u.t)
	err := u.client.Create(ctx, s)
	if err != nil {
		err = u.client.Update(ctx, s)
	}
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u users) names(secret string) {
	u.t.Helper()
	u.edit(u.c, func(c *v1beta2.EtcdCluster) { c.Spec.Auth = &v1beta2.AuthPolicy{RootSecret: secret} })
}

// waitsFor waits until the cluster's condition says this, while it serves.
func (u users) waitsFor(condition string, words ...string) {
	u.t.Helper()
	u.until(u.c, condition, func(s *v1beta2.ClusterStatus) bool {
		text := said(s)
		for _, w := range append(words, condition+"=True", "Available=True") {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return s.ObservedGeneration == u.c.Generation
	})
}

// Authentication is enabled on a cluster that lives. Without credentials it serves on and
// the operator says what it lacks; with them it grows, heals and shrinks; a password that
// changes is followed. No password is told to anybody.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3)
	u := users{b, c}
	b.untilHealthy(c, 3)
	u.enable("first-secret")

	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 5 })
	u.waitsFor("CredentialsMissing", "set spec.auth.rootSecret")
	if s := &c.Status; len(s.Members.Ready) != 3 || s.Size != 3 || s.Phase != v1beta2.PhaseRunning {
		t.Errorf("the status is %+v, want three members that are ready", s)
	}
	u.names("etcd-root")
	u.waitsFor("CredentialsMissing", "the Secret does not exist")
	u.secret("guessed-secret")
	u.waitsFor("CredentialsInvalid", "invalid user ID or password")
	if n := len(b.pods(c)); n != 3 {
		t.Errorf("there are %d Pods, want the 3 that there were", n)
	}

	u.secret("first-secret")
	b.untilHealthy(c, 5)
	lost := b.pods(c)[0]
	b.delete(&lost)
	b.until(c, "the lost member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), lost.Name) })
	b.untilHealthy(c, 5)

	u.as("root", "first-secret", func(ctx context.Context, cli *clientv3.Client) error {
		_, err := cli.UserChangePassword(ctx, "root", "second-secret")
		return err
	})
	u.secret("second-secret")
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 3 })
	b.untilHealthy(c, 3)
	u.as("root", "second-secret", func(ctx context.Context, cli *clientv3.Client) error {
		_, err := cli.AuthDisable(ctx)
		return err
	})
	b.edit(c, func(c *v1beta2.EtcdCluster) { c.Spec.Size = 1 })
	b.untilHealthy(c, 1)

	var events eventsv1.EventList
	if err := b.client.List(apiservertest.Context(t), &events, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	told := fmt.Sprintf("%+v %+v", events.Items, c.Status)
	if strings.Contains(told, "first-secret") || strings.Contains(told, "guessed-secret") || strings.Contains(told, "second-secret") {
		t.Errorf("a password is told: %s", told)
	}
	b.wantEvents("CredentialsMissing", "CredentialsInvalid", "MemberAdded", "ReplacingDeadMember", "MemberRemoved")
}

// Without credentials, too, Pods that are gone are recreated on their volumes, and
// clients find their members again.
func TestVolumesServeOnWithoutCredentials(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 3, withVolumes)
	u := users{b, c}
	b.untilHealthy(c, 3)
	u.enable("secret")
	for _, p := range b.pods(c) {
		old := p.UID
		b.delete(&p)
		etcdtest.Eventually(t, "Pod "+p.Name+" to serve again", func() error {
			pods := b.pods(c)
			if len(pods) != 3 {
				return fmt.Errorf("there are %d Pods", len(pods))
			}
			for _, p := range pods {
				if p.UID == old || !podtest.Serves(&p) {
					return fmt.Errorf("%s is a %s", p.Name, p.Labels[v1beta2.LabelRole])
				}
			}
			return nil
		})
	}
	u.waitsFor("CredentialsMissing")
	u.secret("secret")
	u.names("etcd-root")
	b.untilHealthy(c, 3)
}
