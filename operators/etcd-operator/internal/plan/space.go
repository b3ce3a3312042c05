package plan

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
)

// What is told of the space in members' databases, before there is none: at its quota etcd
// refuses writes (see alarms.go). Nothing is done about it.

// Growth is how fast the databases fill, by what was seen of them in the last hours.
type Growth struct {
	// Known is false while too little was seen.
	Known bool
	// PerHour is by how many bytes more of the fullest database are in use each hour; what a
	// compaction frees each time does not count. It may be negative.
	PerHour int64
}

// shortage is why there is little space; empty if there is enough. As a string it is the
// reason of SpaceLow.
type shortage string

const (
	// quotaNearlyUsed: most of the quota is in use.
	quotaNearlyUsed shortage = v1beta2.ClusterReasonQuotaNearlyUsed
	// fillingUp: the quota is in use within a day, at the growth of the last hours.
	fillingUp shortage = v1beta2.ClusterReasonFillingUp
	// fileNearQuota: the database's file is nearly as large as the quota, and much of it is
	// free.
	fileNearQuota shortage = v1beta2.ClusterReasonFileNearQuota
)

// When SpaceLow is told, and until when, so that it does not come and go: shares of the
// quota in percent, and hours.
const (
	usedPercent, usedUntilPercent       = roomyPercent, 75
	filePercent, fileUntilPercent       = 95, 90
	fillingPercent, fillingUntilPercent = 50, 45
	fullWithin, fullWithinUntil         = 24, 48
)

// spaceLow is the condition that says that the databases come near their quota; nil if they
// do not. Its words change only with its reason. What members do not tell, because nobody
// asks them or none answers, is as it was.
func (v *view) spaceLow() *metav1.Condition {
	const kind = v1beta2.ConditionSpaceLow
	if v.Cluster.ClusterID == 0 {
		return nil
	}
	was, said := shortage(""), ""
	if i := slices.IndexFunc(v.Cluster.LastStatus.Conditions, func(c metav1.Condition) bool { return c.Type == kind }); i >= 0 {
		was, said = shortage(v.Cluster.LastStatus.Conditions[i].Reason), v.Cluster.LastStatus.Conditions[i].Message
	}
	reason, known := v.findShortage(was)
	if known {
		said = v.spaceAdvice(reason)
	}
	if reason == "" {
		return nil
	}
	c := v.condition(kind, true, string(reason), said)
	return &c
}

// findShortage is why there is little space, after it was told why; empty if there is enough.
// Known is false if no member has told of its database: then it is as it was.
func (v *view) findShortage(was shortage) (reason shortage, known bool) {
	var used, file int64
	full, empties := false, true
	for _, m := range v.list {
		a := v.answer(m)
		if a == nil || a.Quota <= 0 {
			continue
		}
		known = true
		used, file = max(used, percent(a.DBSizeInUse, a.Quota)), max(file, percent(a.DBSize, a.Quota))
		left := a.Quota - a.DBSizeInUse
		full = full || (v.Growth.Known && left < v.Growth.PerHour*fullWithin)
		empties = empties && v.Growth.Known && left >= v.Growth.PerHour*fullWithinUntil
	}
	switch {
	case !known:
		return was, false
	case used >= usedPercent || (was == quotaNearlyUsed && used >= usedUntilPercent):
		return quotaNearlyUsed, true
	case (used >= fillingPercent && full) || (was == fillingUp && used >= fillingUntilPercent && !empties):
		return fillingUp, true
	case file >= filePercent || (was == fileNearQuota && file >= fileUntilPercent):
		return fileNearQuota, true
	}
	return "", true
}

// percent is what share of b a is; of a b that is not small.
func percent(a, b int64) int64 { return a / max(1, b/100) }

// spaceAdvice says what a reason of SpaceLow means, and what to do.
func (v *view) spaceAdvice(reason shortage) string {
	const consequence = "at the quota etcd refuses all writes"
	what := map[shortage]string{
		quotaNearlyUsed: fmt.Sprintf("more than %d %% of the database quota is in use, and ", usedUntilPercent),
		fillingUp:       "the database quota is used up within a day or two, at the growth of the last hours, and ",
		fileNearQuota:   fmt.Sprintf("a database's file has more than %d %% of its quota, though much of it is free, and ", fileUntilPercent),
	}[reason] + consequence
	if reason == fileNearQuota {
		return what + ": set spec.maintenance.defragmentAbovePercent (such as 30) or defragmentSchedule, or raise spec.etcd.quotaBackendBytes"
	}
	if !v.Cluster.Maintenance.Compacts {
		what += ": unless a client compacts (as kube-apiserver does), set spec.etcd.autoCompactionRetention (such as 1h)"
	} else {
		what += ": keep less history (spec.etcd.autoCompactionRetention)"
	}
	return what + ", delete keys, or raise spec.etcd.quotaBackendBytes"
}
