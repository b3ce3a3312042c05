package monitoring

import (
	"fmt"
	"maps"
	"time"
)

// series are values by series, in promtool's notation: 0+5x9 is 0, 5, 10, ... 45.
type series map[string]string

// scene is when an alert fires, and when not.
type scene struct {
	// fires are series for which it fires at the time at, with these labels beside its severity;
	// and not yet after half of the time for which it must be true.
	fires  series
	at     time.Duration
	labels string
	// quiet are series for which it does not fire at that time.
	quiet []series
	// every is from one value to the next; 1m if it is empty.
	every string
}

// long is more values than any test evaluates.
const long = "x400"

// Labels of a member, and those that its alerts have.
const (
	target  = `job="etcd",namespace="ns",cluster="c"`
	member  = target + `,pod="c-1"`
	ofEtcd  = `namespace="ns", cluster="c"`
	ofPod   = ofEtcd + `, pod="c-1"`
	ofName  = `namespace="ns", name="c"`
	objects = `namespace="ns",name="c"`
)

// of is a series of a member.
func of(metric, more string) string { return metric + "{" + member + more + "}" }

// named is a series of an object.
func named(metric, more string) string { return metric + "{" + objects + more + "}" }

func condition(kind, status, reason string) series {
	return conditionOf("operator_cluster", kind, status, reason)
}

// conditionOf is a condition that stays.
func conditionOf(what, kind, status, reason string) series {
	return series{named("etcd_"+what+"_condition", fmt.Sprintf(`,condition=%q,status=%q,reason=%q`, kind, status, reason)): "1" + long}
}

// up are whether members can be reached.
func up(values ...int) series {
	s := series{}
	for i, value := range values {
		s[fmt.Sprintf(`up{%s,pod="c-%d"}`, target, i+1)] = fmt.Sprint(value, long)
	}
	return s
}

// slow is a histogram in which everything takes longer than one bound and at most as long as another.
func slow(metric, longerThan, atMost, more string) series {
	return series{
		of(metric+"_bucket", more+fmt.Sprintf(`,le=%q`, longerThan)): "0" + long,
		of(metric+"_bucket", more+fmt.Sprintf(`,le=%q`, atMost)):     "0+60" + long,
		of(metric+"_bucket", more+`,le="+Inf"`):                      "0+60" + long,
	}
}

// requests are one failing request in so many.
func requests(in int) series {
	return series{
		of("grpc_server_handled_total", `,grpc_method="Range",grpc_code="Unavailable"`): "0+10" + long,
		of("grpc_server_handled_total", `,grpc_method="Range",grpc_code="OK"`):          fmt.Sprintf("0+%d%s", 10*(in-1), long),
	}
}

// handling is how long etcd takes for requests, of members with --metrics=extensive.
const handling = "grpc_server_handling_seconds"

// unary are the labels of requests of a method with one answer.
func unary(method string) string { return fmt.Sprintf(`,grpc_method=%q,grpc_type="unary"`, method) }

// shares are a value of a member, and one of which it is a part.
func shares(part, whole, partValues, wholeValues string) series {
	return series{of(part, ""): partValues, of(whole, ""): wholeValues}
}

// both puts series together.
func both(all ...series) series {
	together := series{}
	for _, s := range all {
		maps.Copy(together, s)
	}
	return together
}

// stuck is an operator that reconciles or not.
func stuck(counts, duration, reconciles string) series {
	return series{counts: "2" + long, duration + `_count{namespace="op",job="o"}`: reconciles}
}

// inCondition is the scene of an alert on a condition of an EtcdCluster, which a condition with
// the same type that is well does not raise.
func inCondition(at time.Duration, kind, status, reason string, quiet ...series) scene {
	well := map[string]string{"True": "False", "False": "True"}[status]
	return scene{fires: condition(kind, status, reason), at: at, labels: ofName, quiet: append(quiet, condition(kind, well, "Fine"))}
}

// ofKind is the same of a backup or restore.
func ofKind(what string, at time.Duration, kind, status, reason string, quiet ...series) scene {
	well := map[string]string{"True": "False", "False": "True", "Unknown": "True"}[status]
	return scene{fires: conditionOf(what, kind, status, reason), at: at, labels: ofName, quiet: append(quiet, conditionOf(what, kind, well, "Fine"))}
}

// certificates are a certificate and a CA that expire in so many seconds, each with its total validity.
func certificates(leaf, leafLifetime, ca, caLifetime string) series {
	const expiry, lifetime = "etcd_operator_certificate_expiry_seconds", "etcd_operator_certificate_lifetime_seconds"
	return series{
		named(expiry, `,kind="leaf"`): leaf + long, named(lifetime, `,kind="leaf"`): leafLifetime + long,
		named(expiry, `,kind="ca"`): ca + long, named(lifetime, `,kind="ca"`): caLifetime + long,
	}
}

const (
	// quarter and year are lifetimes of certificates, in seconds.
	quarter, year = "7776000", "31536000"

	size, inUse, quota = "etcd_mvcc_db_total_size_in_bytes", "etcd_mvcc_db_total_size_in_use_in_bytes", "etcd_server_quota_backend_bytes"
	used, limit        = "etcd_operator_member_database_in_use_bytes", "etcd_operator_member_database_quota_bytes"
)

// filling is a database that grows in each step, with a quota of 1000.
func filling(values string) series {
	return series{named(used, `,member="c-1"`): values, named(limit, `,member="c-1"`): "1000" + long}
}

var scenes = map[string]scene{
	// etcd's own metrics.
	"EtcdMembersDown":              {fires: up(1, 1, 0), at: 25 * time.Minute, labels: ofEtcd, quiet: []series{up(1, 1, 1)}},
	"EtcdInsufficientMembers":      {fires: up(1, 0, 0), at: 5 * time.Minute, labels: ofEtcd, quiet: []series{up(1, 1, 0), up(1, 1, 1), up(1)}},
	"EtcdNoLeader":                 {fires: series{of("etcd_server_has_leader", ""): "0" + long}, at: 3 * time.Minute, labels: `job="etcd", ` + ofPod, quiet: []series{{of("etcd_server_has_leader", ""): "1" + long}}},
	"EtcdLeaderChanges":            {fires: series{of("etcd_server_leader_changes_seen_total", ""): "1+1" + long}, at: 25 * time.Minute, labels: ofEtcd, quiet: []series{{of("etcd_server_leader_changes_seen_total", ""): "1x10 2" + long}}},
	"EtcdGRPCRequestsFailing":      {fires: requests(50), at: 20 * time.Minute, labels: ofEtcd + `, grpc_method="Range"`, quiet: []series{requests(200)}},
	"EtcdGRPCRequestsFailingOften": {fires: requests(10), at: 20 * time.Minute, labels: ofEtcd + `, grpc_method="Range"`, quiet: []series{requests(50)}},
	"EtcdGRPCRequestsSlow":         {fires: slow(handling, "0.2", "0.5", unary("Range")), at: 20 * time.Minute, labels: ofPod + `, grpc_method="Range"`, quiet: []series{slow(handling, "0.001", "0.1", unary("Range")), slow(handling, "2", "4", unary("Defragment")), slow(handling, "2", "4", `,grpc_method="Watch",grpc_type="bidi_stream"`)}},
	"EtcdPeerUnreachable":          {fires: series{of("etcd_network_peer_sent_failures_total", `,To="b"`): "0+60" + long}, at: 40 * time.Minute, labels: ofPod + `, To="b"`, quiet: []series{{of("etcd_network_peer_sent_failures_total", `,To="b"`): "0x9 0+60x12 720" + long}}},
	"EtcdPeerCommunicationSlow":    {fires: slow("etcd_network_peer_round_trip_time_seconds", "0.2048", "0.4096", `,To="b"`), at: 20 * time.Minute, labels: ofPod + `, To="b"`, quiet: []series{slow("etcd_network_peer_round_trip_time_seconds", "0.0001", "0.0128", `,To="b"`)}},
	"EtcdProposalsFailing":         {fires: series{of("etcd_server_proposals_failed_total", ""): "0+1" + long}, at: 40 * time.Minute, labels: ofPod, quiet: []series{{of("etcd_server_proposals_failed_total", ""): "0x10 2" + long}}},
	"EtcdSlowFsync":                {fires: slow("etcd_disk_wal_fsync_duration_seconds", "0.512", "1.024", ""), at: 20 * time.Minute, labels: ofPod, quiet: []series{slow("etcd_disk_wal_fsync_duration_seconds", "0.001", "0.008", "")}},
	"EtcdVerySlowFsync":            {fires: slow("etcd_disk_wal_fsync_duration_seconds", "1.024", "2.048", ""), at: 20 * time.Minute, labels: ofPod, quiet: []series{slow("etcd_disk_wal_fsync_duration_seconds", "0.256", "0.512", "")}},
	"EtcdSlowCommit":               {fires: slow("etcd_disk_backend_commit_duration_seconds", "0.256", "0.512", ""), at: 20 * time.Minute, labels: ofPod, quiet: []series{slow("etcd_disk_backend_commit_duration_seconds", "0.016", "0.032", "")}},
	"EtcdSlowApply":                {fires: series{of("etcd_server_slow_apply_total", ""): "0+20" + long}, at: 30 * time.Minute, labels: ofPod, quiet: []series{{of("etcd_server_slow_apply_total", ""): "0+1" + long}}},
	"EtcdDatabaseFragmented":       {fires: shares(inUse, size, "200000000"+long, "500000000"+long), at: 15 * time.Minute, labels: `job="etcd", ` + ofPod, quiet: []series{shares(inUse, size, "400000000"+long, "500000000"+long), shares(inUse, size, "1000000"+long, "90000000"+long)}},
	"EtcdDatabaseQuotaLow":         {fires: shares(size, quota, "96"+long, "100"+long), at: 15 * time.Minute, labels: ofEtcd, quiet: []series{shares(size, quota, "90"+long, "100"+long), shares(size, quota, "90"+long, "0"+long)}},
	"EtcdDatabaseGrowing":          {fires: shares(size, quota, "100+2"+long, "1000"+long), at: 4 * time.Hour, labels: ofEtcd, quiet: []series{shares(size, quota, "100+1"+long, "1000"+long), shares(size, quota, "900"+long, "1000"+long)}},

	// EtcdClusters.
	"EtcdQuorumLost":        inCondition(time.Minute, "Available", "False", "QuorumLost", condition("Available", "False", "NoQuorum")),
	"EtcdNoQuorum":          inCondition(5*time.Minute, "Available", "False", "NoQuorum", condition("Available", "False", "NoSpace"), condition("Available", "Unknown", "Paused")),
	"EtcdClusterExisted":    inCondition(15*time.Minute, "Available", "False", "ClusterExisted", condition("Available", "False", "Creating")),
	"EtcdUnavailable":       inCondition(15*time.Minute, "Available", "False", "Creating", condition("Available", "False", "NoQuorum"), condition("Available", "Unknown", "Paused")),
	"EtcdMemberNotReplaced": inCondition(20*time.Minute, "Degraded", "True", "MembersUnhealthy", condition("Degraded", "True", "PodRejected"), both(condition("Degraded", "False", "AllHealthy"), condition("Recovering", "True", "ReplacingDeadMember"))),
	"EtcdObjectsRejected":   inCondition(15*time.Minute, "Degraded", "True", "PodRejected", condition("Degraded", "True", "MembersUnhealthy")),
	"EtcdUnhealthy":         {fires: series{named("etcd_operator_cluster_unhealthy_seconds", ""): "0+60" + long}, at: 40 * time.Minute, labels: ofName, quiet: []series{{named("etcd_operator_cluster_unhealthy_seconds", ""): "0+60x20 0" + long}}},
	"EtcdUpgradeStuck":      inCondition(70*time.Minute, "Upgrading", "True", "Upgrading", condition("Upgrading", "False", "VersionRefused")),
	"EtcdVersionRefused":    inCondition(15*time.Minute, "Upgrading", "False", "VersionRefused", condition("Upgrading", "False", "AtVersion")),
	"EtcdCertificateExpiring": {
		fires: certificates("600000", quarter, year, year), at: 15 * time.Minute, labels: ofName + `,kind="leaf"`,
		quiet: []series{certificates("700000", quarter, year, year), certificates("1200", "3600", "28800", "86400")},
	},
	// A CA ends, of certificates that are renewed each hour.
	"EtcdCertificateExpiringSoon": {
		fires: certificates("3000", "3600", "80000", year), at: time.Minute, labels: ofName + `,kind="ca"`,
		quiet: []series{certificates("600000", quarter, year, year), certificates("800", "3600", "90000", year)},
	},
	"EtcdCertificatesNotReady": inCondition(20*time.Minute, "CertificatesReady", "False", "CertificatesMissing"),
	"EtcdNoSpace":              {fires: series{named("etcd_operator_member_alarm", `,member="c-1",kind="NOSPACE"`): "1" + long}, at: time.Minute, labels: ofName, quiet: []series{{named("etcd_operator_member_alarm", `,member="c-1",kind="CORRUPT"`): "1" + long}}},
	"EtcdCorrupt":              {fires: series{named("etcd_operator_member_alarm", `,member="c-1",kind="CORRUPT"`): "1" + long}, at: time.Minute, labels: ofName, quiet: []series{{named("etcd_operator_member_alarm", `,member="c-1",kind="NOSPACE"`): "1" + long}}},
	"EtcdDataInconsistent":     {fires: series{named("etcd_operator_data_inconsistent", ""): "1" + long}, at: time.Minute, labels: ofName, quiet: []series{{named("etcd_operator_data_inconsistent", ""): "0" + long}}},
	"EtcdConsistencyCheckOld":  {every: "1h", fires: series{named("etcd_operator_consistency_check_due_timestamp_seconds", ""): "0" + long}, at: 27 * time.Hour, labels: ofName, quiet: []series{{named("etcd_operator_consistency_check_due_timestamp_seconds", ""): "604800" + long}, {named("etcd_operator_consistency_check_timestamp_seconds", ""): "0" + long}}},
	"EtcdDatabaseNearQuota":    {fires: filling("850" + long), at: 15 * time.Minute, labels: ofName, quiet: []series{filling("700" + long)}},
	"EtcdDatabaseFillingUp":    {every: "10m", fires: filling("400+5" + long), at: 8 * time.Hour, labels: ofName, quiet: []series{filling("700" + long), filling("0+6" + long), filling("600+1" + long)}},
	"EtcdVolumeNotGrowing":     inCondition(20*time.Minute, "StorageResizing", "False", "ExpansionRefused"),
	"EtcdCredentialsUnusable":  inCondition(15*time.Minute, "CredentialsMissing", "True", "CredentialsMissing"),
	"EtcdNameConflict":         inCondition(15*time.Minute, "OrphanedPods", "True", "LegacyMembers"),
	"EtcdUnmanagedMembers":     inCondition(35*time.Minute, "UnmanagedMembers", "True", "UnmanagedMembers"),
	"EtcdKnownVulnerability":   inCondition(70*time.Minute, "KnownVulnerability", "True", "VulnerableVersion"),
	"EtcdPaused":               inCondition(5*time.Hour, "Paused", "True", "Paused"),

	// etcd-operator.
	"EtcdOperatorDown":       down("etcd_operator_clusters"),
	"EtcdOperatorNotLeading": leads("etcd-operator"),
	"EtcdOperatorNotReconciling": {
		fires: stuck(`etcd_operator_clusters{namespace="op",phase="Running"}`, "etcd_operator_reconcile_duration_seconds", "7"+long), at: 40 * time.Minute, labels: `namespace="op"`,
		quiet: []series{
			stuck(`etcd_operator_clusters{namespace="op",phase="Running"}`, "etcd_operator_reconcile_duration_seconds", "7+1"+long),
			{`etcd_operator_clusters{namespace="op",phase="Running"}`: "0" + long},
		},
	},
	"EtcdOperatorActionsFailing": {
		fires: series{`etcd_operator_actions_total{namespace="op",action="CreatePod",result="error"}`: "0+1" + long}, at: 45 * time.Minute, labels: `action="CreatePod", namespace="op"`,
		quiet: []series{{`etcd_operator_actions_total{namespace="op",action="CreatePod",result="ok"}`: "0+9" + long}, {`etcd_operator_actions_total{namespace="op",action="CreatePod",result="error"}`: "0x9 2" + long}},
	},
	"EtcdOperatorObservationStale": {fires: series{named("etcd_operator_stale_passes_total", ""): "0+3" + long}, at: 30 * time.Minute, labels: ofName, quiet: []series{{named("etcd_operator_stale_passes_total", ""): "0 3" + long}}},
	"EtcdOperatorOneReplica": {
		fires: series{`up{job="etcd-operator",namespace="op",pod="a"}`: "1" + long, `up{job="etcd-operator",namespace="op",pod="b"}`: "0" + long}, at: 40 * time.Minute, labels: `namespace="op"`,
		quiet: []series{{`up{job="etcd-operator",namespace="op",pod="a"}`: "1" + long, `up{job="etcd-operator",namespace="op",pod="b"}`: "1" + long}},
	},

	// EtcdBackups.
	"EtcdNotBackedUp":  {every: "1h", fires: backedUp("NoGoodBackup", "0"), at: 27 * time.Hour, labels: ofEtcd, quiet: []series{backedUp("BackedUp", "1")}},
	"EtcdBackupTooOld": {fires: backedUp("BackupTooOld", "0"), at: 15 * time.Minute, labels: ofEtcd, quiet: []series{backedUp("BackedUp", "1"), backedUp("NoGoodBackup", "0")}},
	"EtcdBackupOverAWeekOld": {
		every: "1h", fires: backupAge("700000"), at: 2 * time.Hour, labels: ofEtcd,
		quiet: []series{backupAge("500000"), both(backupAge("700000"), series{`etcd_backup_cluster_max_age_seconds{namespace="ns",cluster="c"}`: "864000" + long})},
	},
	"EtcdBackupFailed":        ofKind("backup", 5*time.Minute, "Failed", "True", "AccessDenied"),
	"EtcdBackupNotScheduled":  ofKind("backup", 30*time.Minute, "Scheduled", "False", "ScheduleInvalid", conditionOf("backup", "Scheduled", "False", "Suspended")),
	"EtcdBackupSuspended":     {every: "10m", fires: conditionOf("backup", "Scheduled", "False", "Suspended"), at: 25 * time.Hour, labels: ofName, quiet: []series{conditionOf("backup", "Scheduled", "True", "Scheduled")}},
	"EtcdBackupWithoutQuorum": {fires: series{named("etcd_backup_quorum", ""): "0" + long}, at: time.Minute, labels: ofName, quiet: []series{{named("etcd_backup_quorum", ""): "1" + long}}},
	"EtcdBackupNotVerified":   ofKind("backup", 15*time.Minute, "Verified", "False", "VerificationFailed", conditionOf("backup", "Verified", "Unknown", "VerificationPending")),
	"EtcdBackupProofTooOld":   {every: "1h", fires: series{named("etcd_backup_verification_due_timestamp_seconds", ""): "0" + long}, at: 27 * time.Hour, labels: ofName, quiet: []series{{named("etcd_backup_verification_due_timestamp_seconds", ""): "2592000" + long}, {named("etcd_backup_last_verified_timestamp_seconds", ""): "0" + long}}},
	"EtcdBackupNeverProved":   {every: "1h", fires: conditionOf("backup", "Verified", "Unknown", "VerificationPending"), at: 50 * time.Hour, labels: ofName, quiet: []series{conditionOf("backup", "Verified", "True", "Verified")}},
	"EtcdBackupNotCopied":     ofKind("backup", 20*time.Minute, "Copied", "False", "AccessDenied"),
	"EtcdArchiveStopped":      ofKind("backup", 15*time.Minute, "Archiving", "False", "PodNotStarting", conditionOf("backup", "Archiving", "False", "Suspended")),
	"EtcdArchiveLagging":      {fires: series{named("etcd_backup_archive_lag_seconds", ""): "1000" + long}, at: 15 * time.Minute, labels: ofName, quiet: []series{{named("etcd_backup_archive_lag_seconds", ""): "15" + long}, suspendedArchive("1000")}},
	"EtcdArchiveFarBehind":    {fires: series{named("etcd_backup_archive_lag_seconds", ""): "8000" + long}, at: time.Minute, labels: ofName, quiet: []series{{named("etcd_backup_archive_lag_seconds", ""): "1000" + long}, suspendedArchive("8000")}},
	"EtcdArchiveGap":          {every: "1h", fires: series{named("etcd_backup_archive_last_gap_timestamp_seconds", ""): "_x9 36000" + long}, at: 20 * time.Hour, labels: ofName, quiet: []series{{named("etcd_backup_archive_last_gap_timestamp_seconds", ""): "-86400" + long}}},

	// etcd-backup-operator.
	"EtcdBackupOperatorDown":       down("etcd_backup_backups"),
	"EtcdBackupOperatorNotLeading": leads("etcd-backup-operator"),
	"EtcdBackupOperatorNotReconciling": {
		fires: stuck(`etcd_backup_backups{namespace="op",phase="Scheduled"}`, "etcd_backup_reconcile_duration_seconds", "7"+long), at: 3 * time.Hour, labels: `namespace="op"`,
		quiet: []series{
			stuck(`etcd_backup_backups{namespace="op",phase="Scheduled"}`, "etcd_backup_reconcile_duration_seconds", "7x59 8x59 9"+long),
			stuck(`etcd_backup_backups{namespace="op",phase="Succeeded"}`, "etcd_backup_reconcile_duration_seconds", "7"+long),
		},
	},

	// EtcdRestores.
	"EtcdRestoreFailed":        ofKind("restore", 5*time.Minute, "Failed", "True", "CorruptSnapshot"),
	"EtcdRestoreWaiting":       {fires: series{named("etcd_restore_waiting", ""): "1" + long}, at: 20 * time.Minute, labels: ofName, quiet: []series{{named("etcd_restore_waiting", ""): "0" + long}}},
	"EtcdRestoreNotAdvancing":  ofKind("restore", 70*time.Minute, "Complete", "False", "SeedNotStarting", both(conditionOf("restore", "Complete", "False", "CorruptSnapshot"), conditionOf("restore", "Failed", "True", "CorruptSnapshot"))),
	"EtcdRestoreFencesCluster": ofKind("restore", 40*time.Minute, "Fenced", "True", "Fenced"),

	// etcd-restore-operator.
	"EtcdRestoreOperatorDown":       down("etcd_restore_restores"),
	"EtcdRestoreOperatorNotLeading": leads("etcd-restore-operator"),
	"EtcdRestoreOperatorNotReconciling": {
		fires: stuck(`etcd_restore_restores{namespace="op",phase="Seeding"}`, "etcd_restore_reconcile_duration_seconds", "7"+long), at: time.Hour, labels: `namespace="op"`,
		quiet: []series{
			stuck(`etcd_restore_restores{namespace="op",phase="Seeding"}`, "etcd_restore_reconcile_duration_seconds", "7+1"+long),
			stuck(`etcd_restore_restores{namespace="op",phase="Complete"}`, "etcd_restore_reconcile_duration_seconds", "7"+long),
		},
	},
}

// down is the scene of the alert about an operator that no longer runs in one of two namespaces. Where
// it never ran, no namespace is known.
func down(metric string) scene {
	in := func(namespace string) string { return metric + `{namespace="` + namespace + `",phase="Running"}` }
	return scene{
		fires: series{in("op"): "0x1 stale", in("other"): "0" + long}, at: 15 * time.Minute, labels: `namespace="op"`,
		quiet: []series{{in("op"): "0" + long, in("other"): "0" + long}},
	}
}

// backedUp is what is said of the backups of an EtcdCluster.
func backedUp(reason, value string) series {
	return series{fmt.Sprintf(`etcd_backup_cluster_backed_up{namespace="ns",cluster="c",reason=%q}`, reason): value + long}
}

func backupAge(seconds string) series {
	return series{`etcd_backup_cluster_age_seconds{namespace="ns",cluster="c"}`: seconds + long}
}

// suspendedArchive is one that is to record nothing.
func suspendedArchive(lag string) series {
	return both(series{named("etcd_backup_archive_lag_seconds", ""): lag + long}, conditionOf("backup", "Archiving", "False", "Suspended"))
}

// leads is the scene of the alert about replicas of an operator that all wait for the Lease. It is
// quiet while one of them holds it.
func leads(operator string) scene {
	pod := func(name string) string {
		return fmt.Sprintf(`leader_election_master_status{job=%q,namespace="op",pod=%q,name=%q}`, operator, name, operator)
	}
	return scene{
		fires: series{pod("a"): "0" + long, pod("b"): "0" + long}, at: 10 * time.Minute, labels: `namespace="op"`,
		quiet: []series{{pod("a"): "0" + long, pod("b"): "1" + long}, {pod("a"): "1x3 0x2 1" + long}},
	}
}

// healthy are the series of a cluster of three members that serves and is backed up.
func healthy() series {
	const gib = 1 << 30
	return both(
		up(1, 1, 1), requests(1000000),
		series{
			of("etcd_server_has_leader", ""): "1" + long, of("etcd_server_leader_changes_seen_total", ""): "1" + long,
			of("etcd_server_proposals_failed_total", ""): "0" + long, of("etcd_server_slow_apply_total", ""): "0" + long,
			of("etcd_network_peer_sent_failures_total", `,To="b"`): "50" + long,
			of(size, ""): fmt.Sprint(gib, long), of(inUse, ""): fmt.Sprint(gib*3/4, long), of(quota, ""): fmt.Sprint(2*gib, long),
		},
		slow("etcd_disk_wal_fsync_duration_seconds", "0.001", "0.002", ""), slow("etcd_disk_backend_commit_duration_seconds", "0.001", "0.002", ""),
		slow("etcd_network_peer_round_trip_time_seconds", "0.0001", "0.0002", `,To="b"`), slow(handling, "0.001", "0.002", unary("Range")),
		condition("Available", "True", "Serving"), condition("Degraded", "False", "AllHealthy"), condition("Progressing", "False", "UpToDate"),
		condition("Upgrading", "False", "AtVersion"), condition("Recovering", "False", "NothingToRecover"), condition("Paused", "False", "NotPaused"),
		condition("Scaling", "False", "AtSize"), condition("CertificatesReady", "True", "CertificatesValid"), condition("Consistent", "True", "Consistent"),
		filling("400"+long),
		series{
			named("etcd_operator_cluster_unhealthy_seconds", ""): "0" + long, named("etcd_operator_certificate_expiry_seconds", `,kind="leaf"`): "5000000-60" + long, named("etcd_operator_certificate_lifetime_seconds", `,kind="leaf"`): quarter + long,
			named("etcd_operator_data_inconsistent", ""): "0" + long, named("etcd_operator_consistency_check_due_timestamp_seconds", ""): "90000" + long,
			`etcd_operator_clusters{namespace="op",phase="Running"}`:                      "1" + long,
			`etcd_operator_reconcile_duration_seconds_count{namespace="op"}`:              "5+1" + long,
			`etcd_operator_actions_total{namespace="op",action="AddLearner",result="ok"}`: "2" + long,
			`leader_election_master_status{job="etcd-operator",namespace="op",pod="a"}`:   "1" + long,
			`leader_election_master_status{job="etcd-operator",namespace="op",pod="b"}`:   "0" + long,
			`up{job="etcd-operator",namespace="op",pod="a"}`:                              "1" + long,
			`up{job="etcd-operator",namespace="op",pod="b"}`:                              "1" + long,
			`etcd_backup_cluster_backed_up{namespace="ns",cluster="c",reason="BackedUp"}`: "1" + long,
			`etcd_backup_cluster_age_seconds{namespace="ns",cluster="c"}`:                 "3600" + long,
			named("etcd_backup_quorum", ""):                                               "1" + long,
			named("etcd_backup_verification_due_timestamp_seconds", ""):                   "90000" + long,
			named("etcd_backup_archive_lag_seconds", ""):                                  "12" + long,
			named("etcd_backup_archive_gaps_total", ""):                                   "0" + long,
			`etcd_backup_backups{namespace="op",phase="Scheduled"}`:                       "1" + long,
			`etcd_backup_reconcile_duration_seconds_count{namespace="op"}`:                "5+1" + long,
			`etcd_restore_restores{namespace="op",phase="Complete"}`:                      "1" + long,
			`etcd_restore_reconcile_duration_seconds_count{namespace="op"}`:               "5" + long,
			named("etcd_restore_waiting", ""):                                             "0" + long,
		},
		conditionOf("backup", "Complete", "True", "Stored"), conditionOf("backup", "Failed", "False", "NotFailed"), conditionOf("backup", "Scheduled", "True", "Scheduled"),
		conditionOf("backup", "Verified", "True", "Verified"), conditionOf("backup", "Copied", "True", "Copied"), conditionOf("backup", "Archiving", "True", "Archiving"),
		conditionOf("restore", "Complete", "True", "Complete"), conditionOf("restore", "Failed", "False", "NotFailed"), conditionOf("restore", "Fenced", "False", "SeedAdopted"),
	)
}
