package command

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// A wait on which no operator acts says so once, and ends with it. One on which an operator acts does not.
func TestNoOperatorActs(t *testing.T) {
	changes := 0
	begins := func(o client.Object) {
		changes++ // also by a dry run
		switch o := o.(type) {
		case *v1beta2.EtcdCluster:
			o.Status.ObservedGeneration = o.Generation
			says(o, "Progressing", "True", "RestartingMember", fmt.Sprint("it begins ", changes))
		case *v1beta2.EtcdBackup:
			o.Status.Phase = v1beta2.BackupPending
		case *v1beta2.EtcdRestore:
			o.Status.Phase = v1beta2.RestorePending
		}
	}
	for line, want := range map[string]string{
		"upgrade edited 3.7.3 --yes": "no operator has looked at EtcdCluster edited: start an etcd-operator for namespace default, or annotate the EtcdCluster with etcd.database.coreos.com/scope: clusterwide if one runs with --cluster-wide",
		"restart example --yes":      "nothing has happened to EtcdCluster default/example yet: ",
		"pause edited":               "no operator has looked at EtcdCluster edited: ",
		"backup example":             "no operator has looked at EtcdBackup example-20260101-120000: start an etcd-backup-operator with --cluster-wide, or remove the annotation etcd.database.coreos.com/scope of the EtcdBackup",
		"verify hourly":              "no operator has looked at EtcdRestore hourly-verify-20260101-120000: start an etcd-restore-operator for namespace default",
		"restore example --yes":      "no operator has looked at EtcdRestore example-restore-20260101-120000: start an etcd-restore-operator",
	} {
		t.Run(line, func(t *testing.T) {
			world := func() *world {
				c, edited := aCluster("example"), aCluster("edited")
				c.Annotations = map[string]string{v1beta2.AnnotationScope: v1beta2.ScopeClusterwide}
				edited.Generation = 2
				w := aWorld(t, append(podsOf(c), c, edited, aBackup("hourly", "example"))...)
				w.grace = time.Millisecond
				return w
			}
			got := world().run(line + " --timeout 100ms")
			if strings.Count(got, "12:00:00  "+want) != 1 || !strings.Contains(got, "error: not done yet: "+want) {
				t.Errorf("it does not say once that no operator acts:\n%s", got)
			}
			acting := world()
			acting.then = begins
			if got := acting.run(line + " --timeout 100ms"); strings.Contains(got, want) || !strings.Contains(got, "error: not done yet: the ") {
				t.Errorf("the operator acts:\n%s", got)
			}
		})
	}
}

// What goes on after the wait is said of each kind of work.
func TestTimeouts(t *testing.T) {
	w := aWorld(t, aCluster("example"), aBackup("hourly", "example"))
	for line, want := range map[string]string{
		"verify hourly":  "error: not done yet: the verification continues; run \"kubectl get etcdrs hourly-verify-20260101-120000 -n default\" to see its progress",
		"backup example": "error: not done yet: the backup continues; run \"kubectl get etcdbk example-20260101-120000 -n default\" to see its progress",
		"pause example":  "error: not done yet: the operator continues; run \"kubectl etcd status\" to see its progress",
	} {
		if got := w.run(line + " --timeout 20ms"); !strings.Contains(got, want) {
			t.Errorf("%s: it does not say %s:\n%s", line, want, got)
		}
	}
}

// A screen that is watched survives an API server that does not answer for a moment, and has no escape
// codes unless it is on a terminal. What cannot heal ends it.
func TestWatchGoesOn(t *testing.T) {
	hiccup := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: leader changed"}}
	forbidden := apierrors.NewForbidden(v1beta2.GroupVersion.WithResource("etcdclusters").GroupResource(), "example", nil)
	for reason, row := range map[string]struct {
		line     string
		second   error // what the second read fails with
		terminal bool
		ends     bool
	}{
		"a file is written to": {line: "status example -w --ask-etcd=false", second: hiccup},
		"it is a terminal":     {line: "status example -w --ask-etcd=false", second: hiccup, terminal: true},
		"the right is lost":    {line: "status example -w --ask-etcd=false", second: forbidden, ends: true},
		"events":               {line: "events example -w", second: hiccup},
		"no right to events":   {line: "events example -w", second: forbidden, ends: true},
	} {
		t.Run(reason, func(t *testing.T) {
			w := aWorld(t, aCluster("example"), &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "1"},
				InvolvedObject: corev1.ObjectReference{Kind: "EtcdCluster", Namespace: "default", Name: "example"}, Message: "an event",
			})
			w.terminal = row.terminal
			ctx, end := context.WithCancel(t.Context())
			w.ctx = ctx
			reads := 0
			read := func() error {
				switch reads++; reads {
				case 2:
					return row.second
				case 4:
					end()
				}
				return nil
			}
			if strings.HasPrefix(row.line, "status") {
				w.get = read
			} else {
				w.list = func(list client.ObjectList, _ string) error {
					if _, ok := list.(*corev1.EventList); ok {
						return read()
					}
					return nil
				}
			}
			got := w.run(row.line)
			if strings.Contains(got, "error: ") != row.ends || strings.Contains(got, "12:00:00  the API server does not answer; retrying: ") == row.ends {
				t.Errorf("it ends: %t; not as it should:\n%s", !row.ends, got)
			}
			if strings.Contains(got, "\x1b") != row.terminal {
				t.Errorf("escape codes: %q", got)
			}
		})
	}
}
