package agentpod

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/agent"
	"github.com/etcd-operators/etcd-operators/shared/manifesttest"
	"github.com/etcd-operators/etcd-operators/shared/sighting"
)

// The operators' own golden manifests show what is built and read here in full. These
// tests are of what no manifest shows.

type result struct {
	Done    bool           `json:"done,omitempty"`
	Failure *agent.Failure `json:"failure,omitempty"`
}

var reading = Reading[result]{
	Container: "agent",
	Failure:   func(r *result) *agent.Failure { return r.Failure },
	Failed:    func(f *agent.Failure) *result { return &result{Failure: f} },
	TooLong:   "too long",
}

// A dollar sign in a task is one, not a variable of Kubernetes' making, and the runtime
// keeps below the limit.
func TestEnvironment(t *testing.T) {
	limit := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	env, err := Environment("TASK", map[string]string{"key": "$(HOME)/$$"}, limit)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(env[0].Value), &got); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(env[0].Value, "$") || got["key"] != "$(HOME)/$$" {
		t.Errorf("the key is %q in %s", got["key"], env[0].Value)
	}
	if diff := cmp.Diff(corev1.EnvVar{Name: "GOMEMLIMIT", Value: "50331648"}, env[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if env, err := Environment("TASK", nil, corev1.ResourceRequirements{}); err != nil || len(env) != 1 {
		t.Errorf("without a limit: %v (%v)", env, err)
	}
}

// What the user adds to the environment is plain text, and takes the place of nothing.
func TestEnvironmentOfTheUser(t *testing.T) {
	limit := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	extra := []v1beta2.AgentEnv{
		{Name: "HTTPS_PROXY", Value: "http://a:$(TASK)@b"}, {Name: "TASK", Value: "theirs"}, {Name: "GOMEMLIMIT", Value: "1"},
	}
	env, err := Environment("TASK", "ours", limit, extra...)
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.EnvVar{{Name: "TASK", Value: `"ours"`}, {Name: "GOMEMLIMIT", Value: "50331648"}, {Name: "HTTPS_PROXY", Value: "http://a:$$(TASK)@b"}}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// The agent is told a key or the beginning of keys, never both.
func TestPlaceInAStore(t *testing.T) {
	for label, tc := range map[string]struct {
		source              v1beta2.S3Source
		bucket, key, prefix string
	}{
		"a path":         {v1beta2.S3Source{Path: "b/k/l"}, "b", "k/l", ""},
		"a prefix":       {v1beta2.S3Source{Prefix: "b/k/"}, "b", "", "k/"},
		"a whole bucket": {v1beta2.S3Source{Prefix: "b/"}, "b", "", ""},
	} {
		t.Run(label, func(t *testing.T) {
			s := Store(&v1beta2.StorePlace{S3Source: tc.source}, "/aws")
			if s.Bucket != tc.bucket || s.Key != tc.key || s.Prefix != tc.prefix || s.Newest != (tc.key == "") {
				t.Errorf("the agent is told %+v", s)
			}
		})
	}
}

// Of the Secret with a CA, the certificate alone is mounted, and the agent is told where.
func TestStoreWithAPrivateCA(t *testing.T) {
	for label, tc := range map[string]struct {
		source   v1beta2.S3Source
		optional bool
		needs    string
		dir      string
	}{
		"none":        {},
		"a Secret":    {source: v1beta2.S3Source{AWSSecret: "aws", CASecret: "ca"}, needs: "the Secret aws and the Secret ca with the key ca.crt", dir: "/aws-ca"},
		"a ConfigMap": {source: v1beta2.S3Source{CAConfigMap: "ca"}, needs: "the ConfigMap ca", dir: "/aws-ca"},
		"optional":    {source: v1beta2.S3Source{AWSSecret: "aws", CASecret: "ca"}, optional: true, dir: "/aws-ca"},
	} {
		t.Run(label, func(t *testing.T) {
			var f Files
			f.Store("store", &v1beta2.StorePlace{S3Source: tc.source}, "/aws", tc.optional)
			if got := needs(&corev1.Pod{Spec: corev1.PodSpec{Volumes: f.Volumes}}); got != tc.needs {
				t.Errorf("it needs %q, want %q", got, tc.needs)
			}
			if got := Store(&v1beta2.StorePlace{S3Source: tc.source}, "/aws").CADir; got != tc.dir {
				t.Errorf("the agent looks in %q, want %q", got, tc.dir)
			}
			for _, v := range f.Volumes {
				if v.Name == "store-ca" && v.Secret != nil {
					if diff := cmp.Diff([]corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}, v.Secret.Items); diff != "" {
						t.Errorf("of the Secret (-want +got):\n%s", diff)
					}
				}
			}
		})
	}
}

// The resources are the user's, or else all of the default.
func TestPolicy(t *testing.T) {
	usual := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
	asked := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	user := &v1beta2.AgentPod{Resources: asked, NodeSelector: map[string]string{"a": "b"}}
	got := Policy(user, usual)
	if diff := cmp.Diff(user, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	got.NodeSelector["x"] = "x"
	if len(user.NodeSelector) > 1 {
		t.Error("the policy shares memory with the user's")
	}
	for _, none := range []*v1beta2.AgentPod{nil, {}} {
		if diff := cmp.Diff(usual, Policy(none, usual).Resources); diff != "" {
			t.Errorf("by default (-want +got):\n%s", diff)
		}
	}
}

// Our labels and annotations win over the user's, and the Pod is restricted.
func TestJob(t *testing.T) {
	j := Job{
		ObjectMeta:     metav1.ObjectMeta{Name: "j", Labels: map[string]string{"app": "ours"}},
		PodAnnotations: map[string]string{"a": "ours"},
		Policy:         Policy(&v1beta2.AgentPod{Labels: map[string]string{"app": "theirs", "team": "x"}, Annotations: map[string]string{"a": "theirs"}}, corev1.ResourceRequirements{}),
		Container:      "agent", Image: "example.com/x:v1", Command: "x",
		Timeout: 90 * time.Second,
	}
	built := j.Build()
	pod := built.Spec.Template
	if diff := cmp.Diff(map[string]string{"app": "ours", "team": "x"}, pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"a": "ours"}, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if got := *built.Spec.ActiveDeadlineSeconds; got != 150 {
		t.Errorf("the deadline is %d s, want a minute more than the task's", got)
	}
	manifesttest.Restricted(t, &pod.ObjectMeta, &pod.Spec)
}

// Labels tell objects apart, whatever they are called.
func TestLabelValue(t *testing.T) {
	long := strings.Repeat("a", 52)
	seen := map[string]string{}
	for _, name := range []string{
		"a", "a.b", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 65), strings.Repeat("a", 253),
		long + "." + strings.Repeat("b", 60), long + "-" + strings.Repeat("b", 60),
	} {
		value := LabelValue(name)
		if errs := validation.IsValidLabelValue(value); len(errs) > 0 {
			t.Errorf("%s of %s: %v", value, name, errs)
		}
		if other, ok := seen[value]; ok {
			t.Errorf("%s and %s have the same label", name, other)
		}
		seen[value] = name
	}
}

// Of all Pods of a Job, one that tells of success counts, else the newest.
func TestReport(t *testing.T) {
	at := func(n int64) metav1.Time { return metav1.Unix(1000+n, 0) }
	pod := func(made int64, code int32, message string) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: at(made)}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message},
		}}}
		return p
	}
	const done, first, second = `{"done":true}`, `{"failure":{"reason":"First","message":"m"}}`, `{"failure":{"reason":"Second","message":"m"}}`
	cases := map[string]struct {
		pods []corev1.Pod
		want *result
	}{
		"none":           {nil, nil},
		"the newest":     {[]corev1.Pod{pod(1, 1, first), pod(2, 1, second)}, &result{Failure: &agent.Failure{Reason: "Second", Message: "m"}}},
		"an older one":   {[]corev1.Pod{pod(1, 0, done), pod(2, 1, second)}, &result{Done: true}},
		"no report":      {[]corev1.Pod{pod(1, 1, first), pod(2, 2, "panic: x")}, &result{Failure: &agent.Failure{Reason: "First", Message: "m"}}},
		"died after all": {[]corev1.Pod{pod(1, 137, done)}, nil},
	}
	for label, tc := range cases {
		t.Run(label, func(t *testing.T) {
			got := reading.Observe(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(0)}}, tc.pods, &sighting.Look{Now: at(3).Time})
			if diff := cmp.Diff(tc.want, got.Result); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A Job that failed without a report tells how its last Pod ended.
func TestExitCodeIsTold(t *testing.T) {
	j := &batchv1.Job{}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: "PodFailurePolicy", Message: "a Pod failed"}}
	for code, want := range map[int32]string{0: "a Pod failed", 3: "the Pod p ended with exit code 3 and without a report: see its log"} {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "agent", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
		}}}
		got := reading.Observe(j, []corev1.Pod{p}, &sighting.Look{Now: time.Unix(1000, 0)})
		if got.Reason != "PodFailurePolicy" || got.Message != want {
			t.Errorf("exit code %d: got %s: %s, want %s", code, got.Reason, got.Message, want)
		}
	}
}

// A Secret that may be missing is not what a Pod waits for.
func TestNeeds(t *testing.T) {
	var f Files
	f.Secret("a", "needed", "/a", false)
	f.Secret("b", "optional", "/b", true)
	f.Claim("c", "claim", "/c", true)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: f.Volumes}}
	if got, want := needs(pod), "the Secret needed and the volume of PVC claim"; got != want {
		t.Errorf("it needs %q, want %q", got, want)
	}
}
