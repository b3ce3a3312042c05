package bugreport

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/etcdtest"
)

func TestClean(t *testing.T) {
	ca := etcdtest.NewCA(t, "a")
	key := string(ca.Issue(t, "x").Key)
	for name, row := range map[string]struct{ text, left string }{
		"a key":                       {"before " + key + " after", "before REDACTED\n after"},
		"a user in a URL":             {"connect to http://me:secret@proxy:3128", "connect to http://REDACTED@proxy:3128"},
		"a password alone":            {"connect to redis://:pw@host:1/x", "connect to redis://REDACTED@host:1/x"},
		"a blank, a comma, a slash":   {"connect to http://me:a b,c/d@host", "connect to http://REDACTED@host"},
		"a quote in a password":       {`connect to http://me:a"b@host`, "connect to http://REDACTED@host"},
		"no user":                     {"connect to https://a:2379/x, http://[::1]:80", "connect to https://a:2379/x, http://[::1]:80"},
		"an unknown query":            {"GET https://a/b?prefix=x&token=abc,d&sig=a%2Bb&X-Amz-Signature=e end", "GET https://a/b?prefix=x&token=REDACTED&sig=REDACTED&X-Amz-Signature=REDACTED end"},
		"an unknown query in JSON":    {`{"url":"https://a/b?se=1\u0026sig=abc"}`, `{"url":"https://a/b?se=REDACTED\u0026sig=REDACTED"}`},
		"Bearer":                      {"it sent Bearer abc.def, next", "it sent Bearer REDACTED, next"},
		"Basic":                       {"it sent Basic bWU6cHc= next", "it sent Basic REDACTED next"},
		"a header":                    {"Authorization: Custom a, b", "Authorization: REDACTED"},
		"a flag with =":               {"--password=se cret,x --name=a", "--password=REDACTED --name=a"},
		"a flag without =":            {"run --password se cret,x --name a", "run --password REDACTED --name a"},
		"an unknown flag":             {"run --frobnicate 'a b' --name a", "run --frobnicate 'REDACTED' --name a"},
		"an unknown variable":         {"FROBNICATE=a b, c ETCD_NAME=x", "FROBNICATE=REDACTED ETCD_NAME=x"},
		"a quoted variable":           {`FROBNICATE="a b" ETCD_NAME=x`, `FROBNICATE="REDACTED" ETCD_NAME=x`},
		"prose":                       {"password: my secret, too", "password: REDACTED"},
		"an unknown field":            {`{"frobnicate":"se\"c","name":"a"}`, `{"frobnicate":"REDACTED","name":"a"}`},
		"unknown fields in a list":    {`{"frobnicate":["a","b"],"name":"a"}`, `{"frobnicate":["REDACTED"],"name":"a"}`},
		"an unknown field in a field": {`{"error":"{\"frobnicate\": \"abc\"}"}`, `{"error":"{\"frobnicate\": \"REDACTED\"}"}`},
		"a JWT":                       {"saw eyJhbGciOi.eyJzdWIi.c2ln here", "saw REDACTED here"},
		"a secret key of AWS":         {"saw wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY here", "saw REDACTED here"},
		"a token of GitHub":           {"saw ghp_16C7e42F292c6912E7710c838347Ae178B4a here", "saw REDACTED here"},
		"hashes and names":            {"da39a3ee5e6b4b0d3255bfef95601890afd80709 hourly-thlyqfs33b-t95fq EtcdCluster", "da39a3ee5e6b4b0d3255bfef95601890afd80709 hourly-thlyqfs33b-t95fq EtcdCluster"},
		"half a key":                  {"a -----BEGIN RSA PRIVATE KEY-----\nabc", "a REDACTED"},
		"a certificate":               {string(ca.PEM), "REDACTED\n"},
		"a log line": {
			`{"level":"warn","ts":"2026-01-01T12:00:00.123456Z","caller":"txn/util.go:93","msg":"apply request took too long","took":"438.5ms","request":"limit:1","error":"etcdserver: leader changed","count":5}`,
			`{"level":"warn","ts":"2026-01-01T12:00:00.123456Z","caller":"txn/util.go:93","msg":"apply request took too long","took":"438.5ms","request":"limit:1","error":"etcdserver: leader changed","count":5}`,
		},
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
			{Name: "GOOGLE_API_KEY", Value: "hidden"}, {Name: "ETCD_FROBNICATE", Value: "hidden"},
			{Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "name-only"}}},
		}}},
	}
	c.Annotations["vault.example.com/template"] = "hidden"
	data, err := Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for text, isThere := range map[string]bool{`"123"`: true, "900MiB": true, "kept": true, "name-only": true, "SOME_KEY": true, "hidden": false, "managedFields": false, "old": false} {
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

// TestPodsHaveKnownTextsOnly: a report contains what an injector or a mesh adds to a Pod only if it is known.
func TestPodsHaveKnownTextsOnly(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "example-a", Annotations: map[string]string{"a.example.com/x": "hidden"}, Labels: map[string]string{"team": "hidden", v1beta2.LabelRole: "voter"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "etcd", Image: "quay.io/coreos/etcd:v3.6.16",
				Command: []string{"etcd", "--name=shown", "--data-dir", "/var/shown", "--password", "hidden", "--frobnicate=hidden", "-phidden", "hidden"},
				Env:     []corev1.EnvVar{{Name: "GODEBUGKEY", Value: "hidden"}},
			}},
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{FlexVolume: &corev1.FlexVolumeSource{Options: map[string]string{"password": "hidden"}}}}, {Name: "w", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "aws"}}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Message: "it has run http://me:hidden@a", StartTime: &metav1.Time{Time: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}},
	}
	data, err := Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "hidden") {
		t.Errorf("what is unknown is in it:\n%s", data)
	}
	for _, want := range []string{"--name=shown", "/var/shown", "quay.io/coreos/etcd:v3.6.16", "voter", "it has run", "secretName: aws", "2026-01-01T00:00:00Z"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s is not in it:\n%s", want, data)
		}
	}
}
