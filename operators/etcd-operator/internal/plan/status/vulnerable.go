package status

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
	"github.com/etcd-operators/etcd-operators/shared/etcdversion"
)

// authAdvisory is the security advisory of etcd on its authentication, and
// authFixes are the first patches that have the fix, by minor. Earlier minors get none.
const authAdvisory = "GHSA-xg4h-6gfc-h4m8"

var authFixes = map[int]int{5: 33, 6: 14, 7: 1}

// hasAuthFix reports whether an etcd has the fix. What is no version is nobody's to judge.
func hasAuthFix(s string) bool {
	v := etcdversion.Parse(s)
	if v == (etcdversion.Version{}) {
		return true
	}
	newest := etcdversion.Version{Major: 3, Minor: 7, Patch: authFixes[7]}
	patch, known := authFixes[v.Minor]
	return v.CompareMinor(newest) > 0 || (known && v.Major == newest.Major && v.Patch >= patch)
}

// authFix is the version to set for the fix, in place of one that lacks it.
func authFix(s string) string {
	return cmp.Or(etcdversion.OfMinor(etcdversion.Parse(s).Minor), etcdversion.OfMinor(5))
}

// knownVulnerability is the condition that warns of etcd's authentication where it is
// enabled, or is to be, and members lack its last fix; nil if there is nothing to warn of.
// (Whether it is enabled shows without a question: somebody has named credentials for it,
// or a member refuses the operator.)
func knownVulnerability(v *facts.View) *metav1.Condition {
	if v.Cluster.ClusterID == 0 || (v.Cluster.RootSecret == "" && v.Refused() == nil) {
		return nil
	}
	oldest := ""
	for i := range v.Pods {
		runs := v.Pods[i].Runs()
		if lacks := !hasAuthFix(runs); lacks && (oldest == "" || !etcdversion.Parse(runs).AtLeast(etcdversion.Parse(oldest))) {
			oldest = runs
		}
	}
	if oldest == "" {
		return nil
	}
	message := fmt.Sprintf("etcd %s has a known vulnerability in its authentication (%s), which this cluster uses; ", oldest, authAdvisory)
	if _, refusal := etcdversion.Next(v.Cluster.Version, v.Cluster.WantedVersion); refusal == "" && hasAuthFix(v.Cluster.WantedVersion) {
		message += fmt.Sprintf("the members move to %s, which has the fix", v.Cluster.WantedVersion)
	} else {
		message += fmt.Sprintf("set spec.version to %s, or to another version that has the fix (3.5.33, 3.6.14, 3.7.1 or later)", authFix(oldest))
	}
	c := condition(v, v1beta2.ConditionKnownVulnerability, true, v1beta2.ClusterReasonVulnerableVersion, message)
	return &c
}
