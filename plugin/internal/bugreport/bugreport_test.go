package bugreport

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestClean(t *testing.T) {
	ca := etcdtest.NewCA(t, "a")
	key := string(ca.Issue(t, "x").Key)
	for name, row := range map[string]struct{ text, left string }{
		"a key":               {"before " + key + " after", "before REDACTED\n after"},
		"a password in a URL": {"HTTPS_PROXY=http://me:secret@proxy:3128", "HTTPS_PROXY=http://REDACTED@proxy:3128"},
		"a token":             {"Authorization: Bearer abc.def, next", "Authorization: Bearer REDACTED, next"},
		"a password":          {"--password=secret --user=root", "--password=REDACTED --user=root"},
		"a field":             {`{"password":"secret","user":"root"}`, `{"password":"REDACTED","user":"root"}`},
		"a field in a text":   {`{"body":"{\"token\": \"abc\"}"}`, `{"body":"{\"token\": \"REDACTED\"}"}`},
		"a certificate":       {string(ca.PEM), string(ca.PEM)},
		"a log line":          {`{"msg":"token is valid","url":"https://a:2379/x"}`, `{"msg":"token is valid","url":"https://a:2379/x"}`},
	} {
		if got := string(Clean([]byte(row.text))); got != row.left {
			t.Errorf("%s: %q, want %q", name, got, row.left)
		}
	}
}

func TestMarshal(t *testing.T) {
	c := &v1beta2.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "example", Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "old", "kept": "yes"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}},
		Spec: v1beta2.ClusterSpec{Pod: &v1beta2.PodPolicy{EtcdEnv: []corev1.EnvVar{
			{Name: "ETCD_MAX_REQUEST_BYTES", Value: "123"}, {Name: "SOME_KEY", Value: "hidden"}, {Name: "GOMEMLIMIT", Value: "900MiB"},
			{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "name-only"}}},
		}}},
	}
	data, err := Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for text, isThere := range map[string]bool{`"123"`: true, "900MiB": true, "kept": true, "name-only": true, "SOME_KEY": true, "hidden": false, "managedFields": false, "last-applied": false} {
		if strings.Contains(string(data), text) != isThere {
			t.Errorf("%s is there: %t\n%s", text, !isThere, data)
		}
	}
	if c.Annotations["kept"] != "yes" || c.Spec.Pod.EtcdEnv[1].Value != "hidden" {
		t.Error("the object itself was changed")
	}
	if _, err := Marshal(&corev1.Secret{}); err == nil {
		t.Error("a Secret is written")
	}
}
