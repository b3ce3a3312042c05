package act

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Every type of condition that the API documents as this operator's is one of its own:
// else it would stay for ever.
func TestOwnedConditions(t *testing.T) {
	const file = "../../../../api/v1beta2/etcdcluster_conditions.go"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for _, m := range regexp.MustCompile(`(?m)^\tCondition\w+ = "(\w+)"$`).FindAllSubmatch(source, -1) {
		documented = append(documented, string(m[1]))
	}
	if len(documented) < 10 {
		t.Fatalf("%s documents only %v", file, documented)
	}
	all := slices.Clone(ownConditions)
	slices.Sort(documented)
	slices.Sort(all)
	if diff := cmp.Diff(documented, all); diff != "" {
		t.Errorf("-documented +owned:\n%s", diff)
	}
}

// What is another's stays as it is; what is this operator's and no longer holds goes.
func TestReplaceOwned(t *testing.T) {
	then := metav1.Unix(1000, 0)
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: then}
	}
	before := []metav1.Condition{
		condition("Available", "True", "QuorumServes"), condition("BackedUp", "True", "BackedUp"), condition("SpaceLow", "True", "NearQuota"), condition("example.com/x", "False", "Y"),
	}
	next := []metav1.Condition{condition("Available", "True", "QuorumServes"), condition("Progressing", "False", "UpToDate")}
	want := []metav1.Condition{before[0], before[1], before[3], next[1]}
	if diff := cmp.Diff(want, replaceOwned(slices.Clone(before), next)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
