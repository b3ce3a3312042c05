package build

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/plan"
	"github.com/etcd-operators/etcd-operators/operators/etcd-restore-operator/internal/task"
)

// The Pod mounts the Secrets that the agent compares with the snapshot, and starts without
// them.
func TestCredentialsAreMounted(t *testing.T) {
	for name, tc := range map[string]struct {
		credentials plan.Credentials
		want        task.Credentials
		secrets     map[string]string // by the place
	}{
		"nothing":               {plan.Credentials{}, task.Credentials{}, map[string]string{}},
		"a Secret":              {plan.Credentials{RootSecret: "root"}, task.Credentials{Secret: "root", Dir: rootMount}, map[string]string{rootMount: "root"}},
		"a certificate of ours": {plan.Credentials{CommonName: "root"}, task.Credentials{CommonName: "root"}, map[string]string{}},
		"both": {plan.Credentials{RootSecret: "root", TLSSecret: "tls"}, task.Credentials{Secret: "root", Dir: rootMount, TLSDir: tlsMount},
			map[string]string{rootMount: "root", tlsMount: "tls"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := restore(t, "s3.restore.yaml")
			source := sourceOf(r)
			source.Store = source.Store.At(source.Store.Path)
			source.Store.AWSSecret = ""
			j, err := Job(r, plan.StartJob{Name: "x", Source: source, Credentials: tc.credentials}, images)
			if err != nil {
				t.Fatal(err)
			}
			pod := j.Spec.Template.Spec
			got := map[string]string{}
			for _, m := range pod.Containers[0].VolumeMounts {
				if v := volume(&pod, m.Name); v.Secret != nil {
					got[m.MountPath] = v.Secret.SecretName
					if v.Secret.Optional == nil || !*v.Secret.Optional || !m.ReadOnly {
						t.Errorf("%s: optional %v, read-only %t", m.Name, v.Secret.Optional, m.ReadOnly)
					}
				}
			}
			if diff := cmp.Diff(tc.secrets, got); diff != "" {
				t.Error(diff)
			}
			var told task.Task
			for _, e := range pod.Containers[0].Env {
				if e.Name == task.Env {
					if err := json.Unmarshal([]byte(e.Value), &told); err != nil {
						t.Fatal(err)
					}
				}
			}
			if diff := cmp.Diff(&tc.want, told.Credentials); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func volume(pod *corev1.PodSpec, name string) corev1.Volume {
	for _, v := range pod.Volumes {
		if v.Name == name {
			return v
		}
	}
	return corev1.Volume{}
}
