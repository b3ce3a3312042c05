package monitoring

import "fmt"

// What the queries about one cluster, its members, and its backups select.
const (
	ofMember  = `job="etcd",namespace=~"$namespace",cluster=~"$cluster"`
	ofCluster = `namespace=~"$namespace",name=~"$cluster"`
	ofOne     = `namespace=~"$namespace",name=~"$name"`
	inSpace   = `namespace=~"$namespace"`
)

// namespaces are those in which a metric has series.
func namespaces(metric string) Variable {
	return Variable{Name: "namespace", Label: "Namespace", Metric: metric, Of: "namespace"}
}

// Dashboards are those that are shipped.
func Dashboards() []Dashboard { return []Dashboard{fleet(), cluster(), backups()} }

// goodIfFalse matches the conditions that need no attention while they are False.
const goodIfFalse = "CredentialsInvalid|CredentialsMissing|Degraded|KnownVulnerability|NameConflict|OrphanedPods|Paused|Recovering|SpaceLow|UnmanagedMembers|Upgrading|VersionUnsupported"

func fleet() Dashboard {
	// The table shows a condition unless it is known to be good. So it shows new conditions, and those that are
	// Unknown.
	conditions := `etcd_operator_cluster_condition{` + inSpace + `} == 1
unless etcd_operator_cluster_condition{` + inSpace + `,condition=~"Available|BackedUp|CertificatesReady|Consistent|StorageResizing",status="True"}
unless etcd_operator_cluster_condition{` + inSpace + `,condition=~"` + goodIfFalse + `",status="False"}
unless etcd_operator_cluster_condition{` + inSpace + `,condition=~"Progressing|Scaling"}`
	return Dashboard{
		UID: "etcd-fleet", Title: "etcd: all clusters", Description: "The EtcdClusters and their operators. Begin here.",
		Variables: []Variable{namespaces("etcd_operator_cluster_condition")},
		Panels: []Panel{
			{Title: "Clusters", Description: "EtcdClusters by phase.", Kind: stat, Width: 6, Queries: []Query{{"sum by (phase) (etcd_operator_clusters)", "{{phase}}"}}},
			{Title: "Members", Description: "Members that serve, and that do not.", Kind: stat, Width: 6, Queries: []Query{{"sum by (state) (etcd_operator_members)", "{{state}}"}}},
			{Title: "Not available", Description: "EtcdClusters that serve no writes.", Kind: stat, Width: 4, Queries: []Query{{`sum(etcd_operator_cluster_condition{` + inSpace + `,condition="Available",status="False"}) or vector(0)`, "clusters"}}},
			{Title: "Not backed up", Description: "EtcdClusters without a good backup that is recent enough.", Kind: stat, Width: 4, Queries: []Query{{`count(etcd_backup_cluster_backed_up{` + inSpace + `} == 0) or vector(0)`, "clusters"}}},
			{Title: "Alerts", Description: "Alerts about etcd that fire.", Kind: stat, Width: 4, Queries: []Query{{`count(ALERTS{alertname=~"Etcd.+",alertstate="firing"}) or vector(0)`, "alerts"}}},
			{Title: "What is wrong", Description: "Conditions of EtcdClusters that a person should look at. The reference of conditions and the runbooks explain each reason.", Kind: table, Width: 24, Queries: []Query{{
				"max by (namespace, name, condition, status, reason) (" + conditions + ")", "",
			}}},
			{Title: "Unhealthy for", Description: "Since when a cluster was last available with all its members healthy.", Kind: graph, Unit: "s", Width: 12, Queries: []Query{{`max by (namespace, name) (etcd_operator_cluster_unhealthy_seconds{` + inSpace + `}) > 0`, "{{namespace}}/{{name}}"}}},
			{Title: "Database in use", Description: "Of the quota, in the fullest member. At 100 % etcd refuses writes.", Kind: graph, Unit: "percentunit", Width: 12, Queries: []Query{{`max by (namespace, name) (etcd_operator_member_database_in_use_bytes{` + inSpace + `} / etcd_operator_member_database_quota_bytes{` + inSpace + `})`, "{{namespace}}/{{name}}"}}},
			{Title: "Alarms", Description: "etcd's alarms.", Kind: table, Width: 12, Queries: []Query{{`max by (namespace, name, member, kind) (etcd_operator_member_alarm{` + inSpace + `})`, ""}}},
			{Title: "Certificates expire in", Description: "The first certificate of each cluster with TLS.", Kind: graph, Unit: "s", Width: 12, Queries: []Query{{`min by (namespace, name) (etcd_operator_certificate_expiry_seconds{` + inSpace + `})`, "{{namespace}}/{{name}}"}}},
			{Title: "Data compared", Description: "How long ago the members' data was compared.", Kind: graph, Unit: "s", Width: 12, Queries: []Query{{`time() - max by (namespace, name) (etcd_operator_consistency_check_timestamp_seconds{` + inSpace + `})`, "{{namespace}}/{{name}}"}}},
			{Title: "Data differs", Description: "Clusters whose members hold different data.", Kind: stat, Width: 12, Queries: []Query{{`sum(etcd_operator_data_inconsistent{` + inSpace + `}) or vector(0)`, "clusters"}}},
			{Title: "Actions", Description: "What etcd-operator does.", Kind: graph, Unit: "ops", Width: 12, Queries: []Query{{`sum by (action) (rate(etcd_operator_actions_total[$__rate_interval])) > 0`, "{{action}}"}}},
			{Title: "Actions that failed", Description: "By result: refused means that etcd asked to wait.", Kind: graph, Unit: "ops", Width: 12, Queries: []Query{{`sum by (action, result) (rate(etcd_operator_actions_total{result!="ok"}[$__rate_interval])) > 0`, "{{action}}: {{result}}"}}},
			{Title: "Duration of a reconcile", Description: "The slowest in a hundred, of each operator.", Kind: graph, Unit: "s", Width: 12, Queries: []Query{
				{percentile("etcd_operator_reconcile_duration_seconds", "", ""), "etcd-operator"},
				{percentile("etcd_backup_reconcile_duration_seconds", "", ""), "etcd-backup-operator"},
				{percentile("etcd_restore_reconcile_duration_seconds", "", ""), "etcd-restore-operator"},
			}},
			{Title: "Reconciles that did nothing", Description: "Because the operator's caches and the API server disagreed.", Kind: graph, Unit: "ops", Width: 12, Queries: []Query{{`sum by (namespace, name) (rate(etcd_operator_stale_passes_total{` + inSpace + `}[$__rate_interval]))`, "{{namespace}}/{{name}}"}}},
			{Title: "Versions of the operators", Description: "How many replicas run which version. All should run the same minor version.", Kind: stat, Width: 24, Queries: []Query{
				{"count by (version) (etcd_operator_build_info)", "etcd-operator {{version}}"},
				{"count by (version) (etcd_backup_build_info)", "etcd-backup-operator {{version}}"},
				{"count by (version) (etcd_restore_build_info)", "etcd-restore-operator {{version}}"},
			}},
		},
	}
}

// percentile is the 99th of a histogram: by some labels, of what a selector selects.
func percentile(metric, by, selector string) string {
	if by != "" {
		by += ", "
	}
	return fmt.Sprintf("histogram_quantile(0.99, sum by (%sle) (rate(%s_bucket{%s}[$__rate_interval])))", by, metric, selector)
}

// rates are how fast a counter of the members grows, by labels.
func rates(metric, by string) string {
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", by, metric, ofMember)
}

func cluster() Dashboard {
	const pod = "{{pod}}"
	return Dashboard{
		UID: "etcd-cluster", Title: "etcd: one cluster", Description: "One EtcdCluster and its members.",
		Variables: []Variable{
			{Name: "namespace", Label: "Namespace", Metric: "etcd_server_has_leader", Of: "namespace", One: true},
			{Name: "cluster", Label: "Cluster", Metric: `etcd_server_has_leader{namespace="$namespace"}`, Of: "cluster", One: true},
		},
		Panels: []Panel{
			{Title: "Members that are up", Kind: stat, Width: 4, Description: "Members whose metrics can be collected.", Queries: []Query{{"sum(up{" + ofMember + "})", "members"}}},
			{Title: "Leader", Kind: stat, Width: 6, Description: "The member that leads.", Queries: []Query{{"etcd_server_is_leader{" + ofMember + "} == 1", pod}}},
			{Title: "Without a leader", Kind: stat, Width: 4, Description: "Members that know of no leader, and serve nobody.", Queries: []Query{{"count(etcd_server_has_leader{" + ofMember + "} == 0) or vector(0)", "members"}}},
			{Title: "Version", Kind: stat, Width: 10, Description: "etcd's version, by members.", Queries: []Query{{"count by (server_version) (etcd_server_version{" + ofMember + "})", "{{server_version}}"}}},
			{Title: "Conditions", Kind: table, Width: 24, Description: "The conditions of the EtcdCluster.", Queries: []Query{{"max by (condition, status, reason) (etcd_operator_cluster_condition{" + ofCluster + "})", ""}}},
			{Title: "Requests", Kind: graph, Unit: "reqps", Width: 12, Description: "By method.", Queries: []Query{{rates("grpc_server_handled_total", "grpc_method") + " > 0", "{{grpc_method}}"}}},
			{Title: "Requests that failed", Kind: graph, Unit: "reqps", Width: 12, Description: "By method and code.", Queries: []Query{{`sum by (grpc_method, grpc_code) (rate(grpc_server_handled_total{` + ofMember + `,grpc_code!="OK"}[$__rate_interval])) > 0`, "{{grpc_method}}: {{grpc_code}}"}}},
			{Title: "Duration of fsync", Kind: graph, Unit: "s", Width: 12, Description: "The slowest in a hundred. It should be below 10 ms.", Queries: []Query{{percentile("etcd_disk_wal_fsync_duration_seconds", "pod", ofMember), pod}}},
			{Title: "Duration of a commit", Kind: graph, Unit: "s", Width: 12, Description: "The slowest in a hundred. It should be below 25 ms.", Queries: []Query{{percentile("etcd_disk_backend_commit_duration_seconds", "pod", ofMember), pod}}},
			{Title: "Round trip between members", Kind: graph, Unit: "s", Width: 12, Description: "The slowest in a hundred, to the member with the id after the arrow.", Queries: []Query{{percentile("etcd_network_peer_round_trip_time_seconds", "pod, To", ofMember), "{{pod}} -> {{To}}"}}},
			{Title: "Leader changes", Kind: graph, Width: 12, Description: "In the last hour.", Queries: []Query{{"max(increase(etcd_server_leader_changes_seen_total{" + ofMember + "}[1h]))", "changes"}}},
			{Title: "Size of the database", Kind: graph, Unit: "bytes", Width: 12, Description: "The file, what of it is in use, and the quota at which etcd refuses writes.", Queries: []Query{
				{"etcd_mvcc_db_total_size_in_bytes{" + ofMember + "}", "{{pod}} file"},
				{"etcd_mvcc_db_total_size_in_use_in_bytes{" + ofMember + "}", "{{pod}} in use"},
				{"max(etcd_server_quota_backend_bytes{" + ofMember + "})", "quota"},
			}},
			{Title: "Database in use in a day", Kind: graph, Unit: "percentunit", Width: 12, Description: "Of the quota, at the growth of the last six hours.", Queries: []Query{{"max by (pod) (predict_linear(etcd_mvcc_db_total_size_in_use_in_bytes{" + ofMember + "}[6h], 86400) / etcd_server_quota_backend_bytes{" + ofMember + "})", pod}}},
			{Title: "Proposals", Kind: graph, Unit: "ops", Width: 12, Description: "Writes that were committed, and that failed.", Queries: []Query{
				{"max(rate(etcd_server_proposals_committed_total{" + ofMember + "}[$__rate_interval]))", "committed"},
				{"sum(rate(etcd_server_proposals_failed_total{" + ofMember + "}[$__rate_interval]))", "failed"},
			}},
			{Title: "Proposals pending", Kind: graph, Width: 12, Description: "Writes that wait to be committed.", Queries: []Query{{"etcd_server_proposals_pending{" + ofMember + "}", pod}}},
			{Title: "Slow requests", Kind: graph, Unit: "ops", Width: 12, Description: "Requests that took longer than 100 ms to apply, and reads that waited long for the leader.", Queries: []Query{
				{rates("etcd_server_slow_apply_total", "pod"), "{{pod}} apply"}, {rates("etcd_server_slow_read_indexes_total", "pod"), "{{pod}} read"},
			}},
			{Title: "Watchers", Kind: graph, Width: 12, Description: "Watches that clients have open.", Queries: []Query{{"etcd_debugging_mvcc_watcher_total{" + ofMember + "}", pod}}},
			{Title: "Traffic with clients", Kind: graph, Unit: "Bps", Width: 12, Description: "Sent is above zero, received below.", Queries: []Query{
				{rates("etcd_network_client_grpc_sent_bytes_total", "pod"), "{{pod}} sent"}, {"-" + rates("etcd_network_client_grpc_received_bytes_total", "pod"), "{{pod}} received"},
			}},
			{Title: "Traffic between members", Kind: graph, Unit: "Bps", Width: 12, Description: "Sent to peers.", Queries: []Query{{rates("etcd_network_peer_sent_bytes_total", "pod"), pod}}},
			{Title: "Memory", Kind: graph, Unit: "bytes", Width: 12, Description: "Resident memory of etcd.", Queries: []Query{{"process_resident_memory_bytes{" + ofMember + "}", pod}}},
			{Title: "CPU", Kind: graph, Unit: "short", Width: 12, Description: "Cores in use.", Queries: []Query{{rates("process_cpu_seconds_total", "pod"), pod}}},
		},
	}
}

func backups() Dashboard {
	const one, forCluster = "{{namespace}}/{{name}}", "{{namespace}}/{{cluster}}"
	ago := func(metric string) string {
		return "time() - max by (namespace, name) (" + metric + "{" + ofOne + "})"
	}
	ended := func(metric, by string) string {
		return "sum by (namespace, name, " + by + ") (increase(" + metric + "{" + ofOne + "}[$__rate_interval])) > 0"
	}
	return Dashboard{
		UID: "etcd-backups", Title: "etcd: backups and restores", Description: "EtcdBackups, their archives, and EtcdRestores.",
		Variables: []Variable{
			namespaces("etcd_backup_condition"),
			{Name: "name", Label: "EtcdBackup or EtcdRestore", Metric: `{__name__=~"etcd_backup_condition|etcd_restore_condition",namespace=~"$namespace"}`, Of: "name"},
		},
		Panels: []Panel{
			{Title: "EtcdBackups", Kind: stat, Width: 8, Description: "By phase.", Queries: []Query{{"sum by (phase) (etcd_backup_backups) > 0", "{{phase}}"}}},
			{Title: "EtcdRestores", Kind: stat, Width: 8, Description: "By phase.", Queries: []Query{{"sum by (phase) (etcd_restore_restores) > 0", "{{phase}}"}}},
			{Title: "Not backed up", Kind: stat, Width: 8, Description: "EtcdClusters without a good backup that is recent enough.", Queries: []Query{{"count(etcd_backup_cluster_backed_up{" + inSpace + "} == 0) or vector(0)", "clusters"}}},
			{Title: "Age of the newest good backup", Kind: graph, Unit: "s", Width: 12, Description: "What was written since then is lost with the cluster, unless an archive has it.", Queries: []Query{
				{"max by (namespace, cluster) (etcd_backup_cluster_age_seconds{" + inSpace + "})", forCluster},
			}},
			{Title: "Backups that failed", Kind: graph, Width: 12, Description: "Of each EtcdCluster, in the last day.", Queries: []Query{{"sum by (namespace, cluster) (increase(etcd_backup_cluster_failures_total{" + inSpace + "}[1d])) > 0", forCluster}}},
			{Title: "Conditions of EtcdBackups", Kind: table, Width: 12, Description: "With their reasons.", Queries: []Query{{"max by (namespace, name, condition, status, reason) (etcd_backup_condition{" + ofOne + "})", ""}}},
			{Title: "Conditions of EtcdRestores", Kind: table, Width: 12, Description: "With their reasons.", Queries: []Query{{"max by (namespace, name, condition, status, reason) (etcd_restore_condition{" + ofOne + "})", ""}}},
			{Title: "Size", Kind: graph, Unit: "bytes", Width: 12, Description: "Of the newest good backup, as it is stored.", Queries: []Query{{"max by (namespace, name) (etcd_backup_size_bytes{" + ofOne + "})", one}}},
			{Title: "Duration", Kind: graph, Unit: "s", Width: 12, Description: "Of the newest good backup.", Queries: []Query{{"max by (namespace, name) (etcd_backup_duration_seconds{" + ofOne + "})", one}}},
			{Title: "Last proved", Kind: graph, Unit: "s", Width: 12, Description: "How long ago a backup was proved by restoring it.", Queries: []Query{{ago("etcd_backup_last_verified_timestamp_seconds"), one}}},
			{Title: "Last copied", Kind: graph, Unit: "s", Width: 12, Description: "How long ago a backup was copied to its second store.", Queries: []Query{{ago("etcd_backup_last_copied_timestamp_seconds"), one}}},
			{Title: "Verifications", Kind: graph, Width: 12, Description: "That ended, by result.", Queries: []Query{{ended("etcd_backup_verifications_total", "result"), one + ": {{result}}"}}},
			{Title: "Copies", Kind: graph, Width: 12, Description: "That ended, by result.", Queries: []Query{{ended("etcd_backup_copies_total", "result"), one + ": {{result}}"}}},
			{Title: "Archive lag", Kind: graph, Unit: "s", Width: 12, Description: "Seconds since the recovery point.", Queries: []Query{{"max by (namespace, name) (etcd_backup_archive_lag_seconds{" + ofOne + "})", one}}},
			{Title: "Archive gaps", Kind: graph, Width: 12, Description: "Changes that were not recorded.", Queries: []Query{{"max by (namespace, name) (etcd_backup_archive_gaps_total{" + ofOne + "})", one}}},
			{Title: "Archived revision", Kind: graph, Width: 12, Description: "The newest one that is stored.", Queries: []Query{{"max by (namespace, name) (etcd_backup_archive_last_revision{" + ofOne + "})", one}}},
			{Title: "Restores that wait", Kind: graph, Width: 12, Description: "1 while status.waitingFor names something.", Queries: []Query{{"max by (namespace, name) (etcd_restore_waiting{" + ofOne + "})", one}}},
			{Title: "Snapshot fetched", Kind: graph, Unit: "bytes", Width: 12, Description: "How much of it a restore has, and its size.", Queries: []Query{
				{"max by (namespace, name) (etcd_restore_fetched_bytes{" + ofOne + "})", one + " fetched"}, {"max by (namespace, name) (etcd_restore_size_bytes{" + ofOne + "})", one + " size"},
			}},
			{Title: "Duration of restores", Kind: graph, Unit: "s", Width: 12, Description: "Until the cluster served, and until it had its full size.", Queries: []Query{
				{"max by (namespace, name) (etcd_restore_hand_off_seconds{" + ofOne + "})", one + " served"}, {"max by (namespace, name) (etcd_restore_duration_seconds{" + ofOne + "})", one + " complete"},
			}},
		},
	}
}
