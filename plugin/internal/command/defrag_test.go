package command

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

func TestMoveLeader(t *testing.T) {
	paused, single := aCluster("paused"), aCluster("single")
	paused.Spec.Paused = true
	single.Status.MemberDetails = single.Status.MemberDetails[:1]
	w := aWorld(t, aCluster("example"), paused, single)
	screens := []string{w.run("move-leader example nobody"), w.run("move-leader paused paused-bbbbbbbbbb"), w.run("move-leader single"), w.run("move-leader example --wait=false")}
	if got := w.read("example").Annotations[v1beta2.AnnotationMoveLeader]; got != "example-bbbbbbbbbb 2026-01-01T12:00:00Z" {
		t.Errorf("the annotation is %q", got)
	}
	// The operator waits first, and then refuses, or does so.
	for _, refused := range []string{"", "example-bbbbbbbbbb is not a voter"} {
		w.change("example", func(c *v1beta2.EtcdCluster) {
			c.Status.Maintenance = nil
			says(c, "Progressing", "True", "MovingLeader", "waiting to transfer the leadership to example-bbbbbbbbbb: member example-aaaaaaaaaa: it has only just become ready")
		})
		reads := 0
		w.get = func() error {
			if reads++; reads == 4 {
				w.get = nil
				w.change("example", func(c *v1beta2.EtcdCluster) {
					c.Status.Maintenance = &v1beta2.MaintenanceStatus{LeaderRequest: c.Annotations[v1beta2.AnnotationMoveLeader], LeaderRefused: refused}
				})
			}
			return nil
		}
		screens = append(screens, w.run("move-leader example example-bbbbbbbbbb"))
	}
	// Somebody else asks for another one meanwhile.
	w.change("example", func(c *v1beta2.EtcdCluster) { c.Status.Maintenance = nil })
	w.then = func(o client.Object) {
		w.then = nil
		metav1.SetMetaDataAnnotation(&o.(*v1beta2.EtcdCluster).ObjectMeta, v1beta2.AnnotationMoveLeader, "example-cccccccccc")
	}
	golden(t, "move-leader", append(screens, w.run("move-leader example example-bbbbbbbbbb"))...)
}

func TestDefrag(t *testing.T) {
	c := aCluster("example")
	pods := podsOf(c)
	w := aWorld(t, append(pods, c)...)
	event := func(name, message string, at time.Time) {
		if err := w.Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Reason: v1beta2.ClusterReasonMemberDefragmented, Message: message,
			InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Name: c.Name, UID: c.UID}, LastTimestamp: metav1.NewTime(at),
		}); err != nil {
			t.Fatal(err)
		}
	}
	event("earlier", "member example-bbbbbbbbbb is defragmented: its database had 1 MB and has 1 MB; 1 of 3 members done", now.Add(-time.Hour))
	w.answers = "no\n"
	screens := []string{w.run("defrag example"), w.run("defrag example --yes --wait=false")}
	if got := w.read("example").Annotations[v1beta2.AnnotationDefragment]; got != "2026-01-01T12:00:00Z" {
		t.Errorf("the annotation is %q", got)
	}
	// The round begins. What a person has to do first keeps it up; then one member was made since, and
	// the others are defragmented.
	w.then = func(o client.Object) {
		w.then = nil
		o.(*v1beta2.EtcdCluster).Status.Maintenance = &v1beta2.MaintenanceStatus{
			DefragmentRequest: o.GetAnnotations()[v1beta2.AnnotationDefragment], LastDefragmentTime: &metav1.Time{Time: now},
		}
		says(o.(*v1beta2.EtcdCluster), "Progressing", "True", "Defragmenting", "waiting for member example-bbbbbbbbbb to be defragmented; 0 of 3 members done")
	}
	reads := 0
	w.get = func() error {
		switch reads++; reads {
		case 4:
			w.change("example", func(c *v1beta2.EtcdCluster) {
				says(c, "Progressing", "False", "UnmanagedMembers", "waiting for a person to remove member x")
			})
		case 8:
			w.change("example", func(c *v1beta2.EtcdCluster) { says(c, "Progressing", "False", "UpToDate", "") })
			for i, p := range pods {
				p.SetAnnotations(map[string]string{v1beta2.AnnotationDefragmented: now.Add(time.Minute).Format(time.RFC3339Nano) + " 300 done"})
				if i == 0 {
					p.SetAnnotations(nil)
					p.SetCreationTimestamp(metav1.NewTime(now.Add(time.Second)))
				}
				if err := w.Update(t.Context(), p); err != nil {
					t.Fatal(err)
				}
			}
			event("later", "member example-bbbbbbbbbb is defragmented: its database had 300 MB and has 20 MB; 3 of 3 members done", now)
		}
		return nil
	}
	screens = append(screens, w.run("defrag example --yes"))
	w.get = nil
	if strings.Contains(screens[2], "1 MB") {
		t.Error("an earlier defragmentation is shown")
	}
	// A pause ends the wait.
	w.change("example", func(c *v1beta2.EtcdCluster) { c.Status.Maintenance = nil })
	reads = 0
	w.get = func() error {
		if reads++; reads == 3 {
			w.get = nil
			w.change("example", func(c *v1beta2.EtcdCluster) { c.Spec.Paused = true })
		}
		return nil
	}
	golden(t, "defrag", append(screens, w.run("defrag example --yes"))...)
}
