package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/operators/etcd-operator/internal/plan/facts"
)

// This file warns before a database reaches its quota, at which etcd refuses writes (see
// package maintenance). The warning is all that happens here.

// When SpaceLow becomes true, and until when it stays so, which keeps it from coming and
// going: shares of the quota in percent, and hours.
const (
	usedPercent, usedUntilPercent       = facts.RoomyPercent, 75
	filePercent, fileUntilPercent       = 95, 90
	fillingPercent, fillingUntilPercent = 50, 45
	fullWithin, fullWithinUntil         = 24, 48
)

// spaceLow is the condition that says that the databases come near their quota; nil if they
// do not. Its words change only with its reason, and with the alarm.
func spaceLow(v *facts.View) *metav1.Condition {
	why := shortage(v)
	if why == "" {
		return nil
	}
	c := condition(v, v1beta2.ConditionSpaceLow, true, string(why), spaceAdvice(v, why))
	return &c
}

// lastShortage is why there was little space last.
func lastShortage(v *facts.View) v1beta2.SpaceShortage {
	if m := v.Cluster.LastStatus.Maintenance; m != nil {
		return m.Shortage
	}
	return ""
}

// shortage is why there is little space; empty if there is enough. It is as it was if no member
// tells of its database, because nobody asks them or none answers.
func shortage(v *facts.View) v1beta2.SpaceShortage {
	if v.Cluster.ClusterID == 0 {
		return ""
	}
	was := lastShortage(v)
	var used, file int64
	known, full, empties := false, false, true
	for _, m := range v.List {
		a := v.Answer(m)
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
		return was
	case used >= usedPercent || (was == v1beta2.ShortageQuotaNearlyUsed && used >= usedUntilPercent):
		return v1beta2.ShortageQuotaNearlyUsed
	case (used >= fillingPercent && full) || (was == v1beta2.ShortageFillingUp && used >= fillingUntilPercent && !empties):
		return v1beta2.ShortageFillingUp
	case file >= filePercent || (was == v1beta2.ShortageFileNearQuota && file >= fileUntilPercent):
		return v1beta2.ShortageFileNearQuota
	}
	return ""
}

// percent is what share of b a is; of a b that is not small.
func percent(a, b int64) int64 { return a / max(1, b/100) }

// spaceAdvice says what a reason of SpaceLow means, and what to do.
func spaceAdvice(v *facts.View, reason v1beta2.SpaceShortage) string {
	const consequence = "at the quota etcd refuses all writes"
	what := map[v1beta2.SpaceShortage]string{
		v1beta2.ShortageQuotaNearlyUsed: fmt.Sprintf("more than %d %% of the database quota is in use, and ", usedUntilPercent),
		v1beta2.ShortageFillingUp:       "the database quota is used up within a day or two, at the growth of the last hours, and ",
		v1beta2.ShortageFileNearQuota:   fmt.Sprintf("a database's file has more than %d %% of its quota, though much of it is free, and ", fileUntilPercent),
	}[reason] + consequence
	if len(v.AlarmsOf(facts.NoSpace)) > 0 {
		what = "a database has reached its quota, and etcd refuses all writes (alarm NOSPACE)"
	}
	if reason == v1beta2.ShortageFileNearQuota {
		return what + ": set spec.maintenance.defragmentAbovePercent (such as 30) or defragmentSchedule, or raise spec.etcd.quotaBackendBytes"
	}
	if !v.Cluster.Maintenance.Compacts {
		what += ": unless a client compacts (as kube-apiserver does), set spec.etcd.autoCompactionRetention (such as 1h)"
	} else {
		what += ": keep less history (spec.etcd.autoCompactionRetention)"
	}
	return what + ", delete keys, or raise spec.etcd.quotaBackendBytes"
}
