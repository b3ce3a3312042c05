package admissiontest

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

// Mistake is an object that the API server refuses, with all that the user is told
// about it.
type Mistake struct {
	// Reason is why it is refused.
	Reason string
	// Name is that of the object; empty for a generated one.
	Name string
	// Spec is its spec, in YAML.
	Spec string
	// Field is where the mistake is; empty for wherever.
	Field string
	// Message is the end of what is said about it.
	Message string
}

// AllRefused wants each mistake, in an object of one kind, to be refused.
func AllRefused(t *testing.T, kind string, mistakes map[string]Mistake) {
	t.Helper()
	c, namespace := Client(t), apiservertest.Namespace(t)
	for label, tc := range mistakes {
		t.Run(label, func(t *testing.T) {
			err := c.Create(apiservertest.Context(t), Object(t, kind, namespace, tc.Name, tc.Spec))
			Refused(t, err, tc.Field, tc.Message, tc.Reason)
		})
	}
}

// MissingSpecRefused wants an object of a kind to be refused that has no spec at all.
// One without any content is another thing: this may be a file cut short.
func MissingSpecRefused(t *testing.T, kind string) {
	t.Helper()
	u := Object(t, kind, apiservertest.Namespace(t), "", `{}`)
	delete(u.Object, "spec")
	Refused(t, Client(t).Create(apiservertest.Context(t), u), "spec", "Required value", "it may be a file cut short")
}

// UnknownFieldRefused wants an object to be refused that is right but for a field that
// the schema doesn't have.
func UnknownFieldRefused(t *testing.T, kind, spec, field string) {
	t.Helper()
	err := Client(t).Create(apiservertest.Context(t), Object(t, kind, apiservertest.Namespace(t), "", spec))
	if want := `unknown field "` + field + `"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error = %v, want one with %q", err, want)
	}
}

// Refused wants causes of refusal that are all at field and end in message. The
// field is not looked at if it is empty.
func Refused(t testing.TB, err error, field, message, reason string) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.ErrStatus.Reason != metav1.StatusReasonInvalid || status.ErrStatus.Details == nil {
		t.Fatalf("error = %v, want it refused as invalid: %s", err, reason)
	}
	causes := status.ErrStatus.Details.Causes
	for _, cause := range causes {
		// The rules of CEL run beside a wrong type, and say so.
		if strings.Contains(cause.Message, "evaluating rule") || strings.Contains(cause.Message, "some validation rules were not checked") {
			continue
		}
		if field != "" && cause.Field != field {
			t.Errorf("field = %q, want %q", cause.Field, field)
		}
		if !strings.HasSuffix(cause.Message, message) {
			t.Errorf("message:\n%s\nwant at its end:\n%s", cause.Message, message)
		}
	}
	if len(causes) == 0 {
		t.Errorf("no cause is given: %v", err)
	}
}
