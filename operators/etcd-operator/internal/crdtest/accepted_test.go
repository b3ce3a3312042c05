package crdtest

import (
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operators/etcd-operators/api/v1beta2"
	"github.com/etcd-operators/etcd-operators/shared/admissiontest"
	"github.com/etcd-operators/etcd-operators/shared/apiservertest"
)

var predecessors = filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdcluster-*.yaml")

// Manifests that people already have, and those that we show them, are accepted
// as they stand, and every field of their spec is kept.
func TestManifestsAreAccepted(t *testing.T) {
	admissiontest.AcceptedAsTheyStand(t, predecessors, filepath.Join(repoRoot, "examples/cluster*.yaml"))
}

// Every field of the predecessor's manifests has a place in our Go types,
// spelled as it was, and comes out again as it went in.
func TestGoTypesKeepThePredecessorsSpelling(t *testing.T) {
	admissiontest.KeptByGoTypes(t, predecessors, func() client.Object { return &v1beta2.EtcdCluster{} })
}

func TestAccepted(t *testing.T) {
	admissiontest.Accepted(t, "EtcdCluster", map[string]admissiontest.Case{
		"empty":             {Reason: "every field has a default", Spec: `{}`},
		"one member":        {Reason: "the smallest cluster", Spec: `{size: 1}`},
		"seven members":     {Reason: "the largest cluster", Spec: `{size: 7}`},
		"longest name":      {Reason: "52 characters leave room for a member's suffix", Name: strings.Repeat("e", v1beta2.MaxNameLength), Spec: `{}`},
		"one-letter name":   {Reason: "a DNS label of one character is one", Name: "e", Spec: `{}`},
		"nulls":             {Reason: "null counts as omitted where there is a default", Spec: `{size: null}`},
		"empty collections": {Reason: "Go clients send them", Spec: `{pod: {labels: {}, annotations: {}, etcdEnv: [], resources: {}}}`},
		"empty strings":     {Reason: "old clients send empty strings for what is omitted", Spec: `{size: 3, version: "", repository: "", pod: {ClusterDomain: ""}, TLS: {static: {operatorSecret: "", member: {serverSecret: "", peerSecret: ""}}}}`},
		"version with v":    {Reason: "both spellings were in use", Spec: `{version: v3.6.16}`},
		"pre-release":       {Reason: "people test release candidates", Spec: `{version: 3.7.0-rc.1}`},
		"built for a CPU":   {Reason: "images for one architecture have such tags", Spec: `{version: 3.6.16-arm64}`},
		"registry and port": {Reason: "the colon of a port is not that of a tag", Spec: `{repository: "localhost:5000/etcd"}`},
		"peer TLS only":     {Reason: "members may speak TLS among themselves alone", Spec: `{TLS: {static: {member: {peerSecret: peer}}}}`},
		"full TLS":          {Reason: "as in the predecessor's documentation", Spec: `{TLS: {static: {member: {peerSecret: peer, serverSecret: server}, operatorSecret: client}}}`},
		"issued TLS":        {Reason: "nothing more need be said", Spec: `{TLS: {auto: {}}}`},
		"issued TLS, all":   {Reason: "all that may be said", Spec: `{TLS: {auto: {certificateLifetime: 1h, caLifetime: 24h, caOverlap: 0s, serverNames: [etcd.example.com, "*.example.com", 192.0.2.1, "2001:db8::1"], clientCommonName: app}, minVersion: TLS1.2, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256]}}`},
		"cert-manager":      {Reason: "an Issuer of the namespace", Spec: `{TLS: {certManager: {issuerRef: {name: ca}}}}`},
		"cert-manager, all": {Reason: "a ClusterIssuer, or one of somebody else's", Spec: `{TLS: {certManager: {issuerRef: {name: ca, kind: ClusterIssuer, group: example.com}, certificateLifetime: 2160h, caOverlap: 30m}, minVersion: TLS1.3}}`},
		"RSA":               {Reason: "static certificates may have RSA keys", Spec: `{TLS: {static: {member: {peerSecret: peer}}, cipherSuites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]}}`},
		"no cipher suites":  {Reason: "an empty list is none", Spec: `{TLS: {auto: {}, minVersion: TLS1.3, cipherSuites: []}}`},
		"credentials":       {Reason: "named before or after authentication is enabled", Spec: `{auth: {rootSecret: etcd-root}}`},
		"stores":            {Reason: "backups stay where they are allowed", Spec: `{backup: {allowedStores: ["s3://mybucket", "abs://mycontainer/etcd?endpoint=https://mine.blob.core.windows.net", "s3://mybucket/etcd/prod", "s3://mybucket/etcd?endpoint=http://minio.default:9000", "oss://mybucket/etcd", "gcs://mybucket/etcd", "pvc://claim", "pvc://claim/etcd"]}}`},
		"any store":         {Reason: "nothing is restricted", Spec: `{backup: {}}`},
		"no credentials":    {Reason: "an empty name counts as omitted", Spec: `{auth: {rootSecret: ""}}`},
		"ten seconds":       {Reason: "the least memberTimeout", Spec: `{recovery: {memberTimeout: 10s}}`},
		"a survivor":        {Reason: "a cluster may begin anew", Spec: `{recovery: {quorumLoss: Survivor}}`},
		"a person":          {Reason: "the default, written out", Spec: `{recovery: {quorumLoss: Manual, memberTimeout: 1m}}`},
		"backups of a week": {Reason: "how old the newest may be", Spec: `{backup: {maxAge: 168h}}`},
		"1h30m":             {Reason: "durations may have several units", Spec: `{recovery: {memberTimeout: 1h30m0s}}`},
		"etcd's settings":   {Reason: "what the operator doesn't own is the user's", Spec: `{pod: {etcdEnv: [{name: ETCD_QUOTA_BACKEND_BYTES, value: "8589934592"}, {name: GOMEMLIMIT, value: 1GiB}]}}`},
		"all the history":   {Reason: "somebody reads old revisions", Spec: `{etcd: {autoCompactionRetention: "0"}}`},
		"typed settings":    {Reason: "each has its own spelling", Spec: `{etcd: {quotaBackendBytes: 8Gi, autoCompactionMode: periodic, autoCompactionRetention: 1h30m, heartbeatInterval: 300ms, electionTimeout: 3s, snapshotCount: 5000, logLevel: warn}}`},
		"a number of bytes": {Reason: "a quantity may be a number", Spec: `{etcd: {quotaBackendBytes: 8589934592, autoCompactionMode: revision, autoCompactionRetention: "10000"}}`},
		"no settings":       {Reason: "every one has a default", Spec: `{etcd: {}}`},
		"hours":             {Reason: "etcd takes a number without a unit for hours", Spec: `{etcd: {autoCompactionRetention: "8"}}`},
		"the longest wait":  {Reason: "etcd's own limit", Spec: `{etcd: {electionTimeout: 50s, heartbeatInterval: 10s}}`},
		"other labels":      {Reason: "labels that only resemble ours are the user's", Spec: `{pod: {labels: {apps: x, app.kubernetes.io/part-of: shop, app.kubernetes.io/managed-by: helm, example.com/etcd_cluster: mine}}}`},
		"LoadBalancer":      {Reason: "clients may be outside of Kubernetes", Spec: `{service: {type: LoadBalancer, annotations: {a: b}}}`},
		"others' fields":    {Reason: "typed clients of another operator send its defaults", Name: "users", Spec: `{pod: {tmpfs: false}, service: {name: users-client, selector: {}}}`},
		"others' zeros":     {Reason: "and empty strings", Spec: `{service: {name: ""}}`},
		"maintenance":       {Reason: "all of it", Spec: `{maintenance: {defragmentSchedule: "CRON_TZ=Europe/Berlin 30 3 * * 0", defragmentAbovePercent: 45, autoRepairSpace: true}}`},
		"no maintenance":    {Reason: "Go clients send empty objects", Spec: `{maintenance: {}}`},
		"volumes kept":      {Reason: "the policy may be written without volumes, as in a template", Spec: `{storage: {deletionPolicy: Retain}}`},
		"no policy":         {Reason: "old clients send empty strings for what is omitted", Spec: `{storage: {deletionPolicy: ""}}`},
		"old domain":        {Reason: "a root dot at the end is legal DNS", Spec: `{pod: {ClusterDomain: .cluster.local.}}`},
	})
}

// Only what never depends on the operator's version is written into the user's object.
func TestDefaults(t *testing.T) {
	admissiontest.Stored(t, "EtcdCluster", `{}`, `{size: 3}`)
}

// A typed client that leaves everything out sends nothing that is refused.
func TestGoZeroValueIsAccepted(t *testing.T) {
	c := admissiontest.Client(t)
	zero := &v1beta2.EtcdCluster{}
	zero.SetNamespace(apiservertest.Namespace(t))
	zero.SetName("zero")
	if err := c.Create(apiservertest.Context(t), zero); err != nil {
		t.Fatal(err)
	}
	if zero.Spec.Size != v1beta2.DefaultSize {
		t.Errorf("size = %d, want the default %d", zero.Spec.Size, v1beta2.DefaultSize)
	}
	if err := c.Status().Update(apiservertest.Context(t), zero); err != nil {
		t.Errorf("its empty status is refused: %v", err)
	}
}

// What the predecessor's Go types write as status, on whichever path.
func TestOldClientStatusIsAccepted(t *testing.T) {
	admissiontest.OldClientsStatus(t, filepath.Join(repoRoot, "api/v1beta2/testdata/predecessor/etcdcluster-old-client.yaml"), &v1beta2.EtcdCluster{})
}
