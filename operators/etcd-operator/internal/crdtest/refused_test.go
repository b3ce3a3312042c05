package crdtest

import (
	"strings"
	"testing"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

const (
	nameMessage    = "metadata.name must be a valid name of a Service, because a Service gets this name: choose lower-case letters, digits and dashes, with a letter first and no dash last, such as my-etcd"
	versionMessage = "version is not of the form X.Y.Z: set all three numbers, such as 3.6.16, v3.6.16 or 3.7.0-rc.1"
	imageMessage   = "repository must be an image without tag or digest, such as quay.io/coreos/etcd: set the tag in version"
	labelMessage   = " is reserved for the operator (as are app and etcd_*): remove it, or use another key"
	noteMessage    = " is reserved for the operator (as are etcd.version and etcd.database.coreos.com/*): remove it, or use another key"
	envMessage     = " must not be set, because the operator sets the identity, the addresses and the data folder of each member: remove it"
	envTLSMessage  = " must not be set, because the operator sets it from spec.TLS: remove it, and set the source of the certificates in spec.TLS"
	tlsMessage     = "operatorSecret and member.serverSecret must be set together, because the operator is a client of the members: set both to serve clients over TLS, or remove both"
	originMessage  = "static, auto and certManager must not be set together: keep the source of the cluster's certificates, and remove the others"
	suiteMessage   = "cipherSuites must contain TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 (or, for static certificates with RSA keys, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256), because etcd does not start without it: add it"
	goodSuite      = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
	timeoutMessage = "memberTimeout must be a duration of at least 10s with its unit, such as 30s, 5m or 1h30m"
	domainMessage  = "ClusterDomain must be a DNS domain with a leading dot, such as .cluster.local"
	quotaMessage   = "quotaBackendBytes must be a whole number of bytes of more than 0, such as 8Gi"
	keepMessage    = "autoCompactionRetention must be a time with its unit, such as 1h or 30m, or, when autoCompactionMode is revision, a number of revisions, such as \"10000\""
	electMessage   = "electionTimeout (1s if it is omitted) must be at least 5 times heartbeatInterval (100ms if it is omitted), because etcd does not start otherwise: set both, such as heartbeatInterval: 300ms and electionTimeout: 3s"
	storesMessage  = "each entry of allowedStores must be a store, such as s3://mybucket/etcd, s3://mybucket/etcd?endpoint=https://minio.example.com:9000, oss://mybucket/etcd, gcs://mybucket/etcd, abs://mycontainer/etcd?endpoint=https://myaccount.blob.core.windows.net or pvc://myclaim/etcd"
	typesMessage   = `supported values: "ClusterIP", "NodePort", "LoadBalancer"`
)

// copyMessage is what is said of volumes that begin as copies.
const copyMessage = "dataSource and dataSourceRef must not be set, because a member on a copied volume would join the cluster of the original and lose writes: remove them; to start with the data of another cluster, create an EtcdRestore of an EtcdBackup"

// Each row is one mistake, and all that the user is told about it.
func TestRefused(t *testing.T) {
	admissiontest.AllRefused(t, "EtcdCluster", map[string]admissiontest.Mistake{
		"name too long":      {Reason: "a member's name would not be a DNS label", Name: strings.Repeat("e", v1beta2.MaxNameLength+1), Spec: `{}`, Message: "metadata.name must not have more than 52 characters, because the names of members, Pods and DNS records append 11 more: choose a shorter name"},
		"name with digit":    {Reason: "a Service's name starts with a letter", Name: "1st", Spec: `{}`, Message: nameMessage},
		"name with dot":      {Reason: "a Service's name has no dots", Name: "my.etcd", Spec: `{}`, Message: nameMessage},
		"size 0":             {Reason: "no members are no cluster", Spec: `{size: 0}`, Field: "spec.size", Message: "spec.size in body should be greater than or equal to 1"},
		"size 8":             {Reason: "eight members only slow down writes", Spec: `{size: 8}`, Field: "spec.size", Message: "spec.size in body should be less than or equal to 7"},
		"loss unknown":       {Reason: "what is done with data must be said in known words", Spec: `{recovery: {quorumLoss: survivor}}`, Field: "spec.recovery.quorumLoss", Message: "quorumLoss survivor is not supported: set Manual (a person decides) or Survivor (the operator starts a new cluster from the data of the most advanced remaining member)"},
		"version of two":     {Reason: "there is no such image", Spec: `{version: "3.6"}`, Field: "spec.version", Message: versionMessage},
		"version latest":     {Reason: "what runs must be known", Spec: `{version: latest}`, Field: "spec.version", Message: versionMessage},
		"version with zero":  {Reason: "not a semantic version", Spec: `{version: 3.06.1}`, Field: "spec.version", Message: versionMessage},
		"version with +":     {Reason: "not legal in an image's tag", Spec: `{version: 3.6.16+git}`, Field: "spec.version", Message: versionMessage},
		"repository:tag":     {Reason: "two tags", Spec: `{repository: "quay.io/coreos/etcd:v3.6.16"}`, Field: "spec.repository", Message: imageMessage},
		"repository@digest":  {Reason: "a digest leaves no room for a version", Spec: `{repository: "quay.io/coreos/etcd@sha256:00"}`, Field: "spec.repository", Message: imageMessage},
		"label app":          {Reason: "selectors would no longer find the Pod", Spec: `{pod: {labels: {app: mine}}}`, Field: "spec.pod.labels", Message: "app" + labelMessage},
		"label etcd_node":    {Reason: "the same", Spec: `{pod: {labels: {etcd_node: mine}}}`, Field: "spec.pod.labels", Message: "etcd_node" + labelMessage},
		"label etcd_role":    {Reason: "the client Service selects by it", Spec: `{pod: {labels: {team: a, etcd_role: voter}}}`, Field: "spec.pod.labels", Message: "etcd_role" + labelMessage},
		"annotation":         {Reason: "reserved by the predecessor", Spec: `{pod: {annotations: {etcd.version: "3.6.16"}}}`, Field: "spec.pod.annotations", Message: "etcd.version" + noteMessage},
		"start annotation":   {Reason: "it is the operator's start permit", Spec: `{pod: {annotations: {etcd.database.coreos.com/start-permit: x}}}`, Field: "spec.pod.annotations", Message: "etcd.database.coreos.com/start-permit" + noteMessage},
		"unknown service":    {Reason: "an ExternalName selects nothing", Spec: `{service: {type: ExternalName}}`, Field: "spec.service.type", Message: typesMessage},
		"service name":       {Reason: "another operator's field, which renamed it", Name: "users", Spec: `{service: {name: db}}`, Field: "spec.service.name", Message: "service.name must not be set, because the client Service is always users-client: remove service.name; for another name, create a Service of your own with the selector that kubectl get service users-client -o yaml shows"},
		"service selector":   {Reason: "another operator's field, which replaced it", Spec: `{service: {selector: {app: other}}}`, Field: "spec.service.selector", Message: "service.selector must not be set, because the operator routes clients only to members that serve: remove it; for other Pods, create a Service of your own"},
		"tmpfs":              {Reason: "a power failure would take all the data", Spec: `{pod: {tmpfs: true}}`, Field: "spec.pod.tmpfs", Message: "tmpfs is not supported, because data in memory is lost when nodes restart: remove it; for speed, set persistentVolumeClaimSpec with a fast storage class"},
		"operator's secret":  {Reason: "the operator would speak TLS to members that don't", Spec: `{TLS: {static: {operatorSecret: a}}}`, Field: "spec.TLS.static", Message: tlsMessage},
		"server's secret":    {Reason: "the operator would be locked out", Spec: `{TLS: {static: {member: {serverSecret: a}}}}`, Field: "spec.TLS.static", Message: tlsMessage},
		"two issuers":        {Reason: "it would not be clear whose certificates are used", Spec: `{TLS: {auto: {}, certManager: {issuerRef: {name: a}}}}`, Field: "spec.TLS", Message: originMessage},
		"auto and static":    {Reason: "it would not be clear whose certificates are used", Spec: `{TLS: {auto: {}, static: {}}}`, Field: "spec.TLS", Message: originMessage},
		"no issuer":          {Reason: "cert-manager must be told by whom", Spec: `{TLS: {certManager: {issuerRef: {name: ""}}}}`, Field: "spec.TLS.certManager.issuerRef.name", Message: "should be at least 1 chars long"},
		"old TLS":            {Reason: "TLS 1.1 is broken", Spec: `{TLS: {auto: {}, minVersion: TLS1.1}}`, Field: "spec.TLS.minVersion", Message: "minVersion TLS1.1 is not supported: set TLS1.2 or TLS1.3"},
		"suites of TLS 1.3":  {Reason: "etcd does not start", Spec: `{TLS: {auto: {}, minVersion: TLS1.3, cipherSuites: [` + goodSuite + `]}}`, Field: "spec.TLS.cipherSuites", Message: "cipherSuites must not be set together with minVersion: TLS1.3, because the cipher suites of TLS 1.3 cannot be configured: remove cipherSuites, or set minVersion: TLS1.2"},
		"an unsafe suite":    {Reason: "it is broken, and etcd would take it", Spec: `{TLS: {auto: {}, cipherSuites: [` + goodSuite + `, TLS_RSA_WITH_RC4_128_SHA]}}`, Field: "spec.TLS.cipherSuites[1]", Message: "TLS_RSA_WITH_RC4_128_SHA is not a cipher suite of TLS 1.2 that Go considers secure: set another, such as " + goodSuite},
		"an unknown suite":   {Reason: "etcd does not start", Spec: `{TLS: {auto: {}, cipherSuites: [` + goodSuite + `, AES]}}`, Field: "spec.TLS.cipherSuites[1]", Message: "AES is not a cipher suite of TLS 1.2 that Go considers secure: set another, such as " + goodSuite},
		"no suite of HTTP/2": {Reason: "etcd does not start", Spec: `{TLS: {static: {member: {peerSecret: a}}, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384]}}`, Field: "spec.TLS.cipherSuites", Message: suiteMessage},
		"suites for RSA":     {Reason: "the keys of issued certificates are ECDSA", Spec: `{TLS: {auto: {}, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}}`, Field: "spec.TLS.cipherSuites", Message: suiteMessage},
		"a short life":       {Reason: "it would be renewed all the time", Spec: `{TLS: {auto: {certificateLifetime: 30m}}}`, Field: "spec.TLS.auto.certificateLifetime", Message: "certificateLifetime must be a duration of at least 1h with its unit, such as 2160h"},
		"a life of 90":       {Reason: "90 of what?", Spec: `{TLS: {certManager: {issuerRef: {name: a}, certificateLifetime: "90"}}}`, Field: "spec.TLS.certManager.certificateLifetime", Message: "certificateLifetime must be a duration of at least 1h with its unit, such as 2160h"},
		"a short CA":         {Reason: "members would be restarted all the time", Spec: `{TLS: {auto: {caLifetime: 23h}}}`, Field: "spec.TLS.auto.caLifetime", Message: "caLifetime must be a duration of at least 24h with its unit, such as 43800h"},
		"a day's overlap":    {Reason: "a day is no unit of durations", Spec: `{TLS: {auto: {caOverlap: 1d}}}`, Field: "spec.TLS.auto.caOverlap", Message: "caOverlap must be a duration with its unit, such as 24h"},
		"a URL as a name":    {Reason: "a certificate is for names and addresses", Spec: `{TLS: {auto: {serverNames: ["https://etcd.example.com"]}}}`, Field: "spec.TLS.auto.serverNames[0]", Message: "the server name must be a DNS name or an IP address, without scheme and port, such as etcd.example.com"},
		"applications' root": {Reason: "whoever has their Secret would be etcd's administrator", Spec: `{TLS: {auto: {clientCommonName: root}}}`, Field: "spec.TLS.auto.clientCommonName", Message: "clientCommonName must not be root, because applications use the certificate and root is etcd's administrator: set the name of another etcd user"},
		"no store":           {Reason: "none, or all?", Spec: `{backup: {allowedStores: []}}`, Field: "spec.backup.allowedStores", Message: "allowedStores must not be empty: remove it to allow every store, or add a store, such as s3://mybucket/etcd"},
		"a store's scheme":   {Reason: "it would allow nothing", Spec: `{backup: {allowedStores: ["mybucket/etcd"]}}`, Field: "spec.backup.allowedStores[0]", Message: storesMessage},
		"Azure's account":    {Reason: "every account can have such a container", Spec: `{backup: {allowedStores: ["abs://mycontainer/etcd"]}}`, Field: "spec.backup.allowedStores[0]", Message: storesMessage},
		"a store's query":    {Reason: "it would allow nothing", Spec: `{backup: {allowedStores: ["s3://mybucket/etcd?url=https://x"]}}`, Field: "spec.backup.allowedStores[0]", Message: storesMessage},
		"Secret's name":      {Reason: "no Secret has such a name", Spec: `{auth: {rootSecret: Root_Secret}}`, Field: "spec.auth.rootSecret", Message: "rootSecret must be the name of a Secret of this namespace: use only lower-case letters, digits, dashes and dots, with a letter or digit first and last, such as etcd-root"},
		"short timeout":      {Reason: "a node that blinks is not lost", Spec: `{recovery: {memberTimeout: 9s}}`, Field: "spec.recovery.memberTimeout", Message: timeoutMessage},
		"timeout unit":       {Reason: "300 what?", Spec: `{recovery: {memberTimeout: "300"}}`, Field: "spec.recovery.memberTimeout", Message: timeoutMessage},
		"backups of a day":   {Reason: "a day is no unit of durations", Spec: `{backup: {maxAge: 1d}}`, Field: "spec.backup.maxAge", Message: "maxAge must be a duration of at least 1s with its unit, such as 12h, 168h (a week) or 1h30m"},
		"backups of no age":  {Reason: "each would be too old at once", Spec: `{backup: {maxAge: 0s}}`, Field: "spec.backup.maxAge", Message: "maxAge must be a duration of at least 1s with its unit, such as 12h, 168h (a week) or 1h30m"},
		"timeout number":     {Reason: "300 what?", Spec: `{recovery: {memberTimeout: 300}}`, Field: "spec.recovery.memberTimeout", Message: `must be of type string: "integer"`},
		"percent 100":        {Reason: "no database is all free", Spec: `{maintenance: {defragmentAbovePercent: 100}}`, Field: "spec.maintenance.defragmentAbovePercent", Message: "should be less than or equal to 99"},
		"a percentage":       {Reason: "a number of percent", Spec: `{maintenance: {defragmentAbovePercent: "50%"}}`, Field: "spec.maintenance.defragmentAbovePercent", Message: `must be of type integer: "string"`},
		"a long schedule":    {Reason: "no cron expression has so many characters", Spec: `{maintenance: {defragmentSchedule: "` + strings.Repeat("0,", 65) + `0 * * * *"}}`, Field: "spec.maintenance.defragmentSchedule", Message: "may not be more than 128 bytes"},
		"domain without dot": {Reason: "names would end in svccluster.local", Spec: `{pod: {ClusterDomain: cluster.local}}`, Field: "spec.pod.ClusterDomain", Message: domainMessage},
		"no access mode":     {Reason: "no claim can be made of it", Spec: `{pod: {persistentVolumeClaimSpec: {resources: {requests: {storage: 1Gi}}}}}`, Field: "spec.pod.persistentVolumeClaimSpec", Message: "persistentVolumeClaimSpec has no access mode: set accessModes: [ReadWriteOnce]"},
		"a cloned volume":    {Reason: "it would pass as its original", Spec: `{pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, dataSource: {kind: PersistentVolumeClaim, name: b-abc}}}}`, Field: "spec.pod.persistentVolumeClaimSpec", Message: copyMessage},
		"volume's snapshot":  {Reason: "the same", Spec: `{pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, dataSourceRef: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: b-abc}}}}`, Field: "spec.pod.persistentVolumeClaimSpec", Message: copyMessage},
		"one volume for all": {Reason: "only one member could have it", Spec: `{pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeName: pv-1}}}`, Field: "spec.pod.persistentVolumeClaimSpec", Message: "volumeName must not be set, because every member needs a volume of its own: remove it; to choose volumes, set storageClassName or selector"},
		"no storage":         {Reason: "no claim can be made of it", Spec: `{pod: {persistentVolumeClaimSpec: {accessModes: [ReadWriteOnce]}}}`, Field: "spec.pod.persistentVolumeClaimSpec", Message: "persistentVolumeClaimSpec requests no storage: set resources.requests.storage, such as 8Gi"},
		"quota 0":            {Reason: "etcd takes 0 for its default", Spec: `{etcd: {quotaBackendBytes: 0}}`, Field: "spec.etcd.quotaBackendBytes", Message: quotaMessage},
		"quota below 0":      {Reason: "etcd takes it for no quota", Spec: `{etcd: {quotaBackendBytes: -1Gi}}`, Field: "spec.etcd.quotaBackendBytes", Message: quotaMessage},
		"half a byte":        {Reason: "etcd counts whole bytes", Spec: `{etcd: {quotaBackendBytes: 1500m}}`, Field: "spec.etcd.quotaBackendBytes", Message: quotaMessage},
		"compaction mode":    {Reason: "etcd would not start", Spec: `{etcd: {autoCompactionMode: daily, autoCompactionRetention: 1h}}`, Field: "spec.etcd.autoCompactionMode", Message: `supported values: "periodic", "revision"`},
		"mode alone":         {Reason: "nothing would be compacted", Spec: `{etcd: {autoCompactionMode: periodic}}`, Field: "spec.etcd", Message: "autoCompactionMode must not be set without autoCompactionRetention, because the mode alone compacts nothing: set autoCompactionRetention, such as 1h (periodic) or \"10000\" (revision)"},
		"retention":          {Reason: "etcd would not start", Spec: `{etcd: {autoCompactionRetention: 1 day}}`, Field: "spec.etcd.autoCompactionRetention", Message: keepMessage},
		"an hour's revision": {Reason: "etcd would not start", Spec: `{etcd: {autoCompactionMode: revision, autoCompactionRetention: 1h}}`, Field: "spec.etcd.autoCompactionRetention", Message: "autoCompactionRetention must be a number of revisions when autoCompactionMode is revision: set it to a number, such as \"10000\""},
		"slow heartbeat":     {Reason: "etcd would not start", Spec: `{etcd: {heartbeatInterval: 300ms}}`, Field: "spec.etcd", Message: electMessage},
		"quick election":     {Reason: "etcd would not start", Spec: `{etcd: {electionTimeout: 400ms}}`, Field: "spec.etcd", Message: electMessage},
		"slow election":      {Reason: "etcd would not start", Spec: `{etcd: {electionTimeout: 51s}}`, Field: "spec.etcd.electionTimeout", Message: "electionTimeout must be from 5ms to 50s, in whole milliseconds or seconds, such as 1s"},
		"heartbeat unit":     {Reason: "300 what?", Spec: `{etcd: {heartbeatInterval: "300"}}`, Field: "spec.etcd.heartbeatInterval", Message: "heartbeatInterval must be at least 1ms, in whole milliseconds or seconds, such as 100ms"},
		"snapshot count 0":   {Reason: "etcd would never stop writing snapshots", Spec: `{etcd: {snapshotCount: 0}}`, Field: "spec.etcd.snapshotCount", Message: "should be greater than or equal to 1"},
		"log level":          {Reason: "etcd would not start", Spec: `{etcd: {logLevel: verbose}}`, Field: "spec.etcd.logLevel", Message: `supported values: "debug", "info", "warn", "error", "panic", "fatal"`},
		"deletion policy":    {Reason: "a typing error must not delete data", Spec: `{storage: {deletionPolicy: Keep}}`, Field: "spec.storage.deletionPolicy", Message: `supported values: "", "Delete", "Retain"`},
		"grace period 0":     {Reason: "etcd would be killed each time", Spec: `{pod: {terminationGracePeriodSeconds: 0}}`, Field: "spec.pod.terminationGracePeriodSeconds", Message: "should be greater than or equal to 1"},
	})
}

// etcd takes every flag from its environment too, so what the operator decides
// must not come in that way.
func TestOperatorOwnedEnvironmentIsRefused(t *testing.T) {
	c := admissiontest.Client(t)
	namespace := apiservertest.Namespace(t)
	owned := map[string][]string{
		envMessage: {
			"ETCD_NAME", "ETCD_DATA_DIR", "ETCD_WAL_DIR", "ETCD_CONFIG_FILE",
			"ETCD_LISTEN_PEER_URLS", "ETCD_LISTEN_CLIENT_URLS", "ETCD_LISTEN_CLIENT_HTTP_URLS", "ETCD_LISTEN_METRICS_URLS",
			"ETCD_INITIAL_ADVERTISE_PEER_URLS", "ETCD_INITIAL_CLUSTER", "ETCD_INITIAL_CLUSTER_STATE", "ETCD_INITIAL_CLUSTER_TOKEN",
			"ETCD_ADVERTISE_CLIENT_URLS",
			"ETCD_DISCOVERY", "ETCD_DISCOVERY_SRV", "ETCD_DISCOVERY_TOKEN", "ETCD_DISCOVERY_ENDPOINTS",
			"ETCD_FORCE_NEW_CLUSTER", "ETCD_FORCE_NEW_CLUSTER_BUMP_AMOUNT", "ETCD_STRICT_RECONFIG_CHECK",
			"ETCD_MAX_LEARNERS", "ETCD_EXPERIMENTAL_MAX_LEARNERS",
		},
		envTLSMessage: {
			"ETCD_CA_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE", "ETCD_TRUSTED_CA_FILE", "ETCD_AUTO_TLS",
			"ETCD_CLIENT_CERT_AUTH", "ETCD_CLIENT_CERT_FILE", "ETCD_CLIENT_KEY_FILE", "ETCD_CLIENT_CRL_FILE",
			"ETCD_EXPERIMENTAL_PEER_SKIP_CLIENT_SAN_VERIFICATION", "ETCD_PEER_SKIP_CLIENT_SAN_VERIFICATION",
			"ETCD_PEER_CERT_FILE", "ETCD_PEER_KEY_FILE", "ETCD_PEER_TRUSTED_CA_FILE", "ETCD_PEER_CLIENT_CERT_AUTH", "ETCD_PEER_AUTO_TLS",
		},
	}
	for message, names := range owned {
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				u := admissiontest.Object(t, "EtcdCluster", namespace, "refused", `{pod: {etcdEnv: [{name: ETCD_LOG_LEVEL, value: info}, {name: `+name+`, value: x}]}}`)
				admissiontest.Refused(t, c.Create(apiservertest.Context(t), u), "spec.pod.etcdEnv[1]", name+message, "it is the operator's")
			})
		}
	}
}

func TestMissingSpecIsRefused(t *testing.T) {
	admissiontest.MissingSpecRefused(t, "EtcdCluster")
}

func TestUnknownFieldIsRefused(t *testing.T) {
	admissiontest.UnknownFieldRefused(t, "EtcdCluster", `{pod: {clusterDomain: .cluster.local}}`, "spec.pod.clusterDomain")
}
