package controller_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/podtest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
	"github.com/etcd-operators/etcd-operators/shared/member"
)

// The tests of this file are of volumes that break, grow and are left.

// shred writes over what a member has in a file of its data dir.
func shred(pattern string, from int64) func(string) error {
	return func(dataDir string) error {
		files, err := filepath.Glob(filepath.Join(dataDir, "member", pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no %s in %s: %w", pattern, dataDir, errors.Join(err, os.ErrNotExist))
		}
		f, err := os.OpenFile(slices.Max(files), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		garbage := make([]byte, 64<<10)
		if _, err := rand.Read(garbage); err != nil {
			return err
		}
		_, err = f.WriteAt(garbage, from)
		return errors.Join(err, f.Close())
	}
}

// Members that etcd can't start any more, since what is on their disk is broken, are
// replaced, disk and all: the log's first records, and the database.
func TestBrokenData(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(string) error{
		"log":      shred("wal/*.wal", 0),
		"database": shred("snap/db", 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			kubelet := podtest.StartKubelet(t, b.client, b.namespace)
			c := b.create("x", 3, withVolumes)
			b.untilHealthy(c, 3)
			b.put(c, "before", "kept")
			broken := memberNames(&c.Status)[1]
			id := c.Status.ClusterID

			kubelet.Spoil(broken, damage)
			b.until(c, "the broken member to be replaced", func(s *v1beta2.ClusterStatus) bool { return !slices.Contains(memberNames(s), broken) })
			b.untilHealthy(c, 3)
			b.wantEvents("ReplacingDeadMember")
			if got := b.get(c, "before"); got != "kept" || c.Status.ClusterID != id {
				t.Errorf("cluster %s tells %q, want %s and what was written", c.Status.ClusterID, got, id)
			}
			etcdtest.Eventually(t, "its volume to go", func() error {
				if slices.Contains(b.claimNames(), broken) {
					return errors.New("it is there")
				}
				return nil
			})
		})
	}
}

// A new EtcdCluster does not begin over volumes that one of its name has left, and goes
// on with them when it is asked to, also if one is missing.
func TestAdoption(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kubelet := podtest.StartKubelet(t, b.client, b.namespace)
	retain := func(c *v1beta2.EtcdCluster) {
		c.Spec.Storage = &v1beta2.StoragePolicy{DeletionPolicy: v1beta2.VolumesRetain}
	}
	c := b.create("x", 3, withVolumes)
	b.untilHealthy(c, 3)
	b.put(c, "before", "kept")
	id, names := c.Status.ClusterID, memberNames(&c.Status)

	// The policy is changed on a cluster that lives.
	b.edit(c, retain)
	etcdtest.Eventually(t, "the volumes to be kept", func() error { return b.wantKept(names, string(c.UID)) })
	b.delete(c)
	for _, p := range b.pods(c) { // as the garbage collector does, which is not there
		b.delete(&p)
	}
	etcdtest.Eventually(t, "the Pods to go", func() error {
		if n := len(b.pods(c)); n > 0 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	for _, o := range []client.Object{member.PeerService(c), member.ClientService(c), member.DisruptionBudget(c, 2)} {
		b.delete(o)
	}
	kubelet.Empty(names[2])

	again := b.create("x", 3, withVolumes)
	b.until(again, "it to refuse to begin", func(s *v1beta2.ClusterStatus) bool {
		available := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionAvailable)
		return s.Phase == v1beta2.PhaseFailed && available != nil && available.Reason == "ClusterExisted" &&
			strings.Contains(available.Message, names[0]) && strings.Contains(available.Message, v1beta2.AnnotationAdoptVolumes)
	})
	if n := len(b.pods(again)); n > 0 {
		t.Fatalf("there are %d Pods", n)
	}
	b.edit(again, func(c *v1beta2.EtcdCluster) {
		c.Annotations = map[string]string{v1beta2.AnnotationAdoptVolumes: v1beta2.AdoptAny}
	})
	b.until(again, "the emptied member to be replaced", func(s *v1beta2.ClusterStatus) bool {
		return s.ClusterID == id && len(s.MemberDetails) == 3 && !slices.Contains(memberNames(s), names[2])
	})
	b.untilHealthy(again, 3)
	if got := b.get(again, "before"); got != "kept" {
		t.Errorf("it tells %q, want what was written", got)
	}
	for _, name := range b.claimNames() {
		claim := b.claim(name)
		if !metav1.IsControlledBy(claim, again) || claim.Labels[v1beta2.LabelOwner] != "" {
			t.Errorf("volume %s is not the new EtcdCluster's: %v, %v", name, claim.OwnerReferences, claim.Labels)
		}
	}
	b.wantEvents("RetentionEnabled", "VolumesAdopted", "Bootstrapped")
}

// A volume that the API server does not let grow is not asked for over and over, and the
// condition tells what to do. The members serve on.
func TestGrowthRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	podtest.StartKubelet(t, b.client, b.namespace)
	c := b.create("x", 1, withVolumes)
	b.untilHealthy(c, 1)
	b.edit(c, func(c *v1beta2.EtcdCluster) {
		c.Spec.Pod.PersistentVolumeClaimSpec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Gi")
	})
	b.until(c, "the refusal to be told", func(s *v1beta2.ClusterStatus) bool {
		cond := meta.FindStatusCondition(s.Conditions, v1beta2.ConditionStorageResizing)
		return cond != nil && cond.Reason == "ExpansionRefused" && strings.Contains(cond.Message, "restore a backup") && s.ReadyMembers == "1/1"
	})
	claim := b.claim(memberNames(&c.Status)[0])
	if note := claim.Annotations[v1beta2.AnnotationGrowthRefused]; !strings.HasPrefix(note, "2147483648 ") {
		t.Errorf("the refusal is noted as %q", note)
	}
}

func (b *bench) claim(name string) *corev1.PersistentVolumeClaim {
	b.t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace}}
	apiservertest.Read(b.t, b.client, claim)
	return claim
}

func (b *bench) claimNames() []string {
	b.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := b.client.List(apiservertest.Context(b.t), &claims, client.InNamespace(b.namespace)); err != nil {
		b.t.Fatal(err)
	}
	var names []string
	for _, c := range claims.Items {
		names = append(names, c.Name)
	}
	return names
}

// wantKept is nil if volumes are such as outlive the EtcdCluster of a uid.
func (b *bench) wantKept(names []string, uid string) error {
	for _, name := range names {
		claim := b.claim(name)
		if !member.IsRetained(claim) || claim.Labels[v1beta2.LabelOwner] != uid || claim.Annotations[member.AnnotationVersion] != version {
			return fmt.Errorf("volume %s has the owners %v, labels %v and annotations %v", name, claim.OwnerReferences, claim.Labels, claim.Annotations)
		}
	}
	return nil
}

// etcd is a client of a cluster's first member that is ready.
func (b *bench) etcd(c *v1beta2.EtcdCluster) *clientv3.Client {
	b.t.Helper()
	pods := slices.DeleteFunc(b.pods(c), func(p corev1.Pod) bool { return !podtest.Serves(&p) })
	if len(pods) == 0 {
		b.t.Fatal("no Pod serves")
	}
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{podtest.At(pods[0].Status.PodIP, member.ClientPort)}, Logger: zap.NewNop()})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { cli.Close() })
	return cli
}

func (b *bench) put(c *v1beta2.EtcdCluster, key, value string) {
	b.t.Helper()
	if _, err := b.etcd(c).Put(apiservertest.Context(b.t), key, value); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) get(c *v1beta2.EtcdCluster, key string) string {
	b.t.Helper()
	got, err := b.etcd(c).Get(apiservertest.Context(b.t), key)
	if err != nil || len(got.Kvs) != 1 {
		b.t.Fatalf("read %s: %v, %v", key, got, err)
	}
	return string(got.Kvs[0].Value)
}
