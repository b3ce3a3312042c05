package command

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/plugin/internal/kube"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestMain(m *testing.M) {
	// As in main: what is logged of a connection that ends is for no user.
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(apiservertest.Main(m))
}

// display is what a command shows that runs on.
type display struct {
	mu   sync.Mutex
	text strings.Builder
}

func (d *display) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *display) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.String()
}

// watching is a command that shows changes until it is ended.
type watching struct {
	t     *testing.T
	out   display
	end   context.CancelFunc
	ended chan error
}

// watch runs a command line in a namespace of the real API server.
func watch(t *testing.T, namespace, line string) *watching {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &watching{t: t, end: cancel, ended: make(chan error, 1)}
	app := &App{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &w.out, ErrOut: &w.out},
		Connect:   func(bool) (*kube.Access, error) { return kube.New(apiservertest.Config(), namespace) },
		Now:       nowOf, Refresh: 10 * time.Millisecond, Terminal: true,
	}
	root := New(app, nil)
	root.SetArgs(strings.Fields(line))
	go func() { w.ended <- root.ExecuteContext(ctx) }()
	return w
}

// shows waits until the command shows this on its last screen.
func (w *watching) shows(want string) {
	w.t.Helper()
	etcdtest.Eventually(w.t, "it to show "+want, func() error {
		screens := strings.Split(w.out.String(), clearScreen)
		if last := screens[len(screens)-1]; !strings.Contains(last, want) {
			return fmt.Errorf("it shows\n%s", last)
		}
		return nil
	})
}

// ends ends the command, as Ctrl-C does, and it must succeed.
func (w *watching) ends() {
	w.t.Helper()
	w.end()
	select {
	case err := <-w.ended:
		if err != nil {
			w.t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		w.t.Fatal("it goes on")
	}
}

// served is a cluster at the real API server.
func served(t *testing.T, name string) *v1beta2.EtcdCluster {
	t.Helper()
	c := &v1beta2.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Namespace: apiservertest.Namespace(t), Name: name}, Spec: v1beta2.ClusterSpec{Size: 3, Version: "3.6.16"}}
	apiservertest.Create(t, apiservertest.Client(t), c)
	return c
}

// A screen that is watched shows what has changed, until the user ends it.
func TestStatusWatch(t *testing.T) {
	c := served(t, "example")
	w := watch(t, c.Namespace, "status example -w --ask-etcd=false")
	w.shows("no operator has looked at it")
	for _, ready := range []string{"2/3", "3/3"} {
		c.Status.Phase, c.Status.ReadyMembers = v1beta2.PhaseRunning, ready
		apiservertest.SetStatus(t, apiservertest.Client(t), c)
		w.shows(ready + " members serve")
	}
	w.ends()
	for _, o := range []string{"wide", "yaml"} {
		w := watch(t, c.Namespace, "status example -w --ask-etcd=false -o "+o)
		w.shows("3/3")
		c.Status.ReadyMembers = "2/3"
		apiservertest.SetStatus(t, apiservertest.Client(t), c)
		w.shows("2/3")
		c.Status.ReadyMembers = "3/3"
		apiservertest.SetStatus(t, apiservertest.Client(t), c)
		w.ends()
		text := w.out.String()
		if isDrawn, isMany := strings.Contains(text, clearScreen), strings.Contains(text, "\n---\n"); isDrawn != (o == "wide") || isMany != (o == "yaml") {
			t.Errorf("-o %s: redrawn: %v, documents: %v", o, isDrawn, isMany)
		}
	}

	apiservertest.Delete(t, apiservertest.Client(t), c)
	w = watch(t, c.Namespace, "status example -w --ask-etcd=false")
	select {
	case err := <-w.ended:
		if err == nil || !strings.Contains(err.Error(), "EtcdCluster example does not exist") {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it watches what is not there")
	}
}

// Events that are watched are shown once each, and again when they happen again.
func TestEventsWatch(t *testing.T) {
	c := served(t, "example")
	client := apiservertest.Client(t)
	event := func(name, about, message string, at time.Duration) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
			InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Namespace: c.Namespace, Name: about},
			Type:           "Normal", Reason: "MemberAdded", Message: message, LastTimestamp: metav1.NewTime(now.Add(at)), Count: 1,
		}
	}
	first := event("1", "example", "added member example-a", -time.Hour)
	apiservertest.Create(t, client, first)
	w := watch(t, c.Namespace, "events example -w")
	w.shows("60m   Normal   MemberAdded   etcdcluster/example   added member example-a")

	apiservertest.Create(t, client, event("2", "other", "added member other-a", 0), event("3", "example", "added member example-b", 0))
	const line = "2026-01-01T12:00:00Z  Normal   MemberAdded  etcdcluster/example  added member example-b\n"
	w.shows(line)
	first.LastTimestamp, first.Count = metav1.NewTime(now.Add(time.Minute)), 2
	if err := client.Update(apiservertest.Context(t), first); err != nil {
		t.Fatal(err)
	}
	w.shows("2026-01-01T12:01:00Z  Normal   MemberAdded  etcdcluster/example  added member example-a\n")
	w.ends()

	// For programs, each event is a document of its own.
	docs := watch(t, c.Namespace, "events example -w -o yaml")
	docs.shows("message: added member example-a")
	apiservertest.Create(t, client, event("4", "example", "added member example-c", 2*time.Minute))
	docs.shows("message: added member example-c")
	docs.ends()
	each := strings.Split(docs.out.String(), "---\n")[1:]
	if len(each) != 3 {
		t.Errorf("%d documents, want 3:\n%s", len(each), docs.out.String())
	}
	for i, doc := range each {
		e := &corev1.Event{}
		if err := yaml.UnmarshalStrict([]byte(doc), e); err != nil || e.Kind != "Event" || !strings.HasPrefix(e.Message, "added member example-") {
			t.Errorf("document %d is no event of the cluster: %v\n%s", i, err, doc)
		}
	}
	text := w.out.String()
	if n := strings.Count(text, "example-b"); n != 1 {
		t.Errorf("an event is shown %d times:\n%s", n, text)
	}
	if strings.Contains(text, "other") {
		t.Errorf("an event of another cluster is shown:\n%s", text)
	}
}
