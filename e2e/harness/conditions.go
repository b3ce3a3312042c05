package harness

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditionSays is what is not as it should be with a condition: it is to have that
// status, unless it is empty that reason, and a message with all of these words.
func conditionSays(conditions []metav1.Condition, kind string, is bool, reason string, words []string) string {
	want := metav1.ConditionFalse
	if is {
		want = metav1.ConditionTrue
	}
	got := meta.FindStatusCondition(conditions, kind)
	switch {
	case got == nil:
		return "no condition " + kind
	case got.Status != want || (reason != "" && got.Reason != reason):
		return conditionsSay(conditions)
	}
	for _, w := range words {
		if !strings.Contains(got.Message, w) {
			return fmt.Sprintf("%s does not say %q: %s", kind, w, got.Message)
		}
	}
	return ""
}

// conditionsSay is all that the conditions say.
func conditionsSay(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s is %s: %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "; ")
}
